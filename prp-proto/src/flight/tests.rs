use alloc::vec::Vec;
use core::time::Duration;

use proptest::prelude::*;

use super::*;

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn flight(n: u32) -> Flight {
    let mut f = Flight::new(Seq::new(u32::MAX - 1));
    for i in 0..n {
        f.push(u64::from(i) * 100, 100, false, i + 1 == n, at(u64::from(i)));
    }
    f
}

#[test]
fn ack_to__reports_bytes_end_and_round_trip_of_the_newest() {
    let mut f = flight(5);
    let acked = f.ack_to(f.base() + 3, at(10));
    assert_eq!((acked.segments, acked.upto, acked.eoc), (3, Some(300), false));
    assert_eq!(acked.rtt, Some(Duration::from_micros(8)));
    let acked = f.ack_to(f.next(), at(10));
    assert!(acked.eoc && f.is_empty());
    assert_eq!(f.cost(), 0);
}

#[test]
fn ack_to__a_repeated_segment_gives_no_round_trip() {
    let mut f = flight(1);
    let seq = f.base();
    f.mark_lost_if(|_| true);
    f.resent(seq, at(5));
    assert_eq!(f.ack_to(f.next(), at(10)).rtt, None);
}

#[test]
fn lost__is_sent_again_in_order_and_forgets_what_arrived_meanwhile() {
    let mut f = flight(6);
    let base = f.base();
    f.mark_received(base + 4);
    f.mark_all_lost();
    f.mark_received(base + 1);
    f.ack_to(base + 1, at(9));
    let mut again = Vec::new();
    while let Some((seq, _)) = f.next_lost() {
        f.resent(seq, at(20));
        again.push(seq.since(base));
    }
    assert_eq!(again, [2, 3, 5]);
    assert!(!f.has_lost());
}

#[test]
fn newest__follows_the_order_of_transmission_not_of_numbers() {
    let mut f = flight(3);
    let base = f.base();
    f.mark_received(base + 2);
    assert_eq!(f.newest(), Some(2));
    f.mark_lost_if(|s| s.at == 0);
    f.resent(base, at(30));
    f.ack_to(base + 1, at(40));
    assert_eq!(f.newest(), Some(3));
}

proptest! {
    /// The counters always say what a count over the segments says.
    #[test]
    fn counters__agree_with_the_segments(ops in proptest::collection::vec((0u8..6, 0u32..20), 0..200)) {
        let mut f = Flight::new(Seq::new(7));
        for (op, n) in ops {
            let seq = f.base() + n;
            match op {
                0 => { f.push(0, n as u16, false, false, at(0)); }
                1 => { if !f.next().before(seq) { f.ack_to(seq, at(1)); } }
                2 => { f.mark_received(seq); }
                3 => { f.mark_lost_if(|s| s.order % 20 == n); }
                4 => { if let Some((seq, _)) = f.next_lost() { f.resent(seq, at(2)); } }
                _ => f.mark_all_lost(),
            }
            let count = |fate| f.iter().filter(|s| s.fate == fate).count();
            prop_assert_eq!(f.has_lost(), count(Fate::Lost) > 0);
            prop_assert_eq!(f.has_received(), count(Fate::Received) > 0);
            let cost: usize = f.iter().filter(|s| s.fate == Fate::InFlight).map(|s| s.cost()).sum();
            prop_assert_eq!(f.cost(), cost);
            let lost = count(Fate::Lost) > 0;
            prop_assert_eq!(f.next_lost().is_some(), lost);
        }
    }
}

#[test]
fn mark_lost_if__names_the_earliest_transmission() {
    let mut f = flight(4);
    f.mark_lost_if(|s| s.at == 0);
    f.resent(f.base(), at(9));
    assert_eq!(f.mark_lost_if(|_| true), Some((4, 1)));
}

/// News is what was not known to have arrived, lost or not.
#[test]
fn ack_to__costs_what_is_news_and_tells_a_false_loss() {
    let mut f = flight(4);
    let base = f.base();
    f.mark_received(base + 1);
    f.mark_lost_if(|s| s.at == 200);
    let acked = f.ack_to(base + 2, at(9));
    assert_eq!((acked.cost, acked.false_loss), (100 + FRAME_COST, false));
    let acked = f.ack_to(base + 4, at(9));
    assert_eq!((acked.cost, acked.false_loss), (2 * (100 + FRAME_COST), true));
    assert!(!f.has_lost() && !f.has_received());
}

/// What the peer was known to hold says nothing about how long the acknowledgement took.
#[test]
fn ack_to__a_segment_that_had_arrived_gives_no_round_trip() {
    let mut f = flight(1);
    f.mark_received(f.base());
    assert_eq!(f.ack_to(f.next(), at(10)).rtt, None);
}

#[test]
fn mark_received__costs_what_is_news() {
    let mut f = flight(3);
    let base = f.base();
    f.mark_lost_if(|s| s.at == 100);
    assert_eq!(f.mark_received(base + 1), Some(100 + FRAME_COST));
    assert_eq!(f.mark_received(base + 2), Some(100 + FRAME_COST));
    assert_eq!(f.mark_received(base + 2), None);
    assert_eq!(f.mark_received(base + 3), None);
    assert_eq!(f.cost(), 100 + FRAME_COST);
}

/// What is lost for the second time goes behind what was lost meanwhile.
#[test]
fn lost__a_second_time_waits_behind_others() {
    let mut f = flight(3);
    let base = f.base();
    f.mark_lost_if(|s| s.at < 200);
    f.resent(base, at(9));
    f.mark_lost_if(|_| true);
    let mut again = Vec::new();
    while let Some((seq, _)) = f.next_lost() {
        f.resent(seq, at(20));
        again.push(seq.since(base));
    }
    assert_eq!(again, [1, 0, 2]);
    assert_eq!(f.get(base).map(|s| (s.sends, s.sent)), Some((3, at(20))));
}

#[test]
fn clear__not_as_long_as_there_is_anything() {
    let mut f = flight(2);
    assert!(!f.is_clear());
    f.mark_all_lost();
    f.ack_to(f.next(), at(9));
    assert!(f.is_empty() && !f.is_clear(), "what was lost is still in line");
    f.forget_found();
    assert!(f.is_clear());
    let mut f = flight(2);
    let next = f.next();
    f.clear();
    assert!(f.is_clear() && f.cost() == 0);
    assert_eq!(f.next(), next);
}

#[test]
fn forget_found__drops_what_came_and_nothing_behind_it() {
    let mut f = flight(3);
    let base = f.base();
    f.mark_all_lost();
    f.mark_received(base);
    f.forget_found();
    assert_eq!(f.lost, [base + 1, base + 2]);
    f.forget_found();
    assert_eq!(f.lost, [base + 1, base + 2]);
}

#[test]
fn only_one__that_was_sent_once_and_is_not_lost() {
    assert!(!flight(0).has_only_one() && flight(1).has_only_one() && !flight(2).has_only_one());
    let mut f = flight(1);
    let base = f.base();
    f.mark_lost_if(|_| true);
    assert!(!f.has_only_one());
    f.resent(base, at(5));
    assert!(!f.has_only_one());
    let mut f = flight(1);
    assert_eq!(f.take_only().map(|s| s.end()), Some(100));
    assert_eq!((f.base(), f.cost(), f.newest()), (base + 1, 0, Some(0)));
    assert!(f.take_only().is_none() && f.base() == base + 1);
}

/// There is memory for what was announced, and for no more than may be in flight.
#[test]
fn prepare__finds_memory_beforehand() {
    let mut f = flight(1);
    f.prepare(usize::MAX).unwrap();
    let memory = f.memory();
    assert!(memory >= MAX_WINDOW as usize * size_of::<Segment>());
    (1..MAX_WINDOW).for_each(|_| _ = f.push(0, 100, false, false, at(0)));
    assert_eq!(f.memory(), memory);
    f.trim();
    assert_eq!(f.memory(), memory);
    f.ack_to(f.next(), at(9));
    f.trim();
    assert_eq!(f.memory(), 0);
}

/// The counter of transmissions wraps.
#[test]
fn before__across_the_wrap() {
    assert!(before(1, 2) && !before(2, 2) && !before(3, 2));
    assert!(before(u32::MAX, 0) && !before(0, u32::MAX));
}
