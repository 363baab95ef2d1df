use super::*;
use crate::exchange::tests::{header, pair};
use crate::sys::memory::Region;

fn send(sends: &mut Exchange, bytes: usize) {
    let request = sends.send(1, header(0), &Region::owned(bytes));
    sends.free(request);
}

#[test]
fn departure__of_a_message_that_was_copied_is_when_it_has_left() {
    let [mut sends, mut takes] = pair();
    send(&mut sends, 1 << 20);
    send(&mut sends, 8);
    let number = sends.last_queued(1).unwrap();
    // What is sent later is not waited for.
    send(&mut sends, 1 << 20);
    let request = sends.departure([(1, number)]);
    while !sends.is_done(request) {
        assert!(sends.last_queued(1).is_some());
        takes.progress();
        sends.progress();
    }
    assert!(!sends.is_all_out());
    let again = sends.departure([(1, number)]);
    assert!(sends.is_done(again));
}

#[test]
fn departure__of_nothing_is_at_once() {
    let [mut sends, _takes] = pair();
    send(&mut sends, 8);
    assert_eq!(sends.last_queued(1), None);
    let request = sends.departure([]);
    assert!(sends.is_done(request));
}
