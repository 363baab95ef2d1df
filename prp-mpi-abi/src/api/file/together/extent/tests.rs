use std::sync::Arc;

use prp_mpi::datatype::{Class, Datatype};

use super::*;
use crate::object::Info;

/// A view of the first `taken` of every `all` bytes, from byte `start` on.
pub(in super::super) fn strided(start: u64, taken: usize, all: isize) -> View {
    let tile = Datatype::blocks(&Datatype::basic(Class::Byte, 1), [(0, taken)]).unwrap();
    let tile = Arc::new(tile.resized(0, all).unwrap());
    View { start, tile, ..View::bytes(Handle::BYTE) }
}

/// What some ranks access, with hints.
pub(in super::super) fn extents_of(ranks: Vec<Extent>, hints: &[(&str, &str)]) -> Extents {
    let info: Info = hints.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    Extents { ranks, hints: Hints::parse(&info) }
}

/// Four ranks that take turns with pieces of `len` bytes, `count` pieces each.
fn in_turn(len: usize, count: usize) -> Vec<Extent> {
    let of = |rank| strided((rank * len) as u64, len, 4 * len as isize);
    (0..4).map(|rank| Extent::of(&of(rank), 0, len * count)).collect()
}

#[test]
fn of__is_where_the_pieces_are() {
    let view = strided(1000, 10, 100);
    let expected = Extent { low: 1005, high: 1310, pieces: 4, bytes: 35, is_ascending: true };
    assert_eq!(Extent::of(&view, 5, 35), expected);
    assert_eq!(Extent::from_words(&expected.to_words()), expected);
    assert_eq!(Extent::of(&view, 5, 0).bytes, 0);
    let backwards = Datatype::blocks(&Datatype::basic(Class::Byte, 1), [(8, 4), (0, 4)]).unwrap();
    let view = View { tile: Arc::new(backwards), ..view };
    assert!(!Extent::of(&view, 0, 8).is_ascending);
    assert!(Extent::of(&view, 0, 4).is_ascending);
}

#[test]
fn are_worth_it__where_short_pieces_of_ranks_are_between_each_other() {
    let of = |ranks| extents_of(ranks, &[]).are_worth_it(true);
    assert!(of(in_turn(64, 1000)));
    assert!(!of(in_turn(LONG as usize + 1, 1000)), "long pieces");
    assert!(!of(in_turn(64, 1)), "one piece each");
    assert!(!of(Vec::new()), "nothing");
    let apart = [0, 12_800].map(|start| Extent::of(&strided(start, 64, 128), 0, 6400));
    assert!(!of(apart.into()), "one rank behind the other");
    let sparse = [0, 64].map(|start| Extent::of(&strided(start, 64, 1 << 20), 0, 6400));
    assert!(!of(sparse.into()), "far from each other");
    let mut backwards = in_turn(64, 1000);
    backwards[2].is_ascending = false;
    assert!(!of(backwards), "not in the order of the file");
}

#[test]
fn are_worth_it__hints_decide() {
    let never = [("romio_cb_write", "disable"), ("romio_cb_read", "enable")];
    let all = extents_of(in_turn(64, 1000), &never);
    assert!(!all.are_worth_it(true) && all.are_worth_it(false));
    let one_each = extents_of(in_turn(64, 1), &never);
    assert!(one_each.are_worth_it(false) && !one_each.are_worth_it(true));
}
