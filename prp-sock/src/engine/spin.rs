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
    looks: Looks,
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

    /// How often to look between two offers of the processor, to begin with.
    pub(super) const fn looks(&self) -> Looks {
        self.looks
    }

    /// A wait was over before its budget was, or not; and how often it looked in the end.
    pub(super) fn note(&mut self, paid: bool, looks: Looks) {
        self.looks = looks;
        if paid {
            (self.vain, self.skipped) = (0, 0);
        } else {
            self.vain = self.vain.saturating_add(1);
        }
    }
}

/// How often to look between two offers of the processor, by how many offers in a row nobody took.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Looks {
    in_vain: u32,
}

impl Looks {
    /// About as long as an offer that nobody takes: a frame that comes during one is seen late.
    const FEW: usize = 16;

    /// A few microseconds: whoever comes to want the processor does not wait longer than that.
    const MANY: usize = 64;

    /// Offers in a row that nobody took before [`Self::MANY`] looks. The scheduler may pass over a peer on the same
    /// processor once or twice.
    const CERTAIN: u32 = 16;

    /// After an offer that somebody took the next one comes first: it may be the peer who takes it.
    pub(super) const fn number(self) -> usize {
        match self.in_vain {
            0 => 0,
            1..Self::CERTAIN => Self::FEW,
            _ => Self::MANY,
        }
    }

    /// After an offer that somebody took, or nobody.
    pub(super) const fn after(self, taken: bool) -> Self {
        Self { in_vain: if taken { 0 } else { self.in_vain.saturating_add(1) } }
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
            record.note(false, Looks::default());
        }
        let tried = (0..RETRY_EVERY)
            .filter(|_| record.budget(SpinPolicy::Adaptive) > Duration::ZERO)
            .count();
        assert_eq!(tried, 1);
        record.note(true, Looks::default());
        assert_eq!(record.budget(SpinPolicy::Adaptive), ADAPTIVE_BUDGET);
    }

    #[test]
    fn budget__fixed_is_fixed() {
        let mut record = SpinRecord::default();
        for _ in 0..100 {
            record.note(false, Looks::default());
        }
        let policy = SpinPolicy::Fixed(Duration::from_micros(7));
        assert_eq!(record.budget(policy), Duration::from_micros(7));
    }

    #[test]
    fn looks__grow_while_nobody_takes_the_processor() {
        let mut looks = Looks::default();
        let grown = [(); 20].map(|()| {
            looks = looks.after(false);
            looks.number()
        });
        assert_eq!(grown[..15], [16; 15]);
        assert_eq!(grown[15..], [64; 5]);
        assert_eq!(looks.after(true).number(), 0);
    }
}
