//! How much the send buffers of all connections may grow (SPEC PRP-WIN-7).

use crate::connection::Connection;
use crate::time::Instant;

/// Bytes that send buffers have grown by, and how many that may be.
#[derive(Copy, Clone, Debug)]
pub(super) struct SendGrowth {
    limit: usize,
    granted: usize,
}

impl SendGrowth {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, granted: 0 }
    }

    /// Has `conn` act on its timers: nothing else makes a send buffer grow or shrink.
    pub(super) fn pass_time(&mut self, conn: &mut Connection, now: Instant) {
        let before = conn.send_growth();
        conn.on_time(now, self.limit - self.granted);
        self.granted = self.granted - before + conn.send_growth();
    }

    /// `conn` is gone.
    pub(super) fn take_back(&mut self, conn: &Connection) {
        self.granted -= conn.send_growth();
    }
}
