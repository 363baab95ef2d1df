//! The only reader of time.

use nix::time::{ClockId, clock_gettime};
use prp_proto::time::Instant;

/// Monotonic time since the engine started. Steps of the wall clock do not touch it. Read several
/// times for each message, so in plain nanoseconds.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Clock {
    origin: u64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: nanos() }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_nanos(nanos().saturating_sub(self.origin))
    }
}

/// # Panics
/// Without a monotonic clock, as the standard library does: every Linux has one.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
fn nanos() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("a monotonic clock");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}
