//! Which connections are established, for a witness outside this process: should the process be
//! killed, the witness can still tell its peers.

use alloc::collections::VecDeque;

use super::Endpoint;
use crate::addr::{Port, PrpAddr};
use crate::connection::{Connection, Protection};
use crate::event::ConnHandle;
use crate::state::State;

/// What it takes to reset a connection in the name of its end here (SPEC PRP-RST-3).
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub struct EstablishedId {
    /// Our port.
    pub local: Port,
    /// The peer's end.
    pub remote: PrpAddr,
    /// The connection id we chose.
    pub own_id: u32,
    /// The one the peer chose.
    pub peer_id: u32,
    /// Its frames are protected with a key, so that the peer believes no reset without one.
    pub is_protected: bool,
}

/// News of a connection, which is known by the number of its slot.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum ConnectionChange {
    /// It is established.
    Enter(usize, EstablishedId),
    /// It is established no more.
    Leave(usize),
}

/// Connections that are established, as far as the caller keeps a log of them.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct ConnectionLog {
    wanted: bool,
    news: VecDeque<(ConnHandle, bool)>,
}

impl ConnectionLog {
    /// Whether something has changed.
    pub(super) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// Notes whether `conn` is established, if that is new.
    pub(super) fn note(&mut self, conn: &mut Connection) {
        if self.wanted && conn.is_logged != is_established(conn) {
            conn.is_logged = !conn.is_logged;
            self.news.push_back((conn.handle, conn.is_logged));
        }
    }

    /// `conn` is gone.
    pub(super) fn remove(&mut self, conn: &Connection) {
        if self.wanted && conn.is_logged {
            self.news.push_back((conn.handle, false));
        }
    }
}

/// Whether a peer may wait for this end. Classic peers know no reset (SPEC PRP-RST-5).
fn is_established(conn: &Connection) -> bool {
    let open = matches!(conn.state, State::Established { .. }) && !conn.state.is_finished();
    open && conn.terms.extended
}

impl Endpoint {
    /// Begins with the connection log, or ends it. At its beginning every connection that is
    /// established is news.
    pub fn track_connections(&mut self, wanted: bool) {
        self.connection_log = ConnectionLog { wanted, news: VecDeque::new() };
        for handle in self.table.handles() {
            if let Some(conn) = self.table.get_mut(handle) {
                conn.is_logged = false;
                self.connection_log.note(conn);
            }
        }
    }

    /// Takes what has changed in the connection log. Nothing is kept without
    /// [`Self::track_connections`].
    pub fn poll_connection_change(&mut self) -> Option<ConnectionChange> {
        loop {
            let (handle, enters) = self.connection_log.news.pop_front()?;
            if !enters {
                return Some(ConnectionChange::Leave(handle.slot()));
            }
            // One that has gone meanwhile leaves next.
            if let Some(established) = self.ids(handle) {
                return Some(ConnectionChange::Enter(handle.slot(), established));
            }
        }
    }

    /// Returns the ends of a connection and the ids that they have chosen; that of the peer is zero
    /// as long as it is not known, and with a classic peer.
    pub fn ids(&self, conn: ConnHandle) -> Option<EstablishedId> {
        let conn = self.table.get(conn)?;
        Some(EstablishedId {
            local: conn.local.port,
            remote: conn.remote,
            own_id: conn.ids.local,
            peer_id: conn.ids.remote,
            is_protected: conn.protection.as_deref().is_some_and(Protection::has_session),
        })
    }
}
