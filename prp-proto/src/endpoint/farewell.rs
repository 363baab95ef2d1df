//! What a process that is about to end owes its peers: the word that it has finished (SPEC
//! PRP-CLOSE-10).

use alloc::collections::VecDeque;
use core::ops::Range;

use super::Endpoint;
use super::refusal::Refusal;
use crate::addr::{Port, PrpAddr};
use crate::connection::Connection;
use crate::event::ConnHandle;
use crate::time::Instant;
use crate::timing::{FAREWELL_MEMORY, FAREWELL_PAUSE};
use crate::wire::{ResetBlock, ResetReason};

/// Connections remembered. Peers of a process that ends 2,000 a second repeat their ends, and are
/// answered, before those are forgotten.
const MAX_ENDED: usize = 2048;

/// How often a peer is told: it cannot ask again, and a frame may be lost.
const TIMES: usize = 2;

/// Frames to peers in a row. All of them may be for one process, whose ring takes 512 frames.
const PORTION: usize = 32;

/// A connection that has come to its end: what its peer is told by, in 24 bytes.
#[derive(Copy, Clone, Debug, Hash)]
struct Ended {
    at: Instant,
    local_id: u32,
    remote_id: u32,
    local: Port,
    remote: PrpAddr,
    path_attempts: u8,
    is_protected: bool,
}

/// Connections that have come to their end lately, whose peers may stay because they do not know.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Farewells {
    leaving: bool,
    recent: VecDeque<Ended>,
    /// Frames about `recent` that have been queued, once the process leaves.
    reported: usize,
    /// When the next portion of them is due.
    due: Option<Instant>,
}

impl Farewells {
    /// Bytes held.
    pub(super) fn memory(&self) -> usize {
        self.recent.capacity() * size_of::<Ended>()
    }

    /// When the next portion of what peers are told is due.
    #[inline]
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    fn forget_old(&mut self, now: Instant) {
        while self.recent.front().is_some_and(|ended| now.since(ended.at) >= FAREWELL_MEMORY) {
            self.recent.pop_front();
        }
    }

    /// Which frames about `recent` are to be queued now.
    fn take_portion(&mut self, now: Instant) -> Range<usize> {
        let all = self.recent.len() * TIMES;
        let first = self.reported;
        self.reported = all.min(first + PORTION);
        self.due = (self.reported < all).then(|| now + FAREWELL_PAUSE);
        first..self.reported
    }

    fn note(&mut self, now: Instant, ended: Ended) {
        self.forget_old(now);
        if self.recent.len() >= MAX_ENDED {
            self.recent.pop_front();
        }
        // Without memory for it the peer stays as long as it would anyway.
        if self.recent.try_reserve(1).is_ok() {
            self.recent.push_back(ended);
        }
    }
}

impl Endpoint {
    /// The process is about to end, and has released all connections. Their peers are told as soon
    /// as they have everything, and peers that stay are told that we need them no more.
    /// [`Self::may_end`] says when that is done: a round trip after all was delivered mostly, and 2
    /// s at most. Hundreds of peers are told bit by bit, a thousand in 250 ms.
    pub fn leave(&mut self, now: Instant) {
        self.farewells.leaving = true;
        self.farewells.forget_old(now);
        self.notify_some(now);
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
        !self.handles().into_iter().any(holds)
            && self.farewells.due().is_none()
            && !self.wants_transmit()
    }

    /// Tells the next peers of connections that have come to their end lately. All are told once
    /// before any is told again: what loses one frame may well lose the next.
    fn notify_some(&mut self, now: Instant) {
        for frame in self.farewells.take_portion(now) {
            let recent = &self.farewells.recent;
            let ended = recent[frame % recent.len()];
            self.notify(&ended);
        }
    }

    /// Goes on with what [`Self::leave`] has begun, if it is time.
    #[inline]
    pub(super) fn go_on_leaving(&mut self, now: Instant) {
        if self.farewells.due().is_some_and(|due| due <= now) {
            self.notify_some(now);
        }
    }

    /// Notes that a connection is over, for its peer to be told when the process ends, or at once
    /// if it is about to.
    pub(super) fn note_farewell(&mut self, handle: ConnHandle, now: Instant) {
        let Some(conn) = self.table.get_mut(handle) else { return };
        if !conn.take_farewell() {
            return;
        }
        let ended = Ended {
            at: now,
            local_id: conn.ids.local,
            remote_id: conn.ids.remote,
            local: conn.local.port,
            remote: conn.remote,
            path_attempts: conn.path_attempts,
            is_protected: conn.is_protected(),
        };
        if self.farewells.leaving {
            (0..TIMES).for_each(|_| self.notify(&ended));
        } else {
            self.farewells.note(now, ended);
        }
    }

    /// Notifies the peer of a connection that it is over, if there is a path to it.
    fn notify(&mut self, ended: &Ended) {
        let Ended { local_id: sender, remote_id: receiver, local, remote, .. } = *ended;
        let block = ResetBlock { reason: ResetReason::NoConnection, receiver, sender };
        if let Some(path) = self.path(local, remote, ended.path_attempts) {
            let (remote, is_signed) = (remote.port, ended.is_protected);
            self.refusals.push_own(Refusal { path, local, remote, block, is_signed });
        }
    }
}
