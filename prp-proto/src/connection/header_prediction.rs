//! The frame that was expected: the next segment, in good order, which goes straight into the
//! buffer of a reader who waits for it (Jacobson's header prediction, 1990). Most of what
//! [`Connection::on_frame`] asks of a frame has an answer known beforehand then. What is done about
//! one is the same.

use super::Connection;
use crate::buffer::Sink;
use crate::congestion::AckSample;
use crate::seq::SeqWidth;
use crate::state::{ReceiveSide, SendSide, State};
use crate::time::Instant;
use crate::timer::Timer;
use crate::wire::{Flags, Frame};

/// What segments do not carry as long as all goes well.
pub(super) const ODD: Flags = Flags::CREQ
    .with(Flags::CACK)
    .with(Flags::EOC)
    .with(Flags::CTL)
    .with(Flags::RST)
    .with(Flags::RTX);

impl Connection {
    /// Acts on `frame` if it is the one that was expected; whether it is. If it is not, nothing has
    /// changed.
    #[inline]
    pub(crate) fn try_fast_receive(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        sink: &mut Sink<'_>,
    ) -> bool {
        let next = self.recv.next;
        let is_expected = self.expects_segments()
            && frame.flags().contains(Flags::ACK)
            && !frame.flags().intersects(ODD)
            && frame.head.transport.names(self.terms.width(), next)
            && next.before(self.recv.right_edge)
            && frame.payload.len() <= usize::from(self.terms.mss);
        // Segments it says have arrived, beyond those known to have.
        let base = self.send.flight.base().truncate(SeqWidth::Bits16) as u16;
        let news = frame.flags().ackno().wrapping_sub(base);
        let is_simple = news == 0 || (news == 1 && self.awaits_one());
        let passes = is_expected && is_simple && self.recv.buf.passes(frame.payload, sink);
        // A trailer last: it is checked once, here or on the general path.
        if !passes || self.crc_in().is_some_and(|key| !frame.crc_ok(key)) {
            return false;
        }
        sink.take(frame.payload);
        if news == 1 {
            self.on_only_acked(now);
        }
        self.recv.ack.arrival(next, false, now);
        self.recv.next += 1;
        self.stats.bytes_received += frame.payload.len() as u64;
        self.stats.segments_received += 1;
        self.note_in_order(now, 1);
        self.note_received(now);
        true
    }

    /// Whether segments may come, and nothing is known that would make one odd.
    #[inline]
    pub(super) fn expects_segments(&self) -> bool {
        let open = State::Established { send: SendSide::Open, receive: ReceiveSide::Open };
        self.state == open
            && self.terms.extended
            && self.confirmed
            && !self.orphan
            && !self.recv.shut
            && !self.recv.has_gap()
    }

    /// Whether a single segment is in flight, sent once, and there is nothing to do once it has
    /// arrived.
    #[inline]
    fn awaits_one(&self) -> bool {
        self.send.flight.has_only_one() && !self.starved && !self.flush_awaited
    }

    /// The only segment in flight has arrived, as [`Self::awaits_one`] would have it.
    #[inline]
    fn on_only_acked(&mut self, now: Instant) {
        let limited = self.send.is_congestion_limited();
        let Some(segment) = self.send.flight.take_only() else { return };
        let rtt = now.since(segment.sent);
        let acked = segment.cost();
        self.send.right_edge = self.send.right_edge.max(self.send.flight.base() + self.send.window);
        self.send.release(segment.end());
        self.send.rtt.sample(rtt);
        self.send.on_progress(now, AckSample { now, acked, in_flight: 0, limited, rtt: Some(rtt) });
        self.send.reorder_deadline = None;
        self.timers.stop(Timer::Loss);
        self.arm_persist(now);
    }
}
