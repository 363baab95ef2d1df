//! Whether data pours in, and how fast: a thread that reads a stream at full speed need not handle
//! every frame as it comes. It naps, and takes what has gathered, as network cards moderate their
//! interrupts. Polling without a break would take a processor, and being woken for every frame
//! costs the sender more than the frame.

use std::time::Duration;

use prp_proto::time::Instant;

use super::gather_limits::GatherLimits;
use super::tuning::{
    AWAKE_FRAMES, BULK_FRAME_BYTES, BULK_FRAME_GAP, CERTAIN, FLOW_FRAME_GAP, FLOW_FRAMES,
    FLOW_MEMORY_FRAMES, HOLD_OFF_AFTER_FRAMES, HOLD_OFF_FRAMES, HOLD_OFF_PART, NAP_FLOW_PART,
    SHORT_NAP, SHORTEST_HOLD_OFF_FRAMES, SHORTEST_NAP, SLOW_GSO_BATCH, TIMER_SLACK,
};

/// Frames that a poll has found at devices.
#[derive(Copy, Clone, Debug)]
pub struct Polled {
    /// How many.
    pub frames: u32,
    /// Bytes of all of them.
    pub bytes: usize,
    /// What may gather at each of these devices.
    limits: GatherLimits,
}

impl Polled {
    /// Nothing yet.
    pub const NONE: Self = Self {
        frames: 0,
        bytes: 0,
        limits: GatherLimits { target_frames: u32::MAX, gso_frames: 1 },
    };

    /// Adds `frames` of a device with these `limits`.
    #[inline]
    pub fn add(&mut self, frames: u32, limits: GatherLimits) {
        self.frames += frames;
        self.limits.tighten(limits);
    }
}

/// The flow of incoming frames.
#[derive(Debug)]
pub(super) struct Flow {
    since: Instant,
    frames: u32,
    bytes: u64,
    napped: bool,
    /// Naps in a row in which nothing came.
    naps_in_vain: u32,
    /// What may gather, as receiving rings go.
    limits: GatherLimits,
    /// Frames that may gather, as naps have shown.
    measured_frames: u32,
    /// Frames that were meant to gather during the last nap.
    expected_frames: u32,
    /// Of those that were expected, how many may come at once after the nap.
    late_frames: u32,
}

impl Default for Flow {
    /// No flow yet.
    fn default() -> Self {
        Self {
            since: Instant::ZERO,
            frames: 0,
            bytes: 0,
            napped: false,
            naps_in_vain: 0,
            limits: Polled::NONE.limits,
            measured_frames: u32::MAX,
            expected_frames: 0,
            late_frames: 1,
        }
    }
}

impl Flow {
    /// Takes note of what a poll has found.
    pub(super) fn note(&mut self, now: Instant, polled: Polled) {
        if polled.frames == 0 {
            if std::mem::take(&mut self.napped) {
                self.naps_in_vain += 1;
                if self.naps_in_vain >= CERTAIN {
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
            self.limits = Polled::NONE.limits;
            self.measured_frames = u32::MAX;
        }
        self.limits.tighten(polled.limits);
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
    #[inline]
    pub(super) fn end(&mut self) {
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
        let longest = SHORT_NAP.max(elapsed / NAP_FLOW_PART).min(most);
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
        let hold_off = self.gather(now.since(self.since), frames, SHORT_NAP);
        self.napped = self.is_fast(now) && self.expected_frames >= SHORTEST_HOLD_OFF_FRAMES;
        self.napped.then_some(hold_off)
    }

    /// How long at most `frames` more take to come, up to `longest`, in a flow of `elapsed`.
    fn gather(&mut self, elapsed: Duration, frames: u32, longest: Duration) -> Duration {
        let target_frames = self.limits.target_frames.min(self.measured_frames).min(frames);
        let long = (elapsed * target_frames / self.frames).min(longest);
        let batch_time = elapsed * self.limits.gso_frames / self.frames;
        self.late_frames = if batch_time >= SLOW_GSO_BATCH { self.limits.gso_frames } else { 1 };
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
mod tests;
