//! A connection's place among those to the same node that wait to send new data.

use super::Connection;

/// Bytes, frame cost included, that a connection sends before the next one may (its quantum):
/// enough for its reader to be worth waking, and for what was just written to be in a cache still.
const QUANTUM_BYTES: usize = 64 * 1024;

/// Bytes, frame cost included, of a connection with so little to say that it passes the others.
const SHORT_BYTES: usize = 16 * 1024;

/// A connection's place in the line of those to the same node, and its quantum.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct SendSlot {
    /// The endpoint's number for the path to the node.
    pub(crate) queue: u32,
    /// Bytes in flight, as counted there.
    pub(crate) in_flight: usize,
    /// It waits in line.
    queued: bool,
    /// It may send now.
    granted: bool,
    /// Bytes that are left of its quantum.
    left: usize,
}

impl SendSlot {
    /// Of a new connection.
    pub(crate) fn on(queue: u32) -> Self {
        Self { queue, ..Self::default() }
    }

    /// Waits in line from now on, with `unsent` bytes to send; whether in the line of short sends.
    pub(crate) fn enqueue(&mut self, unsent: u64) -> bool {
        let short = unsent <= SHORT_BYTES as u64;
        self.queued = true;
        self.left = if short { SHORT_BYTES } else { QUANTUM_BYTES };
        short
    }

    /// Begins or goes on.
    pub(crate) fn give(&mut self) {
        self.granted = true;
    }

    /// Stops; whether its quantum is used up.
    pub(crate) fn take(&mut self) -> bool {
        self.granted = false;
        self.left == 0
    }

    /// Has left the line.
    pub(crate) fn leave(&mut self) {
        self.queued = false;
    }

    /// Whether a new segment may go; `alone` says that nothing is in flight.
    pub(super) const fn allows(&self, alone: bool) -> bool {
        if self.queued { self.granted && self.left > 0 } else { alone }
    }

    /// How many new segments of this `cost` may go while others are in flight.
    pub(super) const fn most(&self, cost: usize) -> usize {
        if self.queued && self.granted { self.left.div_ceil(cost) } else { 0 }
    }

    /// A new segment of this cost goes.
    pub(super) fn spend(&mut self, cost: usize) {
        self.left = self.left.saturating_sub(cost);
    }
}

impl Connection {
    /// Whether it has to get into line.
    #[inline]
    pub(crate) fn comes(&self) -> bool {
        !self.send_slot.queued && self.wants_send_slot()
    }

    /// Gets into line; whether into that of those with little to say.
    pub(crate) fn enqueue(&mut self) -> bool {
        self.send_slot.enqueue(self.send.buf.unsent())
    }

    /// Bytes in flight, if that is not what was counted last: none of a connection that cannot
    /// send, which would delay others.
    #[inline]
    pub(crate) fn uncounted(&self) -> Option<usize> {
        let cost = if self.send.backoff > 0 { 0 } else { self.send.flight.cost() };
        (cost != self.send_slot.in_flight).then_some(cost)
    }
}
