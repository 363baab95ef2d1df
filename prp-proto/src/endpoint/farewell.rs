//! What a process that is about to end owes its peers: the word that it has finished (SPEC PRP-CLOSE-10).

use alloc::collections::VecDeque;
use core::time::Duration;

use super::Endpoint;
use super::refusal::Refusal;
use crate::event::ConnHandle;
use crate::time::Instant;

/// Connections remembered: as many as a process of the peer lets stay.
const MOST: usize = super::MOST_STAYING;

/// How long the end of a connection is news to its peer: a peer stays no longer, even one whose process ends.
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
    /// The process is about to end, once everything is delivered: connections that stay find out whether their peers need them, and
    /// peers that stay are told that we need them no more.
    ///
    /// From then on a connection that [`state`](Self::state) calls finished is worth waiting for, for some round trips mostly and 2 s
    /// at most, and so are frames to send ([`Self::wants_transmit`]).
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

    /// Notes that a connection is over, for its peer to be told when the process ends, or at once if it is about to.
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
