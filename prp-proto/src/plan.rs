//! Plans of clusters: from the shape of a network to each node's prphosts.
//!
//! A [`Plan`] is a list of links between nodes, or between nodes and a switch. Devices, hardware
//! addresses and all routes from node to node follow from it, by these rules:
//!
//! - a node's devices are `eth0`, `eth1`, … in the order of the links;
//! - hardware addresses are `02:NN:LL:SS:ll:nn`: node, link, and the number of the switch for its
//!   ports;
//! - there is a route by each neighbour from which a node is reached without coming back; between
//!   nodes on one switch the direct one only. A route that is a link longer weighs 16 more; among
//!   equally long ones the order of the links decides, which in a hypercube is that of the
//!   dimensions (e-cube order).

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;

use crate::addr::MacAddr;

/// Most nodes a plan may have. Files of all nodes together grow with the square.
pub const MAX_NODES: u16 = 1024;

/// Most links between any two nodes of a plan: a frame crosses 15 routers at most (SPEC
/// PRP-HOPS-2).
pub const MAX_LINKS: u16 = 16;

/// Most neighbours: as many as a line of prphosts may have routes (SPEC PRP-HOSTS-3).
const MAX_DEGREE: u16 = 16;

/// What a longer route weighs, per link: more than any order of links.
const LINK_WEIGHT: u32 = 16;

/// One end of a link.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Vertex {
    /// A node, by its number from 1.
    Node(u16),
    /// A switch, by its number from 1.
    Switch(u8),
}

/// A device of a node or a port of a switch; the other end of interface `i` is `i ^ 1`.
#[derive(Clone, Debug)]
struct Interface {
    at: Vertex,
    device: String,
    mac: MacAddr,
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct Plan {
    nodes: u16,
    interfaces: Vec<Interface>,
    /// By node: its own interface and the neighbour's, in the order of the links.
    neighbours: Vec<Vec<(usize, usize)>>,
}

/// A size no plan can have, with what is possible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeError(String);

impl core::fmt::Display for SizeError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for SizeError {}

impl core::fmt::Display for Vertex {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Node(node) => write!(f, "{node}"),
            Self::Switch(switch) => write!(f, "sw{switch}"),
        }
    }
}

/// All of it, as `netns-scripts/topo` reads it: `link NODE DEVICE ADDRESS NODE DEVICE ADDRESS` for
/// each link, in their order, then `hosts NODE LINE` for each line of each node's prphosts. A
/// switch is `sw1` in place of a node, and its devices are ports.
impl core::fmt::Display for Plan {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for ends in self.interfaces.chunks_exact(2) {
            f.write_str("link")?;
            for Interface { at, device, mac } in ends {
                write!(f, " {at} {device} {mac}")?;
            }
            f.write_str("\n")?;
        }
        for node in 1..=self.nodes {
            for line in self.hosts(node).lines() {
                writeln!(f, "hosts {node} {line}")?;
            }
        }
        Ok(())
    }
}

/// A route from one node to another: the first hop's two interfaces, and its metric.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct PlannedRoute {
    own: usize,
    theirs: usize,
    metric: u32,
}

fn within(what: &str, unit: &str, size: u16, least: u16, most: u16) -> Result<(), SizeError> {
    if (least..=most).contains(&size) {
        return Ok(());
    }
    Err(SizeError(format!("{what} {size}: {least} to {most} {unit}")))
}

impl Plan {
    /// Nodes in a row.
    ///
    /// # Errors
    /// A size out of bounds.
    pub fn chain(nodes: u16) -> Result<Self, SizeError> {
        within("chain", "nodes", nodes, 2, MAX_LINKS + 1)?;
        Ok(Self::new(nodes, (1..nodes).map(|n| (Vertex::Node(n), Vertex::Node(n + 1)))))
    }

    /// Nodes around a switch.
    ///
    /// # Errors
    /// A size out of bounds.
    pub fn star(nodes: u16) -> Result<Self, SizeError> {
        within("star", "nodes", nodes, 2, MAX_NODES)?;
        Ok(Self::new(nodes, (1..=nodes).map(|n| (Vertex::Node(n), Vertex::Switch(1)))))
    }

    /// A chain whose ends are linked too. Cut anywhere it is a chain, hence the same limit.
    ///
    /// # Errors
    /// A size out of bounds.
    pub fn ring(nodes: u16) -> Result<Self, SizeError> {
        within("ring", "nodes", nodes, 3, MAX_LINKS + 1)?;
        Ok(Self::new(nodes, (1..=nodes).map(|n| (Vertex::Node(n), Vertex::Node(n % nodes + 1)))))
    }

    /// The corners of a cube of `dimensions` dimensions: two nodes are linked when their numbers,
    /// counted from 0, differ in one bit. Device `ethK` crosses dimension K.
    ///
    /// # Errors
    /// A size out of bounds.
    pub fn hypercube(dimensions: u16) -> Result<Self, SizeError> {
        let most = MAX_NODES.trailing_zeros() as u16;
        within("hypercube", "dimensions", dimensions, 1, most)?;
        let nodes = 1u16 << dimensions;
        let links = (0..dimensions).flat_map(|bit| {
            let low = (0..nodes).filter(move |corner| corner >> bit & 1 == 0);
            low.map(move |c| (Vertex::Node(c + 1), Vertex::Node((c | 1 << bit) + 1)))
        });
        Ok(Self::new(nodes, links))
    }

    /// A tree: every node but the leaves has `children` children, `depth` links deep. Node 1 is the
    /// root, and numbers rise level by level.
    ///
    /// # Errors
    /// A size out of bounds.
    pub fn tree(children: u16, depth: u16) -> Result<Self, SizeError> {
        within("tree", "children", children, 1, MAX_DEGREE - 1)?;
        within("tree", "levels", depth, 1, MAX_LINKS / 2)?;
        let levels = (0..=u32::from(depth)).map(|level| u64::from(children).pow(level));
        let nodes: u64 = levels.sum();
        let nodes = u16::try_from(nodes).ok().filter(|n| *n <= MAX_NODES).ok_or_else(|| {
            SizeError(format!(
                "tree {children} {depth}: {nodes} nodes, and {MAX_NODES} are possible"
            ))
        })?;
        let parent = move |n: u16| (n - 2) / children + 1;
        Ok(Self::new(nodes, (2..=nodes).map(|n| (Vertex::Node(parent(n)), Vertex::Node(n)))))
    }

    fn new(nodes: u16, links: impl Iterator<Item = (Vertex, Vertex)>) -> Self {
        let mut ports: BTreeMap<Vertex, u16> = BTreeMap::new();
        let mut interfaces = Vec::new();
        for (link, (a, b)) in links.enumerate() {
            for at in [a, b] {
                let port = ports.entry(at).or_default();
                let (device, mac) = match at {
                    Vertex::Node(node) => (format!("eth{port}"), mac(link, node, 0)),
                    Vertex::Switch(switch) => (format!("p{port}"), mac(link, 0, switch)),
                };
                *port += 1;
                interfaces.push(Interface { at, device, mac });
            }
        }
        let mut plan = Self { nodes, interfaces, neighbours: Vec::new() };
        plan.neighbours = (1..=nodes).map(|node| plan.neighbours_of(node)).collect();
        plan
    }

    fn neighbours_of(&self, node: u16) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let own =
            (0..self.interfaces.len()).filter(|i| self.interfaces[*i].at == Vertex::Node(node));
        for own in own {
            match self.interfaces[own ^ 1].at {
                Vertex::Node(_) => found.push((own, own ^ 1)),
                switch @ Vertex::Switch(_) => {
                    let there = (0..self.interfaces.len())
                        .filter(|j| self.interfaces[*j].at == switch)
                        .map(|port| port ^ 1);
                    found.extend(there.filter(|j| *j != own).map(|theirs| (own, theirs)));
                }
            }
        }
        found
    }

    /// How many nodes it has; they are numbered from 1.
    pub const fn nodes(&self) -> u16 {
        self.nodes
    }

    /// The links, by both ends, in their order. The devices of a node are numbered in this order.
    pub fn links(&self) -> impl Iterator<Item = (Vertex, Vertex)> {
        self.interfaces.chunks_exact(2).map(|ends| (ends[0].at, ends[1].at))
    }

    /// The text of the prphosts of `node`.
    ///
    /// # Panics
    /// If the plan has no such node.
    pub fn hosts(&self, node: u16) -> String {
        let routes = self.routes(node);
        let mut text = String::new();
        for (other, routes) in (1..).zip(&routes) {
            // Writing to a string does not fail.
            let _ = self.line(&mut text, node, other, routes);
        }
        text
    }

    fn line(
        &self,
        text: &mut String,
        node: u16,
        other: u16,
        routes: &[PlannedRoute],
    ) -> core::fmt::Result {
        if other == node {
            let own = self.neighbours[usize::from(node) - 1][0].0;
            let Interface { mac, device, .. } = &self.interfaces[own];
            return writeln!(text, "{other} {mac} {device} node{other}");
        }
        let Some(best) = routes.first() else { return Ok(()) };
        // Two neighbours may not be `via` each other, so theirs are hardware addresses.
        let beside = self.interfaces[best.theirs].at == Vertex::Node(other);
        write!(text, "{other}")?;
        for (i, route) in routes.iter().enumerate() {
            text.push_str(if i == 0 { " " } else { ", " });
            let theirs = &self.interfaces[route.theirs];
            match theirs.at {
                Vertex::Node(next) if !beside => write!(text, "via {next}")?,
                _ => write!(text, "{} {}", theirs.mac, self.interfaces[route.own].device)?,
            }
            if route.metric != 0 {
                write!(text, " metric {}", route.metric)?;
            }
        }
        writeln!(text, " node{other}")
    }

    /// The routes from `node` to all nodes, by number from 1, best first.
    fn routes(&self, node: u16) -> Vec<Vec<PlannedRoute>> {
        let neighbours = &self.neighbours[usize::from(node) - 1];
        // Nodes on the same switch, which are reached directly and not through a router.
        let beside: BTreeSet<u16> = neighbours
            .iter()
            .filter(|(own, _)| matches!(self.interfaces[own ^ 1].at, Vertex::Switch(_)))
            .filter_map(|(_, theirs)| self.node_at(*theirs))
            .collect();
        let none = BTreeSet::new();
        let mut found: Vec<Vec<(u32, u32, PlannedRoute)>> =
            vec![Vec::new(); usize::from(self.nodes)];
        for (rank, (own, theirs)) in (0..).zip(neighbours) {
            let Some(next) = self.node_at(*theirs) else { continue };
            let barred = if beside.contains(&next) { &beside } else { &none };
            for (at, distance) in self.distances(node, next, barred).into_iter().enumerate() {
                let Some(distance) = distance else { continue };
                found[at].push((
                    distance,
                    rank,
                    PlannedRoute { own: *own, theirs: *theirs, metric: 0 },
                ));
            }
        }
        found.into_iter().map(rank_routes).collect()
    }

    /// How many links from `from` to each node, without `node` and those `barred`.
    fn distances(&self, node: u16, from: u16, barred: &BTreeSet<u16>) -> Vec<Option<u32>> {
        let mut distances = vec![None; usize::from(self.nodes)];
        distances[usize::from(from) - 1] = Some(0);
        let mut queue = VecDeque::from([(from, 0)]);
        while let Some((at, distance)) = queue.pop_front() {
            for (_, theirs) in &self.neighbours[usize::from(at) - 1] {
                let Some(next) = self.node_at(*theirs) else { continue };
                let known = &mut distances[usize::from(next) - 1];
                if next != node && known.is_none() && !barred.contains(&next) {
                    *known = Some(distance + 1);
                    queue.push_back((next, distance + 1));
                }
            }
        }
        distances
    }

    fn node_at(&self, interface: usize) -> Option<u16> {
        match self.interfaces[interface].at {
            Vertex::Node(node) => Some(node),
            Vertex::Switch(_) => None,
        }
    }
}

fn rank_routes(mut found: Vec<(u32, u32, PlannedRoute)>) -> Vec<PlannedRoute> {
    found.sort_unstable_by_key(|(distance, rank, _)| (*distance, *rank));
    found.truncate(usize::from(MAX_DEGREE));
    let shortest = found.first().map_or(0, |best| best.0);
    let ranked = found.into_iter().enumerate().map(|(i, (distance, rank, route))| PlannedRoute {
        metric: if i == 0 { 0 } else { LINK_WEIGHT * (distance - shortest) + rank },
        ..route
    });
    ranked.collect()
}

fn mac(link: usize, node: u16, switch: u8) -> MacAddr {
    let [node_high, node_low] = node.to_be_bytes();
    let [link_high, link_low] = (link as u16).to_be_bytes();
    MacAddr([2, node_high, link_high, switch, link_low, node_low])
}

#[cfg(test)]
mod tests;
