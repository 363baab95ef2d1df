//! Segments that are longer than what the path carries by now, in parts (SPEC PRP-SIZE-5).

use alloc::vec::Vec;

use super::Connection;
use crate::buffer::Sink;
use crate::flight::Segment;
use crate::seq::{Seq, SeqWidth};
use crate::stats::DropReason;
use crate::time::Instant;
use crate::transmit::TransmitBatch;
use crate::wire::{Flags, Frame, Head, Part, TransportHeader, packet_header};

/// The parts of a segment that have come so far, without a gap from its beginning.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct PartsReceived {
    seq: Seq,
    bytes: Vec<u8>,
}

impl Connection {
    /// Sends a segment in parts, each no longer than what gets through.
    #[cold]
    pub(super) fn push_parts(
        &mut self,
        batch: &mut TransmitBatch,
        seq: Seq,
        segment: &Segment,
        lent: &[u8],
    ) {
        let room = self.send.mss.saturating_sub(Part::LEN as u16).max(1);
        let mut flags = Flags::NONE;
        if segment.eom {
            flags |= Flags::EOM;
        }
        if segment.eoc {
            flags |= Flags::EOC;
        }
        let mut at = 0;
        while at < segment.len {
            let len = room.min(segment.len - at);
            let part = Part { to: self.ids.remote, seq, at, total: segment.len, flags };
            let pieces = self.send.buf.slices(segment.at + u64::from(at), len, lent);
            let payload = [&part.emit()[..], pieces[0], pieces[1]].concat();
            let mut header = self.header(seq, payload.len() as u16);
            header.flags |= Flags::CTL;
            self.push_block(batch, header, &payload);
            at += len;
        }
    }

    /// A part of a segment. The last one makes it a segment like any other.
    #[cold]
    pub(super) fn on_part(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        part: &Part,
        bytes: &[u8],
        sink: Option<&mut Sink<'_>>,
    ) -> Result<(), DropReason> {
        if part.to != self.ids.local {
            return Err(DropReason::BadId);
        }
        if part.total > self.terms.mss {
            return Err(DropReason::TooLong);
        }
        self.note_received(now);
        let parts = self.recv.parts.get_or_insert_default();
        if part.at == 0 {
            parts.seq = part.seq;
            parts.bytes.clear();
            // In the order of a frame: what is left out of it here is made when it is whole.
            let room = usize::from(part.total);
            parts.bytes.try_reserve(room).map_err(|_| DropReason::NoBuffer)?;
        }
        if parts.seq != part.seq || parts.bytes.len() != usize::from(part.at) {
            return Err(DropReason::OutOfOrder);
        }
        parts.bytes.extend_from_slice(bytes);
        if parts.bytes.len() < usize::from(part.total) {
            return Ok(());
        }
        let whole = self.recv.parts.take().map(|parts| parts.bytes).unwrap_or_default();
        let ports = frame.head.transport;
        let width = SeqWidth::Bits20;
        let mut transport =
            TransportHeader::new(ports.src_port, ports.dst_port, part.seq, width, part.total);
        transport.flags |= part.flags | Flags::RTX;
        let head = Head { ethernet: None, transport, ..frame.head };
        let segment = [&packet_header(&head.emit())[..], &whole].concat();
        let segment = Frame::parse_datagram(frame.from, &segment)?;
        self.on_segment(now, &segment, sink)
    }
}
