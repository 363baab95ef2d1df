//! Runs of segments that came: behind one that was expected, those of the same length whose headers
//! say the same but for the number. What is asked of a frame has been answered by the first.

use super::Connection;
use super::header_prediction::ODD;
use crate::buffer::{BufferPool, Sink};
use crate::device::PacketRun;
use crate::time::Instant;
use crate::wire::{Flags, Frame};

impl Connection {
    /// Takes those packets of `rest` that continue `first`, which was taken just now; how many.
    #[inline]
    pub(crate) fn receive_run(
        &mut self,
        now: Instant,
        first: &Frame<'_>,
        rest: &mut PacketRun<'_>,
        mut sink: Option<&mut Sink<'_>>,
        pool: &mut BufferPool,
    ) -> u64 {
        let seq = first.head.transport.expand_seq(self.terms.width(), self.recv.next);
        if rest.first().is_none() || self.recv.next != seq + 1 || !self.may_continue(first) {
            return 0;
        }
        self.acquire_to_receive(rest.len() * first.payload.len(), sink.as_deref(), pool);
        let key = self.crc_in();
        let mut run = 0;
        while let Some(packet) = rest.first()
            && self.recv.next.before(self.recv.right_edge)
            && let Some(payload) = first.payload_of_later(packet, run + 1, key)
            && self.take(payload, Flags::NONE, sink.as_deref_mut()).is_ok()
        {
            rest.drop_first();
            run += 1;
        }
        if run == 0 {
            return 0;
        }
        self.recv.ack.arrival(seq + u32::from(run), false, now);
        self.stats.segments_received += u64::from(run);
        self.note_in_order(now, u32::from(run));
        u64::from(run)
    }

    /// Whether segments behind `first` may say the same as it does.
    #[inline]
    fn may_continue(&self, first: &Frame<'_>) -> bool {
        self.expects_segments() && !first.flags().intersects(ODD | Flags::EOM)
    }
}
