//! Data going out, and every other frame a connection sends (SPEC PRP-SEG-1 to 3).

use prp_key::Mode;

use super::next_to_send::{Blocker, NextSend};
use super::{Connection, Protection};
use crate::buffer::Span;
use crate::flight::{FRAME_COST, Segment};
use crate::seq::{Seq, SeqWidth};
use crate::state::State;
use crate::time::Instant;
use crate::timer::Timer;
use crate::transmit::TransmitBatch;
use crate::wire::{
    Control, CrcKey, Flags, HEADER_LEN, MAX_CONTROL_LEN, ResetBlock, ResetReason, TransportHeader,
};

/// Segments a connection may put out before the next one may: a batch for one system call, and
/// whole GSO batches where its device sends such.
const QUANTUM: u16 = 16;

impl Connection {
    /// Puts frames into `batch`, data up to a quantum of segments, where the device sends GSO
    /// batches of up to `gso_frames`; whether more could go out at once. `lent` are the last bytes
    /// that were written, if they are lent.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        batch: &mut TransmitBatch,
        gso_frames: u16,
        lent: &[u8],
    ) -> bool {
        self.send.gso_batch.begin(gso_frames);
        self.transmit_handshake(batch);
        if matches!(self.state, State::Established { .. }) {
            if self.pending.ack && self.recv.has_gap() {
                self.transmit_ack(now, batch);
            }
            self.arm_size_probe(now);
            let mut left = QUANTUM.next_multiple_of(gso_frames.max(1));
            while left > 0 && !batch.is_full() {
                let sent = self.transmit_segments(now, batch, left, lent);
                if sent == 0 {
                    break;
                }
                left -= sent;
            }
            self.transmit_control(now, batch);
            if left == 0 || batch.is_full() {
                return self.wants_transmit();
            }
        }
        if let Some(reason) = self.pending.reset.take() {
            self.transmit_reset(batch, reason);
        }
        false
    }

    /// Whether [`Self::transmit`] would find something to do.
    #[inline]
    pub(crate) fn wants_transmit(&self) -> bool {
        let p = &self.pending;
        if p.request || p.accept || p.reset.is_some() {
            return true;
        }
        if !matches!(self.state, State::Established { .. }) {
            return false;
        }
        p.ack || p.probe || p.size_probe || p.size_ack.is_some() || self.has_sendable()
    }

    /// Whether it could send and has nothing in flight.
    pub(crate) fn has_nothing_in_flight(&self) -> bool {
        matches!(self.state, State::Established { .. }) && self.send.flight.is_empty()
    }

    fn transmit_handshake(&mut self, batch: &mut TransmitBatch) {
        let first = self.first;
        let keyed = self.protection.as_deref();
        if core::mem::take(&mut self.pending.request) {
            let offer = self.own_request().map(|o| o.emit());
            let plain = offer.as_ref().map_or(&[][..], |o| o);
            let payload = keyed.and_then(Protection::request).unwrap_or(plain);
            self.push_outside(batch, Flags::CREQ, first, payload, offer.is_some());
        }
        if core::mem::take(&mut self.pending.accept) {
            let grant = self.own_grant();
            if let Some(asked) = grant.map(|grant| grant.echo)
                && let Some(answer) = keyed.and_then(|keyed| keyed.answer_to(asked))
            {
                return self.push_outside(batch, Flags::CACK, first, answer, true);
            }
            let offer = grant.map(|o| o.emit());
            let payload = offer.as_ref().map_or(&[][..], |o| o);
            let flags = if offer.is_some() && self.state != State::ConnWait {
                Flags::CACK | Flags::NONE.with_ack(self.recv.ack.acked)
            } else {
                Flags::CACK
            };
            self.push_outside(batch, flags, first, payload, offer.is_some());
        }
    }

    fn transmit_reset(&mut self, batch: &mut TransmitBatch, reason: ResetReason) {
        let block = ResetBlock { reason, receiver: self.ids.remote, sender: self.ids.local };
        let seq = self.send.flight.next();
        self.push_outside(batch, Flags::RST, seq, &block.emit(), true);
    }

    /// Sends a data segment, a repeat before a new one, and behind a new one its run: `most`
    /// segments at most. Returns how many, 0 if none may go.
    fn transmit_segments(
        &mut self,
        now: Instant,
        batch: &mut TransmitBatch,
        most: u16,
        lent: &[u8],
    ) -> u16 {
        if !self.has_segment() {
            return 0;
        }
        self.send.flight.forget_found();
        let mut next = self.next_to_send();
        let paced_until = self.send.pace_holds(now);
        if let Some(until) = paced_until
            && next.may_go()
        {
            next = NextSend::Blocked(Blocker::Pace);
            if !self.timers.is_set(Timer::Pace) {
                self.send.pacing_limited = true;
                self.timers.set(Timer::Pace, until);
            }
        }
        let alone = self.send.flight.is_empty();
        let (seq, segment) = match next {
            NextSend::Nothing => return 0,
            NextSend::Blocked(blocker) => {
                self.stats.count_blocked(blocker);
                return 0;
            }
            NextSend::Repeat(seq, segment) => {
                self.transmit_again(now, batch, (seq, &segment), lent);
                return 1;
            }
            NextSend::New(span) => {
                self.send.buf.commit_segment(span);
                self.number(now, span)
            }
            NextSend::Eoc => {
                self.send.eoc_sent = true;
                let at = self.send.buf.end();
                self.send.flight.push(at, 0, false, true, now)
            }
        };
        self.push_new(now, batch, (seq, &segment), alone, lent);
        1 + self.transmit_run(now, batch, &segment, most - 1, lent)
    }

    fn transmit_again(
        &mut self,
        now: Instant,
        batch: &mut TransmitBatch,
        (seq, segment): (Seq, &Segment),
        lent: &[u8],
    ) {
        self.send.retransmit_credit = false;
        self.send.flight.resent(seq, now);
        self.stats.retransmitted += 1;
        self.send.rto_base = now;
        self.push_segment(now, batch, (seq, segment, Flags::RTX), lent);
    }

    /// Gives `span` a number; what is recorded of it.
    #[inline]
    pub(super) fn number(&mut self, now: Instant, span: Span) -> (Seq, Segment) {
        self.stats.bytes_sent += u64::from(span.len);
        self.send_slot.spend(usize::from(span.len) + FRAME_COST);
        self.send.gso_batch.count();
        self.send.flight.push(span.at, span.len, span.eom, false, now)
    }

    /// Sends a segment for the first time; `alone` says that nothing else is in flight.
    #[inline]
    pub(super) fn push_new(
        &mut self,
        now: Instant,
        batch: &mut TransmitBatch,
        (seq, segment): (Seq, &Segment),
        alone: bool,
        lent: &[u8],
    ) {
        if alone {
            self.send.waiting_since = now;
        }
        self.stats.segments_sent += 1;
        self.send.rto_base = now;
        self.push_segment(now, batch, (seq, segment, Flags::NONE), lent);
    }

    fn push_segment(
        &mut self,
        now: Instant,
        batch: &mut TransmitBatch,
        (seq, segment, flags): (Seq, &Segment, Flags),
        lent: &[u8],
    ) {
        self.send.allow_one = false;
        self.send.note_paced(now, usize::from(segment.len));
        if segment.len > self.send.mss {
            return self.push_parts(batch, seq, segment, lent);
        }
        let mut header = self.header(seq, segment.len);
        if self.terms.extended {
            header.flags |= flags;
        }
        if segment.eom {
            header.flags |= Flags::EOM;
        }
        if segment.eoc {
            header.flags |= Flags::EOC;
        }
        if let Some(acked) = self.piggyback_ack() {
            header.flags = header.flags.with_ack(acked);
            if segment.eoc {
                self.send.eoc_closed_both = !self.state.can_receive() && acked == self.recv.next;
            }
        }
        if let Some(session) = self.protection.as_deref_mut().and_then(|keyed| {
            keyed.renew_if_old(now);
            keyed.session()
        }) {
            let pieces = self.send.buf.slices(segment.at, segment.len, lent);
            // A tag is over one piece, and a datagram is one.
            let stays = session.mode() == Mode::Sign && !self.path.to.is_udp();
            if stays && pieces[1].is_empty() {
                let stream = (segment.at, pieces[0]);
                batch.push_signed_stream(&self.path, self.handle, header, stream, session);
            } else {
                batch.push_protected(&self.path, self.handle, header, pieces, session);
            }
            return self.note_releasable(segment);
        }
        let crc = self.crc_out();
        // Only a trailer and the copy in a datagram read them here.
        let pieces = if crc.is_some() || self.path.to.is_udp() {
            self.send.buf.slices(segment.at, segment.len, lent)
        } else {
            [&[][..], &[]]
        };
        batch.push_stream(&self.path, self.handle, header, segment.at, pieces, crc);
        self.note_releasable(segment);
    }

    /// Notes that a policy that repeats nothing needs `segment` no more.
    pub(super) fn note_releasable(&mut self, segment: &Segment) {
        if !self.terms.policy().retains() {
            self.send.releasable = Some(segment.at + u64::from(segment.len));
        }
    }

    /// Control frames: acknowledgement, probes.
    fn transmit_control(&mut self, now: Instant, batch: &mut TransmitBatch) {
        if self.pending.ack {
            self.transmit_ack(now, batch);
        }
        let to = self.ids.remote;
        if core::mem::take(&mut self.pending.probe) {
            let number = self.send.probes;
            self.send.probes = number.wrapping_add(1);
            self.push_control(batch, &Control::Probe { to, from: self.ids.local, number });
        }
        if let Some(size) = self.pending.size_ack.take() {
            self.push_control(batch, &Control::SizeProbeAck { to, size });
        }
        if core::mem::take(&mut self.pending.size_probe) {
            let size = self.probed_size();
            let mut block = [0; MAX_CONTROL_LEN];
            let len = Control::SizeProbe { to, size }.emit(&mut block);
            let mut header = self.header(self.send.flight.next(), size);
            header.flags |= Flags::CTL;
            if let Some(session) = self.protection.as_deref_mut().and_then(Protection::session) {
                let pieces = [&block[..len], &[]];
                return batch.push_protected(&self.path, self.handle, header, pieces, session);
            }
            let crc = self.crc_out();
            batch.push_padded(&self.path, self.handle, header, &block[..len], crc);
        }
    }

    fn transmit_ack(&mut self, now: Instant, batch: &mut TransmitBatch) {
        if let Some(keyed) = self.protection.as_deref_mut() {
            keyed.renew_if_old(now);
        }
        let ack = self.ack_block(now);
        self.push_control(batch, &Control::Ack { to: self.ids.remote, ack });
    }

    fn push_control(&mut self, batch: &mut TransmitBatch, control: &Control) {
        let mut block = [0; MAX_CONTROL_LEN];
        let len = control.emit(&mut block);
        let mut header = self.header(self.send.flight.next(), len as u16);
        header.flags |= Flags::CTL;
        self.push_block(batch, header, &block[..len]);
    }

    /// A control frame with `payload`.
    pub(super) fn push_block(
        &mut self,
        batch: &mut TransmitBatch,
        header: TransportHeader,
        payload: &[u8],
    ) {
        if let Some(session) = self.protection.as_deref_mut().and_then(Protection::session) {
            return batch.push_protected(&self.path, self.handle, header, [payload, &[]], session);
        }
        batch.push_inline(&self.path, Some(self.handle), header, payload, self.crc_out());
    }

    /// A frame whose trailer cannot depend on the connection: handshake and reset.
    fn push_outside(
        &self,
        batch: &mut TransmitBatch,
        flags: Flags,
        seq: Seq,
        payload: &[u8],
        extended: bool,
    ) {
        let header = self.outside_header(flags, seq, payload.len(), extended);
        if let Some(keyed) = self.protection.as_deref().filter(|_| flags.contains(Flags::RST)) {
            let handle = Some(self.handle);
            return batch.push_signed(&self.path, handle, header, payload, &keyed.keyring);
        }
        let crc = extended.then_some(CrcKey::NONE);
        batch.push_inline(&self.path, Some(self.handle), header, payload, crc);
    }

    /// The transport header of a frame without segment and with `len` bytes.
    pub(super) fn outside_header(
        &self,
        flags: Flags,
        seq: Seq,
        len: usize,
        extended: bool,
    ) -> TransportHeader {
        let width = if extended { SeqWidth::Bits20 } else { SeqWidth::Bits16 };
        let (local, remote) = (self.local.port, self.remote.port);
        let mut header = TransportHeader::new(local, remote, seq, width, len as u16);
        header.flags |= flags;
        header.flags = self.with_hops(header.flags);
        header
    }

    /// The payload of a stream frame in a batch; what is lent of it are the last of `lent`.
    pub(crate) fn payload<'a>(&'a self, at: u64, len: u16, lent: &'a [u8]) -> [&'a [u8]; 2] {
        self.send.buf.slices(at, len, lent)
    }

    /// The device has taken what was sent: sets deadlines, forgets what need not be kept.
    pub(crate) fn on_sent(&mut self, now: Instant) {
        if matches!(self.state, State::Established { .. }) {
            self.arm_loss();
            self.arm_persist(now);
        }
        if !self.terms.policy().retains() {
            self.release_acknowledged(now);
        }
    }

    fn release_acknowledged(&mut self, now: Instant) {
        let Some(upto) = self.send.releasable.take() else { return };
        self.send.release_acknowledged(upto, !self.terms.extended, now);
        if !self.terms.extended {
            self.ready.writable = true;
            self.on_classic_sent();
        }
    }
}

const _: () = assert!(HEADER_LEN + MAX_CONTROL_LEN < 1500, "control frames fit every device");
