//! prphosts text for every node of a topology, as its administrator would write it.
//!
//! Not the text of [`prp_proto::plan`]: administrators write routes in other forms too, and these
//! are drawn here, so that more of prphosts is tried.

use core::fmt::Write;
use std::collections::BTreeMap;

use crate::datagram;
use crate::rng::SimRng;
use crate::topology::{Neighbour, Topology, VertexIndex, mac, node_id};

/// What a node's file says beside the next hops.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Style {
    /// `mtu=` for every node.
    pub mtu: Option<u32>,
    /// Nodes have an IP address in place of hardware addresses.
    pub udp: bool,
}

/// The prphosts text of `node`. Every neighbour from which the rest of the path does not lead back
/// is a next hop, the nearest first, so that the strict source check (SPEC PRP-NET-3) accepts
/// whichever path the answer takes. Far nodes are written by hardware address, as in the paper, or
/// by `via`, as `rng` has it.
pub fn text(topology: &Topology, node: usize, style: Style, rng: &mut SimRng) -> String {
    let behind: Vec<NodesBehind> = topology
        .neighbours(node)
        .into_iter()
        .map(|neighbour| NodesBehind::new(topology, node, neighbour))
        .collect();
    let mut out = String::from("# node, next hops, name\n");
    for target in 0..topology.nodes() {
        let routes = if style.udp {
            vec![format!("udp:{}", datagram::ip(target))]
        } else if target == node {
            let own = 0..topology.ports(VertexIndex::Node(node));
            own.map(|device| format!("{} eth{device}", mac(node, device))).collect()
        } else {
            routes_to(&behind, target, rng)
        };
        if routes.is_empty() {
            continue;
        }
        let number = node_id(target);
        let mtu = style.mtu.map(|mtu| format!(" mtu={mtu}")).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(out, "{number} {} n{number}{mtu}", routes.join(", "));
    }
    out
}

/// What lies behind a neighbour: hops from it to every node that does not need us.
struct NodesBehind {
    neighbour: Neighbour,
    hops: BTreeMap<usize, usize>,
}

impl NodesBehind {
    fn new(topology: &Topology, node: usize, neighbour: Neighbour) -> Self {
        let hops = if topology.switches() > 0 {
            // On a switch every node is next to every other: other neighbours are no next hops.
            BTreeMap::from([(neighbour.node, 0)])
        } else {
            topology.distances(neighbour.node, Some(node))
        };
        Self { neighbour, hops }
    }
}

fn routes_to(behind: &[NodesBehind], target: usize, rng: &mut SimRng) -> Vec<String> {
    let mut found: Vec<(usize, Neighbour)> =
        behind.iter().filter_map(|b| Some((*b.hops.get(&target)?, b.neighbour))).collect();
    found.sort_by_key(|(distance, _)| *distance);
    found.truncate(prp_proto::hosts::MAX_HOPS);
    // A neighbour's own line names no other node, or lines would go round in circles.
    let direct = found.first().is_some_and(|(distance, _)| *distance == 0);
    let by_node = !direct && rng.one_in(2);
    let route = |(distance, n): &(usize, Neighbour)| {
        let to = if by_node {
            format!("via {}", node_id(n.node))
        } else {
            format!("{} eth{}", mac(n.node, n.their_device), n.device)
        };
        if *distance == 0 { to } else { format!("{to} metric {distance}") }
    };
    found.iter().map(route).collect()
}

#[cfg(test)]
mod tests {
    use prp_proto::addr::DeviceId;
    use prp_proto::hosts::Hosts;
    use prp_proto::route::RouteTable;

    use super::*;
    use crate::rng::Purpose;
    use crate::topology::Shape;

    fn routes(topology: &Topology, node: usize, seed: u64) -> RouteTable {
        let mut rng = SimRng::new(seed, Purpose::Plan);
        let text = text(topology, node, Style { mtu: None, udp: false }, &mut rng);
        let hosts = Hosts::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        RouteTable::build(&hosts, node_id(node), |name| {
            name.strip_prefix("eth").and_then(|n| n.parse().ok()).map(DeviceId)
        })
    }

    /// Every shape: frames reach every node along best hops in the least number of steps, and every
    /// node on the path takes them for genuine.
    #[test]
    fn text__leads_everywhere_by_routes_that_pass_the_source_check() {
        let shapes =
            [Shape::Pair, Shape::Star(6), Shape::Chain(5), Shape::Ring(6), Shape::Hypercube(3)];
        for (shape, seed) in shapes.into_iter().flat_map(|s| [(s, 1), (s, 2), (s, 3)]) {
            let topology = Topology::new(shape);
            let tables: Vec<_> =
                (0..topology.nodes()).map(|n| routes(&topology, n, seed)).collect();
            for (from, to) in (0..tables.len()).flat_map(|a| (0..tables.len()).map(move |b| (a, b)))
            {
                let mut at = from;
                let mut steps = 0;
                while at != to {
                    let hop = tables[at].lookup(node_id(to)).next_hops()[0];
                    let device = usize::from(hop.device.0);
                    let there = topology.neighbours(at).into_iter().find(|n| {
                        n.device == device && hop.addr == mac(n.node, n.their_device).into()
                    });
                    let there = there.expect("the next hop is a neighbour");
                    let came_by = DeviceId(there.their_device as u16);
                    let genuine =
                        tables[there.node].is_source(node_id(from), came_by, mac(at, device));
                    assert!(genuine, "{shape}: {from} to {to} at {}", there.node);
                    at = there.node;
                    steps += 1;
                }
                assert_eq!(steps, topology.distances(from, None)[&to], "{shape}: {from} to {to}");
            }
        }
    }
}
