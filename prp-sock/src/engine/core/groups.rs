//! Groups of the engine's state that belong together.

use std::collections::HashMap;
use std::sync::Arc;

use prp_node::{Ledger, OwnerProbe, PortClaims, StewardClaim};
use prp_proto::addr::Port;
use prp_proto::event::{ConnHandle, ListenHandle};
use prp_proto::time::Instant;

use crate::engine::guard::DeferredCalls;
use crate::engine::leader::Leader;
use crate::engine::waiter::Waiter;
use crate::engine::waiters::Waiters;

/// What this process has of what the processes of the node share.
#[derive(Debug)]
pub(crate) struct NodeShare {
    /// The ports that this process owns.
    pub(crate) claims: PortClaims,
    /// Our claim to answer for ports that no process owns.
    pub(in crate::engine) steward: StewardClaim,
    pub(super) owners: OwnerProbe,
    /// For the node's router, if it has one.
    pub(in crate::engine) ledger: Option<Ledger>,
}

impl NodeShare {
    /// Whether this process refuses requests to `port`, which its endpoint does not own: the
    /// process that holds it does. If no process does, the one that has the datagram does, and over
    /// Ethernet, where all processes have the frame, the steward (SPEC PRP-PORT-1 and 4).
    pub(super) fn answers_for(&self, port: Port, by_udp: bool) -> bool {
        self.claims.holds(port) || ((by_udp || self.steward.is_held()) && self.owners.is_free(port))
    }
}

/// The threads and tasks that wait for something, and the leader.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// Those that wait for a connection, by the slot of its handle.
    pub(super) slots: Vec<Waiters>,
    pub(super) listeners: HashMap<ListenHandle, Waiters>,
    /// Calls of wakers, to be made when the lock is let go.
    pub(in crate::engine) calls: DeferredCalls,
    /// The application thread that receives, runs the protocol and sends for all.
    pub(in crate::engine) leader: Option<Leader>,
    /// Application threads that wait while another one leads, longest first, but for those that
    /// only accept connections.
    pub(in crate::engine) followers: Vec<Arc<Waiter>>,
    /// Waits that have no thread: wakers of tasks, descriptors in a poll set of the application.
    pub(crate) async_waiters: usize,
    /// The number of the future that was numbered last.
    pub(in crate::engine) next_future: u64,
}

impl Waiting {
    /// Whether a thread waits while another one leads, or a task or a descriptor for another
    /// connection than `conn`.
    pub(in crate::engine) fn has_others(&self, conn: ConnHandle) -> bool {
        let own = self.slots.get(conn.slot()).is_some_and(|slot| slot.fd.is_some());
        !self.followers.is_empty() || self.async_waiters > usize::from(own)
    }
}

/// Until when the threads sleep, and when something was last done.
#[derive(Debug, Default)]
pub(in crate::engine) struct Timing {
    /// The keeper sleeps until called.
    pub(in crate::engine) keeper_parked: bool,
    /// The keeper sleeps in `poll`.
    pub(in crate::engine) keeper_polls: bool,
    /// When the thread that sleeps in `poll` reads the clock again by itself.
    pub(in crate::engine) next_wakeup: Option<Instant>,
    /// When the keeper reads the clock and does what is due, while a leader is there.
    pub(in crate::engine) background_wakeup: Option<Instant>,
    /// The leader sleeps in `poll`.
    pub(in crate::engine) leader_sleeps: bool,
    /// When an application thread last stopped leading, or polled for frames before it would have
    /// waited.
    pub(in crate::engine) leader_left_at: Instant,
    /// When something was last sent or taken in.
    pub(super) last_io: Instant,
}

/// When the engine ends, and whether its process does.
#[derive(Debug, Default)]
pub(in crate::engine) struct Lifetime {
    /// When the engine ends, unless something uses it.
    pub(super) retire_at: Option<Instant>,
    /// The process exits: only threads of ours, and the one that exits, have this lock from now on.
    pub(in crate::engine) gone: bool,
    /// Threads that wanted it all the same.
    pub(in crate::engine) held_back: usize,
}

#[cfg(test)]
mod tests {
    use prp_proto::addr::NodeId;

    use super::*;

    #[test]
    fn answers_for__what_no_process_owns_over_udp_without_being_the_steward() {
        // No other test has this node, so no other process owns its ports.
        let node = NodeId::new(4_001).unwrap();
        let mut share = NodeShare {
            claims: PortClaims::new(node),
            steward: StewardClaim::new(node),
            owners: OwnerProbe::new(node).unwrap(),
            ledger: None,
        };
        let port = Port::new(4_711);
        assert!(!share.answers_for(port, false));
        assert!(share.answers_for(port, true));
        let mut other = PortClaims::new(node);
        assert!(other.claim(port).unwrap());
        assert!(!share.answers_for(port, true), "its owner does");
        drop(other);
        assert!(share.claims.claim(port).unwrap());
        assert!(share.answers_for(port, false), "it is the owner");
    }
}
