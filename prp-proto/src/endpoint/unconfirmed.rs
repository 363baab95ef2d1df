//! Connections whose peers have not shown yet that they know of them (SPEC PRP-CONN-6).

use alloc::collections::VecDeque;
#[cfg(any(test, feature = "testing"))]
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::Endpoint;
use crate::addr::NodeId;
use crate::event::ConnHandle;
use crate::stats::DropReason;
use crate::time::Instant;

/// Connections that were granted and not confirmed, by peer node, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Unconfirmed {
    by_peer: HashMap<NodeId, VecDeque<ConnHandle>, foldhash::fast::FixedState>,
}

impl Unconfirmed {
    pub(super) fn new(hasher: foldhash::fast::FixedState) -> Self {
        Self { by_peer: HashMap::with_hasher(hasher) }
    }

    /// How many `peer` has.
    fn count(&self, peer: NodeId) -> usize {
        self.by_peer.get(&peer).map_or(0, VecDeque::len)
    }

    /// Adds one; how many `peer` has now.
    pub(super) fn add(&mut self, peer: NodeId, conn: ConnHandle) -> usize {
        let theirs = self.by_peer.entry(peer).or_default();
        theirs.push_back(conn);
        theirs.len()
    }

    /// It is confirmed, or gone.
    pub(super) fn remove(&mut self, peer: NodeId, conn: ConnHandle) {
        let Some(theirs) = self.by_peer.get_mut(&peer) else { return };
        theirs.retain(|other| *other != conn);
        if theirs.is_empty() {
            self.by_peer.remove(&peer);
        }
    }

    /// Bytes held.
    pub(super) fn memory(&self) -> usize {
        let handles: usize = self.by_peer.values().map(VecDeque::capacity).sum();
        self.by_peer.allocation_size() + handles * size_of::<ConnHandle>()
    }

    /// Puts everything that decides what happens next into `state`.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn fingerprint<H: core::hash::Hasher>(&self, state: &mut H) {
        use core::hash::Hash;
        let mut all: Vec<_> = self.by_peer.iter().collect();
        all.sort_unstable();
        all.hash(state);
    }
}

impl Endpoint {
    /// Makes sure that `peer` may have one connection more that is unconfirmed: the oldest one of
    /// its goes if it should have been confirmed by now.
    ///
    /// # Errors
    /// It has as many as it may, and all of them are young.
    pub(super) fn make_room_for(&mut self, now: Instant, peer: NodeId) -> Result<(), DropReason> {
        if self.unconfirmed.count(peer) < usize::from(self.config.unconfirmed_per_peer) {
            return Ok(());
        }
        let oldest = self.unconfirmed.by_peer.get(&peer).and_then(VecDeque::front).copied();
        let oldest = oldest.ok_or(DropReason::PeerLimit)?;
        if let Some(conn) = self.table.get_mut(oldest) {
            if !conn.is_overdue(now) {
                return Err(DropReason::PeerLimit);
            }
            conn.give_up_unconfirmed(now);
        }
        self.unconfirmed.remove(peer, oldest);
        self.settle(oldest, now);
        Ok(())
    }
}
