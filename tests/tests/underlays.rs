//! A router between an Ethernet segment and a UDP network: node 1 uses Ethernet, node 3 UDP, and
//! the router, node 2, both.
#![allow(non_snake_case, reason = "tests are named function__case")]

use prp_routed::report::Question;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::scratch::TempFile;
use prp_tests::seed;
use prp_tests::stream::{connect, exchange};
use prp_tests::topology::Topology;
use prp_tests::wait;

prp_tests::main! {
    light:
        router__takes_a_stream_from_underlay_to_underlay,
        router__leaves_its_node_s_packets_to_their_processes,
        router__gets_its_packets_from_the_process_at_the_node_s_port;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");
const MIB: u64 = 1 << 20;

/// Three nodes in a row, and the prphosts of each.
struct Row {
    topology: Topology,
    hosts: [TempFile; 3],
}

impl Row {
    fn new() -> Self {
        let (topology, hosts) = Topology::ethernet_then_udp();
        Self { topology, hosts }
    }

    fn router(&self) -> Router {
        let node = self.topology.node(2);
        Router::run(node.command_with_hosts(self.hosts[1].path(), ROUTED))
    }

    fn process(&self, node: u8) -> Puppet {
        let hosts = self.hosts[usize::from(node) - 1].path();
        let command = self.topology.node(node).command_with_hosts(hosts, PUPPET);
        Puppet::run(format!("puppet on node {node}"), command)
    }

    /// Frames that the router has forwarded.
    fn forwarded(&self) -> u64 {
        let counters = ask(&self.topology.node(2), ASK, &Question::Counters);
        counters["forwarded_frames"].as_u64().expect("a number")
    }
}

/// A full Ethernet frame is also larger than a datagram may be.
fn router__takes_a_stream_from_underlay_to_underlay() {
    let row = Row::new();
    let _router = row.router();
    let seed = seed::of("router__takes_a_stream_from_underlay_to_underlay");
    for (from, to) in [(1, 3), (3, 1)] {
        let [mut client, mut server] = [from, to].map(|node| row.process(node));
        connect(&mut client, &mut server, &format!("{to}:80"), "");
        exchange(&mut client, &mut server, seed, 4 * MIB, |_| ());
    }
    assert!(row.forwarded() > 4 * 4 * MIB / 1500, "they went by the router");
}

/// Processes of both neighbours connect to a listener on the router's node, and to a port that no
/// process owns.
fn talks(row: &Row, server: &mut Puppet) {
    for node in [1, 3] {
        let mut client = row.process(node);
        client.ok("connect s 2:80");
        server.ok("accept l s");
        client.ok("write s hello");
        assert_eq!(server.ok("read s 5"), "hello", "node {node}");
        assert_eq!(client.fails("connect other 2:81"), "ConnectionRefused", "node {node}");
    }
}

fn router__leaves_its_node_s_packets_to_their_processes() {
    let row = Row::new();
    let router = row.router();
    let mut server = row.process(2);
    server.ok("listen l 2:80");
    talks(&row, &mut server);
    // The process works on without a router, and with another router.
    drop(router);
    let mut client = row.process(3);
    wait::until("a process at the node's port", || {
        client.ask("connect s 2:80 timeout=1000").is_ok().then_some(())
    });
    let _router = row.router();
    row.process(1).ok("connect s 2:80");
}

fn router__gets_its_packets_from_the_process_at_the_node_s_port() {
    let row = Row::new();
    let mut server = row.process(2);
    server.ok("listen l 2:80");
    let _router = row.router();
    talks(&row, &mut server);
    let [mut client, mut peer] = [3, 1].map(|node| row.process(node));
    connect(&mut client, &mut peer, "1:80", "");
    exchange(&mut client, &mut peer, 1, MIB, |_| ());
    // The process ends, and the router takes the port.
    drop(server);
    let [mut client, mut peer] = [3, 1].map(|node| row.process(node));
    peer.ok("listen l 1:90");
    wait::until("a router at the node's port", || {
        client.ask("connect s 1:90 timeout=1000").is_ok().then_some(())
    });
}
