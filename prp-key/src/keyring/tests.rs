use super::*;
use crate::testing::{UP, file, hex};
use crate::{Secret, TAG_BYTES};

/// Made by another implementation from the words of SPEC PRP-KEY-13.
#[test]
fn sign__value_of_another_implementation() {
    let trailer = Keyring::new(&file(Mode::Seal)).sign(&UP, b"reset");
    assert_eq!(trailer[..4], [0, 0, 0, 5]);
    assert_eq!(trailer[4..], hex::<TAG_BYTES>("8b90bc7f8300472f2d59b1a4da234204"));
}

#[test]
fn check__every_bit_counts_but_hops_and_padding() {
    let ring = Keyring::new(&file(Mode::Sign));
    let trailer = ring.sign(&UP, b"reset");
    let (mut hops, mut padded) = (UP, trailer.to_vec());
    hops[14] |= 0x30;
    padded.extend([9; 7]);
    assert_eq!(ring.check(&hops, b"reset", &padded), Ok(5));
    for bit in 0..8 * (16 + 5 + TRAILER_BYTES) {
        let mut frame = [&UP[..], b"reset", &trailer].concat();
        frame[bit / 8] ^= 1 << (bit % 8);
        let (header, rest) = frame.split_first_chunk().unwrap();
        let found = ring.check(header, &rest[..5], &rest[5..]);
        let is_hops = (116..120).contains(&bit);
        assert_eq!(found.is_ok(), is_hops, "bit {bit}: {found:?}");
    }
}

#[test]
fn check__says_why() {
    let ring = Keyring::new(&file(Mode::Sign));
    let trailer = ring.sign(&UP, b"reset");
    assert_eq!(ring.check(&UP, b"reset", &trailer[1..]), Err(Refusal::Unsigned));
    assert_eq!(ring.check(&UP, b"reset", &[]), Err(Refusal::Unsigned));
    let other = KeyFile::new(Mode::Sign, 6, Secret::new([1; 32]));
    assert_eq!(Keyring::new(&other).check(&UP, b"reset", &trailer), Err(Refusal::UnknownKey));
    let other = KeyFile::new(Mode::Sign, 5, Secret::new([1; 32]));
    assert_eq!(Keyring::new(&other).check(&UP, b"reset", &trailer), Err(Refusal::BadTag));
}
