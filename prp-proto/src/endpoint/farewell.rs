//! What a process that is about to end owes its peers: the word that it has finished (SPEC
//! PRP-CLOSE-10).

use alloc::collections::VecDeque;
use core::time::Duration;

use super::Endpoint;
use super::refusal::Refusal;
use crate::connection::Connection;
use crate::event::ConnHandle;
use crate::time::Instant;

/// Connections remembered: as many as a process of the peer lets stay.
const MOST: usize = super::MOST_STAYING;

/// How long the end of a connection is news to its peer: a peer stays no longer, even one whose
/// process ends.
const NEWS: Duration = Duration::from_millis(2500);

/// Connections that have come to their end lately, whose peers may stay because they do not know.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Farewells {
    leaving: bool,
    recent: VecDeque<(Instant, Refusal)>,
}

impl Farewells {
    /// Bytes held.
    pub(super) fn memory(&self) -> usize {
        self.recent.capacity() * size_of::<(Instant, Refusal)>()
    }

    fn note(&mut self, now: Instant, refusal: Refusal) {
        let is_old = |(at, _): &(Instant, _)| now.since(*at) >= NEWS;
        while self.recent.len() >= MOST || self.recent.front().is_some_and(is_old) {
            self.recent.pop_front();
        }
        // Without memory for it the peer stays as long as it would anyway.
        if self.recent.try_reserve(1).is_ok() {
            self.recent.push_back((now, refusal));
        }
    }
}

impl Endpoint {
    /// The process is about to end, and has released all connections. Their peers are told as soon
    /// as they have everything, and peers that stay are told that we need them no more.
    /// [`Self::may_end`] says when that is done: a round trip after all was delivered mostly, and 2
    /// s at most.
    pub fn leave(&mut self, now: Instant) {
        self.farewells.leaving = true;
        for (at, refusal) in core::mem::take(&mut self.farewells.recent) {
            if now.since(at) < NEWS {
                self.refusals.push_own(refusal);
            }
        }
        for handle in self.handles() {
            if let Some(conn) = self.table.get_mut(handle) {
                conn.leave();
                self.settle(handle, now);
            }
        }
    }

    /// Whether nothing keeps a process that has said it would [`leave`](Self::leave): all was
    /// delivered, and no peer can need us any more.
    pub fn may_end(&self) -> bool {
        let holds = |handle| self.table.get(handle).is_some_and(Connection::holds_process);
        !self.handles().into_iter().any(holds) && !self.wants_transmit()
    }

    /// Notes that a connection is over, for its peer to be told when the process ends, or at once
    /// if it is about to.
    pub(super) fn note_farewell(&mut self, handle: ConnHandle, now: Instant) {
        let Some(conn) = self.table.get_mut(handle) else { return };
        let Some(block) = conn.take_farewell() else { return };
        let (local, remote) = (conn.local.port, conn.remote.port);
        let refusal = Refusal { path: conn.path, local, remote, block };
        if self.farewells.leaving {
            self.refusals.push_own(refusal);
        } else {
            self.farewells.note(now, refusal);
        }
    }
}
