//! The prphosts of all nodes of a cluster, taken together: do frames arrive?
//!
//! Each file alone may be right and the whole still wrong. This follows the best ways from every node to
//! every other one, as routers do (SPEC PRP-FWD), and says where frames would end.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use crate::addr::{DeviceId, MacAddr, NodeId};
use crate::hosts::Hosts;
use crate::route::RouteTable;
use crate::wire::Flags;

/// The files of a cluster.
#[derive(Debug)]
pub struct Cluster {
    tables: BTreeMap<NodeId, RouteTable>,
}

/// Something wrong between two nodes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The node that sends.
    pub from: NodeId,
    /// The node it sends to.
    pub to: NodeId,
    /// What becomes of the frames.
    pub what: FaultKind,
}

/// What is wrong.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The file of this node has no line for the one it is to send to.
    Missing {
        /// The node with that file.
        at: NodeId,
    },
    /// This node has a line, and still no way.
    NoWay {
        /// The node.
        at: NodeId,
    },
    /// Frames come back to this node, or cross more routers than they may.
    Loop {
        /// The node.
        at: NodeId,
    },
    /// This node drops the frames, since they come from a neighbour by which it does not reach their source.
    Dropped {
        /// The node that drops.
        at: NodeId,
        /// The neighbour they come from.
        by: NodeId,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, what } = self;
        write!(f, "from {from} to {to}: ")?;
        match what {
            FaultKind::Missing { at } => write!(f, "node {at} has no line for {to}"),
            FaultKind::NoWay { at } => write!(f, "node {at} has no way to {to}"),
            FaultKind::Loop { at } => write!(f, "frames go in a circle at node {at}"),
            FaultKind::Dropped { at, by } => write!(
                f,
                "node {at} drops what comes by node {by}: none of its ways to {from} leads there"
            ),
        }
    }
}

/// A frame's arrival: the neighbour it came from.
type Neighbour = (DeviceId, MacAddr);

impl Cluster {
    /// The cluster of these nodes' files.
    pub fn new(files: impl IntoIterator<Item = (NodeId, Hosts)>) -> Self {
        let table = |(node, hosts): (NodeId, Hosts)| {
            // All devices are there as far as files can tell.
            let mut count = 0;
            let routes = RouteTable::build(&hosts, node, |_| {
                count += 1;
                Some(DeviceId(count - 1))
            });
            (node, routes)
        };
        Self { tables: files.into_iter().map(table).collect() }
    }

    /// How many files it has.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// What is wrong, by sender and then receiver.
    pub fn faults(&self) -> Vec<Fault> {
        let pairs =
            self.tables.keys().flat_map(|from| self.tables.keys().map(move |to| (*from, *to)));
        let follow = |(from, to): (NodeId, NodeId)| {
            self.follow(from, to).err().map(|what| Fault { from, to, what })
        };
        pairs.filter(|(from, to)| from != to).filter_map(follow).collect()
    }

    /// Pairs of nodes whose frames take another way back than there. Nothing is wrong with that, but
    /// what one measures of it is the sum of two.
    pub fn asymmetric(&self) -> Vec<(NodeId, NodeId)> {
        let pairs =
            self.tables.keys().flat_map(|from| self.tables.keys().map(move |to| (*from, *to)));
        pairs
            .filter(|(from, to)| from < to)
            .filter(|(from, to)| {
                let (Ok(there), Ok(mut back)) = (self.follow(*from, *to), self.follow(*to, *from))
                else {
                    return false;
                };
                back.reverse();
                there != back
            })
            .collect()
    }

    /// The nodes frames pass from `from` to `to`, both included.
    fn follow(&self, from: NodeId, to: NodeId) -> Result<Vec<NodeId>, FaultKind> {
        let mut way = Vec::from([from]);
        let mut at = from;
        let mut came: Option<Neighbour> = None;
        while at != to {
            let Some(table) = self.tables.get(&at) else {
                // Nobody has said what this node does.
                return Err(FaultKind::NoWay { at });
            };
            let hops = table.lookup(to).next_hops();
            let onward = hops.iter().find(|hop| Some((hop.device, hop.mac)) != came);
            let Some(next) = onward.or_else(|| hops.first()) else {
                let missing = table.lookup(to)
                    == crate::route::Route::NoRoute(crate::route::NoRoute::Unknown);
                return Err(if missing {
                    FaultKind::Missing { at }
                } else {
                    FaultKind::NoWay { at }
                });
            };
            if way.len() > usize::from(Flags::MAX_HOPS) + 1 {
                return Err(FaultKind::Loop { at });
            }
            came = self.arrival(at, next.node, from)?;
            at = next.node;
            way.push(at);
        }
        Ok(way)
    }

    /// As what neighbour `node` sees `by`, of the ways by which it may get frames from `source`.
    fn arrival(
        &self,
        by: NodeId,
        node: NodeId,
        source: NodeId,
    ) -> Result<Option<Neighbour>, FaultKind> {
        let Some(table) = self.tables.get(&node) else { return Ok(None) };
        let hops = table.lookup(source).next_hops();
        let seen = hops.iter().find(|hop| hop.node == by);
        match seen {
            Some(hop) => Ok(Some((hop.device, hop.mac))),
            None => Err(FaultKind::Dropped { at: node, by }),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    fn cluster(files: &[(u16, &str)]) -> Cluster {
        Cluster::new(files.iter().map(|(node, text)| {
            let hosts = Hosts::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
            (NodeId::new(*node).unwrap(), hosts)
        }))
    }

    fn said(cluster: &Cluster) -> Vec<String> {
        cluster.faults().iter().map(ToString::to_string).collect()
    }

    const ONE: &str = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n3 via 2\n";
    const TWO: &str =
        "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n3 02:00:00:00:00:03 eth1\n";
    const THREE: &str = "1 via 2\n2 02:00:00:00:01:02 eth0\n3 02:00:00:00:00:03 eth0\n";

    #[test]
    fn faults__of_a_chain_that_is_right_are_none() {
        let cluster = cluster(&[(1, ONE), (2, TWO), (3, THREE)]);
        assert_eq!(said(&cluster), [""; 0]);
        assert_eq!(cluster.asymmetric(), []);
    }

    #[test]
    fn faults__missing_lines_and_missing_ways_back() {
        let short = "2 02:00:00:00:01:02 eth0\n3 02:00:00:00:00:03 eth0\n";
        assert_eq!(
            said(&cluster(&[(1, ONE), (2, TWO), (3, short)])),
            [
                "from 1 to 3: node 3 drops what comes by node 2: none of its ways to 1 leads there",
                "from 3 to 1: node 3 has no line for 1",
            ]
        );
    }

    #[test]
    fn faults__circles_of_two_and_of_three() {
        let one = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n9 via 2\n";
        let two = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n9 via 1\n";
        let nine = "1 via 2\n2 02:00:00:00:00:02 eth0\n9 02:00:00:00:00:09 eth0\n";
        let two_way = cluster(&[(1, one), (2, two), (9, nine)]);
        let faults = two_way.faults();
        assert!(
            faults
                .iter()
                .any(|f| matches!(f.what, FaultKind::Dropped { .. } | FaultKind::Loop { .. })),
            "{faults:?}"
        );
        // In a circle of three whoever checks sources accepts them, if all list all ways.
        let file = |own: u16, next: u16, other: u16| {
            alloc::format!(
                "{own} 02:00:00:00:00:0{own} eth0\n{next} 02:00:00:00:00:0{next} eth0, \
                 02:00:00:00:00:0{other} eth0 metric 1\n{other} 02:00:00:00:00:0{other} eth0, \
                 02:00:00:00:00:0{next} eth0 metric 1\n9 via {next}\n"
            )
        };
        let files = [file(1, 2, 3), file(2, 3, 1), file(3, 1, 2)];
        let three = cluster(&[(1, &files[0]), (2, &files[1]), (3, &files[2]), (9, nine)]);
        let loops = three.faults();
        let loops = loops.iter().filter(|f| f.to.number() == 9 && f.from.number() < 9);
        assert!(loops.clone().count() == 3);
        for fault in loops {
            assert!(
                matches!(fault.what, FaultKind::Loop { .. } | FaultKind::Dropped { .. }),
                "{fault}"
            );
        }
    }

    #[test]
    fn asymmetric__ways_that_differ_there_and_back() {
        let files: Vec<_> =
            (1..=4u16).map(|n| (n, crate::plan::Plan::hypercube(2).unwrap().hosts(n))).collect();
        let files: Vec<_> = files.iter().map(|(n, text)| (*n, text.as_str())).collect();
        let pairs = cluster(&files).asymmetric();
        let numbers: Vec<_> = pairs.iter().map(|(a, b)| (a.number(), b.number())).collect();
        // Expect: e-cube order goes round the other corner on the way back.
        assert_eq!(numbers, [(1, 4), (2, 3)]);
    }
}
