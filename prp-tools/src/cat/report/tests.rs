use prp_sock::{DropReason, Reliability};

use super::*;

#[test]
fn summary__has_bytes_seconds_and_rates() {
    let counts = Counts::default();
    let line = |counts: &Counts| summary(counts, Duration::from_millis(1500));
    assert_eq!(line(&counts), "1.500 s: nothing sent, nothing received");
    counts.add_sent(3_000_000);
    assert_eq!(line(&counts), "1.500 s: sent 3000000 bytes (2.00 MB/s)");
    counts.add_received(15);
    assert_eq!(
        line(&counts),
        "1.500 s: sent 3000000 bytes (2.00 MB/s), received 15 bytes (10 B/s)"
    );
}

#[test]
fn summary__of_no_time_at_all_has_a_finite_rate() {
    let counts = Counts::default();
    counts.add_received(1);
    assert_eq!(summary(&counts, Duration::ZERO), "0.000 s: received 1 bytes (1.00 MB/s)");
}

#[test]
fn terms_line__says_what_was_agreed_on() {
    let mut terms = Terms::CLASSIC;
    (terms.extended, terms.crc) = (true, true);
    terms.reliability = Reliability::SelectiveRepeat;
    assert_eq!(terms_line(&terms), "terms: selective-repeat, 1484 bytes a segment, CRC");
    let mut classic = Terms::CLASSIC;
    classic.mss = 1024;
    assert_eq!(terms_line(&classic), "terms: detect, 1024 bytes a segment, no CRC, classic peer");
}

#[test]
fn counters_line__has_every_counter() {
    let mut stats = ConnStats::default();
    (stats.segments_sent, stats.retransmitted) = (10, 2);
    assert_eq!(
        counters_line("connection", stats.counters()),
        "connection: segments_sent 10, bytes_sent 0, retransmitted 2, spurious 0, timeouts 0, \
         segments_received 0, bytes_received 0, acks_sent 0, acks_received 0, \
         blocked_by_peer_window 0, blocked_by_congestion 0, blocked_by_pace 0, blocked_by_share 0, \
         blocked_by_short_end 0, segment_reductions 0"
    );
}

#[test]
fn segments_line__has_both_directions() {
    let mut stats = ConnStats::default();
    (stats.segments_sent, stats.retransmitted, stats.segments_received) = (10, 2, 7);
    assert_eq!(segments_line(&stats), "segments sent: 10, and 2 again; received: 7 segments");
}

#[test]
fn drops_line__names_the_drops_that_occurred() {
    let mut drops = Drops::default();
    assert_eq!(drops_line("process: dropped", &drops), "process: dropped nothing");
    drops.count(DropReason::Duplicate);
    drops.count(DropReason::BadCrc);
    drops.count(DropReason::Duplicate);
    assert_eq!(drops_line("process: dropped", &drops), "process: dropped bad_crc 1, duplicate 2");
}
