use super::*;
use crate::waiting::tuning::LONGEST_NAP;

/// A slot for frames of the usual size.
const USUAL: usize = 1_600;

/// A poll of a ring of `slots` slots that finds frames of 100 bytes.
fn polled(frames: u32, slots: u32) -> Polled {
    let limits = GatherLimits::of_ring(slots, USUAL);
    Polled { frames, bytes: frames as usize * 100, limits }
}

/// A flow of a frame every `nanos`, read in pairs.
fn flow(slots: u32, nanos: u64, frames: u32) -> (Flow, Instant) {
    flow_of(polled(2, slots), nanos, frames)
}

/// As [`flow`], with polls that find what `polled` says.
fn flow_of(polled: Polled, nanos: u64, frames: u32) -> (Flow, Instant) {
    let mut flow = Flow::default();
    let mut now = Instant::from_nanos(1_000_000);
    for _ in 0..frames / polled.frames {
        now = now + Duration::from_nanos(u64::from(polled.frames) * nanos);
        flow.note(now, polled);
        flow.note(now, Polled::NONE);
    }
    (flow, now)
}

fn full_frames(frames: u32) -> Polled {
    Polled { bytes: frames as usize * 1_484, ..polled(frames, 512) }
}

#[test]
fn nap__lasts_as_long_as_a_quarter_of_the_ring_takes() {
    let (mut flow, now) = flow(256, 2_000, 10_000);
    // 64 frames at 2 us are 128 us, of which the kernel adds 10 by itself.
    let nap = flow.nap(now, u32::MAX, LONGEST_NAP).unwrap();
    assert!((115..=120).contains(&nap.as_micros()), "{nap:?}");
    // At 5 us they would take too long for a flow of 3.5 ms.
    let (mut slower, now) = self::flow(256, 5_000, 700);
    assert_eq!(slower.nap(now, u32::MAX, LONGEST_NAP), Some(SHORT_NAP - TIMER_SLACK));
}

#[test]
fn nap__only_where_there_is_a_flow_that_fits() {
    let nap = |slots, nanos, frames| {
        let (mut flow, now) = flow(slots, nanos, frames);
        flow.nap(now, u32::MAX, LONGEST_NAP)
    };
    assert!(nap(512, 2_000, FLOW_FRAMES - 2).is_none(), "not yet a flow");
    assert!(nap(64, 2_000, 10_000).is_none(), "so few frames come before one could sleep");
    assert!(nap(512, 20_000, 10_000).is_some(), "looking would keep a processor busy");
    assert!(nap(512, 40_000, 10_000).is_none(), "too slow to nap through");
    assert!(nap(0, 2_000, 10_000).is_none(), "nobody knows what fits");
}

#[test]
fn nap__is_for_half_as_many_where_less_came_and_again_for_all_some_time_later() {
    let (mut flow, mut now) = flow(512, 2_000, 10_000);
    let nap = |flow: &mut Flow, now| {
        let nap = flow.nap(now, u32::MAX, LONGEST_NAP)?;
        Some((
            ((nap + TIMER_SLACK).as_micros() + 4) / 8 * 8,
            flow.expected_frames.next_multiple_of(2),
        ))
    };
    assert_eq!(nap(&mut flow, now), Some((256, 128)));
    flow.note_shortfall();
    assert_eq!(nap(&mut flow, now), Some((128, 64)));
    flow.note_shortfall();
    assert_eq!(nap(&mut flow, now), Some((64, 32)));
    flow.note_shortfall();
    assert_eq!(nap(&mut flow, now), None, "16 frames are too few");
    for _ in 0..FLOW_MEMORY_FRAMES {
        now = now + Duration::from_micros(2);
        flow.note(now, polled(1, 512));
    }
    assert_eq!(nap(&mut flow, now), Some((256, 128)));
    // Where time bounds a nap, this number of frames comes in that time.
    let (mut slow, now) = self::flow(512, 10_000, 900);
    assert_eq!(nap(&mut slow, now), Some((304, 30)));
}

#[test]
fn nap__is_no_longer_than_what_remains_takes() {
    let (mut flow, now) = flow(512, 2_000, 10_000);
    // 60 frames at 2 us are 120 us, of which the kernel adds 10 by itself.
    let nap = flow.nap(now, 60 + AWAKE_FRAMES, LONGEST_NAP).unwrap();
    assert!((107..=112).contains(&nap.as_micros()), "{nap:?}");
    assert!((58..=60).contains(&flow.expected_frames), "{}", flow.expected_frames);
    assert_eq!(
        flow.nap(now, 18 + AWAKE_FRAMES, LONGEST_NAP),
        None,
        "they come before the thread could sleep"
    );
    assert_eq!(flow.nap(now, AWAKE_FRAMES - 1, LONGEST_NAP), None);
    assert!(flow.nap(now, u32::MAX, LONGEST_NAP).is_some(), "the flow goes on");
}

#[test]
fn hold_off__lasts_as_long_as_a_part_of_what_remains_takes() {
    let hold_off = |remaining, slots| {
        let (mut flow, now) = flow(slots, 2_000, 10_000);
        let long = flow.hold_off(now, remaining)?;
        // The first two frames came at once.
        Some((
            (long + Duration::from_micros(1)).as_micros() / 4 * 4,
            flow.expected_frames.next_multiple_of(2),
        ))
    };
    assert_eq!(hold_off(1_000, 512), Some((128, 64)));
    assert_eq!(hold_off(90, 512), Some((60, 30)));
    assert_eq!(hold_off(30, 512), Some((20, 10)));
    assert_eq!(hold_off(23, 512), None, "polling takes them as quickly");
    assert_eq!(hold_off(1_000, 64), Some((32, 16)), "a quarter of a small ring");
    assert_eq!(hold_off(1_000, 0), None, "it is not known how many fit");
}

#[test]
fn hold_off__only_where_it_is_known_how_fast_frames_come() {
    let hold_off = |nanos, frames| {
        let (mut flow, now) = flow(512, nanos, frames);
        flow.hold_off(now, 1_000)
    };
    assert_eq!(hold_off(2_000, HOLD_OFF_AFTER_FRAMES - 2), None);
    assert!(hold_off(2_000, HOLD_OFF_AFTER_FRAMES).is_some());
    assert_eq!(hold_off(20_000, 100), Some(SHORT_NAP));
    assert_eq!(hold_off(40_000, 100), None, "too slow");
}

#[test]
fn hold_off__is_shorter_where_less_came_and_in_vain_ends_the_flow() {
    let (mut flow, now) = flow(512, 2_000, 100);
    assert!(flow.hold_off(now, 1_000).is_some());
    flow.note_shortfall();
    assert_eq!(flow.hold_off(now, 1_000).map(|long| long.as_micros() / 4 * 4), Some(60));
    for _ in 0..CERTAIN {
        assert!(flow.hold_off(now, 1_000).is_some());
        flow.note(now, Polled::NONE);
    }
    assert_eq!(flow.hold_off(now, 1_000), None);
}

#[test]
fn nap__in_vain_ends_the_flow_and_so_does_the_application() {
    let (mut one, now) = flow(512, 2_000, 10_000);
    assert!(one.nap(now, u32::MAX, LONGEST_NAP).is_some());
    one.note(now + LONGEST_NAP, Polled::NONE);
    assert!(
        one.nap(now + LONGEST_NAP, u32::MAX, LONGEST_NAP).is_none(),
        "sleeps until a frame comes"
    );
    one.note(now + LONGEST_NAP, polled(2, 512));
    assert!(
        one.nap(now + LONGEST_NAP, u32::MAX, LONGEST_NAP).is_some(),
        "one came: the flow goes on"
    );

    let (mut other, now) = flow(512, 2_000, 10_000);
    assert!(other.nap(now, u32::MAX, LONGEST_NAP).is_some());
    other.note(now + LONGEST_NAP, polled(1, 512));
    assert!(other.nap(now + LONGEST_NAP, u32::MAX, LONGEST_NAP).is_some(), "something came");
    other.end();
    assert!(other.nap(now, u32::MAX, LONGEST_NAP).is_none());
}

#[test]
fn nap__is_longer_the_longer_the_flow_lasts() {
    let nap = |nanos, frames| {
        let (mut flow, now) = flow_of(full_frames(2), nanos, frames);
        flow.nap(now, u32::MAX, LONGEST_NAP).map(|nap| (nap + TIMER_SLACK).as_micros())
    };
    assert_eq!(nap(12_000, 700), Some(300), "8 ms, as of a message of 1 MiB at 1 Gbit/s");
    assert_eq!(nap(12_000, 2_000), Some(749));
    assert_eq!(nap(12_000, 4_000), Some(1_499));
    assert_eq!(nap(120_000, 4_000), Some(LONGEST_NAP.as_micros()));
    // Expect: no longer than its caller says, and for as many frames as come then.
    let (mut flow, now) = flow_of(full_frames(2), 12_000, 4_000);
    let nap = flow.nap(now, u32::MAX, SHORT_NAP);
    assert_eq!(nap, Some(SHORT_NAP - TIMER_SLACK));
    assert!((24..=26).contains(&flow.expected_frames), "{}", flow.expected_frames);
}

#[test]
fn nap__where_full_frames_come_rarely_but_not_where_messages_do() {
    let nap = |polled, nanos| {
        let (mut flow, now) = flow_of(polled, nanos, 1_000);
        flow.nap(now, u32::MAX, LONGEST_NAP)
    };
    assert!(nap(full_frames(2), 120_000).is_some(), "a stream at 100 Mbit/s");
    assert!(nap(full_frames(2), 160_000).is_none());
    assert!(nap(polled(2, 512), 120_000).is_none(), "messages");
}

#[test]
fn sufficient_frames__does_not_want_the_next_gso_batch() {
    let sufficient = |gso_frames, nanos| {
        let limits = GatherLimits { gso_frames, ..full_frames(2).limits };
        let batch = Polled { limits, ..full_frames(2) };
        let (mut flow, now) = flow_of(batch, nanos, 4_000);
        flow.nap(now, u32::MAX, LONGEST_NAP).expect("a flow");
        (flow.expected_frames, flow.sufficient_frames())
    };
    assert_eq!(sufficient(1, 12_000), (125, 94));
    assert_eq!(sufficient(44, 12_000), (125, 82));
    assert_eq!(sufficient(1_000, 12_000), (125, 1));
    // Fast ones are there at the end of a nap, or the sender's window is used up.
    assert_eq!(sufficient(44, 1_200), (127, 96));
}
