//! Devices that appear, disappear and change while programs run. docs/operations.md states each
//! outcome.
#![allow(non_snake_case, reason = "tests are named function__case")]

use nix::sys::signal::Signal;
use prp_tests::puppet::Puppet;
use prp_tests::router::Router;
use prp_tests::scratch::TempFile;
use prp_tests::topology::{Link, Node, Topology};
use prp_tests::wait;

prp_tests::main! {
    light:
        address__changed_with_prphosts,
        device__that_comes_late,
        device__that_is_down_is_reported_to_a_running_program,
        name__taken_over_by_another_device;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
/// Hardware addresses that no topology has.
const NEW_CARDS: [&str; 2] = ["02:00:00:00:ab:01", "02:00:00:00:ab:02"];

/// Renames `device` of `node`, as udev does. The device is down meanwhile.
fn rename(node: &Node<'_>, device: &str, name: &str) {
    node.run("ip", &["link", "set", device, "down"]);
    node.run("ip", &["link", "set", device, "name", name]);
    node.run("ip", &["link", "set", name, "up"]);
}

/// Sends a message over a new connection from `client` to port 80 of node 2, where `server`
/// listens.
fn reaches(client: &mut Puppet, server: &mut Puppet, word: &str) {
    // It may not know yet that its device is up again.
    wait::until("a connection", || match client.ask("connect s 2:80") {
        Ok(_) => Some(()),
        Err((kind, text)) => (kind != "NetworkUnreachable").then(|| panic!("{kind}: {text}")),
    });
    server.ok("accept l s");
    client.ok(format!("write s {word}"));
    assert_eq!(server.ok(format!("read s {}", word.len())), word);
}

/// A listener and a router that start before their device exists use it once it appears.
fn device__that_comes_late() {
    let topology = Topology::pair();
    let two = topology.node(2);
    rename(&two, "eth0", "away");
    let mut server = Puppet::start(&two, PUPPET);
    server.ok("listen l 2:80");
    let router = Router::start(&two, ROUTED);
    wait::until("a warning", || router.log().contains("has no device eth0").then_some(()));
    rename(&two, "away", "eth0");
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    reaches(&mut client, &mut server, "late");
    // Expect: also in the other direction, as soon as the server knows its device.
    client.ok("listen l 1:80");
    server.ok("connect t 1:80");
    wait::until("the router", || router.log().contains("prphosts read again").then_some(()));
}

/// The network cards of both nodes are replaced after a change of prphosts: a listener receives at
/// its new address, and uses the new address of the other node.
fn address__changed_with_prphosts() {
    let topology = Topology::pair();
    let nodes = [topology.node(1), topology.node(2)];
    let files = nodes.each_ref().map(|node| TempFile::new(node.hosts()));
    let start = |at: usize| {
        let command = nodes[at].command_with_hosts(files[at].path(), PUPPET);
        Puppet::run(format!("puppet on node {}", at + 1), command)
    };
    let router = Router::run(nodes[1].command_with_hosts(files[1].path(), ROUTED));
    let (mut client, mut server) = (start(0), start(1));
    server.ok("listen l 2:80");
    reaches(&mut client, &mut server, "before");
    let cards = [(nodes[0].field("mac"), NEW_CARDS[0]), (nodes[1].field("mac"), NEW_CARDS[1])];
    for (node, file) in nodes.iter().zip(&files) {
        let mut text = node.hosts();
        for (before, after) in &cards {
            assert!(text.contains(before), "{text}");
            text = text.replace(before, after);
        }
        file.replace(text);
    }
    for (node, (_, after)) in nodes.iter().zip(&cards) {
        node.run("ip", &["link", "set", "eth0", "down"]);
        node.run("ip", &["link", "set", "eth0", "address", after]);
        node.run("ip", &["link", "set", "eth0", "up"]);
    }
    reaches(&mut client, &mut server, "after");
    // Expect: so does the router, which answers for ports without an owner.
    router.signal(Signal::SIGHUP);
    let mut kind = || client.fails("connect t 2:81 timeout=500");
    wait::until("a refusal", || (kind() == "ConnectionRefused").then_some(()));
}

/// Sockets are bound to the device that currently has the name in prphosts.
fn name__taken_over_by_another_device() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let macs = [1, 2].map(|n| topology.node(n).field("mac"));
    let [mut client, mut server] = [&one, &two].map(|node| Puppet::start(node, PUPPET));
    server.ok("listen l 2:80");
    reaches(&mut client, &mut server, "before");
    // Expect: a device that only loses its name still works.
    rename(&one, "eth0", "old");
    reaches(&mut client, &mut server, "renamed");
    rename(&two, "eth0", "old");
    let there = server.pid().to_string();
    let peer = ["type", "veth", "peer", "name", "far", "address", &macs[1]];
    one.run("ip", &[&["link", "add", "eth0", "address", &macs[0]][..], &peer[..]].concat());
    one.run("ip", &["link", "set", "far", "netns", &there, "name", "eth0"]);
    // This removes its other end as well.
    one.run("ip", &["link", "del", "old"]);
    for node in [&one, &two] {
        node.run("ip", &["link", "set", "eth0", "up"]);
    }
    reaches(&mut client, &mut server, "after");
}

/// `connect` uses the latest state of devices from the kernel, also long after the start of the
/// process.
fn device__that_is_down_is_reported_to_a_running_program() {
    let topology = Topology::pair();
    let [mut client, mut server] = [1, 2].map(|n| Puppet::start(&topology.node(n), PUPPET));
    server.ok("listen l 2:80");
    reaches(&mut client, &mut server, "up");
    topology.link(1, Link::Down);
    // The process learns of the device after a short time. Until then a request has no receiver.
    let mut kind = || client.fails("connect t 2:80 timeout=200");
    wait::until("a refusal", || (kind() == "NetworkUnreachable").then_some(()));
    topology.link(1, Link::Up);
    wait::until("a connection", || client.ask("connect t 2:80 timeout=2000").ok());
}
