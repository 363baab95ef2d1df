//! When connections begin, change their path and end, for a driver that writes it into a log.

use alloc::collections::VecDeque;

use super::Endpoint;
use crate::addr::{DeviceId, LinkAddr, PrpAddr};
use crate::connection::{Connection, Traced};
use crate::error::ConnError;
use crate::state::State;

/// What happened to a connection.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum TracePoint {
    /// Both ends know of it.
    Began,
    /// Its frames leave by another device, or for another next hop, than before.
    PathChanged,
    /// It had begun, and is over: because of an error, or since both ends have closed it.
    Ended(Option<ConnError>),
    /// We asked for it and did not get it.
    Failed(ConnError),
}

/// A connection at one of its trace points.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct ConnectionTrace {
    /// What happened.
    pub point: TracePoint,
    /// Our end.
    pub local: PrpAddr,
    /// The peer's end.
    pub remote: PrpAddr,
    /// The peer asked for it, not this end.
    pub is_server: bool,
    /// Where its frames leave.
    pub device: DeviceId,
    /// The address they go to.
    pub next_hop: LinkAddr,
}

/// Trace points that the caller has not taken yet.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionTraces {
    wanted: bool,
    queue: VecDeque<ConnectionTrace>,
}

impl ConnectionTraces {
    pub(super) fn has_news(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Notes the beginning or the end of `conn`, if that is new.
    #[inline]
    pub(super) fn note(&mut self, conn: &mut Connection) {
        if self.wanted {
            self.note_state(conn);
        }
    }

    #[cold]
    fn note_state(&mut self, conn: &mut Connection) {
        let is_over = conn.state == State::Close || conn.state.is_finished();
        // A request that is not confirmed may be a forgery, and is no connection.
        let is_established = matches!(conn.state, State::Established { .. }) && conn.confirmed;
        if conn.traced == Traced::Nothing && is_established {
            conn.traced = Traced::Beginning;
            self.add(conn, TracePoint::Began);
        }
        match (conn.traced, conn.error()) {
            (Traced::Beginning, error) if is_over => self.add(conn, TracePoint::Ended(error)),
            (Traced::Nothing, Some(error)) if is_over && !conn.is_server() => {
                self.add(conn, TracePoint::Failed(error));
            }
            _ => return,
        }
        conn.traced = Traced::End;
    }

    /// Notes that `conn` has another path, if it had one before that was traced.
    pub(super) fn note_path(&mut self, conn: &Connection) {
        if self.wanted && conn.traced == Traced::Beginning {
            self.add(conn, TracePoint::PathChanged);
        }
    }

    fn add(&mut self, conn: &Connection, point: TracePoint) {
        self.queue.push_back(ConnectionTrace {
            point,
            local: conn.local,
            remote: conn.remote,
            is_server: conn.is_server(),
            device: conn.path.device,
            next_hop: conn.path.to,
        });
    }
}

impl Endpoint {
    /// Has the trace points of connections kept from now on, until
    /// [`Self::poll_connection_trace`] takes them.
    pub const fn trace_connections(&mut self) {
        self.connection_traces.wanted = true;
    }

    /// Takes the next trace point. There is none without [`Self::trace_connections`].
    pub fn poll_connection_trace(&mut self) -> Option<ConnectionTrace> {
        self.connection_traces.queue.pop_front()
    }
}
