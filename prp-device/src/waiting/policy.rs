//! What a thread that waits does next.

use std::time::Duration;

use prp_proto::time::Instant;

use super::flow::{Flow, Polled};
use super::history::PollHistory;
use super::polling::{Polling, YieldBackoff};
use super::rate_meter::RateMeter;
use super::settings::WaitSettings;
use super::timers::TimerLoad;
use super::tuning::{
    LONGEST_NAP, LONGEST_WRITER_NAP, NAP_PART, SHORT_NAP, SHORTEST_WRITER_NAP, TRANSIT_NAP,
};

/// What a thread waits for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum WaitTarget {
    /// Something that is not to gather.
    Anything,
    /// Frames to read.
    Frames {
        /// How many the peer sends at most before it waits for an answer.
        most: u32,
        /// Whether it sends as many.
        is_known: bool,
        /// Whether nobody else waits for what may come meanwhile.
        is_alone: bool,
    },
    /// Room for more to send, while what was sent waits in queues.
    Room {
        /// How long a segment waits there.
        queueing_delay: Duration,
    },
    /// Frames to pass on to other nodes.
    Transit,
}

/// What a thread that waits does next.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Next {
    /// Polls for frames, and sleeps if none comes.
    Poll(Polling),
    /// Lets frames gather.
    Gather {
        /// Until then.
        until: Instant,
        /// Asleep, or else awake, without polling.
        asleep: bool,
    },
    /// Sleeps until something comes, or is due.
    Sleep,
}

/// How threads wait, as far as that depends on what happened before. It is told of frames, yields
/// and waits, and asked what a thread does next.
#[derive(Debug, Default)]
pub struct WaitPolicy {
    history: PollHistory,
    yields: YieldBackoff,
    flow: Flow,
    rate: RateMeter,
    timer_load: TimerLoad,
    /// A thread has napped since the background thread asked last.
    has_napped: bool,
    /// Polls that found frames.
    arrivals: u64,
    /// As many as [`Self::arrivals`] when a writer last napped.
    writer_napped: Option<u64>,
}

impl WaitPolicy {
    /// What a thread does next `now` that waits as `settings` say, and has since `since`.
    pub fn next(
        &mut self,
        settings: WaitSettings,
        target: WaitTarget,
        since: Instant,
        now: Instant,
    ) -> Next {
        if let Some(nap) = self.nap(settings, target, now) {
            self.has_napped = true;
            return Next::Gather { until: now + nap, asleep: true };
        }
        let budget = self.budget(&settings, now);
        if now.since(since) >= budget {
            return Next::Sleep;
        }
        if let WaitTarget::Frames { most, is_known: true, .. } = target
            && let Some(hold_off) = self.flow.hold_off(now, most)
        {
            return Next::Gather { until: now + hold_off, asleep: false };
        }
        Next::Poll(Polling::with(settings, budget, since, self.yields))
    }

    /// How long to sleep through what comes, if that is the thing to do.
    fn nap(
        &mut self,
        settings: WaitSettings,
        target: WaitTarget,
        now: Instant,
    ) -> Option<Duration> {
        if !settings.may_nap() {
            return None;
        }
        match target {
            WaitTarget::Anything => None,
            WaitTarget::Frames { most, is_alone, .. } => {
                self.flow.nap(now, most, if is_alone { LONGEST_NAP } else { SHORT_NAP })
            }
            WaitTarget::Room { queueing_delay } => {
                writer_nap(queueing_delay).filter(|_| self.note_writer_nap())
            }
            WaitTarget::Transit => self.rate.is_streaming().then_some(TRANSIT_NAP),
        }
    }

    /// How long to poll.
    fn budget(&mut self, settings: &WaitSettings, now: Instant) -> Duration {
        if !settings.adapts {
            return settings.budget;
        }
        if self.yields.contention.is_present(now) {
            return Duration::ZERO;
        }
        self.history.budget(settings)
    }

    /// A writer is about to nap; whether it may: not where nothing has come since the last nap of
    /// one. It sleeps until something does, then.
    fn note_writer_nap(&mut self) -> bool {
        self.writer_napped.replace(self.arrivals) != Some(self.arrivals)
    }

    /// A wait that polled was over after this time, or not before its budget was; and what it has
    /// learned about yields.
    pub fn note_poll(&mut self, polling: &Polling, paid_after: Option<Duration>) {
        self.yields = polling.yields;
        self.history.note(&polling.settings, paid_after);
    }

    /// A thread that polls yielded the processor, from `begun` until `now`.
    pub fn note_yield(&mut self, begun: Instant, now: Instant) {
        self.yields.note(begun, now);
    }

    /// Takes note of the frames that a thread has found.
    #[inline]
    pub fn note_frames(&mut self, now: Instant, polled: Polled) {
        self.arrivals += u64::from(polled.frames > 0);
        self.flow.note(now, polled);
    }

    /// How often a thread has found frames: shows activity.
    #[inline]
    pub const fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// How many bytes have been passed on so far.
    #[inline]
    pub fn note_passed_on(&mut self, now: Instant, bytes: u64) {
        self.rate.note(now, bytes);
    }

    /// What comes next may be an answer, or nothing for long.
    #[inline]
    pub fn end_flow(&mut self) {
        self.flow.end();
    }

    /// A thread let frames gather for as long as it was to: how many must have, if the senders were
    /// not kept from sending.
    pub fn sufficient_frames(&self) -> u32 {
        self.flow.sufficient_frames()
    }

    /// Fewer had: a sender has sent what its window allows, and waits for an acknowledgement.
    pub fn note_shortfall(&mut self) {
        self.flow.note_shortfall();
    }

    /// A thread falls asleep `now`, and leaves what is `due` to a background thread.
    pub fn note_sleep(&mut self, due: Option<Instant>, now: Instant) {
        self.timer_load = self.timer_load.max(TimerLoad::left(due, now));
    }

    /// What threads have left to the background thread since it asked last. One that `sleeps` on
    /// still relies on it.
    pub fn take_timer_load(&mut self, sleeps: bool) -> TimerLoad {
        let left = std::mem::take(&mut self.timer_load);
        let has_napped = std::mem::take(&mut self.has_napped);
        match left {
            _ if sleeps => left.max(TimerLoad::Relaxed),
            TimerLoad::None if has_napped => TimerLoad::Napping,
            _ => left,
        }
    }
}

/// How long a writer naps whose segments wait in queues for `queueing_delay`.
fn writer_nap(queueing_delay: Duration) -> Option<Duration> {
    let nap = (queueing_delay / NAP_PART).min(LONGEST_WRITER_NAP);
    (nap >= SHORTEST_WRITER_NAP).then_some(nap)
}

#[cfg(test)]
mod tests;
