//! What a connection shows of itself, for tools that list connections.

use core::time::Duration;

use super::{Connection, Terms};
use crate::addr::{DeviceId, LinkAddr, PrpAddr};
use crate::congestion::Controller;
use crate::state::{ReceiveSide, SendSide, State};
use crate::stats::ConnStats;

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
    /// Least round-trip time so far.
    pub least_rtt: Option<Duration>,
    /// Retransmission timeout in force.
    pub rto: Duration,
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
    /// Its state now.
    pub(crate) fn info(&self) -> ConnInfo {
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
            least_rtt: send.rtt.least(),
            rto: send.rtt.rto(send.backoff),
            terms: self.terms,
            controller: self.config.congestion,
            device: self.path.device,
            next_hop: self.path.to,
            stats: self.stats,
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
