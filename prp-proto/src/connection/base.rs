//! What handlers of frames, timers and calls have in common. They call these methods, and these
//! call none of theirs.

use super::{Connection, Pending, Request};
use crate::config::{Classic, Keepalive};
use crate::error::ConnError;
use crate::event::Readiness;
use crate::seq::Seq;
use crate::state::{State, StateEvent, Transition};
use crate::time::Instant;
use crate::timer::Timer;
use crate::timing::{ACK_DELAY, UNCONFIRMED};
use crate::wire::{CrcKey, Flags, TransportHeader};

/// Questions before the retransmission timeout, at growing distances up to it: two lost ones are an
/// outage or a full queue, and a full queue has room now and then.
const TAIL_PROBES: u8 = 5;

impl Connection {
    /// Moves along the state table; whether there was a move.
    pub(super) fn step(&mut self, event: StateEvent) -> bool {
        match self.state.on(event) {
            Transition::To(next) => {
                self.state = next;
                true
            }
            Transition::NoOp => false,
            Transition::Invalid => {
                debug_assert!(false, "{event:?} in {:?}", self.state);
                false
            }
        }
    }

    /// Notes that the peer has shown itself.
    pub(super) fn note_received(&mut self, now: Instant) {
        self.last_received = now;
        self.probes_unanswered = 0;
        if !self.confirmed {
            self.confirmed = true;
            self.arm_keepalive(now);
        }
    }

    /// Ends the connection with an error for the application.
    pub(crate) fn fail(&mut self, error: ConnError) {
        let event = match error {
            ConnError::TimedOut { .. } | ConnError::TooLarge { .. } | ConnError::NotSent { .. } => {
                StateEvent::Timeout
            }
            ConnError::Aborted | ConnError::Gap { .. } => StateEvent::Abort,
            _ => StateEvent::Reset,
        };
        self.step(event);
        self.finish(error);
    }

    pub(super) fn finish(&mut self, error: ConnError) {
        self.timers.stop_all();
        let reset = self.pending.reset.take();
        self.pending = Pending { reset, ..Pending::default() };
        self.has_lost_data |= !self.send.is_drained();
        self.send.buf.clear();
        self.send.flight.clear();
        self.error.get_or_insert(error);
        self.ready = Readiness { readable: true, writable: true, connected: true, flushed: true };
    }

    /// Key of trailers we expect.
    pub(crate) fn crc_in(&self) -> Option<CrcKey> {
        self.terms.crc.then_some(CrcKey { sender: self.ids.remote, receiver: self.ids.local })
    }

    /// Key of trailers we write; `None` if none were agreed on.
    pub(crate) fn crc_out(&self) -> Option<CrcKey> {
        self.terms.crc.then_some(CrcKey { sender: self.ids.local, receiver: self.ids.remote })
    }

    pub(super) fn header(&self, seq: Seq, len: u16) -> TransportHeader {
        let (local, remote) = (self.local.port, self.remote.port);
        let mut header = TransportHeader::new(local, remote, seq, self.terms.width(), len);
        header.flags = self.with_hops(header.flags);
        header
    }

    /// A hop limit below the highest starts the count as if routers had been crossed already.
    /// Classic peers get the paper's header, without a count, and so does a peer that may be one.
    pub(super) fn with_hops(&self, flags: Flags) -> Flags {
        let limit = self.config.hop_limit.clamp(1, Flags::MAX_HOPS);
        let asks = self.state == State::ConnWait && self.config.classic == Classic::Refuse;
        let extended = self.terms.extended || asks;
        flags.with_hops(if extended { Flags::MAX_HOPS - limit } else { 0 })
    }

    /// The request is granted, on the terms that were adopted; the server's first segment will be
    /// `first`.
    pub(super) fn establish(&mut self, now: Instant, first: Seq) {
        self.recv.start(first, &self.terms);
        self.step(StateEvent::Cack);
        self.timers.stop(Timer::Request);
        (self.request.classic, self.request.crossing) = (None, None);
        self.pending.request = false;
        self.ready.connected = true;
        self.ready.writable = true;
        self.ask_if_path_changed();
        self.note_received(now);
    }

    /// Sets the request's timer to the next repeat, or to when a classic answer is to be taken.
    pub(super) fn set_request_timer(&mut self) {
        let Request { next, classic, .. } = &self.request;
        let at = classic.as_ref().map_or(*next, |answer| answer.until().min(*next));
        self.timers.set(Timer::Request, at);
    }

    /// Whether the peer has acknowledged everything written, the end included if it was announced,
    /// or never will.
    pub(crate) fn flushed(&self) -> bool {
        let established = matches!(self.state, State::Established { .. });
        !established || (self.send.is_drained() && !self.wants_eoc())
    }

    /// Says so to the caller that waits for it, if everything written is acknowledged.
    pub(super) fn note_flushed(&mut self) {
        if self.flush_awaited && self.flushed() {
            self.flush_awaited = false;
            self.ready.flushed = true;
        }
    }

    /// Sets the loss timer to what comes next: the end of the reordering window, a question, or the
    /// retransmission timeout. It may be called at any time: what else is sent or comes in does not
    /// put the timer off (SPEC PRP-LOSS-6).
    pub(super) fn arm_loss(&mut self) {
        if !self.terms.extended || self.send.flight.is_empty() {
            self.timers.stop(Timer::Loss);
            return;
        }
        let rtt = &self.send.rtt;
        let wait = if self.may_probe() {
            rtt.probe_timeout(ACK_DELAY, self.send.tail_probes)
        } else {
            rtt.rto(self.send.backoff)
        };
        let at = self.send.rto_base + wait;
        self.timers.set(Timer::Loss, self.send.reorder_deadline.map_or(at, |due| due.min(at)));
    }

    /// Whether news may be asked for before the retransmission timeout. Not where it is the pace
    /// that holds lost segments back.
    pub(super) fn may_probe(&self) -> bool {
        let held_back = self.send.flight.has_lost() && self.timers.is_set(Timer::Pace);
        self.send.tail_probes < TAIL_PROBES && !held_back
    }

    pub(super) fn keepalive(&self) -> Option<Keepalive> {
        if !self.terms.extended {
            return None;
        }
        if self.confirmed { self.config.keepalive } else { Some(UNCONFIRMED) }
    }

    /// (Re)starts idle probing.
    pub(crate) fn arm_keepalive(&mut self, now: Instant) {
        match self.keepalive() {
            Some(k) => self.timers.set(Timer::Keepalive, now + k.idle),
            None => self.timers.stop(Timer::Keepalive),
        }
    }

    /// Sets or stops the timer for closed windows.
    pub(crate) fn arm_persist(&mut self, now: Instant) {
        let stuck = self.terms.extended
            && !self.send.window_open()
            && self.send.flight.is_empty()
            && self.has_unnumbered();
        if !stuck {
            self.timers.stop(Timer::Persist);
        } else if !self.timers.is_set(Timer::Persist) {
            self.timers.set(Timer::Persist, now + self.send.rtt.rto(self.send.backoff));
        }
    }
}
