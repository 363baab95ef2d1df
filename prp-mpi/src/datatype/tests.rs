use super::*;

fn int() -> Datatype {
    Datatype::basic(Class::Signed, 4)
}

fn pieces(of: &Datatype, offset: usize, n: usize) -> Vec<(isize, usize)> {
    let mut all = Vec::new();
    of.each_piece(offset, n, |at, len| all.push((at, len)));
    all
}

fn runs(of: &Datatype) -> usize {
    let mut count = 0;
    of.each_run(|_| count += 1);
    count
}

#[test]
fn blocks__vector_has_the_extent_of_the_standard() {
    let vector = Datatype::blocks(&int(), (0..3).map(|i| (i * 16, 2))).unwrap();
    assert_eq!((vector.size(), vector.lb(), vector.extent()), (24, 0, 40));
    assert!(!vector.is_contiguous());
    assert_eq!(pieces(&vector, 4, 12), [(4, 4), (16, 8)]);
    assert_eq!(pieces(&vector, 20, 8), [(36, 4), (40, 4)]);
}

#[test]
fn blocks__neighbours_become_one_piece() {
    let contiguous = Datatype::blocks(&int(), [(0, 2), (8, 3)]).unwrap();
    assert!(contiguous.is_contiguous());
    assert_eq!(runs(&contiguous), 1);
    assert_eq!(contiguous.elements(), 5);
}

#[test]
fn structure__mixed_elements_in_one_piece_are_contiguous() {
    let double = Datatype::basic(Class::Float, 8);
    let both = Datatype::structure([(0, 2, &int()), (8, 1, &double)]).unwrap();
    assert!(both.is_contiguous());
    assert_eq!(both.only_basic(), None);
    assert_eq!(both.elements_in(12), None);
    assert_eq!(both.elements_in(8), Some(2));
    assert_eq!(both.elements_in(20), Some(4));
    assert_eq!([0, 1, 2, 3, 4, 6].map(|n| both.bytes_of(n)), [0, 4, 8, 16, 20, 32]);
}

#[test]
fn resized__keeps_elements_and_true_bounds() {
    let wide = int().resized(-4, 16).unwrap();
    assert_eq!((wide.lb(), wide.ub(), wide.extent()), (-4, 12, 16));
    assert_eq!(wide.true_bounds(), (0, 4));
    assert_eq!(pieces(&wide, 0, 8), [(0, 4), (16, 4)]);
}

#[test]
fn structure__ends_where_the_next_one_of_an_array_may_begin() {
    let (char, wide) =
        (Datatype::basic(Class::Character, 1), Datatype::basic(Class::LongDouble, 16));
    let inner = Datatype::structure([(0, 1, &int()), (4, 1, &char)]).unwrap();
    assert_eq!((inner.extent(), inner.true_bounds()), (8, (0, 5)));
    let outer = Datatype::structure([(0, 1, &wide), (16, 1, &inner)]).unwrap();
    assert_eq!((outer.extent(), outer.true_bounds()), (32, (0, 21)));
    let twice = Datatype::blocks(&outer, [(0, 2)]).unwrap();
    assert_eq!((twice.extent(), twice.true_bounds()), (64, (0, 53)));
    let apart = Datatype::blocks(&int(), [(0, 1), (5, 1)]).unwrap();
    assert_eq!(apart.extent(), 12);
}

/// Parts need not be aligned: so the padding of the last one can be what ends last.
#[test]
fn structure__reaches_as_far_as_its_parts() {
    let inner = Datatype::blocks(&int(), (0..3).map(|i| (i * 25, 4))).unwrap();
    assert_eq!((inner.extent(), inner.true_bounds()), (68, (0, 66)));
    let outer = Datatype::blocks(&inner, [(0, 3), (4 * 68 + 1, 3)]).unwrap();
    assert_eq!((outer.extent(), outer.true_bounds()), (480, (0, 475)));
    let empty = Datatype::blocks(&int(), []).unwrap();
    let made = Datatype::structure([(0, 1, &int()), (100, 1, &empty)]).unwrap();
    assert_eq!(made.extent(), 4);
}

#[test]
fn structure__bounds_that_the_program_has_set_count_alone() {
    let set = int().resized(-4, 6).unwrap();
    let made = Datatype::structure([(0, 2, &set), (100, 1, &int())]).unwrap();
    assert_eq!((made.lb(), made.ub()), (-4, 8));
    let empty = Datatype::blocks(&int(), []).unwrap().resized(0, 24).unwrap();
    let made = Datatype::structure([(0, 1, &int()), (8, 1, &empty)]).unwrap();
    assert_eq!((made.lb(), made.ub(), made.size()), (8, 32, 4));
}

/// A list of all elements, one after the other: place and bytes.
fn listed(of: &Datatype) -> Vec<(isize, usize)> {
    let mut all = Vec::new();
    of.each_run(|run| {
        let size = usize::from(run.basic.size);
        all.extend((0..run.count).map(|i| (run.at + (i * size) as isize, size)));
    });
    all
}

/// The same bytes as the list of elements says, whatever part of the packed bytes is asked for.
fn check_pieces(of: &Datatype) {
    let packed: Vec<isize> =
        listed(of).into_iter().flat_map(|(at, n)| (0..n as isize).map(move |i| at + i)).collect();
    assert_eq!(packed.len(), of.size());
    let second = packed.iter().map(|at| at + of.extent());
    let packed: Vec<isize> = packed.iter().copied().chain(second).collect();
    for offset in 0..packed.len() {
        for n in [0, 1, 5, packed.len() - offset] {
            let n = n.min(packed.len() - offset);
            let found = pieces(of, offset, n).into_iter();
            let found: Vec<isize> =
                found.flat_map(|(at, n)| (0..n as isize).map(move |i| at + i)).collect();
            assert_eq!(found, packed[offset..offset + n], "{offset} {n} {of:?}");
        }
    }
    for count in 0..=2 * of.elements() {
        assert_eq!(of.elements_in(of.bytes_of(count)), Some(count));
    }
}

/// Where each of `n` packed bytes from `offset` on lies, as [`Datatype::pieces`] tells it, and how
/// often that has told something.
fn unordered(of: &Datatype, offset: usize, n: usize) -> (Vec<Option<isize>>, usize) {
    let (mut places, mut told) = (vec![None; n], 0);
    of.pieces(offset, n, |before, Pieces { at, len, count, stride, packed_stride }| {
        told += 1;
        for (i, byte) in (0..count).flat_map(|i| (0..len).map(move |byte| (i, byte))) {
            let place = &mut places[before + i * packed_stride + byte];
            assert_eq!(*place, None, "told twice");
            *place = Some(at + i as isize * stride + byte as isize);
        }
    });
    (places, told)
}

/// As [`check_pieces`], of more elements and in any order.
fn check_unordered(of: &Datatype) {
    let all = 150 * of.size();
    for offset in [0, 1, of.size() - 1, of.size(), 40 * of.size() + 3, all - 2] {
        for n in [0, 1, 2 * of.size(), 77 * of.size() + 1, all] {
            let n = n.min(all - offset);
            let pieces = pieces(of, offset, n).into_iter();
            let in_order = pieces.flat_map(|(at, len)| (at..at + len as isize).map(Some));
            let (found, _) = unordered(of, offset, n);
            assert_eq!(found, in_order.collect::<Vec<_>>(), "{offset} {n} {of:?}");
        }
    }
}

fn described(of: &Datatype) -> Vec<u8> {
    let mut text = Vec::new();
    of.describe(&mut text);
    text
}

#[test]
fn from_description__is_what_was_described() {
    let char = Datatype::basic(Class::Character, 1);
    let long = Datatype::of(Basic::new(Class::Signed, 8).with_external(4));
    let pair = Datatype::structure([(0, 1, &long), (8, 1, &char)]).unwrap();
    let vector = Datatype::vector(&pair, 3, 4, 2, 40).unwrap();
    let mixed = Datatype::structure([(0, 2, &int()), (100, 1, &vector), (9, 1, &char)]).unwrap();
    let empty = Datatype::blocks(&int(), []).unwrap();
    for of in [&int(), &pair, &vector, &mixed, &mixed.resized(-8, 5000).unwrap(), &empty] {
        let text = described(of);
        let read = Datatype::from_description(&text).unwrap();
        assert_eq!((read.lb(), read.ub(), listed(&read)), (of.lb(), of.ub(), listed(of)));
        assert_eq!(
            (read.only_basic(), read.external_size()),
            (of.only_basic(), of.external_size())
        );
        assert_eq!(read.is_contiguous(), of.is_contiguous());
        for end in (0..text.len()).filter(|end| *end != 16) {
            assert!(Datatype::from_description(&text[..end]).is_none(), "{end} of {of:?}");
        }
    }
    // The first 16 bytes are the bounds, with no element between them.
    let mut wrong = described(&int());
    wrong[24] = 9;
    assert!(Datatype::from_description(&wrong).is_none());
}

#[test]
fn pieces__are_those_of_the_elements() {
    let char = Datatype::basic(Class::Character, 1);
    let pair = Datatype::structure([(0, 1, &int()), (4, 1, &char)]).unwrap();
    let vector = Datatype::vector(&pair, 3, 4, 2, 40).unwrap();
    let same = Datatype::blocks(&pair, (0..4).map(|i| (3 + i * 40, 2))).unwrap();
    assert_eq!(listed(&vector), listed(&same));
    assert_eq!((vector.lb(), vector.extent()), (same.lb(), same.extent()));
    let backwards = Datatype::vector(&vector, 0, 3, 1, -300).unwrap();
    let mixed = [(0, 2, &int()), (100, 1, &vector), (300, 3, &pair), (9, 1, &char)];
    let mixed = Datatype::structure(mixed).unwrap();
    let irregular = Datatype::blocks(&mixed, [(0, 1), (1000, 1), (2000, 1), (2500, 2)]).unwrap();
    let wide = irregular.resized(-8, 5000).unwrap();
    for of in [&pair, &vector, &same, &backwards, &mixed, &irregular, &wide] {
        check_pieces(of);
        check_unordered(of);
    }
    assert_eq!(backwards.true_bounds().0, -597);
}

/// A C structure of an int, a double and four characters, with gaps before and behind the double.
#[test]
fn pieces__of_an_array_of_structures_are_told_together() {
    let double = Datatype::basic(Class::Float, 8);
    let char = Datatype::basic(Class::Character, 1);
    let mixed = [(0, 1, &int()), (8, 1, &double), (16, 4, &char)];
    let mixed = Datatype::structure(mixed).unwrap();
    assert_eq!((mixed.size(), mixed.extent()), (16, 24));
    check_pieces(&mixed);
    check_unordered(&mixed);
    let (_, told) = unordered(&mixed, 0, 6400 * mixed.size());
    assert!(told <= 200, "{told} pieces");
}

/// However many blocks there are: what repeats is described once.
#[test]
fn vector__takes_no_memory_for_its_blocks() {
    const MANY: usize = 1 << 30;
    let column = Datatype::vector(&int(), 0, MANY, 1, 12).unwrap();
    assert_eq!((column.size(), column.extent()), (4 * MANY, 12 * MANY as isize - 8));
    assert_eq!(pieces(&column, 4 * (MANY - 1), 4), [(12 * (MANY as isize - 1), 4)]);
    let of = Datatype::blocks(&column, [(0, 1000)]).unwrap();
    assert_eq!(of.elements(), 1000 * MANY);
    let regular = Datatype::blocks(&int(), (0..100_000).map(|i| (i * 8, 1))).unwrap();
    let text = format!("{regular:?}");
    assert!(text.len() < 2000, "{} bytes", text.len());
}

#[test]
fn vector__that_cannot_be_addressed_is_none() {
    let most = isize::MAX as usize;
    assert!(Datatype::vector(&int(), 0, most, 1, 8).is_none());
    assert!(Datatype::vector(&int(), isize::MAX - 2, 1, 1, 0).is_none());
    assert!(Datatype::blocks(&int(), [(0, most)]).is_none());
    assert!(Datatype::blocks(&int(), [(isize::MIN, 1), (isize::MAX - 8, 1)]).is_none());
    assert!(int().resized(isize::MAX, 1).is_none());
}
