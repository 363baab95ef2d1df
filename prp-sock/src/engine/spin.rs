//! Whether to poll again or to sleep.

use std::time::Duration;

use prp_device::CpuContention;
use prp_proto::time::Instant;

use super::tuning::{
    FAILED_SPINS, LONG_SPINS, LONGEST_RETRY_WAITS, LONGEST_SPIN_BUDGET, PATIENT_SPIN_BUDGET,
    POLLS_PER_SYSCALL, POLLS_PER_YIELD, POLLS_UNCONTENDED, SPIN_BUDGET, SPIN_RETRY_WAITS,
    UNCONTENDED_YIELD, UNCONTENDED_YIELDS, YIELD_INTERVAL,
};

/// How long a waiting thread polls for frames before it sleeps.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Default)]
pub(crate) enum SpinPolicy {
    /// As long as it has been paying.
    #[default]
    Adaptive,
    /// As [`Self::Adaptive`], for messages that pass another process at each end.
    Patient,
    /// This long, always. Zero sleeps at once.
    Fixed(Duration),
}

/// A record of whether spinning has been paying.
#[derive(Copy, Clone, Debug)]
pub(super) struct SpinHistory {
    failed_spins: u32,
    skipped_waits: u32,
    /// Waits without polling before it is tried again.
    retry_waits: u32,
    /// Waits that still may poll for [`LONGEST_SPIN_BUDGET`].
    long_spins: u32,
    backoff: YieldBackoff,
}

impl Default for SpinHistory {
    fn default() -> Self {
        Self {
            failed_spins: 0,
            skipped_waits: 0,
            retry_waits: SPIN_RETRY_WAITS,
            long_spins: 0,
            backoff: YieldBackoff::default(),
        }
    }
}

impl SpinHistory {
    /// How long to spin this time, which is `now`.
    pub(super) fn budget(&mut self, policy: SpinPolicy, now: Instant) -> Duration {
        let budget = match policy {
            SpinPolicy::Fixed(budget) => return budget,
            SpinPolicy::Adaptive => SPIN_BUDGET,
            SpinPolicy::Patient => PATIENT_SPIN_BUDGET,
        };
        if self.backoff.contention.is_present(now) {
            return Duration::ZERO;
        }
        if self.long_spins > 0 && policy == SpinPolicy::Patient {
            return LONGEST_SPIN_BUDGET;
        }
        if self.failed_spins < FAILED_SPINS {
            return budget;
        }
        self.skipped_waits += 1;
        if self.skipped_waits < self.retry_waits {
            return Duration::ZERO;
        }
        self.skipped_waits = 0;
        if policy != SpinPolicy::Patient {
            return budget;
        }
        self.retry_waits = LONGEST_RETRY_WAITS.min(2 * self.retry_waits);
        self.long_spins = LONG_SPINS;
        LONGEST_SPIN_BUDGET
    }

    /// What earlier waits have learned about yields, for polls that take a system call each or
    /// none.
    pub(super) const fn backoff(&self, by_syscall: bool) -> YieldBackoff {
        YieldBackoff { by_syscall, ..self.backoff }
    }

    /// A wait was over after this time, or not before its budget was; and what it has learned about
    /// yields.
    pub(super) fn note(&mut self, paid_after: Option<Duration>, backoff: YieldBackoff) {
        self.backoff = backoff;
        match paid_after {
            // Long waits are only worth it if they make the next ones short.
            Some(after) if self.long_spins > 0 && after > PATIENT_SPIN_BUDGET => {
                self.long_spins -= 1;
            }
            Some(_) => *self = Self { backoff, ..Self::default() },
            None => {
                self.failed_spins = self.failed_spins.saturating_add(1);
                self.long_spins /= 2;
            }
        }
    }
}

/// When a thread that polls yields the processor, by how many yields in a row returned at once; and
/// what it learns about other threads that want it.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct YieldBackoff {
    uncontended: u32,
    last: Instant,
    contention: CpuContention,
    /// A poll takes a system call.
    by_syscall: bool,
}

impl YieldBackoff {
    /// How often to poll in a row. After a yield that let another thread run the next one comes
    /// first: that thread may be the peer.
    pub(super) const fn polls_per_yield(self) -> usize {
        let polls = match self.uncontended {
            0 => 0,
            1..UNCONTENDED_YIELDS => POLLS_PER_YIELD,
            _ => POLLS_UNCONTENDED,
        };
        if self.by_syscall { polls / POLLS_PER_SYSCALL } else { polls }
    }

    /// Whether the next one is due.
    pub(super) fn is_due(self, now: Instant) -> bool {
        self.uncontended < UNCONTENDED_YIELDS || now.since(self.last) >= YIELD_INTERVAL
    }

    /// Whether others have the processor for so long that a thread that waits had better sleep.
    pub(super) const fn is_contended(self) -> bool {
        self.contention.is_contended()
    }

    /// After a yield that began at `begun` and is over `now`.
    pub(super) fn after(mut self, begun: Instant, now: Instant) -> Self {
        let taken = now.since(begun) >= UNCONTENDED_YIELD;
        self.uncontended = if taken { 0 } else { self.uncontended.saturating_add(1) };
        self.last = now;
        self.contention.note(begun, now);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget__adaptive_gives_up_when_spinning_finds_nothing_and_comes_back() {
        let mut record = SpinHistory::default();
        for _ in 0..FAILED_SPINS {
            assert_eq!(record.budget(SpinPolicy::Adaptive, Instant::ZERO), SPIN_BUDGET);
            record.note(None, YieldBackoff::default());
        }
        let tried = (0..SPIN_RETRY_WAITS)
            .filter(|_| record.budget(SpinPolicy::Adaptive, Instant::ZERO) > Duration::ZERO)
            .count();
        assert_eq!(tried, 1);
        record.note(Some(Duration::ZERO), YieldBackoff::default());
        assert_eq!(record.budget(SpinPolicy::Adaptive, Instant::ZERO), SPIN_BUDGET);
        assert_eq!(record.budget(SpinPolicy::Patient, Instant::ZERO), PATIENT_SPIN_BUDGET);
    }

    /// Waits until polling is tried again for `policy`, which fails as often as it is tried then.
    fn waits_until_retry(record: &mut SpinHistory, policy: SpinPolicy) -> u32 {
        let skipped = (1..).find(|_| !record.budget(policy, Instant::ZERO).is_zero());
        record.note(None, YieldBackoff::default());
        while record.long_spins > 0 {
            assert_eq!(record.budget(policy, Instant::ZERO), LONGEST_SPIN_BUDGET);
            record.note(None, YieldBackoff::default());
        }
        skipped.expect("a number")
    }

    #[test]
    fn budget__long_polls_that_do_not_pay_are_tried_less_and_less() {
        let failed = SpinHistory { failed_spins: FAILED_SPINS, ..SpinHistory::default() };
        let mut record = failed;
        let waits = [(); 5].map(|()| waits_until_retry(&mut record, SpinPolicy::Patient));
        assert_eq!(waits, [32, 64, 128, 256, 256]);
        record.note(Some(Duration::ZERO), YieldBackoff::default());
        assert_eq!(record.budget(SpinPolicy::Patient, Instant::ZERO), PATIENT_SPIN_BUDGET);
        // Short ones cost little: a conversation that begins after a pause is to be noticed soon.
        let mut record = failed;
        let waits = [(); 3].map(|()| waits_until_retry(&mut record, SpinPolicy::Adaptive));
        assert_eq!(waits, [32; 3]);
    }

    #[test]
    fn budget__patient_is_tried_for_long_waits_that_get_shorter() {
        let failed = SpinHistory { failed_spins: FAILED_SPINS, ..SpinHistory::default() };
        let budget = |record: &mut SpinHistory| record.budget(SpinPolicy::Patient, Instant::ZERO);
        let long = Some(LONGEST_SPIN_BUDGET / 2);
        // They stay long: it was tried some times, and rarely from then on.
        let mut record = failed;
        while budget(&mut record).is_zero() {}
        for _ in 0..LONG_SPINS {
            assert_eq!(budget(&mut record), LONGEST_SPIN_BUDGET);
            record.note(long, YieldBackoff::default());
        }
        assert_eq!(budget(&mut record), Duration::ZERO);
        // They get shorter: the usual budget is enough again.
        while budget(&mut record).is_zero() {}
        record.note(long, YieldBackoff::default());
        assert_eq!(budget(&mut record), LONGEST_SPIN_BUDGET);
        record.note(Some(PATIENT_SPIN_BUDGET), YieldBackoff::default());
        assert_eq!(budget(&mut record), PATIENT_SPIN_BUDGET);
    }

    #[test]
    fn budget__fixed_is_fixed() {
        let mut record = SpinHistory::default();
        for _ in 0..100 {
            record.note(None, YieldBackoff::default());
        }
        let policy = SpinPolicy::Fixed(Duration::from_micros(7));
        assert_eq!(record.budget(policy, Instant::ZERO), Duration::from_micros(7));
    }

    /// `backoff` after `count` more yields, each of which takes `long`.
    fn yielded(mut backoff: YieldBackoff, count: u32, long: Duration) -> YieldBackoff {
        for _ in 0..count {
            backoff = backoff.after(backoff.last, backoff.last + long);
        }
        backoff
    }

    #[test]
    fn backoff__yields_are_rare_while_no_thread_takes_the_processor() {
        let fresh = YieldBackoff::default();
        assert_eq!(fresh.polls_per_yield(), 0);
        let few = yielded(fresh, 15, Duration::from_nanos(500));
        assert_eq!((few.polls_per_yield(), few.is_due(few.last)), (16, true));
        let rare = yielded(few, 1, Duration::from_nanos(500));
        assert_eq!((rare.polls_per_yield(), rare.is_due(rare.last)), (64, false));
        let by_syscall = [few, rare].map(|b| YieldBackoff { by_syscall: true, ..b });
        assert_eq!(by_syscall.map(YieldBackoff::polls_per_yield), [2, 8]);
        assert!(!rare.is_due(rare.last + SPIN_BUDGET - Duration::from_nanos(1)));
        assert!(rare.is_due(rare.last + SPIN_BUDGET));
    }

    #[test]
    fn backoff__a_yield_comes_first_once_one_was_taken() {
        let rare = yielded(YieldBackoff::default(), 20, Duration::from_nanos(500));
        let taken = yielded(rare, 1, Duration::from_micros(1));
        assert_eq!((taken.polls_per_yield(), taken.is_due(taken.last)), (0, true));
    }

    #[test]
    fn budget__nothing_where_others_compute() {
        let millisecond = Duration::from_millis(1);
        let mut record = SpinHistory::default();
        record.note(None, yielded(YieldBackoff::default(), 2, millisecond));
        let contended = record.backoff(false);
        assert!(contended.is_contended());
        for policy in [SpinPolicy::Adaptive, SpinPolicy::Patient] {
            assert_eq!(record.budget(policy, contended.last), Duration::ZERO);
        }
        // A thread with a fixed budget polls.
        let fixed = Duration::from_micros(50);
        assert_eq!(record.budget(SpinPolicy::Fixed(fixed), contended.last), fixed);
        let later = contended.last + 100 * millisecond;
        assert_eq!(record.budget(SpinPolicy::Adaptive, later), SPIN_BUDGET);
    }
}
