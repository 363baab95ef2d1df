//! What kinds of waiting there are.

use std::time::Duration;

use super::tuning::{ALWAYS, BUDGET, PATIENT_BUDGET, RANK_BUDGET, RANK_YIELDS, RETRY_BUDGET};

/// How a thread waits: how long it polls before it sleeps, and whether it learns from what came.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct WaitSettings {
    /// How long it polls.
    pub(super) budget: Duration,
    /// The same when polling that has not been paying is tried again.
    pub(super) retry_budget: Duration,
    /// How often it yields instead of polling for a time.
    pub(super) yields: Option<u32>,
    /// Whether it polls less where that does not pay, or where others compute.
    pub(super) adapts: bool,
    /// As [`Self::passes_on`].
    passes_on: bool,
}

impl WaitSettings {
    /// A thread that waits for its own messages polls as long as that has been paying.
    pub const ADAPTIVE: Self = Self::adaptive(BUDGET);

    /// The same for a thread that passes messages on between streams and other processes, as the
    /// holder of `prp run` does: each message passes another process at both ends.
    pub const PATIENT: Self =
        Self { retry_budget: RETRY_BUDGET, passes_on: true, ..Self::adaptive(PATIENT_BUDGET) };

    /// Sleeps at once.
    pub const ASLEEP: Self = Self::fixed(Duration::ZERO);

    /// A rank of a job polls for a while; on a node with more ranks than processors it lets some of
    /// them run instead, before it sleeps.
    pub const fn rank(is_oversubscribed: bool) -> Self {
        let yields = if is_oversubscribed { Some(RANK_YIELDS) } else { None };
        Self { yields, ..Self::fixed(RANK_BUDGET) }
    }

    /// Polls for `budget`, always.
    pub const fn fixed(budget: Duration) -> Self {
        Self { adapts: false, ..Self::adaptive(budget) }
    }

    /// A router polls for `budget` after each frame: as a thread with [`Self::fixed`] if that is so
    /// long that it leaves no time for others.
    pub const fn router(budget: Duration) -> Self {
        if budget.as_nanos() < ALWAYS.as_nanos() {
            Self::adaptive(budget)
        } else {
            Self::fixed(budget)
        }
    }

    const fn adaptive(budget: Duration) -> Self {
        Self { budget, retry_budget: budget, yields: None, adapts: true, passes_on: false }
    }

    /// Whether the thread passes on what comes by any of several streams, so that one of them may
    /// have a flow.
    pub const fn passes_on(&self) -> bool {
        self.passes_on
    }

    /// Whether the thread may sleep while frames gather: it need not poll whatever happens.
    #[inline]
    pub const fn may_nap(&self) -> bool {
        self.adapts || self.budget.is_zero()
    }
}

impl Default for WaitSettings {
    fn default() -> Self {
        Self::ADAPTIVE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn router__that_polls_for_long_does_so_whatever_happens() {
        let router = |micros| WaitSettings::router(Duration::from_micros(micros));
        assert!(router(0).may_nap() && router(20).may_nap() && router(999).may_nap());
        assert!(!router(1_000).may_nap());
        assert_eq!(router(20), WaitSettings::ADAPTIVE);
        assert_eq!(router(1_000), WaitSettings::fixed(Duration::from_millis(1)));
    }
}
