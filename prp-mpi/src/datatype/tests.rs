use super::*;

fn int() -> Datatype {
    Datatype::basic(Class::Signed, 4)
}

fn pieces(of: &Datatype, offset: usize, n: usize) -> Vec<(isize, usize)> {
    let mut all = Vec::new();
    of.pieces(offset, n, |at, len| all.push((at, len)));
    all
}

#[test]
fn blocks__vector_has_the_extent_of_the_standard() {
    let vector = Datatype::blocks(&int(), (0..3).map(|i| (i * 16, 2)));
    assert_eq!((vector.size(), vector.lb(), vector.extent()), (24, 0, 40));
    assert!(!vector.is_contiguous());
    assert_eq!(pieces(&vector, 4, 12), [(4, 4), (16, 8)]);
    assert_eq!(pieces(&vector, 20, 8), [(36, 4), (40, 4)]);
}

#[test]
fn blocks__neighbours_become_one_piece() {
    let contiguous = Datatype::blocks(&int(), [(0, 2), (8, 3)]);
    assert!(contiguous.is_contiguous());
    assert_eq!(contiguous.runs().len(), 1);
    assert_eq!(contiguous.elements(), 5);
}

#[test]
fn structure__mixed_elements_in_one_piece_are_contiguous() {
    let double = Datatype::basic(Class::Float, 8);
    let both = Datatype::structure([(0, 2, &int()), (8, 1, &double)]);
    assert!(both.is_contiguous());
    assert_eq!(both.only_basic(), None);
    assert_eq!(both.elements_in(12), None);
    assert_eq!(both.elements_in(8), Some(2));
    assert_eq!(both.elements_in(20), Some(4));
    assert_eq!([0, 1, 2, 3, 4, 6].map(|n| both.bytes_of(n)), [0, 4, 8, 16, 20, 32]);
}

#[test]
fn resized__keeps_elements_and_true_bounds() {
    let wide = int().resized(-4, 16);
    assert_eq!((wide.lb(), wide.ub(), wide.extent()), (-4, 12, 16));
    assert_eq!(wide.true_bounds(), (0, 4));
    assert_eq!(pieces(&wide, 0, 8), [(0, 4), (16, 4)]);
}

#[test]
fn structure__ends_where_the_next_one_of_an_array_may_begin() {
    let (char, wide) =
        (Datatype::basic(Class::Character, 1), Datatype::basic(Class::LongDouble, 16));
    let inner = Datatype::structure([(0, 1, &int()), (4, 1, &char)]);
    assert_eq!((inner.extent(), inner.true_bounds()), (8, (0, 5)));
    let outer = Datatype::structure([(0, 1, &wide), (16, 1, &inner)]);
    assert_eq!((outer.extent(), outer.true_bounds()), (32, (0, 21)));
    let twice = Datatype::blocks(&outer, [(0, 2)]);
    assert_eq!((twice.extent(), twice.true_bounds()), (64, (0, 53)));
    let apart = Datatype::blocks(&int(), [(0, 1), (5, 1)]);
    assert_eq!(apart.extent(), 12);
}

/// Parts need not be aligned: so the padding of the last one can be what ends last.
#[test]
fn structure__reaches_as_far_as_its_parts() {
    let inner = Datatype::blocks(&int(), (0..3).map(|i| (i * 25, 4)));
    assert_eq!((inner.extent(), inner.true_bounds()), (68, (0, 66)));
    let outer = Datatype::blocks(&inner, [(0, 3), (4 * 68 + 1, 3)]);
    assert_eq!((outer.extent(), outer.true_bounds()), (480, (0, 475)));
    let empty = Datatype::blocks(&int(), []);
    let made = Datatype::structure([(0, 1, &int()), (100, 1, &empty)]);
    assert_eq!(made.extent(), 4);
}

#[test]
fn structure__bounds_that_the_program_has_set_count_alone() {
    let set = int().resized(-4, 6);
    let made = Datatype::structure([(0, 2, &set), (100, 1, &int())]);
    assert_eq!((made.lb(), made.ub()), (-4, 8));
    let empty = Datatype::blocks(&int(), []).resized(0, 24);
    let made = Datatype::structure([(0, 1, &int()), (8, 1, &empty)]);
    assert_eq!((made.lb(), made.ub(), made.size()), (8, 32, 4));
}
