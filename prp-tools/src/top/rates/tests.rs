use super::*;
use crate::stat::tests::snapshot;

/// A snapshot of one process with a connection from 1:61000 to 2:7000 and these counters.
pub(in super::super) fn snapshot_of(counted: &[(&str, u64)]) -> Snapshot {
    let mut snapshot = snapshot();
    let process = &mut snapshot.processes[0];
    let counters = &mut process.connections[0].counters;
    counters.extend(counted.iter().map(|(name, n)| ((*name).to_owned(), *n)));
    snapshot
}

/// Two samples, a second apart.
fn second_sample(first: &Snapshot, second: &Snapshot) -> Sample {
    let (mut rates, start) = (Rates::default(), Instant::now());
    let sample = rates.sample(first, start, |_| true);
    assert_eq!((sample.seconds, sample.connections[0].send_bits_per_second), (None, None));
    rates.sample(second, start + Duration::from_secs(1), |_| true)
}

#[test]
fn sample__has_what_was_counted_in_a_second() {
    let first = snapshot_of(&[("bytes_sent", 1000), ("retransmitted", 3), ("segments_sent", 10)]);
    let mut second =
        snapshot_of(&[("bytes_sent", 3000), ("retransmitted", 4), ("segments_sent", 13)]);
    let process = &mut second.processes[0];
    process.drops.insert("bad_crc".into(), 6);
    process.counters.insert("frames_sent".into(), 19);
    let sample = second_sample(&first, &second);
    assert_eq!(sample.seconds, Some(1.0));
    let row = &sample.connections[0];
    assert_eq!(
        (row.send_bits_per_second, row.receive_bits_per_second, row.retransmitted_per_second),
        (Some(16_000.0), Some(0.0), Some(1.0))
    );
    let totals = &sample.totals;
    assert_eq!(totals.send_bits_per_second, Some(16_000.0));
    assert_eq!(totals.retransmitted_percent, Some(25.0));
    assert_eq!(totals.frames_sent_per_second, Some(10.0));
    assert_eq!(totals.drops_per_second, [("bad_crc".to_owned(), 5.0)].into());
    assert_eq!(totals.states, [("ESTAB".to_owned(), 1)].into());
    assert_eq!(totals.median_rtt_seconds, Some(0.000_12));
}

/// The ends of a connection that is over serve again.
#[test]
fn sample__a_new_connection_with_the_same_ends_counts_from_0() {
    let sample =
        second_sample(&snapshot_of(&[("bytes_sent", 1000)]), &snapshot_of(&[("bytes_sent", 10)]));
    assert_eq!(sample.connections[0].send_bits_per_second, Some(80.0));
}

#[test]
fn sample__a_silent_process_has_no_rates() {
    let first = snapshot_of(&[]);
    let mut second = snapshot_of(&[]);
    second.processes[0].is_stale = true;
    let sample = second_sample(&first, &second);
    assert_eq!(sample.stale_processes, 1);
    assert_eq!(sample.connections[0].send_bits_per_second, None);
}

/// A connection that comes to be shown has not sent everything within this second.
#[test]
fn sample__rates_are_of_what_was_not_shown_before_too() {
    let (mut rates, start) = (Rates::default(), Instant::now());
    let none = rates.sample(&snapshot_of(&[("bytes_sent", 1000)]), start, |_| false);
    assert!(none.connections.is_empty() && none.totals.states.is_empty());
    let second = snapshot_of(&[("bytes_sent", 1001)]);
    let sample = rates.sample(&second, start + Duration::from_secs(2), |_| true);
    assert_eq!(sample.totals.send_bits_per_second, Some(4.0));
}
