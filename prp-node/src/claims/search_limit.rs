//! How often a process on UDP is searched for among the UDP ports of a node: a datagram to a port
//! whose owner is not there costs as many system calls as a node has ports, and a flood of such
//! datagrams would keep the process that holds the node's own port from all others.

use std::collections::HashMap;

use prp_proto::addr::UDP_PORTS;
use prp_proto::time::Instant;
use prp_proto::token_bucket::TokenBucket;

use super::claimed_ports::ClaimedPorts;

/// Searches in vain for the owner of the same ports, a second. As many at once: a process that
/// takes a port over from one that is not on UDP is found at once where no flood is.
const FAILED_SEARCHES: u32 = 10;

/// System calls of all searches together, a second. They take 2 % of a processor.
const CALLS: u32 = 20_000;

/// Owners that are remembered to be not on UDP: those that are searched for in a second at most,
/// several times over.
const MAX_OWNERS: usize = 1024;

/// What is left of all that.
#[derive(Debug)]
pub(super) struct SearchLimit {
    calls: TokenBucket,
    /// Of ports whose owner was not found when it was searched for last.
    failed: HashMap<ClaimedPorts, TokenBucket>,
}

impl Default for SearchLimit {
    fn default() -> Self {
        Self { calls: TokenBucket::new(CALLS), failed: HashMap::new() }
    }
}

impl SearchLimit {
    /// Whether the owner of `ports` may be searched for `now`.
    pub(super) fn allows(&mut self, ports: ClaimedPorts, now: Instant) -> bool {
        self.failed.get_mut(&ports).is_none_or(|left| left.take(now)) && self.calls.take(now)
    }

    /// The owner of `ports` was searched for, and `found` at the node's own UDP port plus this
    /// number.
    pub(super) fn note(&mut self, ports: ClaimedPorts, found: Option<u16>) {
        // The first one is paid for.
        self.calls.spend(usize::from(found.unwrap_or(UDP_PORTS - 1)) - 1);
        if found.is_some() {
            self.failed.remove(&ports);
            return;
        }
        if self.failed.len() >= MAX_OWNERS {
            self.failed.clear();
        }
        self.failed.entry(ports).or_insert(TokenBucket::new(FAILED_SEARCHES));
    }
}
