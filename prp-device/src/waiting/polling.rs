//! Polling before a sleep: for how long, and when a thread yields its processor meanwhile.

use std::time::Duration;

use prp_proto::time::Instant;

use super::contention::CpuContention;
use super::settings::WaitSettings;
use super::tuning::{
    BUDGET, POLLS_PER_SYSCALL, POLLS_PER_YIELD, POLLS_UNCONTENDED, UNCONTENDED_YIELD,
};

/// A wait that polls. It is a value of its own, so that a thread can poll without a lock.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Polling {
    pub(super) settings: WaitSettings,
    start: Instant,
    budget: Duration,
    /// Yields so far.
    count: u32,
    /// A poll takes a system call.
    by_syscall: bool,
    pub(super) yields: YieldBackoff,
}

impl Polling {
    /// Polls as `settings` say, without knowledge of earlier waits, from the clock's origin on.
    pub fn new(settings: WaitSettings) -> Self {
        Self::with(settings, settings.budget, Instant::ZERO, YieldBackoff::default())
    }

    /// As [`Self::new`], for this `budget` from `start` on, with what was learned of yields before.
    #[inline]
    pub(super) const fn with(
        settings: WaitSettings,
        budget: Duration,
        start: Instant,
        yields: YieldBackoff,
    ) -> Self {
        Self { settings, start, budget, count: 0, by_syscall: false, yields }
    }

    /// The same for polls that take a system call each, or none.
    #[inline]
    #[must_use]
    pub const fn by_syscall(self, by_syscall: bool) -> Self {
        Self { by_syscall, ..self }
    }

    /// When it began.
    #[inline]
    pub const fn start(&self) -> Instant {
        self.start
    }

    /// When the thread goes to sleep if nothing comes.
    pub fn end(&self) -> Instant {
        self.start + self.budget
    }

    /// How long it has polled at `now`.
    #[inline]
    pub const fn spent(&self, now: Instant) -> Duration {
        now.since(self.start)
    }

    /// Whether it has polled for long enough. Asks how long that is only if it decides.
    #[inline]
    pub fn is_over(&self, spent: impl FnOnce() -> Duration) -> bool {
        match self.settings.yields {
            Some(most) => self.count >= most,
            None => spent() >= self.budget,
        }
    }

    /// How often to poll in a row. After a yield that let another thread run the next one comes
    /// first: that thread may be the peer.
    #[inline]
    pub const fn polls_per_yield(&self) -> u32 {
        let polls = self.yields.polls_per_yield();
        if self.by_syscall { polls / POLLS_PER_SYSCALL } else { polls }
    }

    /// Whether a yield is due.
    #[inline]
    pub fn is_yield_due(&self, now: Instant) -> bool {
        self.yields.is_due(now)
    }

    /// Takes note of a yield that began at `begun` and is over `now`. Returns whether others have
    /// the processor for so long that the thread had better sleep.
    #[inline]
    pub fn note_yield(&mut self, begun: Instant, now: Instant) -> bool {
        self.yields.note(begun, now);
        self.settings.adapts && self.yields.contention.is_contended()
    }

    /// Counts a yield that took some time or none.
    pub const fn count_yield(&mut self) {
        self.count += 1;
    }
}

/// When a thread that polls yields the processor, by how many yields in a row returned at once; and
/// what it learns about other threads that want it.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct YieldBackoff {
    uncontended: u32,
    last: Instant,
    pub(super) contention: CpuContention,
}

impl YieldBackoff {
    /// Polls of shared memory in a row.
    #[inline]
    const fn polls_per_yield(self) -> u32 {
        match self.uncontended {
            0 => 0,
            1..POLLS_PER_YIELD => POLLS_PER_YIELD,
            _ => POLLS_UNCONTENDED,
        }
    }

    /// Whether the next one is due.
    #[inline]
    fn is_due(self, now: Instant) -> bool {
        self.uncontended < POLLS_PER_YIELD || now.since(self.last) >= BUDGET
    }

    /// After a yield that began at `begun` and is over `now`.
    #[inline]
    pub(super) fn note(&mut self, begun: Instant, now: Instant) {
        let taken = now.since(begun) >= UNCONTENDED_YIELD;
        self.uncontended = if taken { 0 } else { self.uncontended.saturating_add(1) };
        self.last = now;
        self.contention.note(begun, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `polling` after `count` more yields, each of which takes `long`.
    fn yielded(mut polling: Polling, count: u32, long: Duration) -> Polling {
        for _ in 0..count {
            let last = polling.yields.last;
            polling.note_yield(last, last + long);
        }
        polling
    }

    fn fresh() -> Polling {
        Polling::new(WaitSettings::ADAPTIVE)
    }

    fn is_due(polling: Polling) -> bool {
        polling.is_yield_due(polling.yields.last)
    }

    #[test]
    fn polling__yields_are_rare_while_no_thread_takes_the_processor() {
        assert_eq!(fresh().polls_per_yield(), 0);
        let few = yielded(fresh(), 15, Duration::from_nanos(500));
        assert_eq!((few.polls_per_yield(), is_due(few)), (16, true));
        let rare = yielded(few, 1, Duration::from_nanos(500));
        assert_eq!((rare.polls_per_yield(), is_due(rare)), (64, false));
        let by_syscall = [few, rare].map(|polling| polling.by_syscall(true));
        assert_eq!(by_syscall.map(|polling| polling.polls_per_yield()), [2, 8]);
        let last = rare.yields.last;
        assert!(!rare.is_yield_due(last + BUDGET - Duration::from_nanos(1)));
        assert!(rare.is_yield_due(last + BUDGET));
    }

    #[test]
    fn polling__a_yield_comes_first_once_one_was_taken() {
        let rare = yielded(fresh(), 20, Duration::from_nanos(500));
        let taken = yielded(rare, 1, Duration::from_micros(1));
        assert_eq!((taken.polls_per_yield(), is_due(taken)), (0, true));
    }

    #[test]
    fn note_yield__where_others_compute_the_thread_had_better_sleep_unless_it_is_told_to_poll() {
        let (long, at) = (Duration::from_millis(1), Instant::from_nanos(1 << 40));
        let is_contended = |settings| {
            let mut polling = Polling::new(settings);
            polling.note_yield(at, at + long);
            polling.note_yield(at + long, at + 2 * long)
        };
        assert!(is_contended(WaitSettings::ADAPTIVE) && is_contended(WaitSettings::PATIENT));
        assert!(!is_contended(WaitSettings::fixed(long)));
    }

    #[test]
    fn is_over__after_a_time_or_after_some_yields_without_a_clock() {
        let rank = Polling::new(WaitSettings::rank(false));
        assert!(!rank.is_over(|| Duration::from_micros(29)));
        assert!(rank.is_over(|| Duration::from_micros(30)));
        let mut crowded = Polling::new(WaitSettings::rank(true));
        for _ in 0..4 {
            assert!(!crowded.is_over(|| panic!("nobody asks for the time")));
            crowded.count_yield();
        }
        assert!(crowded.is_over(|| panic!("nobody asks for the time")));
    }
}
