//! What happens because time has passed.

use super::Connection;
use crate::error::ConnError;
use crate::state::State;
use crate::time::Instant;
use crate::timer::Timer;
use crate::timing::{UNCONFIRMED_EARLY, UNCONFIRMED_OVERDUE};
use crate::wire::ResetReason;

/// Timeouts in a row, or questions without an answer, after which another path is tried (SPEC
/// PRP-PATH-2). One may be a queue that was full.
const LOST_AFTER: u32 = 2;

/// Probes of an unconfirmed connection that follow each other closely: one, or its answer, may be
/// lost.
const EARLY_PROBES: u8 = 3;

impl Connection {
    /// Acts on every timer that is due. The send buffer may grow by `spare` bytes.
    pub(crate) fn on_time(&mut self, now: Instant, spare: usize) {
        while let Some(timer) = self.timers.take_due(now) {
            match timer {
                Timer::Request => self.on_request_timer(now),
                Timer::Loss => self.on_loss_timer(now),
                Timer::AckDelay => self.ack_now(),
                Timer::Persist => self.on_persist_timer(now, spare),
                Timer::Keepalive => self.on_keepalive_timer(now),
                Timer::SizeProbe => self.on_size_probe_timer(now),
                Timer::Pace => {}
                Timer::TimeWait => self.on_time_wait_timer(now),
            }
        }
        self.arm_time_wait(now);
    }

    fn on_loss_timer(&mut self, now: Instant) {
        if self.gives_up(now, self.send.waiting_since) {
            return;
        }
        if self.send.reorder_deadline.is_some_and(|at| at <= now) {
            self.find_losses(now, false);
            self.arm_loss();
            return;
        }
        self.send.rto_base = now;
        let retains = self.terms.policy().retains();
        if !retains {
            // Nothing can be sent again; ask what has arrived (SPEC PRP-DETECT-3).
            self.send.tail_probes = self.send.tail_probes.saturating_add(1);
            self.send.backoff += 1;
            self.ask();
        } else if self.may_probe() {
            self.send.tail_probes += 1;
            if !self.send.repeats_as_question() {
                self.ask();
            }
        } else {
            self.stats.timeouts += 1;
            self.send.backoff += 1;
            self.lost |= self.send.backoff >= LOST_AFTER;
            self.send.repeats_as_question();
            // The program that answers for the ports of a process that has ended answers this, and
            // no segment (SPEC PRP-RST-2).
            self.ask();
        }
        self.arm_loss();
    }

    /// Asks by a probe what has arrived. Only the answer says that something is lost: a link may be
    /// slow, and what is said twice to it takes its time twice.
    fn ask(&mut self) {
        self.send.ask();
        self.pending.probe = true;
    }

    /// The window is still closed: has it opened and the news been lost?
    fn on_persist_timer(&mut self, now: Instant, spare: usize) {
        if self.gives_up(now, self.last_received) {
            return;
        }
        self.pending.probe = true;
        self.lost |= self.send.ask_for_window(LOST_AFTER);
        self.lost |= now.since(self.last_received) >= self.send.rtt.rto(LOST_AFTER);
        self.arm_persist(now);
        self.grow_for_writer(spare);
    }

    /// The peer has not read for a while. If that holds a writer up, there is room for more of what
    /// it has to write: it may read only after it has written, as the peer may. A flow whose reader
    /// keeps up never gets here, and gains nothing by more.
    fn grow_for_writer(&mut self, spare: usize) {
        if !self.starved {
            return;
        }
        self.send.buf.grow(self.config.send_buffer_max, spare);
        if self.send.buf.has_worthwhile_room() {
            self.starved = false;
            self.ready.writable = true;
        }
    }

    /// Bytes that the send buffer has grown by.
    pub(crate) fn send_growth(&self) -> usize {
        self.send.buf.limit() - self.config.send_limit()
    }

    fn gives_up(&mut self, now: Instant, since: Instant) -> bool {
        let waited = now.since(since);
        let over = self.config.user_timeout.is_some_and(|limit| waited >= limit);
        if over {
            self.pending.reset = self.terms.extended.then_some(ResetReason::TimedOut);
            self.fail(match self.send.stuck_segment() {
                Some(segment) => ConnError::TooLarge { waited, segment },
                None => ConnError::TimedOut { waited },
            });
        }
        over
    }

    /// Asks the peer of a new connection whether it has our CACK, without waiting for data to show
    /// it.
    pub(crate) fn ask_to_confirm(&mut self) {
        self.pending.probe = self.terms.extended;
    }

    /// Whether a client that knows of this connection would have confirmed it by now.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        let is_asked = self.probes_unanswered >= EARLY_PROBES;
        !self.confirmed && is_asked && now.since(self.last_received) >= UNCONFIRMED_OVERDUE
    }

    /// Ends a connection that was not confirmed: its place is wanted.
    pub(crate) fn give_up_unconfirmed(&mut self, now: Instant) {
        self.pending.reset = self.terms.extended.then_some(ResetReason::TimedOut);
        self.fail(ConnError::TimedOut { waited: now.since(self.last_received) });
    }

    fn on_keepalive_timer(&mut self, now: Instant) {
        let Some(keepalive) = self.keepalive() else { return };
        if !matches!(self.state, State::Established { .. }) {
            return;
        }
        let silent = now.since(self.last_received);
        if silent < keepalive.idle {
            // Frames came since the timer was set; it is not moved for each of them.
            self.timers.set(Timer::Keepalive, self.last_received + keepalive.idle);
        } else if self.probes_unanswered >= keepalive.probes {
            self.pending.reset = Some(ResetReason::TimedOut);
            self.fail(ConnError::TimedOut { waited: silent });
        } else {
            self.send.trim();
            self.send.buf.shrink_if_empty(self.config.send_limit());
            self.recv.trim();
            self.probes_unanswered += 1;
            self.lost |= u32::from(self.probes_unanswered) > LOST_AFTER;
            self.pending.probe = true;
            let is_early = !self.confirmed && self.probes_unanswered < EARLY_PROBES;
            let interval = if is_early { UNCONFIRMED_EARLY } else { keepalive.interval };
            self.timers.set(Timer::Keepalive, now + interval);
        }
    }

    fn on_request_timer(&mut self, now: Instant) {
        let classic = self.request.classic.as_ref();
        if classic.is_some_and(|answer| now >= answer.until()) {
            self.take_classic_answer(now);
        } else {
            self.repeat_request(now);
        }
    }
}
