//! The only reader of time.

use std::time::Instant as StdInstant;

use prp_proto::time::Instant;

/// Monotonic time since the daemon started.
#[derive(Copy, Clone, Debug)]
pub struct Clock(StdInstant);

impl Clock {
    /// A clock that begins now.
    pub fn start() -> Self {
        Self(StdInstant::now())
    }

    /// The time.
    pub fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed()
    }
}
