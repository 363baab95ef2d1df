use alloc::vec;

use super::*;

const START: Instant = Instant::from_nanos(1_000_000_000);

/// A stock of so many pieces, put there at [`START`].
fn stock(pieces: usize) -> Stock {
    let mut stock = Stock::default();
    (0..pieces).for_each(|i| stock.put(START, vec![i as u8; PIECE]));
    stock
}

#[test]
fn take__gives_what_came_last() {
    let mut stock = stock(2);
    assert_eq!(stock.held(), 2 * PIECE);
    assert_eq!(stock.take().unwrap()[0], 1);
    assert_eq!(stock.take().unwrap()[0], 0);
    assert!(stock.take().is_none());
    assert_eq!(stock.held(), 0);
}

#[test]
fn put__keeps_no_more_than_there_is_room_for() {
    let mut stock = stock(0);
    assert_eq!((stock.held(), stock.due()), (0, None));
    for _ in 0..MOST / PIECE + 1 {
        stock.put(START, vec![0; PIECE]);
    }
    assert_eq!(stock.held(), MOST);
}

#[test]
fn expire__frees_what_nobody_wanted_meanwhile() {
    let mut stock = stock(3);
    stock.expire(START);
    assert_eq!(stock.held(), 3 * PIECE, "not yet");
    let first = stock.due().unwrap();
    stock.expire(first);
    assert_eq!(stock.held(), 3 * PIECE, "it came since the last look");

    let used = [stock.take().unwrap(), stock.take().unwrap()];
    used.into_iter().for_each(|piece| stock.put(first, piece));
    let second = stock.due().unwrap();
    stock.expire(second);
    assert_eq!(stock.held(), 2 * PIECE, "two of the three were of use");
    assert!(stock.pieces.iter().all(|piece| piece[0] > 0), "the one used least of all has gone");

    let third = stock.due().unwrap();
    stock.expire(third);
    assert_eq!((stock.held(), stock.due()), (0, None));
}

/// What is freed is told once, by whichever way it went.
#[test]
fn take_freed__counts_all_that_is_freed() {
    let mut stock = stock(3);
    stock.expire(stock.due().unwrap());
    assert!(!stock.take_freed(1), "they were wanted just now");
    stock.expire(stock.due().unwrap());
    assert!(!stock.take_freed(3 * PIECE + 1));
    stock.note_freed(1);
    assert!(stock.take_freed(3 * PIECE + 1));
    assert!(!stock.take_freed(1));
    (0..=MOST / PIECE).for_each(|_| stock.put(START, vec![0; PIECE]));
    assert!(stock.take_freed(PIECE));
}
