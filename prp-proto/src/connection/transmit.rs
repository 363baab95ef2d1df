//! Data going out, and every other frame a connection sends (SPEC PRP-SEG-1 to 3).

use alloc::boxed::Box;
use core::time::Duration;

use super::{Connection, Seed, Terms};
use crate::buffer::SendBuffer;
use crate::congestion::{AckSample, Congestion, Controller};
use crate::flight::Flight;
use crate::recovery::RecoveryState;
use crate::rtt::Rtt;
use crate::seq::{Seq, SeqWidth};
use crate::state::{SendSide, State};
use crate::time::Instant;
use crate::timer::Timer;
use crate::transmit::TransmitBatch;
use crate::wire::{
    CLASSIC_MSS, CRC_LEN, Control, CrcKey, Flags, HEADER_LEN, MAX_CONTROL_LEN, ResetBlock,
    ResetReason, TransportHeader,
};

/// Most of the time lost by a late timer that a paced sender makes up for. Sleeping threads are late by tens of
/// microseconds, and by a time slice now and then.
const MADE_UP_FOR: Duration = Duration::from_millis(1);

/// The sending half of a connection.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Sender {
    pub(super) buf: SendBuffer,
    pub(super) flight: Flight,
    /// Window the peer last stated, in segments.
    pub(super) window: u32,
    /// First number the peer has no room for yet. Never moves back.
    pub(super) edge: Seq,
    pub(super) rtt: Rtt,
    pub(super) congestion: Box<dyn Congestion>,
    controller: Controller,
    /// The pace has held something back since the last news.
    held_back: bool,
    /// When what was sent so far will have been sent at the controller's pace.
    sent_until: Instant,
    pub(super) recovery: RecoveryState,
    /// Losses among transmissions before this one belong to a flight already answered for.
    pub(super) recovery_until: Option<u32>,
    /// When a segment that is late now counts as lost.
    pub(super) look_again: Option<Instant>,
    /// Tail-loss probes since the last news.
    pub(super) tail_probes: u8,
    /// Number of the next probe.
    pub(super) probes: u8,
    /// Policy `detect`: number of the first probe that asked for what is in flight since the last news.
    pub(super) asked: Option<u8>,
    /// Timeouts in a row.
    pub(super) backoff: u32,
    /// Since when the oldest unacknowledged segment has waited without any news.
    pub(super) waiting_since: Instant,
    /// What the loss timer counts from: when a segment was last sent, or news of one came.
    pub(super) loss_from: Instant,
    /// A segment may go out whatever the congestion window says: a probe.
    forced: bool,
    /// A repeat may go out although the congestion window is full.
    pub(super) repeat_owed: bool,
    /// The losses being repaired were taken for such because of time alone.
    pub(super) timed_out: bool,
    /// Largest segment known to get through.
    pub(super) mss: u16,
    pub(super) proven: u16,
    pub(super) size_probes: u8,
    /// Sent bytes before this offset need not be kept (policy `detect`).
    spent: Option<u64>,
    /// EOC has a number.
    pub(super) eoc_sent: bool,
    /// ... and the segment that carried it acknowledged the peer's EOC.
    pub(super) eoc_closed_both: bool,
}

impl Sender {
    pub(super) fn new(seed: &Seed) -> Self {
        Self {
            buf: SendBuffer::new(seed.config.send_limit()),
            flight: Flight::new(seed.first),
            window: 0,
            edge: seed.first,
            rtt: Rtt::new(seed.id as u8),
            congestion: seed.config.congestion.start(usize::from(CLASSIC_MSS)),
            controller: seed.config.congestion,
            held_back: false,
            sent_until: seed.now,
            recovery: RecoveryState::default(),
            recovery_until: None,
            look_again: None,
            tail_probes: 0,
            probes: 0,
            asked: None,
            backoff: 0,
            waiting_since: seed.now,
            loss_from: seed.now,
            forced: false,
            repeat_owed: false,
            timed_out: false,
            mss: CLASSIC_MSS,
            proven: seed.proven,
            size_probes: 0,
            spent: None,
            eoc_sent: false,
            eoc_closed_both: false,
        }
    }

    /// The peer takes `window` segments on these terms.
    pub(super) fn start(&mut self, terms: &Terms, window: u32) {
        self.window = window.min(crate::config::MAX_WINDOW);
        self.edge = self.flight.base() + self.window;
        let safe = CLASSIC_MSS - if terms.crc { CRC_LEN as u16 } else { 0 };
        self.mss = terms.mss.min(safe.max(self.proven));
        self.congestion = self.controller.start(usize::from(terms.mss));
    }

    /// Whether the congestion window is what holds data back, or would with one more segment.
    pub(super) fn is_congestion_limited(&self) -> bool {
        self.held_back || self.flight.cost() + usize::from(self.mss) >= self.congestion.window()
    }

    /// Everything before `upto` is delivered.
    pub(super) fn release(&mut self, upto: u64) {
        self.buf.release(upto);
    }

    /// News from the peer: the path is alive.
    pub(super) fn on_progress(&mut self, now: Instant, sample: AckSample) {
        self.congestion.on_ack(&sample);
        self.held_back = false;
        self.tail_probes = 0;
        self.asked = None;
        self.backoff = 0;
        self.waiting_since = now;
        self.loss_from = now;
        // Something has left the network, so a repeat may enter it (SPEC PRP-CC-4).
        self.repeat_owed = true;
        if self.recovery_until.is_some() && !self.flight.has_lost() && !self.flight.has_received() {
            self.recovery_until = None;
            self.timed_out = false;
        }
    }

    pub(super) fn on_spurious(&mut self) {
        self.recovery.on_spurious(self.timed_out);
        self.congestion.on_spurious();
    }

    /// Whether the peer has everything that was written.
    pub(super) fn is_drained(&self) -> bool {
        self.flight.is_empty() && !self.buf.has_unsent()
    }

    /// Puts the tail up for sending again, past the congestion window.
    pub(super) fn probe_tail(&mut self) {
        // What is known to be lost and waits for the window is the better question.
        if !self.flight.has_lost() {
            self.flight.probe_tail();
        }
        self.forced = true;
    }

    /// Forgets what a policy without repeats has sent and the device has taken.
    pub(super) fn release_spent(&mut self, acknowledged: bool, now: Instant) {
        if let Some(upto) = self.spent.take() {
            self.buf.release(upto);
            if acknowledged {
                let next = self.flight.next();
                self.flight.ack_to(next, now);
                self.edge = next + self.window;
            }
        }
    }

    /// Whether a segment could go out now.
    fn may_send(&self, cost: usize) -> bool {
        self.forced
            || self.flight.cost() == 0
            || self.flight.cost() + cost <= self.congestion.window()
    }

    /// Whether a lost segment could go out again now.
    fn may_repeat(&self, cost: usize) -> bool {
        let owed = self.repeat_owed && self.congestion.pacing_rate().is_none();
        owed || self.may_send(cost)
    }

    /// When the pace allows a segment to go out, if not at `now`.
    fn pace_holds(&self, now: Instant) -> Option<Instant> {
        let held = !self.forced && self.congestion.pacing_rate().is_some() && self.sent_until > now;
        held.then_some(self.sent_until)
    }

    /// Counts `cost` bytes that go out at `now` against the pace.
    fn note_paced(&mut self, now: Instant, cost: usize) {
        let Some(rate) = self.congestion.pacing_rate() else { return };
        let nanos = (cost as u64).saturating_mul(1_000_000_000) / rate.max(1);
        let time = Duration::from_nanos(nanos);
        // Timers are late; what that costs may be made up for, so that the rate is kept.
        self.sent_until = self.sent_until.max(now - time.min(MADE_UP_FOR)) + time;
    }

    pub(super) fn window_open(&self) -> bool {
        self.flight.next().before(self.edge)
    }

    /// Gives back memory an idle connection does not need.
    pub(super) fn trim(&mut self) {
        self.buf.trim();
        self.flight.trim();
    }

    pub(super) fn memory(&self) -> usize {
        self.buf.allocated() + self.flight.memory()
    }
}

impl Connection {
    /// Puts frames into `batch`, data up to `quantum` segments; whether more could go out at once.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        batch: &mut TransmitBatch,
        quantum: usize,
    ) -> bool {
        self.transmit_handshake(batch);
        if matches!(self.state, State::Established { .. }) {
            if self.pending.ack && self.recv.has_gap() {
                self.transmit_ack(now, batch);
            }
            self.arm_size_probe(now);
            let mut left = quantum;
            while left > 0 && !batch.is_full() && self.transmit_segment(now, batch) {
                left -= 1;
            }
            self.transmit_control(now, batch);
            self.arm_loss();
            self.arm_persist(now);
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

    /// Whether a segment, new or repeated, may go out now.
    fn has_sendable(&self) -> bool {
        if self.timers.is_set(Timer::Pace) && !self.send.forced {
            return false;
        }
        if self.send.flight.has_lost() && self.send.may_repeat(usize::from(self.send.mss)) {
            return true;
        }
        let idle = self.send.flight.is_empty();
        self.may_send_new()
            && (self.send.buf.peek_segment(self.send.mss, idle).is_some() || self.wants_eoc())
    }

    /// Whether there is something that has no number yet, and both windows are open for it.
    fn may_send_new(&self) -> bool {
        (self.send.buf.has_unsent() || self.wants_eoc())
            && self.send.window_open()
            && self.send.may_send(usize::from(self.send.mss))
    }

    /// EOC is due: everything written has a number, EOC has none.
    pub(super) fn wants_eoc(&self) -> bool {
        matches!(self.state, State::Established { send: SendSide::Closing, .. })
            && !self.send.eoc_sent
            && !self.send.buf.has_unsent()
    }

    fn transmit_handshake(&mut self, batch: &mut TransmitBatch) {
        let first = self.first;
        if core::mem::take(&mut self.pending.request) {
            let offer = self.own_request().map(|o| o.emit());
            let payload = offer.as_ref().map_or(&[][..], |o| o);
            self.push_outside(batch, Flags::CREQ, first, payload, offer.is_some());
        }
        if core::mem::take(&mut self.pending.accept) {
            let offer = self.own_grant().map(|o| o.emit());
            let payload = offer.as_ref().map_or(&[][..], |o| o);
            let flags = if offer.is_some() {
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

    /// Sends one data segment, a repeat before a new one; whether there was one.
    fn transmit_segment(&mut self, now: Instant, batch: &mut TransmitBatch) -> bool {
        if self.is_held_back(now) {
            return false;
        }
        if let Some((seq, segment)) = self.send.flight.next_lost() {
            if !self.send.may_repeat(usize::from(segment.len)) {
                return false;
            }
            self.send.repeat_owed = false;
            self.send.flight.resent(seq, now);
            self.stats.retransmitted += 1;
            self.send.loss_from = now;
            self.push_segment(now, batch, seq, Flags::RTX);
            return true;
        }
        if !self.may_send_new() {
            return false;
        }
        let idle = self.send.flight.is_empty();
        let seq = if let Some(span) = self.send.buf.peek_segment(self.send.mss, idle) {
            self.send.buf.commit_segment(span);
            self.stats.bytes_sent += u64::from(span.len);
            self.send.flight.push(span.at, span.len, span.eom, false, now)
        } else if self.wants_eoc() {
            self.send.eoc_sent = true;
            let at = self.send.buf.end();
            self.send.flight.push(at, 0, false, true, now)
        } else {
            return false;
        };
        if idle {
            self.send.waiting_since = now;
        }
        self.stats.segments_sent += 1;
        self.send.loss_from = now;
        self.push_segment(now, batch, seq, Flags::NONE);
        true
    }

    /// Whether the pace holds back what there is to send; the timer is set for it then.
    fn is_held_back(&mut self, now: Instant) -> bool {
        let Some(until) = self.send.pace_holds(now) else { return false };
        if self.timers.is_set(Timer::Pace) {
            return true;
        }
        let waiting = self.has_sendable();
        if waiting {
            self.send.held_back = true;
            self.timers.set(Timer::Pace, until);
        }
        waiting
    }

    fn push_segment(&mut self, now: Instant, batch: &mut TransmitBatch, seq: Seq, flags: Flags) {
        self.send.forced = false;
        let Some(segment) = self.send.flight.get(seq).copied() else { return };
        self.send.note_paced(now, usize::from(segment.len));
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
        if let Some(acked) = self.ride() {
            header.flags = header.flags.with_ack(acked);
            if segment.eoc {
                self.send.eoc_closed_both = !self.state.can_receive() && acked == self.recv.next;
            }
        }
        let crc = self.crc_out();
        let pieces = self.send.buf.slices(segment.at, segment.len);
        batch.push_stream(&self.path, self.handle, header, segment.at, pieces, crc);
        if !self.terms.policy().retains() {
            self.send.spent = Some(segment.at + u64::from(segment.len));
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
            let size = self.terms.mss;
            let mut block = [0; MAX_CONTROL_LEN];
            let len = Control::SizeProbe { to, size }.emit(&mut block);
            let mut header = self.header(self.send.flight.next(), size);
            header.flags |= Flags::CTL;
            let crc = self.crc_out();
            batch.push_padded(&self.path, self.handle, header, &block[..len], crc);
        }
    }

    fn transmit_ack(&mut self, now: Instant, batch: &mut TransmitBatch) {
        let ack = self.ack_block(now);
        self.push_control(batch, &Control::Ack { to: self.ids.remote, ack });
    }

    fn push_control(&self, batch: &mut TransmitBatch, control: &Control) {
        let mut block = [0; MAX_CONTROL_LEN];
        let len = control.emit(&mut block);
        let mut header = self.header(self.send.flight.next(), len as u16);
        header.flags |= Flags::CTL;
        batch.push_inline(&self.path, Some(self.handle), header, &block[..len], self.crc_out());
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
        let width = if extended { SeqWidth::Bits20 } else { SeqWidth::Bits16 };
        let (local, remote) = (self.local.port, self.remote.port);
        let mut header = TransportHeader::new(local, remote, seq, width, payload.len() as u16);
        header.flags |= flags;
        header.flags = self.with_hops(header.flags);
        let crc = extended.then_some(CrcKey::NONE);
        batch.push_inline(&self.path, Some(self.handle), header, payload, crc);
    }

    fn header(&self, seq: Seq, len: u16) -> TransportHeader {
        let (local, remote) = (self.local.port, self.remote.port);
        let mut header = TransportHeader::new(local, remote, seq, self.terms.width(), len);
        header.flags = self.with_hops(header.flags);
        header
    }

    /// A hop limit below the highest starts the count as if routers had been crossed already. Classic
    /// peers get the paper's header, without a count.
    fn with_hops(&self, flags: Flags) -> Flags {
        let limit = self.config.hop_limit.clamp(1, Flags::MAX_HOPS);
        flags.with_hops(if self.terms.extended { Flags::MAX_HOPS - limit } else { 0 })
    }

    /// The payload of a stream frame in a batch.
    pub(crate) fn payload(&self, at: u64, len: u16) -> [&[u8]; 2] {
        self.send.buf.slices(at, len)
    }

    /// Whether [`Self::release_spent`] has something to do.
    pub(crate) const fn has_spent(&self) -> bool {
        self.send.spent.is_some()
    }

    /// The device has taken the batch: what need not be kept can go.
    pub(crate) fn release_spent(&mut self, now: Instant) {
        self.send.release_spent(!self.terms.extended, now);
        if !self.terms.extended {
            self.ready.writable = true;
            self.on_classic_sent();
        }
    }

    /// Looks after the timer for closed windows.
    pub(crate) fn arm_persist(&mut self, now: Instant) {
        let stuck = self.terms.extended
            && !self.send.window_open()
            && self.send.flight.is_empty()
            && (self.send.buf.has_unsent() || self.wants_eoc());
        if !stuck {
            self.timers.stop(Timer::Persist);
        } else if !self.timers.is_set(Timer::Persist) {
            self.timers.set(Timer::Persist, now + self.send.rtt.rto(self.send.backoff));
        }
    }
}

const _: () = assert!(HEADER_LEN + MAX_CONTROL_LEN < 1500, "control frames fit every device");
