//! What a connection shows of itself, for tools that list connections.

use core::time::Duration;

use super::next_to_send::{Blocker, NextSend};
use super::{Connection, Terms};
use crate::addr::{DeviceId, LinkAddr, PrpAddr};
use crate::congestion::Controller;
use crate::state::{ReceiveSide, SendSide, State};
use crate::stats::ConnStats;
use crate::time::Instant;
use crate::timer::Timer;

/// The state of a connection at one moment.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct ConnInfo {
    /// Our end.
    pub local: PrpAddr,
    /// The peer's end.
    pub remote: PrpAddr,
    /// Its state in the words that `ss` has for TCP.
    pub state: &'static str,
    /// The peer asked for it, not this end.
    pub is_server: bool,
    /// Bytes that have come in order and were not read yet.
    pub receive_queue: usize,
    /// Bytes that were written and are not acknowledged.
    pub send_queue: usize,
    /// Bytes on the wire as far as we know, frame cost included.
    pub in_flight: usize,
    /// What may be on the wire at a time, in bytes, frame cost included.
    pub congestion_window: usize,
    /// Segments that the peer has room for.
    pub peer_window: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// The peer has been silent for longer than an answer takes, though one is due: the round-trip
    /// time is of before.
    pub is_rtt_stale: bool,
    /// The least that `rtt` has been.
    pub least_rtt: Option<Duration>,
    /// Retransmission timeout in force.
    pub rto: Duration,
    /// Time since a credible frame of the peer last came.
    pub silent: Duration,
    /// Time until the connection ends with an error if the peer stays silent; `None` if nothing is
    /// waited for, or for ever. It may last longer by one retransmission timeout.
    pub ends_in: Option<Duration>,
    /// What keeps it from sending the next segment: the part of the name of a counter in
    /// [`ConnStats`] after `blocked_by_`; `path` while a path of which nothing is known is asked
    /// whether it leads to the peer; or `answer` where the peer has acknowledged nothing of what is
    /// in flight for longer than that takes. `None` if nothing does, or there is nothing to send.
    pub blocked_by: Option<&'static str>,
    /// Payload bytes of the largest segment that is sent now.
    pub mss: u16,
    /// What both ends agreed on.
    pub terms: Terms,
    /// The controller that says how much may be on the wire.
    pub controller: Controller,
    /// Where its frames leave.
    pub device: DeviceId,
    /// The address they go to.
    pub next_hop: LinkAddr,
    /// Its counters.
    pub stats: ConnStats,
}

impl Connection {
    /// Its state at `now`.
    pub(crate) fn info(&self, now: Instant) -> ConnInfo {
        let send = &self.send;
        ConnInfo {
            local: self.local,
            remote: self.remote,
            state: name(self.state),
            is_server: self.server,
            receive_queue: self.recv.buf.len(),
            send_queue: send.buf.len(),
            in_flight: send.flight.cost(),
            congestion_window: send.congestion.window(),
            peer_window: send.window,
            rtt: send.rtt.smoothed(),
            is_rtt_stale: self.is_rtt_stale(now),
            least_rtt: send.rtt.least_smoothed(),
            rto: send.rtt.rto(send.backoff),
            silent: now.since(self.last_received),
            ends_in: self.ends_at().map(|at| at.since(now)),
            blocked_by: self.blocked_by(now),
            mss: send.mss,
            terms: self.terms,
            controller: self.config.congestion,
            device: self.path.device,
            next_hop: self.path.to,
            stats: self.stats,
        }
    }

    /// As [`Endpoint::queueing_delay`](crate::endpoint::Endpoint::queueing_delay).
    pub(crate) fn queueing_delay(&self) -> Duration {
        let send = &self.send;
        let times = send.rtt.smoothed().zip(send.rtt.least_smoothed());
        let delay = times.map_or(Duration::ZERO, |(mean, least)| mean.saturating_sub(least));
        if send.flight.is_empty() { Duration::ZERO } else { delay }
    }

    /// Whether the peer owes an answer: to data, to a question about its window, or to a probe.
    fn awaits_answer(&self) -> bool {
        !self.send.flight.is_empty()
            || self.timers.is_set(Timer::Persist)
            || self.probes_unanswered > 0
    }

    fn is_rtt_stale(&self, now: Instant) -> bool {
        // The last question may be as old as the one timeout, and its answer takes the other.
        let enough = self.send.rtt.rto(self.send.backoff) + self.send.rtt.rto(0);
        self.awaits_answer() && now.since(self.last_received) > enough
    }

    /// When it ends if nothing comes any more.
    fn ends_at(&self) -> Option<Instant> {
        match self.state {
            State::ConnWait => return Some(self.request.give_up),
            State::Established { .. } => {}
            State::Close | State::Listen => return None,
        }
        let send = &self.send;
        let waits_since = if !send.flight.is_empty() {
            Some(send.waiting_since)
        } else {
            self.timers.is_set(Timer::Persist).then_some(self.last_received)
        };
        let by_user_timeout =
            waits_since.zip(self.config.user_timeout).map(|(at, limit)| at + limit);
        let by_keepalive = self.keepalive().filter(|_| self.awaits_answer()).map(|keepalive| {
            let probing = keepalive.interval.saturating_mul(u32::from(keepalive.probes));
            self.last_received + keepalive.idle.saturating_add(probing)
        });
        match (by_user_timeout, by_keepalive) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn blocked_by(&self, now: Instant) -> Option<&'static str> {
        if !matches!(self.state, State::Established { .. }) || !self.has_segment() {
            return None;
        }
        // A full window is not what keeps it then: the peer may have room by now.
        if !self.send.flight.is_empty() && self.is_rtt_stale(now) {
            return Some("answer");
        }
        let paced = self.timers.is_set(Timer::Pace).then_some("pace");
        match self.next_to_send() {
            NextSend::Blocked(Blocker::Window) if self.send.path_probe.is_some() => Some("path"),
            NextSend::Blocked(Blocker::Window) => Some("peer_window"),
            NextSend::Blocked(Blocker::Congestion) => Some("congestion"),
            NextSend::Blocked(Blocker::Pace) => Some("pace"),
            NextSend::Blocked(Blocker::Slot) => Some("share"),
            NextSend::Blocked(Blocker::ShortEnd) => Some("short_end"),
            NextSend::Blocked(Blocker::ShortGsoBatch) | NextSend::Nothing => None,
            NextSend::Repeat(..) | NextSend::New(_) | NextSend::Eoc => paced,
        }
    }
}

/// What `ss` would call `state`.
const fn name(state: State) -> &'static str {
    match state {
        State::Close => "CLOSED",
        State::Listen => "LISTEN",
        State::ConnWait => "CONN-WAIT",
        State::Established { send, receive } => match (send, receive) {
            (SendSide::Open, ReceiveSide::Open) => "ESTAB",
            (SendSide::Open, ReceiveSide::Closed) => "CLOSE-WAIT",
            (SendSide::Closing | SendSide::Closed, ReceiveSide::Open) => "FIN-WAIT",
            (SendSide::Closing, ReceiveSide::Closed) => "LAST-ACK",
            (SendSide::Closed, ReceiveSide::Closed) => "TIME-WAIT",
        },
    }
}
