use super::*;
use crate::datatype::Class;

/// 300 structures of an int, a double and four characters, each byte numbered, and what they are
/// packed.
fn structures() -> (Vec<u8>, Vec<u8>, Arc<Datatype>) {
    let [int, double] = [(Class::Signed, 4), (Class::Float, 8)].map(|(c, n)| Datatype::basic(c, n));
    let char = Datatype::basic(Class::Character, 1);
    let of = Datatype::structure([(0, 1, &int), (8, 1, &double), (16, 4, &char)]).unwrap();
    let spread: Vec<u8> = (0..300 * 24).map(|i| (i % 251) as u8).collect();
    let packed = spread.chunks(24).flat_map(|s| [&s[0..4], &s[8..20]].concat()).collect();
    (spread, packed, Arc::new(of))
}

fn region(bytes: &mut [u8], of: &Arc<Datatype>) -> Region {
    // SAFETY: all bytes of the elements are among these, which live longer than the region.
    unsafe { Region::foreign(bytes.as_mut_ptr(), 300, of) }
}

#[test]
fn copy_from__packs_and_unpacks_structures() {
    let (mut spread, packed, of) = structures();
    let mut out = Region::owned(packed.len());
    out.copy_from(&region(&mut spread, &of));
    assert_eq!(out.to_vec(), packed);
    let mut back = vec![0xee; spread.len()];
    region(&mut back, &of).copy_from(&out);
    for (i, (byte, expected)) in back.iter().zip(&spread).enumerate() {
        let is_gap = matches!(i % 24, 4..8 | 20..24);
        assert_eq!(*byte, if is_gap { 0xee } else { *expected }, "byte {i}");
    }
    let mut other = vec![0xee; spread.len()];
    region(&mut other, &of).copy_from(&region(&mut spread, &of));
    assert_eq!(other, back);
}

#[test]
fn copy_from__what_there_is_room_for() {
    let (mut spread, packed, of) = structures();
    let mut short = Region::owned(1001);
    short.copy_from(&region(&mut spread, &of));
    assert_eq!(short.to_vec(), packed[..1001]);
}

#[test]
fn read__any_part_of_structures() {
    let (mut spread, packed, of) = structures();
    let region = region(&mut spread, &of);
    for offset in [0, 1, 4, 15, 16, 1000, 1607, 4799] {
        for len in [1, 3, 16, 33, 2000, 4800] {
            let mut out = vec![0; len];
            let n = region.read(offset, &mut out);
            assert_eq!(n, len.min(packed.len() - offset));
            assert_eq!(out[..n], packed[offset..offset + n], "{offset} {len}");
        }
    }
}
