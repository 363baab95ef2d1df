//! Whether data pours in, and how fast: a thread that reads a stream at full speed need not handle
//! every frame as it comes. It naps, and takes what has gathered, as network cards moderate their
//! interrupts. Polling without a break would take a processor, and being woken for every frame
//! costs the sender more than the frame.

use std::time::Duration;

use prp_proto::time::Instant;

use super::tuning::{
    AWAKE_FRAMES, BULK_FRAME_BYTES, BULK_FRAME_GAP, FLOW_FRAME_GAP, FLOW_FRAMES,
    FLOW_MEMORY_FRAMES, HOLD_OFF_AFTER_FRAMES, HOLD_OFF_FRAMES, HOLD_OFF_PART, LONGEST_HOLD_OFF,
    NAP_FLOW_PART, NAP_RING_BYTES, NAP_RING_PART, NAPS_IN_VAIN, SHORT_FLOW_NAP,
    SHORTEST_HOLD_OFF_FRAMES, SHORTEST_NAP, SLOW_GSO_BATCH, TIMER_SLACK,
};

/// Frames that may gather in a receiving ring of `slots` slots of `slot_bytes` bytes while no
/// thread polls.
pub(super) fn target_frames(slots: u32, slot_bytes: usize) -> u32 {
    let fitting = NAP_RING_BYTES / slot_bytes.next_power_of_two();
    (slots / NAP_RING_PART).min(fitting as u32)
}

/// Frames that a poll has found in receiving rings.
#[derive(Copy, Clone, Debug)]
pub(super) struct Polled {
    pub(super) frames: u32,
    /// Of all of them.
    pub(super) bytes: usize,
    /// Frames that may gather in each of these rings; 0 if it is not known how many fit.
    pub(super) target_frames: u32,
    /// Frames that one of these devices brings at once, at most.
    pub(super) gso_frames: u32,
}

impl Polled {
    /// Nothing yet.
    pub(super) const NONE: Self =
        Self { frames: 0, bytes: 0, target_frames: u32::MAX, gso_frames: 1 };
}

/// The flow of incoming frames.
#[derive(Debug)]
pub(crate) struct RxCoalescing {
    since: Instant,
    frames: u32,
    bytes: u64,
    napped: bool,
    /// Naps in a row in which nothing came.
    naps_in_vain: u32,
    /// Frames that may gather, as receiving rings go.
    target_frames: u32,
    /// Frames that may gather, as naps have shown.
    measured_frames: u32,
    /// Frames that were meant to gather during the last nap.
    expected_frames: u32,
    /// Frames that one of the devices brings at once, at most.
    gso_frames: u32,
    /// Of those that were expected, how many may come at once after the nap.
    late_frames: u32,
}

impl RxCoalescing {
    /// No flow yet.
    pub(super) const fn new() -> Self {
        Self {
            since: Instant::ZERO,
            frames: 0,
            bytes: 0,
            napped: false,
            naps_in_vain: 0,
            target_frames: u32::MAX,
            measured_frames: u32::MAX,
            expected_frames: 0,
            gso_frames: 1,
            late_frames: 1,
        }
    }

    /// Takes note of what a poll has found.
    pub(super) fn note(&mut self, now: Instant, polled: Polled) {
        if polled.frames == 0 {
            if std::mem::take(&mut self.napped) {
                self.naps_in_vain += 1;
                if self.naps_in_vain >= NAPS_IN_VAIN {
                    self.end();
                }
            }
            return;
        }
        self.napped = false;
        self.naps_in_vain = 0;
        if self.frames == 0 {
            self.since = now;
            self.bytes = 0;
            (self.target_frames, self.measured_frames) = (u32::MAX, u32::MAX);
            self.gso_frames = 1;
        }
        self.target_frames = self.target_frames.min(polled.target_frames);
        self.gso_frames = self.gso_frames.max(polled.gso_frames);
        self.frames += polled.frames;
        self.bytes += polled.bytes as u64;
        if self.frames > FLOW_MEMORY_FRAMES {
            self.frames /= 2;
            self.bytes /= 2;
            self.since = self.since + now.since(self.since) / 2;
            self.measured_frames = u32::MAX;
        }
    }

    /// What comes next may be an answer, or nothing for long.
    pub(crate) fn end(&mut self) {
        self.frames = 0;
        self.naps_in_vain = 0;
    }

    /// How long to sleep through what comes, if that is the thing to do, where the peer sends at
    /// most `remaining_frames` before it waits for an answer; `most` at most.
    pub(super) fn nap(
        &mut self,
        now: Instant,
        remaining_frames: u32,
        most: Duration,
    ) -> Option<Duration> {
        // After one in vain the thread sleeps until a frame comes.
        if self.frames < FLOW_FRAMES || self.naps_in_vain > 0 {
            return None;
        }
        let before_last = remaining_frames.saturating_sub(AWAKE_FRAMES);
        let elapsed = now.since(self.since);
        let longest = SHORT_FLOW_NAP.max(elapsed / NAP_FLOW_PART).min(most);
        let nap = self.gather(elapsed, before_last, longest).checked_sub(TIMER_SLACK)?;
        self.napped = self.is_fast(now) && nap >= SHORTEST_NAP;
        self.napped.then_some(nap)
    }

    /// How long not to poll, though awake, if that is the thing to do, where the peer sends
    /// `remaining_frames` and then waits for an answer.
    pub(super) fn hold_off(&mut self, now: Instant, remaining_frames: u32) -> Option<Duration> {
        if self.frames < HOLD_OFF_AFTER_FRAMES {
            return None;
        }
        let frames = HOLD_OFF_FRAMES.min(remaining_frames / HOLD_OFF_PART);
        if frames < SHORTEST_HOLD_OFF_FRAMES {
            return None;
        }
        let hold_off = self.gather(now.since(self.since), frames, LONGEST_HOLD_OFF);
        self.napped = self.is_fast(now) && self.expected_frames >= SHORTEST_HOLD_OFF_FRAMES;
        self.napped.then_some(hold_off)
    }

    /// How long at most `frames` more take to come, up to `longest`, in a flow of `elapsed`.
    fn gather(&mut self, elapsed: Duration, frames: u32, longest: Duration) -> Duration {
        let target_frames = self.target_frames.min(self.measured_frames).min(frames);
        let long = (elapsed * target_frames / self.frames).min(longest);
        let batch_time = elapsed * self.gso_frames / self.frames;
        self.late_frames = if batch_time >= SLOW_GSO_BATCH { self.gso_frames } else { 1 };
        // As many as were to gather, or as come in the longest time.
        self.expected_frames =
            (long.as_nanos() * u128::from(self.frames) / elapsed.as_nanos().max(1)) as u32;
        long
    }

    fn is_fast(&self, now: Instant) -> bool {
        let is_bulk = self.bytes >= u64::from(self.frames) * BULK_FRAME_BYTES;
        let gap = if is_bulk { BULK_FRAME_GAP } else { FLOW_FRAME_GAP };
        now.since(self.since) / self.frames <= gap
    }

    /// Frames that must have gathered at the end of a nap: 75 % of what was meant to, since neither
    /// naps nor senders are exact, or all but those that the next GSO batch brings if those are
    /// slow to come.
    pub(super) fn sufficient_frames(&self) -> u32 {
        let missing =
            (self.expected_frames / 4).max(self.late_frames.min(self.expected_frames.max(1)) - 1);
        self.expected_frames - missing
    }

    /// Fewer did: a sender has sent what its window allows, and waits for an acknowledgement.
    pub(super) const fn note_shortfall(&mut self) {
        self.measured_frames = self.expected_frames / 2;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tuning::LONGEST_NAP;
    use super::*;

    /// A slot for frames of the usual size.
    const USUAL: usize = 1_600;

    /// A poll of a ring of `slots` slots that finds frames of 100 bytes.
    fn polled(frames: u32, slots: u32) -> Polled {
        let target_frames = target_frames(slots, USUAL);
        Polled { frames, bytes: frames as usize * 100, target_frames, gso_frames: 1 }
    }

    /// A flow of a frame every `nanos`, read in pairs.
    fn flow(slots: u32, nanos: u64, frames: u32) -> (RxCoalescing, Instant) {
        flow_of(polled(2, slots), nanos, frames)
    }

    /// As [`flow`], with polls that find what `polled` says.
    fn flow_of(polled: Polled, nanos: u64, frames: u32) -> (RxCoalescing, Instant) {
        let mut flow = RxCoalescing::new();
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
    fn target_frames__is_a_part_of_the_ring_and_of_a_window() {
        assert_eq!(target_frames(512, USUAL), 128);
        assert_eq!(target_frames(256, 9_152), 16, "of 58 that a window has");
        assert_eq!(target_frames(32, 9_152), 8, "a quarter of a ring that is small");
        assert_eq!(target_frames(32, 65_664), 2);
        assert_eq!(target_frames(0, USUAL), 0);
    }

    #[test]
    fn nap__lasts_as_long_as_a_quarter_of_the_ring_takes() {
        let (mut flow, now) = flow(256, 2_000, 10_000);
        // 64 frames at 2 us are 128 us, of which the kernel adds 10 by itself.
        let nap = flow.nap(now, u32::MAX, LONGEST_NAP).unwrap();
        assert!((115..=120).contains(&nap.as_micros()), "{nap:?}");
        // At 5 us they would take too long for a flow of 3.5 ms.
        let (mut slower, now) = self::flow(256, 5_000, 700);
        assert_eq!(slower.nap(now, u32::MAX, LONGEST_NAP), Some(SHORT_FLOW_NAP - TIMER_SLACK));
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
        let nap = |flow: &mut RxCoalescing, now| {
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
        assert_eq!(hold_off(20_000, 100), Some(LONGEST_HOLD_OFF));
        assert_eq!(hold_off(40_000, 100), None, "too slow");
    }

    #[test]
    fn hold_off__is_shorter_where_less_came_and_in_vain_ends_the_flow() {
        let (mut flow, now) = flow(512, 2_000, 100);
        assert!(flow.hold_off(now, 1_000).is_some());
        flow.note_shortfall();
        assert_eq!(flow.hold_off(now, 1_000).map(|long| long.as_micros() / 4 * 4), Some(60));
        for _ in 0..NAPS_IN_VAIN {
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
        let nap = flow.nap(now, u32::MAX, SHORT_FLOW_NAP);
        assert_eq!(nap, Some(SHORT_FLOW_NAP - TIMER_SLACK));
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
            let batch = Polled { gso_frames, ..full_frames(2) };
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
}
