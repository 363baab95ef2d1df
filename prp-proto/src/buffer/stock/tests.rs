use alloc::vec;

use super::*;

const START: Instant = Instant::from_nanos(1_000_000_000);

/// A stock with `pieces`, put there at [`START`].
fn stock(pieces: &[usize]) -> Stock {
    let mut stock = Stock::default();
    pieces.iter().for_each(|len| stock.put(START, vec![1; *len]));
    stock
}

#[test]
fn take__gives_the_smallest_that_will_do() {
    let mut stock = stock(&[4 * LEAST, LEAST, 2 * LEAST]);
    assert_eq!(stock.held(), 7 * LEAST);
    assert!(stock.take(1..=LEAST - 1).is_none(), "nothing is so small");
    assert_eq!(stock.take(LEAST + 1..=8 * LEAST).unwrap().len(), 2 * LEAST);
    assert_eq!(stock.take(LEAST + 1..=8 * LEAST).unwrap().len(), 4 * LEAST);
    assert!(stock.take(LEAST + 1..=8 * LEAST).is_none());
    assert_eq!(stock.held(), LEAST);
}

#[test]
fn put__keeps_what_is_worth_it_and_no_more_than_there_is_room_for() {
    let mut stock = stock(&[LEAST - 1]);
    assert_eq!((stock.held(), stock.due()), (0, None));
    for _ in 0..9 {
        stock.put(START, vec![0; MOST / 8]);
    }
    assert_eq!(stock.held(), MOST);
}

#[test]
fn expire__frees_what_nobody_wanted_meanwhile() {
    let mut stock = stock(&[LEAST, LEAST, LEAST]);
    stock.expire(START);
    assert_eq!(stock.held(), 3 * LEAST, "not yet");
    let first = stock.due().unwrap();
    stock.expire(first);
    assert_eq!(stock.held(), 3 * LEAST, "it came since the last look");

    let used = [stock.take(LEAST..=LEAST).unwrap(), stock.take(LEAST..=LEAST).unwrap()];
    used.into_iter().for_each(|memory| stock.put(first, memory));
    let second = stock.due().unwrap();
    stock.expire(second);
    assert_eq!(stock.held(), 2 * LEAST, "two of the three were of use");

    let third = stock.due().unwrap();
    stock.expire(third);
    assert_eq!((stock.held(), stock.due()), (0, None));
}
