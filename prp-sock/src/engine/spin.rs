//! Whether to look again or to sleep.

use std::time::Duration;

/// How long a waiting thread looks for frames before it sleeps.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Default)]
pub(crate) enum SpinPolicy {
    /// As long as it has been paying.
    #[default]
    Adaptive,
    /// This long, always. Zero sleeps at once.
    Fixed(Duration),
}

/// What an adaptive wait spends before it sleeps: three to four wake-ups across cores.
const ADAPTIVE_BUDGET: Duration = Duration::from_micros(20);

/// Waits in vain after which spinning is tried only now and then.
const PATIENCE: u32 = 8;

/// ... namely every so many waits.
const RETRY_EVERY: u32 = 32;

/// A record of whether spinning has been paying.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct SpinRecord {
    vain: u32,
    skipped: u32,
    /// Somebody else took the processor when it was last offered.
    crowded: bool,
}

impl SpinRecord {
    /// How long to spin this time.
    pub(super) fn budget(&mut self, policy: SpinPolicy) -> Duration {
        match policy {
            SpinPolicy::Fixed(budget) => budget,
            SpinPolicy::Adaptive if self.vain < PATIENCE => ADAPTIVE_BUDGET,
            SpinPolicy::Adaptive => {
                self.skipped += 1;
                if self.skipped.is_multiple_of(RETRY_EVERY) {
                    ADAPTIVE_BUDGET
                } else {
                    Duration::ZERO
                }
            }
        }
    }

    /// Whether nobody else wanted the processor when it was last offered. Who is not alone had better offer it before
    /// it looks many times: who takes it may be the peer.
    pub(super) const fn is_alone(&self) -> bool {
        !self.crowded
    }

    /// A wait was over before its budget was, or not; and whether the thread was alone.
    pub(super) fn note(&mut self, paid: bool, alone: bool) {
        self.crowded = !alone;
        if paid {
            (self.vain, self.skipped) = (0, 0);
        } else {
            self.vain = self.vain.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget__adaptive_gives_up_when_spinning_is_in_vain_and_comes_back() {
        let mut record = SpinRecord::default();
        for _ in 0..PATIENCE {
            assert_eq!(record.budget(SpinPolicy::Adaptive), ADAPTIVE_BUDGET);
            record.note(false, true);
        }
        let tried = (0..RETRY_EVERY)
            .filter(|_| record.budget(SpinPolicy::Adaptive) > Duration::ZERO)
            .count();
        assert_eq!(tried, 1);
        record.note(true, true);
        assert_eq!(record.budget(SpinPolicy::Adaptive), ADAPTIVE_BUDGET);
    }

    #[test]
    fn budget__fixed_is_fixed() {
        let mut record = SpinRecord::default();
        for _ in 0..100 {
            record.note(false, true);
        }
        let policy = SpinPolicy::Fixed(Duration::from_micros(7));
        assert_eq!(record.budget(policy), Duration::from_micros(7));
    }
}
