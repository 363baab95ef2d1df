//! Runs of new segments: after one that has the full length, those that follow it in what was
//! written, and that may go as it may. What decides about a segment, and what its header says, is
//! the same for all of a run but the number.

use super::Connection;
use crate::buffer::Span;
use crate::flight::{FRAME_COST, Segment};
use crate::time::Instant;
use crate::transmit::TransmitBatch;

impl Connection {
    /// Sends the run that follows `last`, which was sent for the first time just now: at most
    /// `most` segments. Returns how many.
    pub(super) fn transmit_run(
        &mut self,
        now: Instant,
        batch: &mut TransmitBatch,
        last: &Segment,
        most: u16,
        lent: &[u8],
    ) -> u16 {
        let mss = self.send.mss;
        if last.len != mss {
            return 0;
        }
        let run = self.run_length(batch, most);
        if run == 0 {
            return 0;
        }
        self.stats.segments_sent += u64::from(run);
        let acked = self.piggyback_ack();
        let crc = self.crc_out();
        let reads = crc.is_some() || self.path.to.is_udp();
        for _ in 0..run {
            let at = self.send.buf.unsent_from();
            let span = Span { at, len: mss, eom: false };
            self.send.buf.commit_segment(span);
            let (seq, segment) = self.number(now, span);
            let mut header = self.header(seq, mss);
            if let Some(acked) = acked {
                header.flags = header.flags.with_ack(acked);
            }
            let pieces = if reads { self.send.buf.slices(at, mss, lent) } else { [&[][..], &[]] };
            batch.push_stream(&self.path, self.handle, header, at, pieces, crc);
            self.note_releasable(&segment);
        }
        run
    }

    /// Segments of full length, none of which ends a message or what was written, that may go at
    /// once behind one that has just gone; `most` at most.
    ///
    /// None where a session protects them, or a pace holds them apart.
    fn run_length(&self, batch: &TransmitBatch, most: u16) -> u16 {
        let send = &self.send;
        if self.protection.is_some() || send.congestion.pacing_rate().is_some() {
            return 0;
        }
        let mss = usize::from(send.mss);
        let cost = mss + FRAME_COST;
        let peer = send.right_edge.since(send.flight.next()).max(0) as usize;
        let congestion = send.congestion.window().saturating_sub(send.flight.cost() + mss);
        let congestion = if send.may_send(mss) { congestion / cost + 1 } else { 0 };
        send.buf
            .full_segments(send.mss)
            .min(peer)
            .min(congestion)
            .min(self.send_slot.most(cost))
            .min(send.gso_batch.most())
            .min(batch.room(mss))
            .min(usize::from(most)) as u16
    }
}
