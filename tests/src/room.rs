//! Waiting for room in a device.

use std::thread;
use std::time::{Duration, Instant};

use prp_sock::node::Sent;

/// How long a device may be full.
const PATIENCE: Duration = Duration::from_secs(10);

/// Somebody sends, and waits for room where there is none: a device's socket is full while the kernel puts off what it has,
/// beside others that compute.
pub struct Room {
    deadline: Instant,
}

impl Room {
    /// From now on.
    pub fn awaited() -> Self {
        Self { deadline: Instant::now() + PATIENCE }
    }

    /// After an attempt: lets others have the processor if the device was full.
    ///
    /// # Panics
    /// If it has been for too long, or has taken nothing without being full, or for another reason.
    pub fn is_there_or_comes(&self, sent: &Sent) {
        assert!((sent.done > 0 || sent.full) && !sent.too_big, "{sent:?}");
        if sent.full {
            assert!(Instant::now() < self.deadline, "no room comes: {sent:?}");
            thread::yield_now();
        }
    }
}
