//! Processor time of this process, and how often it slept.

use std::ops::{Add, Sub};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};

/// Processor time, in seconds.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// In the program.
    pub(crate) user: f64,
    /// In the kernel on its behalf. What the kernel does in threads of its own is not in it.
    pub(crate) system: f64,
}

/// What all threads together have spent.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub(crate) cpu: Usage,
    /// Times that a thread slept until something woke it.
    pub(crate) wake_ups: u64,
}

impl Spent {
    /// Until now.
    pub(crate) fn now() -> Self {
        // It fails for wrong arguments only.
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Self::default() };
        let seconds = |t: nix::sys::time::TimeVal| t.num_microseconds() as f64 / 1e6;
        let cpu = Usage { user: seconds(usage.user_time()), system: seconds(usage.system_time()) };
        // A yield is no voluntary switch to the kernel.
        Self { cpu, wake_ups: u64::try_from(usage.voluntary_context_switches()).unwrap_or(0) }
    }
}

impl Sub for Spent {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            cpu: self.cpu - earlier.cpu,
            wake_ups: self.wake_ups.saturating_sub(earlier.wake_ups),
        }
    }
}

impl Usage {
    /// Both together.
    pub(crate) fn total(self) -> f64 {
        self.user + self.system
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { user: self.user + other.user, system: self.system + other.system }
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { user: self.user - earlier.user, system: self.system - earlier.system }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now__grows_with_work() {
        let before = Spent::now();
        let mut x = 1u64;
        while (Spent::now() - before).cpu.total() < 0.001 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let spent = (Spent::now() - before).cpu;
        assert!(spent.user >= 0.0 && spent.system >= 0.0 && spent.total() >= 0.001);
    }

    #[test]
    fn now__counts_a_wake_up_for_each_sleep() {
        let before = Spent::now();
        (0..5).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(100)));
        // Tests of other threads may sleep as well.
        assert!((Spent::now() - before).wake_ups >= 5);
    }
}
