use super::*;
use crate::wire::Settings;

/// Passes `count` numbered frames through; returns all frames that come out, and the counters.
fn run(text: &str, count: u32) -> (Vec<Vec<u8>>, Counters) {
    let settings: Settings = text.parse().expect("settings");
    let mut impairment = Impairment::new(settings.faults, settings.seed);
    let (now, mut out) = (Instant::now(), Vec::new());
    for n in 0..count {
        impairment.pass(&frame(n), now, &mut out);
    }
    impairment.release(now + MAX_WAIT, &mut out);
    assert_eq!(impairment.next(), None);
    (out, impairment.counters())
}

fn frame(n: u32) -> Vec<u8> {
    [&[0; ETHERNET][..], &n.to_be_bytes(), &[7; 42]].concat()
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[ETHERNET..ETHERNET + 4].try_into().expect("four bytes"))
}

/// The expected number of ten thousand frames at one per cent, with five standard deviations on
/// either side.
const ABOUT_ONE_PER_CENT: std::ops::Range<u64> = 50..150;

#[test]
fn gate__without_faults_passes_everything() {
    let (out, counters) = run("", 1000);
    assert_eq!(out, (0..1000).map(frame).collect::<Vec<_>>());
    assert_eq!(counters, Counters { frames: 1000, ..Counters::default() });
}

#[test]
fn gate__loses() {
    let (out, counters) = run("loss=1% seed=1", 10_000);
    assert!(ABOUT_ONE_PER_CENT.contains(&counters.lost), "{counters}");
    assert_eq!(out.len() as u64, 10_000 - counters.lost);
    assert!(out.is_sorted_by_key(|frame| number(frame)));
    assert_eq!(run("loss=100%", 10).0, [[0; 0]; 0]);
}

#[test]
fn gate__doubles() {
    let (out, counters) = run("dup=1% seed=2", 10_000);
    assert!(ABOUT_ONE_PER_CENT.contains(&counters.doubled), "{counters}");
    assert_eq!(out.len() as u64, 10_000 + counters.doubled);
    assert!(out.is_sorted_by_key(|frame| number(frame)));
}

#[test]
fn gate__reorders_by_few_and_loses_none() {
    let (out, counters) = run("reorder=1% seed=3", 10_000);
    assert!(ABOUT_ONE_PER_CENT.contains(&counters.late), "{counters}");
    assert!(!out.is_sorted_by_key(|frame| number(frame)));
    for (place, frame) in out.iter().enumerate() {
        // Late by the number of frames that overtook it, or early by the number of late frames
        // before it.
        assert!(place.abs_diff(number(frame) as usize) <= 2 * MAX_LATE, "{place}");
    }
    let mut numbers: Vec<u32> = out.iter().map(|frame| number(frame)).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..10_000).collect::<Vec<_>>());
}

#[test]
fn gate__changes_one_bit_behind_the_ethernet_header() {
    let (out, counters) = run("corrupt=1% seed=4", 10_000);
    assert!(ABOUT_ONE_PER_CENT.contains(&counters.corrupted), "{counters}");
    let mut changed = 0;
    for (n, got) in (0..).zip(&out) {
        let bits = |(a, b): (&u8, &u8)| (a ^ b).count_ones();
        let differing: u32 = got.iter().zip(&frame(n)).map(bits).sum();
        assert!(differing <= 1 && got[..ETHERNET] == [0; ETHERNET]);
        changed += u64::from(differing);
    }
    assert_eq!(changed, counters.corrupted);
}

#[test]
fn gate__the_same_seed_is_the_same_fate() {
    let text = "loss=5% dup=5% reorder=5% corrupt=5% seed=";
    assert_eq!(run(&format!("{text}6"), 2000), run(&format!("{text}6"), 2000));
    assert_ne!(run(&format!("{text}6"), 2000), run(&format!("{text}7"), 2000));
}

#[test]
fn gate__what_is_late_goes_in_time_when_nothing_follows() {
    let settings: Settings = "reorder=100%".parse().expect("settings");
    let mut impairment = Impairment::new(settings.faults, 0);
    let (now, mut out) = (Instant::now(), Vec::new());
    impairment.pass(&frame(1), now, &mut out);
    assert!(out.is_empty() && impairment.next().is_some());
    impairment.release(now + MAX_WAIT, &mut out);
    assert_eq!(out, [frame(1)]);
}
