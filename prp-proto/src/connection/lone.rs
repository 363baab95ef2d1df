//! A lone message: nothing is under way or waits to be sent, and it fits a segment that may go at once. Most of what is
//! asked on the way from [`Connection::write`] to [`Connection::transmit`] has an answer known beforehand then, as with a frame
//! that was [expected](super::expected). What is done is the same.

use super::{Connection, Pending};
use crate::buffer::Ending;
use crate::flight::FRAME_COST;
use crate::state::{ReceiveSide, SendSide, State};
use crate::time::Instant;
use crate::transmit::TransmitBatch;
use crate::wire::Flags;

impl Connection {
    /// Whether `len` bytes with this ending are a lone message.
    #[inline]
    pub(crate) fn is_lone(&self, now: Instant, len: usize, ending: Ending) -> bool {
        len > 0
            && len <= usize::from(self.send.mss)
            && ending != Ending::More
            && self.may_send_lone(now)
    }

    /// Takes `bytes`, which are a lone message, and puts their segment into `batch`; whether there is memory for them. If not,
    /// nothing has changed.
    #[inline]
    pub(crate) fn send_lone(
        &mut self,
        now: Instant,
        bytes: &[u8],
        ending: Ending,
        batch: &mut TransmitBatch,
    ) -> bool {
        let Some(span) = self.send.buf.write_segment(bytes, ending) else { return false };
        self.starved = !self.send.buf.has_worthwhile_room();
        self.stats.bytes_sent += u64::from(span.len);
        self.turn.spend(usize::from(span.len) + FRAME_COST);
        let (seq, segment) = self.send.flight.push(span.at, span.len, span.eom, false, now);
        self.send.waiting_since = now;
        self.stats.segments_sent += 1;
        self.send.loss_from = now;
        self.push_segment(now, batch, seq, &segment, Flags::NONE);
        true
    }

    /// Whether a segment may go at once and there is nothing else to do.
    #[inline]
    fn may_send_lone(&self, now: Instant) -> bool {
        let open = State::Established { send: SendSide::Open, receive: ReceiveSide::Open };
        self.state == open
            && self.terms.extended
            && self.terms.policy().retains()
            && self.error.is_none()
            && self.pending == Pending::default()
            && !self.queued_transmit
            && self.send.flight.is_clear()
            && self.send.window_open()
            && self.turn.allows(true)
            && self.send.pace_holds(now).is_none()
    }
}
