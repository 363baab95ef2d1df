//! Ends: half-close, TIME-WAIT, abort, reset (SPEC PRP-CLOSE-1 to 9).

use core::time::Duration;

use super::Connection;
use crate::error::ConnError;
use crate::state::{SendSide, State, StateEvent};
use crate::stats::DropReason;
use crate::time::Instant;
use crate::timer::Timer;
use crate::timing::{
    ACK_DELAY, CHALLENGE_PAUSE, MAX_RTO, ORPHAN_WAIT, TIME_WAIT, UNDELIVERED_WAIT,
};
use crate::wire::{AckBlock, ResetBlock, ResetReason};

/// How long it stays, and asks, where its process is about to end: no longer than it takes a peer
/// that has not received the last acknowledgement to ask for it at the largest retransmission
/// timeout.
const LEAVING_TIME_WAIT: Duration = MAX_RTO;

impl Connection {
    /// The application writes no more. EOC follows what was written.
    pub(crate) fn shutdown_send(&mut self) {
        if matches!(self.state, State::Established { .. }) {
            self.send.buf.finish_write();
            if self.step(StateEvent::Shutdown) && self.peer_left {
                self.end_without_ack();
            }
        }
        self.ready.writable = true;
    }

    /// The application reads no more.
    pub(crate) fn shutdown_receive(&mut self) {
        self.recv.shut = true;
        self.ready.readable = true;
    }

    /// The application lets go. What was written is still delivered; if it left something unread,
    /// or asks for it, the peer gets a reset instead, as from a kernel socket.
    pub(crate) fn release(&mut self, now: Instant, abort: bool) {
        self.orphan = true;
        let unread = self.recv.buf.is_readable() || self.recv.has_gap();
        match self.state {
            State::Close | State::Listen => {}
            State::ConnWait => self.abort(ResetReason::Aborted),
            State::Established { .. } if abort || unread => self.abort(ResetReason::Aborted),
            State::Established { .. } => {
                self.shutdown_send();
                if self.state == State::Close {
                    return;
                }
                self.on_half_closed();
                self.orphaned = now;
                if !self.state.is_finished() {
                    self.timers.set(Timer::TimeWait, now + ORPHAN_WAIT);
                }
            }
        }
    }

    /// Gives the connection up and tells the peer.
    pub(crate) fn abort(&mut self, reason: ResetReason) {
        if self.state == State::Close {
            return;
        }
        let notify = matches!(self.state, State::Established { .. }) && self.terms.extended;
        self.pending.reset = notify.then_some(reason);
        // A frame may be lost, and a process that ends leaves none to answer what the peer sends.
        self.owes_farewell = notify;
        self.step(StateEvent::Abort);
        self.finish(ConnError::Aborted);
    }

    /// Data has come for a stream that is closed in both directions.
    pub(super) fn refuse_data(&mut self) {
        self.pending.reset = self.terms.extended.then_some(ResetReason::Aborted);
        self.fail(ConnError::Reset);
    }

    /// Ends a finished connection before its TIME-WAIT is over: its ends are wanted again. An
    /// application that still holds it can read what there is to read.
    pub(crate) fn end_time_wait_early(&mut self) {
        self.end_quietly();
    }

    /// A direction has closed: is that the end?
    pub(super) fn on_half_closed(&mut self) {
        // Our EOC acknowledged the peer's and was acknowledged itself: the peer waits for nothing.
        if self.state.is_finished() && self.send.eoc_closed_both {
            self.end_quietly();
        } else {
            self.time_wait_wanted = self.state.is_finished() || self.is_to_take_leave();
        }
    }

    /// Starts TIME-WAIT if the connection has just come to its end, or to what is the end for a
    /// process that ends.
    pub(crate) fn arm_time_wait(&mut self, now: Instant) {
        if !core::mem::take(&mut self.time_wait_wanted) {
            return;
        }
        self.timers.stop_all();
        if self.is_to_take_leave() {
            self.time_wait_until = now + LEAVING_TIME_WAIT;
            self.take_leave(now);
        } else {
            self.time_wait_until = now + TIME_WAIT;
            self.timers.set(Timer::TimeWait, self.time_wait_until);
        }
    }

    /// The process is about to end, and with it the connection, once the peer has all that was
    /// written and knows of the end (SPEC PRP-CLOSE-10).
    pub(crate) fn leave(&mut self) {
        self.leaving = true;
        self.time_wait_wanted |= self.state.is_finished() || self.is_to_take_leave();
    }

    /// Whether the peer is known to have all that was written, our EOC included.
    pub(super) const fn is_fully_delivered(&self) -> bool {
        matches!(self.state, State::Established { send: SendSide::Closed, .. })
    }

    const fn is_to_take_leave(&self) -> bool {
        self.leaving && self.terms.extended && self.is_fully_delivered()
    }

    /// Whether the process must not end yet, for the sake of the peer, once it was to leave.
    pub(crate) fn holds_process(&self) -> bool {
        let established = matches!(self.state, State::Established { .. });
        // A classic peer acknowledges nothing, and asks nothing.
        established && (self.terms.extended || !self.flushed() || self.state.is_finished())
    }

    /// Says that we leave, with an acknowledgement of all that came, and asks for an answer.
    fn take_leave(&mut self, now: Instant) {
        self.ack_now();
        self.pending.probe = true;
        let wait = self.send.rtt.probe_timeout(ACK_DELAY, self.send.tail_probes);
        self.send.tail_probes = self.send.tail_probes.saturating_add(1);
        self.timers.set(Timer::TimeWait, self.time_wait_until.min(now + wait));
    }

    /// What the peer says of its own end, and of ours.
    pub(super) fn on_peer_end(&mut self, block: &AckBlock) {
        if block.finished && self.state.is_finished() {
            self.end_quietly();
        } else if block.finished && self.is_to_take_leave() {
            self.step(StateEvent::Abort);
            self.finish(ConnError::Aborted);
        }
        if block.leaves && self.recv.ended {
            self.on_peer_left();
        }
    }

    /// The peer has closed its side, and its process ends. What it has not acknowledged it may not
    /// have; but our EOC means nothing to it.
    fn on_peer_left(&mut self) {
        let unheard = self.send.flight.next().since(self.send.flight.base());
        let only_eoc = unheard == i32::from(self.send.eoc_sent && unheard > 0);
        if self.send.buf.has_unsent() || !only_eoc {
            return;
        }
        self.peer_left = true;
        // It has room for nothing.
        self.send.right_edge = self.send.flight.next();
        if matches!(self.state, State::Established { send: SendSide::Closing, .. }) {
            self.end_without_ack();
        }
    }

    /// Ends it without an acknowledgement of our EOC.
    fn end_without_ack(&mut self) {
        self.send.eoc_sent = true;
        self.send.flight.clear();
        self.step(StateEvent::EocAcked);
        self.finish_quietly();
    }

    /// Whether the peer of a connection that has come to its end, and is no more, is to be told
    /// that it need not stay on our account: not if it cannot, has shown so itself, or this was
    /// asked before.
    pub(crate) fn take_farewell(&mut self) -> bool {
        core::mem::take(&mut self.owes_farewell)
    }

    /// Whether it stays from now on though it has come to its end, and we had asked for it.
    #[inline]
    pub(crate) fn enters_time_wait(&mut self) -> bool {
        let begins = self.state.is_finished() && !self.server && !self.queued_time_wait;
        self.queued_time_wait |= begins;
        begins
    }

    pub(super) fn on_time_wait_timer(&mut self, now: Instant) {
        if self.is_to_take_leave() && now < self.time_wait_until {
            return self.take_leave(now);
        }
        if self.state.is_finished() {
            return self.end_quietly();
        }
        if self.is_to_take_leave() {
            return self.abort(ResetReason::NoConnection);
        }
        // What was written is still delivered, however slowly it is read (SPEC PRP-CLOSE-8).
        let delivered = self.send.eoc_sent && self.send.flight.is_empty();
        let wait = if delivered { ORPHAN_WAIT } else { UNDELIVERED_WAIT };
        let until = self.orphaned.max(self.send.waiting_since) + wait;
        if now < until {
            self.timers.set(Timer::TimeWait, until);
        } else {
            self.abort(ResetReason::TimedOut);
        }
    }

    /// It has come to its end, and no application needs it.
    pub(super) fn end_quietly(&mut self) {
        self.owes_farewell = self.terms.extended;
        self.finish_quietly();
    }

    fn finish_quietly(&mut self) {
        self.step(StateEvent::Finish);
        self.timers.stop_all();
        self.ready.readable = true;
        self.ready.writable = true;
        self.ready.flushed = true;
    }

    /// RST.
    pub(super) fn on_reset(&mut self, now: Instant, block: &ResetBlock) -> Result<(), DropReason> {
        let State::Established { .. } = self.state else {
            return self.on_refusal(block);
        };
        if !self.terms.extended {
            return Err(DropReason::BadState);
        }
        // With a key both ids are named, by whoever makes it: any station can have a member answer
        // a frame that names one (SPEC PRP-KEY-17).
        let is_named = block.receiver == self.ids.local
            && (!self.is_protected() || block.sender == self.ids.remote);
        if !is_named {
            // The end that sent it does not know us: a stranger, or a peer that forgot. Ask (SPEC
            // PRP-RST-4).
            self.challenge(now);
            return Err(DropReason::BadId);
        }
        if block.reason == ResetReason::NoConnection && self.lacks_last_acknowledgement() {
            // The peer has finished, and is gone.
            self.end_without_ack();
            return Ok(());
        }
        if self.state.is_finished() {
            // Everything was sent and received; the peer has just not waited as long as we do.
            self.finish_quietly();
            return Ok(());
        }
        self.fail(match block.reason {
            ResetReason::Gap => ConnError::PeerGap,
            _ if !self.state.can_receive() => ConnError::PeerClosed,
            _ => ConnError::Reset,
        });
        Ok(())
    }

    /// Whether all is sent and received, but that the peer has not acknowledged our EOC.
    fn lacks_last_acknowledgement(&self) -> bool {
        let flight = &self.send.flight;
        let only_eoc = self.send.eoc_sent && flight.base() + 1 == flight.next();
        only_eoc && self.recv.ended
    }

    /// Asks the peer whether it meant what was sent in its name; not for every such frame, or a
    /// flood of forgeries would be a flood of questions.
    pub(super) fn challenge(&mut self, now: Instant) {
        if self.challenged.is_none_or(|last| now.since(last) >= CHALLENGE_PAUSE) {
            self.challenged = Some(now);
            self.pending.probe = true;
        }
    }

    /// RST while a request is out.
    fn on_refusal(&mut self, block: &ResetBlock) -> Result<(), DropReason> {
        if self.state != State::ConnWait {
            return Err(DropReason::BadState);
        }
        if block.receiver != self.ids.local {
            return Err(DropReason::BadId);
        }
        if self.is_protected() && block.reason == ResetReason::NoConnection {
            // No answer to a request, and any station can ask for this one.
            return Err(DropReason::BadState);
        }
        self.fail(match block.reason {
            ResetReason::NoCommonPolicy => ConnError::NoCommonPolicy,
            ResetReason::Refused => ConnError::Refused,
            // Granted, and given up before we knew.
            _ => ConnError::Reset,
        });
        Ok(())
    }

    /// A classic peer acknowledges nothing: what was sent has arrived, as far as anyone will know.
    pub(super) fn on_classic_sent(&mut self) {
        if self.send.eoc_sent && self.send.flight.is_empty() && self.step(StateEvent::EocAcked) {
            self.on_half_closed();
        }
        self.note_flushed();
    }
}
