//! Which nodes and switches there are and what joins them.

use core::fmt;
use std::collections::{BTreeMap, VecDeque};

use prp_proto::addr::{MacAddr, NodeId};
use prp_proto::plan::{Plan, Vertex};

/// Topologies by name: those that [`Plan`] has.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Shape {
    /// Two nodes and a cable.
    Pair,
    /// This number of nodes on one switch.
    Star(usize),
    /// This number of nodes in a row; those within are routers.
    Chain(usize),
    /// This number of nodes in a circle, each a router.
    Ring(usize),
    /// Two to the power of this number of nodes, each a router.
    Hypercube(u16),
}

/// Something with ports.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub enum VertexIndex {
    /// A node, by index: node number less one.
    Node(usize),
    /// A switch.
    Switch(usize),
}

/// A port of something. Port numbers of a node are its device numbers.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug)]
pub struct PortRef {
    /// Whose.
    pub vertex: VertexIndex,
    /// Which.
    pub port: usize,
}

/// Nodes, switches and cables.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Topology {
    shape: Shape,
    nodes: usize,
    switches: usize,
    cables: Vec<(PortRef, PortRef)>,
}

/// A node that another one reaches without a router between them.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Neighbour {
    /// By this device of ours.
    pub device: usize,
    /// Its index.
    pub node: usize,
    /// Its device on our side.
    pub their_device: usize,
}

impl From<Vertex> for VertexIndex {
    fn from(vertex: Vertex) -> Self {
        match vertex {
            Vertex::Node(number) => Self::Node(usize::from(number) - 1),
            Vertex::Switch(number) => Self::Switch(usize::from(number) - 1),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair => f.write_str("pair"),
            Self::Star(n) => write!(f, "star {n}"),
            Self::Chain(n) => write!(f, "chain {n}"),
            Self::Ring(n) => write!(f, "ring {n}"),
            Self::Hypercube(d) => write!(f, "hypercube {d}"),
        }
    }
}

impl fmt::Display for VertexIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(index) => write!(f, "node{}", index + 1),
            Self::Switch(index) => write!(f, "sw{}", index + 1),
        }
    }
}

/// The number of the node with this index.
///
/// # Panics
/// If there can be no such node.
pub fn node_id(index: usize) -> NodeId {
    let number = u16::try_from(index + 1).ok().and_then(NodeId::new);
    number.expect("a simulated network has far fewer than 65534 nodes")
}

/// The hardware address of a node's device.
pub fn mac(node: usize, device: usize) -> MacAddr {
    let [high, low] = node_id(node).number().to_be_bytes();
    MacAddr([2, 0, 0, device as u8, high, low])
}

impl Topology {
    /// Builds `shape`.
    ///
    /// # Panics
    /// If there is no such plan.
    pub fn new(shape: Shape) -> Self {
        let size = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let plan = match shape {
            Shape::Pair => Plan::chain(2),
            Shape::Star(n) => Plan::star(size(n)),
            Shape::Chain(n) => Plan::chain(size(n)),
            Shape::Ring(n) => Plan::ring(size(n)),
            Shape::Hypercube(dimensions) => Plan::hypercube(dimensions),
        };
        let plan = plan.unwrap_or_else(|e| panic!("{e}"));
        let switches = usize::from(matches!(shape, Shape::Star(_)));
        let (nodes, cables) = (usize::from(plan.nodes()), Vec::new());
        let mut topology = Self { shape, nodes, switches, cables };
        for (a, b) in plan.links() {
            topology.join(a.into(), b.into());
        }
        topology
    }

    fn join(&mut self, a: VertexIndex, b: VertexIndex) {
        let a = PortRef { vertex: a, port: self.ports(a) };
        let b = PortRef { vertex: b, port: self.ports(b) };
        self.cables.push((a, b));
    }

    /// What it is called.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// How many nodes there are.
    pub const fn nodes(&self) -> usize {
        self.nodes
    }

    /// How many switches there are.
    pub const fn switches(&self) -> usize {
        self.switches
    }

    /// The cables, by both ends.
    pub fn cables(&self) -> &[(PortRef, PortRef)] {
        &self.cables
    }

    /// How many cables end at `place`.
    pub fn ports(&self, vertex: VertexIndex) -> usize {
        self.cables
            .iter()
            .flat_map(|(a, b)| [a, b])
            .filter(|port_ref| port_ref.vertex == vertex)
            .count()
    }

    fn far_end(&self, near: PortRef) -> Option<PortRef> {
        self.cables.iter().find_map(|(a, b)| match (*a == near, *b == near) {
            (true, _) => Some(*b),
            (_, true) => Some(*a),
            _ => None,
        })
    }

    /// The nodes that `node` reaches without a router, by device.
    pub fn neighbours(&self, node: usize) -> Vec<Neighbour> {
        let mut found = Vec::new();
        for device in 0..self.ports(VertexIndex::Node(node)) {
            let near = PortRef { vertex: VertexIndex::Node(node), port: device };
            let Some(far) = self.far_end(near) else { continue };
            let there = match far.vertex {
                VertexIndex::Node(_) => vec![far],
                VertexIndex::Switch(_) => (0..self.ports(far.vertex))
                    .filter_map(|port| self.far_end(PortRef { vertex: far.vertex, port }))
                    .collect(),
            };
            found.extend(there.into_iter().filter_map(|port_ref| match port_ref.vertex {
                VertexIndex::Node(other) if other != node => {
                    Some(Neighbour { device, node: other, their_device: port_ref.port })
                }
                _ => None,
            }));
        }
        found
    }

    /// Hops from `from` to every node it reaches without going through `without`.
    pub fn distances(&self, from: usize, without: Option<usize>) -> BTreeMap<usize, usize> {
        let mut known = BTreeMap::from([(from, 0)]);
        let mut next = VecDeque::from([from]);
        while let Some(at) = next.pop_front() {
            let far = known[&at] + 1;
            for neighbour in self.neighbours(at) {
                if Some(neighbour.node) != without && !known.contains_key(&neighbour.node) {
                    known.insert(neighbour.node, far);
                    next.push_back(neighbour.node);
                }
            }
        }
        known
    }

    /// Most routers that lie between two nodes.
    pub fn diameter(&self) -> usize {
        let farthest = (0..self.nodes).filter_map(|n| self.distances(n, None).into_values().max());
        farthest.max().unwrap_or(0).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours(shape: Shape, node: usize) -> Vec<usize> {
        let mut nodes: Vec<_> =
            Topology::new(shape).neighbours(node).into_iter().map(|n| n.node).collect();
        nodes.sort_unstable();
        nodes
    }

    #[test]
    fn neighbours__are_those_without_a_router_between() {
        assert_eq!(neighbours(Shape::Pair, 1), [0]);
        assert_eq!(neighbours(Shape::Star(4), 2), [0, 1, 3]);
        assert_eq!(neighbours(Shape::Chain(4), 0), [1]);
        assert_eq!(neighbours(Shape::Chain(4), 2), [1, 3]);
        assert_eq!(neighbours(Shape::Ring(5), 0), [1, 4]);
        assert_eq!(neighbours(Shape::Hypercube(3), 5), [1, 4, 7]);
    }

    #[test]
    fn distances__may_leave_a_node_out() {
        let ring = Topology::new(Shape::Ring(5));
        assert_eq!(ring.distances(0, None)[&2], 2);
        assert_eq!(ring.distances(0, Some(1))[&2], 3);
        assert_eq!(Topology::new(Shape::Chain(4)).distances(0, Some(1)).get(&2), None);
    }

    #[test]
    fn diameter__counts_routers() {
        let of = |shape| Topology::new(shape).diameter();
        assert_eq!(of(Shape::Pair), 0);
        assert_eq!(of(Shape::Star(9)), 0);
        assert_eq!(of(Shape::Chain(5)), 3);
        assert_eq!(of(Shape::Ring(6)), 2);
        assert_eq!(of(Shape::Hypercube(3)), 2);
    }
}
