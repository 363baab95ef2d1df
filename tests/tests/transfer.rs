//! Transfers between processes on different nodes: all data arrive, whatever the link does.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::process::Command;

use prp_tests::puppet::Puppet;
use prp_tests::seed;
use prp_tests::stream::{self, exchange, send};
use prp_tests::topology::{Link, Topology};
use prp_tests::wait;

prp_tests::main! {
    heavy:
        transfer__a_gibibyte,
        transfer__in_both_directions_at_once;
    light:
        transfer__jumbo_frames,
        transfer__largest_mtu,
        transfer__over_a_slow_link,
        transfer__within_a_node,
        transfer__two_processes_on_one_core,
        transfer__goes_on_after_the_link_was_down,
        transfer__through_garbage,
        transfer__through_forgeries;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const MIB: u64 = 1 << 20;

/// Starts puppets on both nodes with a stream `s` between them: the client on node 1, the server on
/// node 2.
fn connected(topology: &Topology) -> (Puppet, Puppet) {
    let (client, server, _) = stream::connected(PUPPET, topology, [1, 2], "");
    (client, server)
}

fn transfer__a_gibibyte() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology);
    send(&mut client, &mut server, seed::of("transfer__a_gibibyte"), 1024 * MIB);
}

fn transfer__in_both_directions_at_once() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology);
    let seed = seed::of("transfer__in_both_directions_at_once");
    exchange(&mut client, &mut server, seed, 128 * MIB, |_| ());
}

fn transfer__jumbo_frames() {
    let topology = Topology::pair_with(["--mtu", "9000"]);
    let (mut client, mut server) = connected(&topology);
    exchange(&mut client, &mut server, 9000, 64 * MIB, |_| ());
}

fn transfer__largest_mtu() {
    let topology = Topology::pair_with(["--mtu", "65535"]);
    let (mut client, mut server) = connected(&topology);
    exchange(&mut client, &mut server, 65_535, 64 * MIB, |_| ());
}

fn transfer__over_a_slow_link() {
    let topology = Topology::pair_with(["--rate", "100mbit"]);
    let (mut client, mut server) = connected(&topology);
    exchange(&mut client, &mut server, 100, 16 * MIB, |_| ());
}

fn transfer__within_a_node() {
    let topology = Topology::pair();
    let node = topology.node(1);
    let [mut client, mut server] = [(), ()].map(|()| Puppet::start(&node, PUPPET));
    stream::connect(&mut client, &mut server, "1:80", "");
    exchange(&mut client, &mut server, 11, 64 * MIB, |_| ());
}

/// A waiting process must yield the core to the other one.
fn transfer__two_processes_on_one_core() {
    let topology = Topology::pair();
    let on_first_core = |node: u8| {
        let mut command: Command = topology.node(node).command("taskset");
        command.args(["-c", "0", PUPPET]);
        Puppet::run(format!("puppet on node {node}, core 0"), command)
    };
    let [mut client, mut server] = [1, 2].map(on_first_core);
    stream::connect(&mut client, &mut server, "2:80", "");
    server.ok("bg pong pong s 2000");
    client.ok("ping s 2000");
    server.ok("join pong");
    exchange(&mut client, &mut server, 1, 32 * MIB, |_| ());
}

fn transfer__goes_on_after_the_link_was_down() {
    const BYTES: u64 = 64 * MIB;
    // Slow enough for the transfer to be still going on, on any machine.
    let topology = Topology::pair_with(["--rate", "400mbit"]);
    let (mut client, mut server) = connected(&topology);
    server.ok("bg drain drain s");
    client.ok(format!("bg send send s 5 {BYTES}"));
    for node in [1, 2] {
        let before = received_frames(&topology);
        wait::until("frames", || (received_frames(&topology) > before + 100).then_some(()));
        topology.link(node, Link::Down);
        // The link is down for longer than a few retransmissions take.
        std::thread::sleep(std::time::Duration::from_millis(300));
        topology.link(node, Link::Up);
    }
    let sent = client.ok("join send");
    client.ok("shutdown s write");
    assert_eq!(server.ok("join drain"), sent);
    assert_ne!(client.ok("retransmitted s"), "0", "the link was down while frames were on it");
}

/// Frames that node 2 has received.
fn received_frames(topology: &Topology) -> u64 {
    let text = topology.node(2).run("cat", &["/proc/net/dev"]);
    let line = text.lines().find_map(|line| line.trim().strip_prefix("eth0:"));
    let packets = line.and_then(|line| line.split_whitespace().nth(1));
    packets.and_then(|n| n.parse().ok()).expect("eth0 counts packets")
}

/// A host on the same Ethernet sends malformed frames.
fn transfer__through_garbage() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology);
    with_garbage(&topology, "blunt", &mut client, &mut server);
}

/// A host on the same Ethernet sends changed copies of the connection's frames. A checksum over the
/// whole frame, with a key that only the two ends have, detects them.
fn transfer__through_forgeries() {
    let topology = Topology::pair();
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    client.ok("connect s 2:80");
    server.ok("accept l s");
    with_garbage(&topology, "sharp", &mut client, &mut server);
}

fn with_garbage(topology: &Topology, kind: &str, client: &mut Puppet, server: &mut Puppet) {
    let seed = seed::of("transfer__through_garbage");
    let mut command = topology.node(1).command(env!("CARGO_BIN_EXE_garbage"));
    command.args(["eth0", &topology.node(2).field("mac"), &seed.to_string(), kind]);
    let mut garbage = Puppet::run("garbage", command);
    garbage.ok("start");
    exchange(client, server, seed, 64 * MIB, |_| ());
    let sent: u64 = garbage.ok("stop").parse().expect("a number");
    assert!(sent > 1000, "only {sent} frames of garbage");
}
