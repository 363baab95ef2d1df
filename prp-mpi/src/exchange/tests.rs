//! What a rank that does not receive keeps, at both ends.

use std::os::fd::AsFd;

use super::*;
use crate::datatype::{Class, Datatype};
use crate::sys::shared::{Bell, SharedEnd};
use crate::wire::Signature;

/// Two ranks that share memory.
pub(super) fn pair() -> [Exchange; 2] {
    let memory = SharedEnd::memory(2).unwrap();
    [0, 1].map(|me| {
        let bell = Bell::new().unwrap().as_fd().try_clone_to_owned().unwrap();
        let end = SharedEnd::new(memory.try_clone().unwrap(), me == 0, bell).unwrap();
        let mut streams = vec![None, None];
        streams[1 - me] = Some(Stream::Local(end));
        Exchange::new(me, streams).unwrap()
    })
}

/// The header of a message of rank 0.
pub(super) fn header(tag: i32) -> Header {
    Header {
        kind: Kind::Message,
        source: 0,
        tag,
        id: 0,
        context: 2,
        len: 0,
        signature: Signature::default(),
    }
}

/// How many messages a rank has sent before it would have to wait.
fn sent_at_once(sends: &mut Exchange, bytes: usize, most: usize) -> usize {
    (0..most)
        .take_while(|_| {
            let request = sends.send(1, header(1), &Region::owned(bytes));
            sends.take(request).is_some()
        })
        .count()
}

#[test]
fn send__to_a_rank_that_takes_nothing_in_waits_in_the_end() {
    const RING: usize = 256 << 10;
    for (bytes, copied) in [(8, 16 << 10), (COPIED, (4 << 20) / COPIED)] {
        let [mut sends, mut takes] = pair();
        let count = sent_at_once(&mut sends, bytes, 1 << 20);
        // What the stream has room for is not copied.
        assert!((copied..=copied + 1 + RING / bytes).contains(&count), "{count} of {bytes}");
        // All are sent once the other rank takes them in, and then there is room again.
        while !sends.is_all_out() {
            takes.progress();
            sends.progress();
        }
        while takes.progress() {}
        assert_eq!(takes.unexpected_len(), count + 1);
        assert_eq!(sent_at_once(&mut sends, bytes, copied), copied);
    }
}

#[test]
fn progress__takes_in_as_many_unexpected_messages_as_are_kept() {
    let [mut sends, mut takes] = pair();
    let mut sent = 0;
    while sent < HELD_MESSAGES + 2 * CREDIT {
        sent += sent_at_once(&mut sends, 0, 1000) + 1;
        takes.progress();
        sends.progress();
    }
    while takes.progress() || sends.progress() {}
    assert_eq!(takes.unexpected_len(), HELD_MESSAGES);
    assert!(takes.is_stalled());
    // A rank that waits takes in more, behind which may be what it waits for.
    assert!(takes.admit_one());
    while takes.progress() || sends.progress() {}
    assert_eq!(takes.unexpected_len(), HELD_MESSAGES + 1 + CREDIT);
    // What a receive waits for comes in as soon as it is the next.
    let any = Pattern { context: 2, source: None, tag: None };
    for _ in 0..CREDIT + 2 {
        let request = takes.receive(any, Region::owned(0));
        assert!(takes.take(request).is_some());
    }
    takes.progress();
    assert_eq!(takes.unexpected_len(), HELD_MESSAGES);
}

#[test]
fn send__pieces_of_memory_come_in_their_order_however_much_room_there_is() {
    let double = Datatype::basic(Class::Float, 8);
    for count in [1, 127, 128, 1000, 50_000] {
        let column = Arc::new(Datatype::vector(&double, 0, count, 1, 24).unwrap());
        let spread = |of: &Region| of.elements(0, 1, &column).unwrap();
        let mut all = pair();
        let (mut matrix, other) = (Region::owned(24 * count), Region::owned(24 * count));
        let numbers: Vec<u8> = (0..24 * count).map(|i| (i / 8 % 251) as u8).collect();
        matrix.write(0, &numbers);
        let before = all[0].send(1, header(1), &Region::owned(1));
        let sent = all[0].send(1, header(1), &spread(&matrix));
        let behind = all[0].send(1, header(1), &Region::owned(1));
        let pattern = Pattern { context: 2, source: Some(0), tag: Some(1) };
        let regions = [Region::owned(1), spread(&other), Region::owned(1)];
        let received = regions.map(|region| all[1].receive(pattern, region));
        while all[0].progress() | all[1].progress() {}
        assert!([before, sent, behind].into_iter().all(|request| all[0].take(request).is_some()));
        assert!(received.into_iter().all(|request| all[1].take(request).is_some()));
        assert_eq!(spread(&other).to_vec(), spread(&matrix).to_vec(), "{count}");
    }
}
