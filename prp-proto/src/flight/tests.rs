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
