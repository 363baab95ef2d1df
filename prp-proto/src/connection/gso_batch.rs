//! Where the device sends GSO batches, data wait until they fill one (SPEC PRP-UDP-6).
//!
//! The kernel's cost of a datagram is one of calls. What a write leaves of a GSO batch, and what a
//! window lets go beyond the last one, costs a call as a whole GSO batch does. So it waits for
//! more, while so much is in flight that an acknowledgement comes before the receiver has had all
//! of it.

use core::time::Duration;

use super::Connection;
use super::ack_state::ACK_EVERY_BY_UDP;

/// Longest least round trip of a path on which data wait: what is in flight then takes a receiver
/// as long as this at 30 Gbit/s, so that what waited comes in time.
const NEAR: Duration = Duration::from_micros(50);

/// The GSO batch that is being sent.
#[derive(Copy, Clone, Debug, Hash)]
pub(super) struct GsoBatch {
    /// Segments of a full one; one where the device sends none.
    full: u16,
    /// Segments that may still go in the present one.
    left: u16,
}

impl GsoBatch {
    pub(super) const fn new() -> Self {
        Self { full: 1, left: 0 }
    }

    /// The next segment begins a GSO batch of up to `full`.
    pub(super) const fn begin(&mut self, full: u16) {
        *self = Self { full, left: 0 };
    }

    /// A segment goes out.
    #[inline]
    pub(super) const fn count(&mut self) {
        self.left = if self.left == 0 { self.full - 1 } else { self.left - 1 };
    }

    /// How many segments may go before the next GSO batch begins, or any number where the device
    /// sends none.
    #[inline]
    pub(super) fn most(&self) -> usize {
        if self.full > 1 { usize::from(self.left) } else { usize::MAX }
    }
}

impl Connection {
    /// Whether new data wait until they fill a GSO batch.
    #[inline]
    pub(super) fn waits_for_gso_batch(&self) -> bool {
        let GsoBatch { full, left } = self.send.gso_batch;
        full > 1 && left == 0 && self.fills_no_gso_batch(u32::from(full))
    }

    fn fills_no_gso_batch(&self, full: u32) -> bool {
        let send = &self.send;
        let in_flight = send.flight.next().since(send.flight.base()).cast_unsigned();
        let room = send.right_edge.since(send.flight.next()).cast_unsigned();
        let unsent = send.buf.unsent() / u64::from(send.mss);
        let unacknowledged = ACK_EVERY_BY_UDP.min(send.largest_window / 4);
        (room < full || unsent < u64::from(full))
            && in_flight > unacknowledged + full
            && self.state.can_send()
            && !send.buf.ends_message()
            && send.rtt.least().is_some_and(|least| least <= NEAR)
    }
}
