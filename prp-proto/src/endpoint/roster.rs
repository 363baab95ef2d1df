//! Which connections stand, for a witness outside this process: should the process be killed, somebody else
//! can still tell its peers.

use alloc::collections::VecDeque;

use super::Endpoint;
use crate::addr::{Port, PrpAddr};
use crate::connection::Connection;
use crate::event::ConnHandle;
use crate::state::State;

/// What it takes to reset a connection in the name of its end here (SPEC PRP-RST-3).
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub struct Standing {
    /// Our port.
    pub local: Port,
    /// The peer's end.
    pub remote: PrpAddr,
    /// The connection id we chose.
    pub own_id: u32,
    /// The one the peer chose.
    pub peer_id: u32,
}

/// News of a connection, which is known by the number of its slot.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum RosterChange {
    /// It stands.
    Enter(usize, Standing),
    /// It stands no more.
    Leave(usize),
}

/// Connections that stand, as far as somebody wants to know.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Roster {
    wanted: bool,
    news: VecDeque<(ConnHandle, bool)>,
}

impl Roster {
    /// Whether something has changed.
    pub(super) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// Notes whether `conn` stands, if that is new.
    pub(super) fn note(&mut self, conn: &mut Connection) {
        if self.wanted && conn.enrolled != stands(conn) {
            conn.enrolled = !conn.enrolled;
            self.news.push_back((conn.handle, conn.enrolled));
        }
    }

    /// `conn` is gone.
    pub(super) fn strike(&mut self, conn: &Connection) {
        if self.wanted && conn.enrolled {
            self.news.push_back((conn.handle, false));
        }
    }
}

/// Whether a peer may wait for this end. Classic peers know no reset (SPEC PRP-RST-5).
fn stands(conn: &Connection) -> bool {
    let open = matches!(conn.state, State::Established { .. }) && !conn.state.is_finished();
    open && conn.terms.extended
}

impl Endpoint {
    /// Begins with the roster, or ends it. At its beginning every connection that stands is news.
    pub fn keep_roster(&mut self, wanted: bool) {
        self.roster = Roster { wanted, news: VecDeque::new() };
        for handle in self.table.handles() {
            if let Some(conn) = self.table.get_mut(handle) {
                conn.enrolled = false;
                self.roster.note(conn);
            }
        }
    }

    /// Takes what has changed in the roster. Nothing is kept without [`Self::keep_roster`].
    pub fn poll_roster(&mut self) -> Option<RosterChange> {
        loop {
            let (handle, enters) = self.roster.news.pop_front()?;
            if !enters {
                return Some(RosterChange::Leave(handle.slot()));
            }
            // One that has gone meanwhile leaves next.
            if let Some(conn) = self.table.get(handle) {
                let standing = Standing {
                    local: conn.local.port,
                    remote: conn.remote,
                    own_id: conn.ids.local,
                    peer_id: conn.ids.remote,
                };
                return Some(RosterChange::Enter(handle.slot(), standing));
            }
        }
    }
}
