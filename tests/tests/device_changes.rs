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
        address__with_a_label_is_no_device,
        device__made_again_with_another_address,
        device__that_comes_late,
        device__that_is_down_is_reported_to_a_running_program,
        name__changed_with_prphosts,
        name__taken_by_a_device_of_another_address,
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
    let router = Router::run(nodes[1].command_with_hosts(files[1].path(), ROUTED));
    let [mut client, mut server] = puppets(&nodes, &files);
    server.ok("listen l 2:80");
    reaches(&mut client, &mut server, "before");
    let old_cards = nodes.each_ref().map(|node| node.field("mac"));
    name_new_cards(&nodes, &files, &old_cards);
    for (node, after) in nodes.iter().zip(&NEW_CARDS) {
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

/// The network cards of both nodes are removed, and others are put in their place. They are used
/// once prphosts has their addresses, before or after they have come.
fn device__made_again_with_another_address() {
    for file_first in [true, false] {
        let topology = Topology::pair();
        let nodes = [topology.node(1), topology.node(2)];
        let files = nodes.each_ref().map(|node| TempFile::new(node.hosts()));
        let router = Router::run(nodes[1].command_with_hosts(files[1].path(), ROUTED));
        let [mut client, mut server] = puppets(&nodes, &files);
        server.ok("listen l 2:80");
        reaches(&mut client, &mut server, "before");
        let old_cards = nodes.each_ref().map(|node| node.field("mac"));
        if file_first {
            name_new_cards(&nodes, &files, &old_cards);
        }
        // This removes its other end as well.
        nodes[0].run("ip", &["link", "del", "eth0"]);
        link_with(&nodes, &NEW_CARDS, &server);
        if !file_first {
            // Expect: a device of another address that has the name is not the one that is meant.
            wait::until("a refusal", || {
                let (kind, _) = client.ask("connect t 2:80 timeout=200").expect_err("no device");
                (kind == "HostUnreachable").then_some(())
            });
            name_new_cards(&nodes, &files, &old_cards);
            // It reads prphosts as it does so.
            server.ok("listen m 2:82");
        }
        wait::until("a connection", || client.ask("connect s 2:80 timeout=500").ok());
        server.ok("accept l s");
        client.ok("write s after");
        assert_eq!(server.ok("read s 5"), "after");
        router.signal(Signal::SIGHUP);
        let mut kind = || client.fails("connect t 2:81 timeout=500");
        wait::until("a refusal", || (kind() == "ConnectionRefused").then_some(()));
    }
}

/// Connects `nodes` by devices called `eth0` with these hardware addresses. The second one is where
/// the process `there` is.
fn link_with<M: AsRef<str>>(nodes: &[Node<'_>; 2], macs: &[M; 2], there: &Puppet) {
    let [one, two] = macs.each_ref().map(AsRef::as_ref);
    let peer = ["type", "veth", "peer", "name", "far", "address", two];
    nodes[0].run("ip", &[&["link", "add", "eth0", "address", one][..], &peer[..]].concat());
    let there = there.pid().to_string();
    nodes[0].run("ip", &["link", "set", "far", "netns", &there, "name", "eth0"]);
    nodes.iter().for_each(|node| drop(node.run("ip", &["link", "set", "eth0", "up"])));
}

/// A process on each of `nodes` that reads prphosts from its one of `files`.
fn puppets(nodes: &[Node<'_>; 2], files: &[TempFile; 2]) -> [Puppet; 2] {
    [0, 1].map(|at| {
        let command = nodes[at].command_with_hosts(files[at].path(), PUPPET);
        Puppet::run(format!("puppet on node {}", at + 1), command)
    })
}

/// Writes the addresses of the new cards in place of the old ones to the prphosts of `nodes`, in
/// `files`.
fn name_new_cards(nodes: &[Node<'_>; 2], files: &[TempFile; 2], old_cards: &[String; 2]) {
    for (node, file) in nodes.iter().zip(files) {
        let mut text = node.hosts();
        for (before, after) in old_cards.iter().zip(NEW_CARDS) {
            assert!(text.contains(before), "{text}");
            text = text.replace(before, after);
        }
        file.replace(text);
    }
}

/// An address with a label, as of virtual IP addresses, makes no second loopback device.
fn address__with_a_label_is_no_device() {
    let topology = Topology::pair();
    let two = topology.node(2);
    two.run("ip", &["addr", "add", "10.77.0.1/32", "dev", "lo", "label", "lo:0"]);
    let mut server = Puppet::start(&two, PUPPET);
    server.ok("listen l 2:80");
    server.ok("connect s 2:80");
    assert_eq!(server.ok("devices s"), "lo eth0");
}

/// A device is called otherwise from now on, and prphosts names it so: a process that runs uses it
/// by that name, and so does the router.
fn name__changed_with_prphosts() {
    let topology = Topology::pair();
    let nodes = [topology.node(1), topology.node(2)];
    let files = nodes.each_ref().map(|node| TempFile::new(node.hosts()));
    let router = Router::run(nodes[1].command_with_hosts(files[1].path(), ROUTED));
    let [mut client, mut server] = puppets(&nodes, &files);
    server.ok("listen l 2:80");
    client.ok("listen l 1:80");
    reaches(&mut client, &mut server, "before");
    for file_first in [false, true] {
        let (before, after) = if file_first { ("lan0", "lan1") } else { ("eth0", "lan0") };
        let write = || files[1].replace(nodes[1].hosts().replace("eth0", after));
        if file_first {
            write();
        }
        rename(&nodes[1], before, after);
        if !file_first {
            write();
        }
        wait::until("a connection", || server.ask("connect t 1:80 timeout=2000").ok());
        client.ok("accept l t");
        server.ok("write t after");
        assert_eq!(client.ok("read t 5"), "after");
        assert_eq!(server.ok("devices t"), "lo eth0", "it is the same device");
    }
    router.signal(Signal::SIGHUP);
    wait::until("the router", || router.log().contains("prphosts read again").then_some(()));
    let mut kind = || client.fails("connect t 2:81 timeout=500");
    wait::until("a refusal", || (kind() == "ConnectionRefused").then_some(()));
}

/// A stream stays with its device, whichever other device takes its name.
fn name__taken_by_a_device_of_another_address() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let router = Router::start(&two, ROUTED);
    let [mut client, mut server] = [&one, &two].map(|node| Puppet::start(node, PUPPET));
    server.ok("listen l 2:80");
    reaches(&mut client, &mut server, "before");
    rename(&two, "eth0", "lan0");
    let [mac, _] = NEW_CARDS;
    two.run("ip", &["link", "add", "eth0", "address", mac, "type", "veth", "peer", "name", "far"]);
    two.run("ip", &["link", "set", "eth0", "up"]);
    two.run("ip", &["link", "set", "far", "up"]);
    // The process has read the kernel's news once it connects by them.
    reaches(&mut client, &mut server, "renamed");
    client.ok("write s on");
    assert_eq!(server.ok("read s 2"), "on");
    client.ok("listen l 1:80");
    server.ok("connect t 1:80 timeout=5000");
    // Expect: so does the router, which answers for ports without an owner.
    assert_eq!(client.fails("connect u 2:81 timeout=5000"), "ConnectionRefused");
    drop(router);
}

/// A device that is removed is replaced by one that has its name and its address.
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
    let nodes = [one, two];
    link_with(&nodes, &macs, &server);
    // This removes its other end as well.
    nodes[0].run("ip", &["link", "del", "old"]);
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
