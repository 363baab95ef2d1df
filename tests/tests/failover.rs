//! Streams that begin or end at a node of a ring, and move from a failed route to the other one.
#![allow(non_snake_case, reason = "tests are named function__case")]

use prp_routed::report::Question;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::seed;
use prp_tests::topology::Topology;
use prp_tests::wait;

prp_tests::main! {
    heavy:
        cut__a_stream_to_a_neighbour_goes_round,
        cut__a_stream_of_nodes_without_routers_goes_round,
        silence__the_node_s_router_tells_of_a_dead_neighbour,
        silence__nodes_without_routers_find_out_themselves;
    light:
        link_state__alone_tells_a_process_of_a_cut,
        router__alone_tells_a_process_of_a_dead_neighbour;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");
const MIB: u64 = 1 << 20;

/// A ring of four with a stream from node 1, whose best route is by node 2.
struct Ring {
    topology: Topology,
    routers: Vec<(u8, Router)>,
    client: Puppet,
    server: Puppet,
}

impl Ring {
    fn started(test: &str, to: u8, routers: &[u8]) -> Self {
        // The link is so slow that the transfer cannot end before the failure, however late this
        // thread runs.
        let topology = Topology::up("ring", ["4", "--rate", "400mbit"]);
        let routers =
            routers.iter().map(|n| (*n, Router::start(&topology.node(*n), ROUTED))).collect();
        let mut client = Puppet::start(&topology.node(1), PUPPET);
        let mut server = Puppet::start(&topology.node(to), PUPPET);
        server.ok(format!("listen l {to}:80"));
        client.ok(format!("connect s {to}:80"));
        server.ok("accept l s");
        server.ok("bg drain drain s");
        client.ok(format!("bg send send s {} {}", seed::of(test), 128 * MIB));
        Self { topology, routers, client, server }
    }

    /// Waits until router `node` has forwarded a part of the stream.
    fn passes(&self, node: u8) {
        wait::until(format!("frames through {node}"), || {
            (self.forwarded(node) > MIB).then_some(())
        });
    }

    fn forwarded(&self, node: u8) -> u64 {
        let counters = ask(&self.topology.node(node), ASK, &Question::Counters);
        counters["forwarded_bytes"].as_u64().expect("a number")
    }

    fn kill(&mut self, node: u8) {
        self.routers.retain(|(number, _)| *number != node);
    }

    fn arrives(mut self) {
        let sent = self.client.ok("join send");
        self.client.ok("shutdown s write");
        assert_eq!(self.server.ok("join drain"), sent);
    }
}

/// The kernel reports at once that there is no link.
fn cut__a_stream_to_a_neighbour_goes_round() {
    let ring = Ring::started("cut__a_stream_to_a_neighbour_goes_round", 2, &[1, 2, 3, 4]);
    assert_eq!(ring.forwarded(4), 0, "the short path first");
    ring.topology.topo(["link", "1", "down", "eth0"]);
    ring.passes(4);
    ring.arrives();
}

fn cut__a_stream_of_nodes_without_routers_goes_round() {
    let test = "cut__a_stream_of_nodes_without_routers_goes_round";
    let ring = Ring::started(test, 3, &[2, 4]);
    ring.passes(2);
    ring.topology.topo(["link", "1", "down", "eth0"]);
    ring.passes(4);
    ring.arrives();
}

/// Router 2 is dead, while its links are up. Router 1 notices by its probes, and announces
/// it.
fn silence__the_node_s_router_tells_of_a_dead_neighbour() {
    let test = "silence__the_node_s_router_tells_of_a_dead_neighbour";
    let mut ring = Ring::started(test, 3, &[1, 2, 3, 4]);
    wait::until("router 2 to be known to router 1 as alive", || {
        let neighbours = ask(&ring.topology.node(1), ASK, &Question::Neighbours);
        let lines = neighbours.as_array().expect("a list");
        lines.iter().any(|n| n["node"] == 2 && n["liveness"] == "up").then_some(())
    });
    ring.passes(2);
    ring.kill(2);
    ring.passes(4);
    ring.arrives();
}

/// No router announces it: the sending end notices by timeouts, the receiving end by
/// retransmissions that arrive by another route.
fn silence__nodes_without_routers_find_out_themselves() {
    let test = "silence__nodes_without_routers_find_out_themselves";
    let mut ring = Ring::started(test, 3, &[2, 4]);
    ring.passes(2);
    ring.kill(2);
    ring.passes(4);
    ring.arrives();
}

/// Too short for a connection to detect the failure itself: it repeats its first request after 50
/// ms, and takes another route after two requests without an answer (SPEC PRP-PATH-2).
const TOO_SHORT_TO_FIND_OUT: &str = "timeout=30";

/// A listener on node `to` that drops every connection.
fn listener(topology: &Topology, to: u8) -> Puppet {
    let mut server = Puppet::start(&topology.node(to), PUPPET);
    server.ok(format!("listen l {to}:80"));
    server
}

/// Waits until a new connection to node `to` is established at once, that is, until a router has
/// announced the failed route to the process. Each new connection knows only those announcements.
fn connects_at_once(client: &mut Puppet, to: u8) {
    wait::until("a connection at the first request", || {
        client.ask(format!("connect s {to}:80 {TOO_SHORT_TO_FIND_OUT}")).ok()
    });
}

/// Node 2's end of the link is removed. Node 1 has no router, its device is up and accepts every
/// frame, and only the kernel reports that the link is down.
fn link_state__alone_tells_a_process_of_a_cut() {
    let topology = Topology::up("ring", ["4"]);
    let _routers: Vec<_> = [3, 4].map(|n| Router::start(&topology.node(n), ROUTED)).into();
    let _server = listener(&topology, 2);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connects_at_once(&mut client, 2);
    let forwarded = || {
        let counters = ask(&topology.node(4), ASK, &Question::Counters);
        counters["forwarded_bytes"].as_u64().expect("a number")
    };
    assert_eq!(forwarded(), 0, "the short path first");
    topology.topo(["link", "2", "down", "eth0"]);
    connects_at_once(&mut client, 2);
    assert!(forwarded() > 0, "the path round");
}

/// Router 2 is dead, while its links are up: only node 1's own router notices.
fn router__alone_tells_a_process_of_a_dead_neighbour() {
    let topology = Topology::up("ring", ["4"]);
    let mut routers: Vec<_> = [1, 2, 3, 4].map(|n| Router::start(&topology.node(n), ROUTED)).into();
    let knows = |node: u8, dead: u8, usable: bool| {
        wait::until(format!("router {node} to know how {dead} is"), || {
            let neighbours = ask(&topology.node(node), ASK, &Question::Neighbours);
            let lines = neighbours.as_array().expect("a list");
            let found = lines.iter().find(|n| n["node"] == dead).expect("a neighbour");
            (found["usable"] == usable && (!usable || found["liveness"] == "up")).then_some(())
        });
    };
    [1, 3].into_iter().for_each(|node| knows(node, 2, true));
    let _server = listener(&topology, 3);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connects_at_once(&mut client, 3);
    drop(routers.remove(1));
    [1, 3].into_iter().for_each(|node| knows(node, 2, false));
    connects_at_once(&mut client, 3);
}
