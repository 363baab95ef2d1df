//! The prphosts of all nodes of a cluster, taken together: do frames arrive?
//!
//! Each file alone may be right and the whole still wrong. This follows the best routes from every
//! node to every other one, as routers do (SPEC PRP-FWD), and says where frames would end.

mod fault;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::mem;

use crate::addr::{DeviceId, LinkAddr, NodeId, StationAddr};
use crate::hosts::{Entry, HopTarget, Hosts};
use crate::route::{NextHop, NoRoute, Route, RouteTable};
use crate::wire::Flags;

pub use fault::{Fault, FaultKind, Fix};

/// The files of a cluster.
#[derive(Debug)]
pub struct Cluster {
    members: BTreeMap<NodeId, Member>,
    /// Whose own an address is: on different segments it may be several nodes'.
    owners: BTreeMap<StationAddr, Vec<NodeId>>,
}

/// A node with its file.
#[derive(Debug)]
struct Member {
    hosts: Hosts,
    routes: RouteTable,
}

/// Two nodes whose frames take another path back than there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asymmetry {
    /// The nodes frames pass from the one to the other, both included.
    pub there: Vec<NodeId>,
    /// And back.
    pub back: Vec<NodeId>,
}

/// A frame's arrival: the neighbour it came from.
type Neighbour = (DeviceId, LinkAddr);

impl Cluster {
    /// The cluster of these nodes' files.
    pub fn new(files: impl IntoIterator<Item = (NodeId, Hosts)>) -> Self {
        let member = |(node, hosts): (NodeId, Hosts)| {
            // All devices are there as far as files can tell.
            let mut count = 0;
            let routes = RouteTable::build(&hosts, node, |_| {
                count += 1;
                Some(DeviceId(count - 1))
            });
            (node, Member { hosts, routes })
        };
        let members: BTreeMap<_, _> = files.into_iter().map(member).collect();
        let mut owners: BTreeMap<StationAddr, Vec<NodeId>> = BTreeMap::new();
        for (node, member) in &members {
            for address in member.hosts.entry(*node).into_iter().flat_map(own_addresses) {
                owners.entry(address).or_default().push(*node);
            }
        }
        Self { members, owners }
    }

    /// How many files it has.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The nodes that some file lists.
    pub fn nodes(&self) -> BTreeSet<NodeId> {
        let listed = self.members.values().flat_map(|member| member.hosts.nodes());
        listed.chain(self.members.keys().copied()).collect()
    }

    /// The line for `to` in the file of node `at`, from 1.
    pub fn line(&self, at: NodeId, to: NodeId) -> Option<u32> {
        Some(self.members.get(&at)?.hosts.entry(to)?.line())
    }

    /// What is wrong, by sender and then receiver. A node without a file of its own only receives.
    pub fn faults(&self) -> Vec<Fault> {
        let nodes = self.nodes();
        let pairs = self.members.keys().flat_map(|from| nodes.iter().map(move |to| (*from, *to)));
        pairs.filter_map(|(from, to)| self.follow(from, to).err()).collect()
    }

    /// Pairs of nodes whose frames take another path back than there. Nothing is wrong with that,
    /// but what one measures of it is the sum of two.
    pub fn asymmetries(&self) -> Vec<Asymmetry> {
        let nodes = || self.members.keys().copied();
        let pairs = nodes().flat_map(|from| nodes().map(move |to| (from, to)));
        let both = pairs.filter(|(from, to)| from < to).filter_map(|(from, to)| {
            Some(Asymmetry {
                there: self.follow(from, to).ok()?,
                back: self.follow(to, from).ok()?,
            })
        });
        both.filter(|pair| !pair.there.iter().eq(pair.back.iter().rev())).collect()
    }

    /// The nodes frames pass from `from` to `to`, both included.
    fn follow(&self, from: NodeId, to: NodeId) -> Result<Vec<NodeId>, Fault> {
        let fault = |at, what| {
            let fault = Fault { from, to, at, line: None, what };
            Fault { line: self.line(at, fault.subject()), ..fault }
        };
        if from == to && self.line(to, to).is_none() {
            return Err(fault(to, FaultKind::Missing));
        }
        let mut path = Vec::from([from]);
        let mut at = from;
        let mut came: Option<Neighbour> = None;
        while at != to {
            let Some(member) = self.members.get(&at) else {
                // It is the next hop of the node before it, since `from` has a file.
                let before = path[path.len().saturating_sub(2)];
                return Err(fault(before, FaultKind::NoFile { next: at }));
            };
            let route = member.routes.lookup(to);
            let hops = route.next_hops();
            let onward = hops.iter().find(|hop| Some((hop.device, hop.addr)) != came);
            let Some(next) = onward.or_else(|| hops.first()) else {
                let missing = route == Route::NoRoute(NoRoute::Unknown);
                let what = if missing { FaultKind::Missing } else { FaultKind::NoRoute };
                return Err(fault(at, what));
            };
            let again = path.contains(&next.node);
            if path.len() > usize::from(Flags::MAX_HOPS) + 1 {
                let back = FaultKind::Loop { back: next.node };
                return Err(fault(at, if again { back } else { FaultKind::TooFar }));
            }
            self.arrives(member, next).map_err(|what| fault(at, what))?;
            came = self.arrival(at, next, from).map_err(|what| {
                // Where they have been already it is no matter of sources.
                let back = FaultKind::Loop { back: next.node };
                if again { fault(at, back) } else { fault(next.node, what) }
            })?;
            at = next.node;
            path.push(at);
        }
        Ok(path)
    }

    /// Whether frames of `member` reach the next hop they are sent to.
    fn arrives(&self, member: &Member, hop: &NextHop) -> Result<(), FaultKind> {
        let next = hop.node;
        let owners = member.routes.station(hop.addr).and_then(|address| self.owners.get(&address));
        let owners = owners.map_or(&[][..], Vec::as_slice);
        if let [owner, ..] = *owners
            && !owners.contains(&next)
        {
            return Err(FaultKind::Mistaken { next, owner });
        }
        let theirs = self.members.get(&next).map(|other| other.hosts.ethertype());
        if theirs.is_some_and(|ethertype| ethertype != member.hosts.ethertype()) {
            return Err(FaultKind::Deaf { next });
        }
        Ok(())
    }

    /// As what the neighbour that `by` reaches as `hop` sees it, of the routes of the same underlay
    /// by which it may get frames from `source`.
    fn arrival(
        &self,
        by: NodeId,
        hop: &NextHop,
        source: NodeId,
    ) -> Result<Option<Neighbour>, FaultKind> {
        let Some(member) = self.members.get(&hop.node) else { return Ok(None) };
        let underlay = |addr: LinkAddr| mem::discriminant(&addr);
        let same =
            |other: &&NextHop| other.node == by && underlay(other.addr) == underlay(hop.addr);
        let hops = member.routes.lookup(source).next_hops();
        let seen = hops.iter().find(same);
        match seen {
            Some(hop) => Ok(Some((hop.device, hop.addr))),
            None => Err(FaultKind::Dropped { by }),
        }
    }
}

/// The addresses on a node's line that are its own: those of its best routes (SPEC PRP-ROUTE-0).
fn own_addresses(entry: Entry<'_>) -> impl Iterator<Item = StationAddr> + '_ {
    let best = entry.hops().map(|hop| hop.metric).min();
    entry.hops().filter(move |hop| Some(hop.metric) == best).filter_map(move |hop| {
        match hop.target {
            HopTarget::Direct { mac, .. } => Some(StationAddr::Ethernet(mac)),
            HopTarget::Udp(addr) => Some(StationAddr::Udp(addr)),
            HopTarget::Unix(_) => Some(StationAddr::Unix { node: entry.node(), process: 0 }),
            HopTarget::Via(_) => None,
        }
    })
}

#[cfg(test)]
mod tests;
