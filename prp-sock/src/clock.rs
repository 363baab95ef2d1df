//! The only reader of time.

use std::time::Instant as StdInstant;

use prp_proto::time::Instant;

/// Monotonic time since the engine started. Steps of the wall clock do not touch it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Clock {
    origin: StdInstant,
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: StdInstant::now() }
    }

    pub(crate) fn now(&self) -> Instant {
        let elapsed = StdInstant::now().saturating_duration_since(self.origin);
        Instant::ZERO + elapsed
    }
}
