use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::{checksum, checksum_in_steps};

/// Pseudo-random bytes.
fn bytes(len: usize, seed: u32) -> Vec<u8> {
    (0..len as u32).map(|i| (i ^ seed).wrapping_mul(0x9e37_79b1).to_be_bytes()[0]).collect()
}

#[test]
fn checksum__every_length_of_a_packet() {
    let front = [1, 2, 3].map(|i| i * 0x0123_4567_89ab_cdef);
    let payload = bytes(9_000, 2);
    for len in (0..2_000).chain(8_900..=9_000) {
        let payload = [&payload[..len], &[]];
        assert_eq!(checksum(front, payload), checksum_in_steps(front, payload), "{len} bytes");
    }
}

#[test]
fn checksum__published_value() {
    // The CRC-32 of "123456789" is 0xcbf43926. The CRC-32 register begins with ones. Four bytes of
    // ones in front set it to zeros, the zeros that follow leave it so, and the first four digits
    // are inverted to compensate.
    let front = [0xffff_ffff_0000_0000, 0, 0];
    let mut payload = vec![0; 1_000];
    payload.extend(b"1234".map(|digit| digit ^ 0xff));
    payload.extend(b"56789");
    assert_eq!(checksum(front, [&payload, &[]]), 0xcbf4_3926);
    assert_eq!(checksum(front, [&payload[..1_002], &payload[1_002..]]), 0xcbf4_3926);
}

proptest! {
    #[test]
    fn checksum__any_bytes_at_any_address(
        front: [u64; 3],
        payload in proptest::collection::vec(any::<u8>(), 0..3_000),
        skip in 0_usize..64,
    ) {
        let mut moved = vec![0; skip];
        moved.extend(&payload);
        let expected = checksum_in_steps(front, [&payload, &[]]);
        prop_assert_eq!(checksum(front, [&moved[skip..], &[]]), expected);
        let (a, b) = payload.split_at(payload.len() / 3);
        prop_assert_eq!(checksum(front, [a, b]), expected);
    }
}
