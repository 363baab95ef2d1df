//! Processor time of this process.

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

impl Usage {
    /// Of all threads until now.
    pub(crate) fn now() -> Self {
        // It fails for wrong arguments only.
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return Self::default() };
        let seconds = |t: nix::sys::time::TimeVal| t.num_microseconds() as f64 / 1e6;
        Self { user: seconds(usage.user_time()), system: seconds(usage.system_time()) }
    }

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
        let before = Usage::now();
        let mut x = 1u64;
        while (Usage::now() - before).total() < 0.001 {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        let spent = Usage::now() - before;
        assert!(spent.user >= 0.0 && spent.system >= 0.0 && spent.total() >= 0.001);
    }
}
