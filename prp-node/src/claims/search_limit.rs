//! How often a process on UDP is searched for among the UDP ports of a node: a datagram to a port
//! whose owner is not there, or to a router that is not, costs as many system calls as a node has
//! ports, and a flood of such datagrams would keep the process that holds the node's own port from
//! all others.

use std::collections::HashMap;

use prp_proto::addr::UDP_PORTS;
use prp_proto::time::Instant;
use prp_proto::token_bucket::TokenBucket;

use super::claimed_ports::ClaimedPorts;

/// Searches in vain for the same process, a second. As many at once: a process that takes a port
/// over from one that is not on UDP is found at once where no flood is.
const FAILED_SEARCHES: u32 = 10;

/// System calls of all searches together, a second. They take 2 % of a processor.
const CALLS: u32 = 20_000;

/// Processes that are remembered to be not on UDP: those that are searched for in a second at
/// most, several times over.
const MAX_PROCESSES: usize = 1024;

/// A process that is searched for.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub(super) enum Sought {
    /// The owner of these ports.
    OwnerOf(ClaimedPorts),
    /// The node's router.
    Router,
}

/// What is left of all that.
#[derive(Debug)]
pub(super) struct SearchLimit {
    calls: TokenBucket,
    /// Of processes that were not found when they were searched for last.
    failed: HashMap<Sought, TokenBucket>,
}

impl Default for SearchLimit {
    fn default() -> Self {
        Self { calls: TokenBucket::new(CALLS), failed: HashMap::new() }
    }
}

impl SearchLimit {
    /// Searches for `sought`, if it may be searched for `now`, by `is_there`: at how many UDP ports
    /// behind the node's own it is.
    pub(super) fn search(
        &mut self,
        sought: Sought,
        now: Instant,
        is_there: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        if !self.allows(sought, now) {
            return None;
        }
        let found = (1..UDP_PORTS).find(|offset| is_there(*offset));
        self.note(sought, found);
        found
    }

    /// Whether `sought` may be searched for `now`.
    fn allows(&mut self, sought: Sought, now: Instant) -> bool {
        self.failed.get_mut(&sought).is_none_or(|left| left.take(now)) && self.calls.take(now)
    }

    /// `sought` was searched for, and `found` at the node's own UDP port plus this number.
    fn note(&mut self, sought: Sought, found: Option<u16>) {
        // The first one is paid for.
        self.calls.spend(usize::from(found.unwrap_or(UDP_PORTS - 1)) - 1);
        if found.is_some() {
            self.failed.remove(&sought);
            return;
        }
        if self.failed.len() >= MAX_PROCESSES {
            self.failed.clear();
        }
        self.failed.entry(sought).or_insert(TokenBucket::new(FAILED_SEARCHES));
    }
}
