//! A message on an idle connection: nothing is in flight or waits to be sent, and it fits a segment
//! that may go at once. Most of what is asked on the path from [`Connection::write`] to
//! [`Connection::transmit`] has an answer known beforehand then, as with a frame that was
//! [expected](super::header_prediction). What is done is the same.

use super::Connection;
use crate::buffer::Ending;
use crate::time::Instant;
use crate::transmit::TransmitBatch;

impl Connection {
    /// Whether `len` bytes are a message on an idle connection, if nothing is known that this
    /// connection would send otherwise.
    #[inline]
    pub(crate) fn can_send_now(&self, now: Instant, len: usize) -> bool {
        debug_assert!(!self.wants_transmit(), "whoever wants to send stands in line");
        len > 0
            && len <= usize::from(self.send.mss)
            && self.state.can_send()
            && self.terms.policy().retains()
            && self.send.flight.is_clear()
            && self.send.window_open()
            && self.send_slot.allows(true)
            && self.send.pace_holds(now).is_none()
    }

    /// Takes `bytes`, which are a message on an idle connection, and puts their segment into
    /// `batch`; whether there is memory and room enough for them. If not, nothing has changed.
    #[inline]
    pub(crate) fn try_send_now(
        &mut self,
        now: Instant,
        bytes: &[u8],
        ending: Ending,
        batch: &mut TransmitBatch,
    ) -> bool {
        let Some(span) = self.send.buf.write_segment(bytes, ending) else { return false };
        debug_assert!(!self.starved, "there is room for a writer");
        let (seq, segment) = self.number(now, span);
        self.push_new(now, batch, (seq, &segment), true, &[]);
        true
    }
}
