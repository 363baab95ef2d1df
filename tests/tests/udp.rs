//! Streams over UDP: processes without privileges on loopback addresses, and nodes with IP
//! addresses on a link.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;

use nix::unistd::Uid;
use prp_tests::gso_filter::garble_gso;
use prp_tests::harness::skip;
use prp_tests::loopback::Loopback;
use prp_tests::privilege::{NOBODY, in_user_namespace};
use prp_tests::puppet::Puppet;
use prp_tests::scratch::TempFile;
use prp_tests::seed;
use prp_tests::stream::{self, exchange, send};
use prp_tests::topology::Topology;
use prp_tests::wait::until;

prp_tests::main! {
    light:
        loopback__stream_of_processes_without_privileges,
        loopback__every_process_of_a_node_gets_its_requests,
        loopback__processes_of_several_users,
        loopback__the_process_at_the_node_s_own_port_is_killed,
        loopback__what_a_stranger_sends_changes_nothing,
        loopback__another_program_has_the_node_s_own_port,
        link__what_this_machine_does_not_send_is_said,
        link__a_listener_waits_for_an_address_that_is_checked,
        link__stream_of_full_segments,
        link__stream_through_losses,
        link__gso_goes_on_when_the_mtu_shrinks,
        link__segments_follow_the_mtu,
        link__gso_batches_that_are_lost_are_given_up,
        link__gso_batches_that_are_garbled_are_given_up,
        link__udp_is_the_backup_of_ethernet,
        link__stream_goes_on_by_the_next_address;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const WIRE: &str = env!("CARGO_BIN_EXE_wire");
const MIB: u64 = 1 << 20;

/// A process of node `node` of `nodes` that has no capability and cannot gain one.
fn unprivileged(nodes: &Loopback, node: u8) -> Puppet {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", PUPPET]);
    run(command, nodes, node)
}

/// A process of node `node` of `nodes` that `command` starts.
fn run(mut command: Command, nodes: &Loopback, node: u8) -> Puppet {
    command.env("PRP_HOSTS", nodes.hosts()).env("PRP_NODE", node.to_string());
    Puppet::run(format!("node {node} without privileges"), command)
}

/// The capabilities in force of the process, in hexadecimal.
fn capabilities(process: &Puppet) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.expect("the kernel says").trim().to_owned()
}

fn loopback__stream_of_processes_without_privileges() {
    let nodes = Loopback::new();
    let [mut client, mut server] =
        [nodes.client, nodes.server].map(|node| unprivileged(&nodes, node));
    stream::connect(&mut client, &mut server, &nodes.at(80), "");
    for process in [&client, &server] {
        assert_eq!(capabilities(process), "0000000000000000");
    }
    let seed = seed::of("loopback__stream_of_processes_without_privileges");
    exchange(&mut client, &mut server, seed, 64 * MIB, |_| ());
}

/// A process at a third address forges packets of both nodes: resets, data, acknowledgements and
/// messages between devices, to the server's port of the stream and to all ports of the client.
fn loopback__what_a_stranger_sends_changes_nothing() {
    const DATAGRAMS: u64 = 50_000;
    let nodes = Loopback::new();
    let [mut client, mut server] =
        [nodes.client, nodes.server].map(|node| unprivileged(&nodes, node));
    stream::connect(&mut client, &mut server, &nodes.at(80), "");
    let seed = seed::of("loopback__what_a_stranger_sends_changes_nothing");
    let stranger = UdpSocket::bind(format!("{}:5231", nodes.other_ip()));
    let stranger = stranger.expect("an address of this machine");
    exchange(&mut client, &mut server, seed, 64 * MIB, |_| {
        let mut state = seed;
        for _ in 0..DATAGRAMS {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let [number, port, flags, to, kind, ..] = (state >> 8).to_be_bytes();
            let ends = [nodes.client, nodes.server];
            let [from, at] = if to & 1 == 0 { ends } else { [nodes.server, nodes.client] };
            let high = u16::from_be_bytes([port | 0x80, number]);
            let ports = if at == nodes.server { [high, 80] } else { [80, high] };
            let mut bytes = vec![0, from, 0, at];
            ports.iter().for_each(|port| bytes.extend(port.to_be_bytes()));
            // The number, the length, and each flag.
            bytes.extend([number, port, 0, 12, flags, number, port, 1 << (kind & 7)]);
            bytes.extend([flags; 12]);
            if kind >= 250 {
                bytes[..4].fill(0);
            }
            let destination = format!("{}:{}", nodes.ip(at), 5230 + u16::from(to >> 1 & 3));
            // A full queue does not matter.
            let _ = stranger.send_to(&bytes, destination);
        }
    });
    let strangers: u64 = client.ok("udp s strangers").parse().expect("a number");
    assert!(strangers > 0, "none has come");
}

/// Connects `client` to `server`, which listens at `port`, and sends a message.
fn talk(nodes: &Loopback, client: &mut Puppet, server: &mut Puppet, port: u16) {
    client.ok(format!("connect s{port} {}", nodes.at(port)));
    server.ok("accept l s");
    client.ok(format!("write s{port} hello"));
    assert_eq!(server.ok("read s 5"), "hello");
    server.ok("write s hello");
    assert_eq!(client.ok(format!("read s{port} 5")), "hello");
}

/// `N` processes of the server's node, which listen at ports from 100 up.
fn listeners<const N: usize>(nodes: &Loopback) -> [Puppet; N] {
    let mut ports = 100..;
    std::array::from_fn(|_| {
        let mut process = unprivileged(nodes, nodes.server);
        let port = ports.next().expect("there is one");
        process.ok(format!("listen l {}", nodes.at(port)));
        process
    })
}

fn loopback__every_process_of_a_node_gets_its_requests() {
    let nodes = Loopback::new();
    let mut servers = listeners::<4>(&nodes);
    let mut client = unprivileged(&nodes, nodes.client);
    for (port, server) in (100..).zip(&mut servers) {
        talk(&nodes, &mut client, server, port);
    }
    // A process of the same node is a client like any other.
    let [first, second, ..] = &mut servers;
    talk(&nodes, second, first, 100);
    talk(&nodes, first, second, 101);
    assert_eq!(client.fails(format!("connect t {}", nodes.at(99))), "ConnectionRefused");
    assert_eq!(first.fails(format!("listen m {}", nodes.at(101))), "AddrInUse");
}

/// The process that holds the node's own port belongs to another user.
fn loopback__processes_of_several_users() {
    if in_user_namespace() || !Uid::effective().is_root() {
        skip("root: to become several users");
    }
    // Other users may not read the folder where they are built.
    let program = TempFile::copy(PUPPET);
    let nodes = Loopback::new();
    let mut servers = [NOBODY, NOBODY - 1, 0].map(|user| {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={user}"), format!("--regid={user}")]);
        command.args(["--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]);
        command.arg(program.path());
        run(command, &nodes, nodes.server)
    });
    for (port, server) in (100..).zip(&mut servers) {
        server.ok(format!("listen l {}", nodes.at(port)));
    }
    let mut client = unprivileged(&nodes, nodes.client);
    for (port, server) in (100..).zip(&mut servers) {
        talk(&nodes, &mut client, server, port);
    }
}

fn loopback__the_process_at_the_node_s_own_port_is_killed() {
    let nodes = Loopback::new();
    let [mut first, mut second, mut third] = listeners(&nodes);
    let mut client = unprivileged(&nodes, nodes.client);
    client.ok(format!("connect s {}", nodes.at(101)));
    second.ok("accept l s");
    let seed = seed::of("loopback__the_process_at_the_node_s_own_port_is_killed");
    exchange(&mut client, &mut second, seed, 32 * MIB, |_| first.kill());
    // Expect: another process has taken the port, and hands on and refuses.
    talk(&nodes, &mut client, &mut third, 102);
    assert_eq!(client.fails(format!("connect t {}", nodes.at(100))), "ConnectionRefused");
    second.kill();
    third.ok(format!("listen m {}", nodes.at(101)));
    client.ok(format!("connect u {}", nodes.at(101)));
    third.ok("accept m u");
}

fn loopback__another_program_has_the_node_s_own_port() {
    let nodes = Loopback::new();
    let own = format!("{}:5230", nodes.ip(nodes.server));
    let other = UdpSocket::bind(&own).expect("an address of this machine");
    let mut server = unprivileged(&nodes, nodes.server);
    let (kind, text) = server.message(format!("listen l {}", nodes.at(80)));
    assert!(kind == "AddrInUse" && text.contains(&format!("udp:{own}")), "{kind}: {text}");
    drop(other);
    let mut client = unprivileged(&nodes, nodes.client);
    server.ok(format!("listen l {}", nodes.at(80)));
    talk(&nodes, &mut client, &mut server, 80);
}

/// No route leads to the peer: before there is a connection, and while there is one.
fn link__what_this_machine_does_not_send_is_said() {
    let (topology, hosts) = pair([]);
    let (one, peer) = (topology.node(1), topology.node(2).field("ipv4"));
    let peer = peer.split('/').next().unwrap_or_default().to_owned();
    let own = one.run("ip", &["route", "show", &peer]);
    let own: Vec<_> = own.split_whitespace().collect();
    let refuse = |kind: &str| one.run("ip", &["route", "replace", kind, &peer]);
    let restore = || one.run("ip", &[&["route", "replace"], &own[..]].concat());
    let [mut client, mut server] = [1, 2].map(|number| {
        let command = topology.node(number).command_with_hosts(hosts.path(), PUPPET);
        Puppet::run(format!("puppet on node {number}"), command)
    });
    server.ok("listen l 2:80");
    for (unusable, kind, words) in [
        ("prohibit", "PermissionDenied", "Permission denied"),
        ("unreachable", "HostUnreachable", "No route to host"),
    ] {
        refuse(unusable);
        let (error, text) = client.message("connect s 2:80");
        assert!(error == kind && text.contains(words), "{unusable}: {error}: {text}");
        restore();
    }
    client.ok("connect s 2:80");
    server.ok("accept l s");
    refuse("prohibit");
    client.ok("write s hello");
    restore();
    assert_eq!(server.ok("read s 5"), "hello");
}

/// An IPv6 address is tentative for a second or two.
fn link__a_listener_waits_for_an_address_that_is_checked() {
    if !Path::new("/proc/sys/net/ipv6").exists() {
        skip("IPv6");
    }
    let (topology, _) = pair([]);
    let hosts = TempFile::new("1 udp:[fd00:99::1]\n2 udp:[fd00:99::2]\n");
    let add = |number: u8, words: &[&str]| {
        let address = format!("fd00:99::{number}/64");
        // `topo` disables it, so that links are quiet.
        let enable = "echo 0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6";
        topology.node(number).run("sh", &["-c", enable]);
        let words = [&["-6", "addr", "add", &address, "dev", "eth0"], words].concat();
        topology.node(number).run("ip", &words);
    };
    add(1, &["nodad"]);
    let [mut client, mut server] = [1, 2].map(|number| {
        let command = topology.node(number).command_with_hosts(hosts.path(), PUPPET);
        Puppet::run(format!("puppet on node {number}"), command)
    });
    add(2, &[]);
    server.ok("listen l 2:80");
    client.ok("connect s 2:80");
    server.ok("accept l s");
}

/// A pair of nodes, and the prphosts that has their IP addresses and nothing else.
fn pair<'a>(words: impl IntoIterator<Item = &'a str>) -> (Topology, TempFile) {
    let topology = Topology::pair_with(words);
    let hosts = ip_hosts(&topology);
    (topology, hosts)
}

/// The prphosts that has the IP addresses of the pair `topology` and nothing else.
fn ip_hosts(topology: &Topology) -> TempFile {
    let line = |number: u8| {
        let address = topology.node(number).field("ipv4");
        format!("{number} udp:{}\n", address.split('/').next().unwrap_or_default())
    };
    TempFile::new(line(1) + &line(2))
}

/// Starts puppets on both nodes of `topology` with `hosts` as prphosts, and a stream `s` between
/// them.
fn connected(topology: &Topology, hosts: &TempFile) -> (Puppet, Puppet) {
    let [mut client, mut server] = [1, 2].map(|number| {
        let command = topology.node(number).command_with_hosts(hosts.path(), PUPPET);
        Puppet::run(format!("puppet on node {number}"), command)
    });
    stream::connect(&mut client, &mut server, "2:80", "");
    (client, server)
}

fn link__stream_of_full_segments() {
    for mtu in ["1400", "1499", "1500", "9000"] {
        let (topology, hosts) = pair(["--mtu", mtu]);
        let (mut client, mut server) = connected(&topology, &hosts);
        let seed = seed::of(&format!("link__stream_of_full_segments/{mtu}"));
        exchange(&mut client, &mut server, seed, 16 * MIB, |_| ());
    }
}

fn link__stream_through_losses() {
    let topology = Topology::faulty(WIRE, ["--loss", "1%"]);
    let hosts = ip_hosts(&topology);
    let (mut client, mut server) = connected(&topology, &hosts);
    send(&mut client, &mut server, seed::of("link__stream_through_losses"), 16 * MIB);
}

/// Sends `bytes` from `client` to `server`; returns the number of GSO batches.
fn gso_batches_for(client: &mut Puppet, server: &mut Puppet, bytes: u64) -> u64 {
    let before = gso_batches_sent(client);
    server.ok(format!("bg take take s {bytes}"));
    let sent = client.ok(format!("send s 7 {bytes}"));
    assert_eq!(server.ok("join take"), sent);
    gso_batches_sent(client) - before
}

/// Sends `bytes` in both directions, and does `meanwhile` after they have begun. The stream stays
/// open.
fn transfer(client: &mut Puppet, server: &mut Puppet, bytes: u64, meanwhile: impl FnOnce()) {
    for end in [&mut *client, &mut *server] {
        end.ok(format!("bg take take s {bytes}"));
        end.ok(format!("bg send send s 7 {bytes}"));
    }
    meanwhile();
    let sent = [&mut *client, &mut *server].map(|end| end.ok("join send"));
    assert_eq!([server, client].map(|end| end.ok("join take")), sent);
}

fn gso_batches_sent(process: &mut Puppet) -> u64 {
    process.ok("udp s gso_batches_sent").parse().expect("a number")
}

/// The datagrams exceed the new MTU. The kernel refuses both a GSO batch and a single datagram, so
/// that the refusal is no evidence against GSO batches.
fn link__gso_goes_on_when_the_mtu_shrinks() {
    let (topology, hosts) = pair(["--mtu", "9000"]);
    let (mut client, mut server) = connected(&topology, &hosts);
    assert!(gso_batches_for(&mut client, &mut server, 32 * MIB) > 0);
    for number in [1, 2] {
        topology.node(number).run("ip", &["link", "set", "eth0", "mtu", "1500"]);
    }
    gso_batches_for(&mut client, &mut server, 32 * MIB);
    assert_ne!(client.ok("too_big s"), "0", "none was too long");
    assert_eq!(client.ok("udp s gso_batches_refused"), "0");
    assert!(gso_batches_for(&mut client, &mut server, 16 * MIB) > 0);
}

/// Connections that are made after the MTU has changed have segments of the new size.
fn link__segments_follow_the_mtu() {
    let (topology, hosts) = pair([]);
    let (mut client, mut server) = connected(&topology, &hosts);
    let mut port = 80;
    // Bytes of a segment of a new stream, and whether one was too long for the device.
    let mut stream_of = |bytes: u64| {
        port += 1;
        server.ok(format!("listen l{port} 2:{port}"));
        client.ok(format!("connect s{port} 2:{port}"));
        server.ok(format!("accept l{port} s{port}"));
        let before = client.ok("too_big s");
        server.ok(format!("bg take take s{port} {bytes}"));
        client.ok(format!("send s{port} 7 {bytes}"));
        server.ok("join take");
        let segments: u64 = client.ok(format!("segments s{port}")).parse().expect("a number");
        (bytes / segments, client.ok("too_big s") != before)
    };
    assert!((1000..1500).contains(&stream_of(4 * MIB).0));
    for (mtu, expected) in [("9000", 5000..9000), ("1400", 1000..1400)] {
        for number in [1, 2] {
            topology.node(number).run("ip", &["link", "set", "eth0", "mtu", mtu]);
        }
        until(format!("segments for an MTU of {mtu}"), || {
            let (size, too_big) = stream_of(16 * MIB);
            (expected.contains(&size) && !too_big).then_some(())
        });
    }
}

/// A filter on the path that drops frames longer than a datagram drops whole GSO batches.
fn link__gso_batches_that_are_lost_are_given_up() {
    if Command::new("nft").arg("--version").output().is_err() {
        skip("nft");
    }
    let (topology, hosts) = pair([]);
    let (mut client, mut server) = connected(&topology, &hosts);
    assert!(gso_batches_for(&mut client, &mut server, 16 * MIB) > 0);
    let rule = "add rule inet t in udp dport 5230-5357 meta length > 2000 drop";
    let chain = "add chain inet t in { type filter hook input priority 0; }";
    for command in ["add table inet t", chain, rule] {
        topology.node(2).run("nft", &[command]);
    }
    gso_batches_for(&mut client, &mut server, 32 * MIB);
    assert_eq!(client.ok("udp s gso_withdrawn"), "1");
    assert_eq!(gso_batches_for(&mut client, &mut server, 16 * MIB), 0);
    // In the other direction they pass.
    assert!(gso_batches_for(&mut server, &mut client, 16 * MIB) > 0);
}

/// The kernel of the receiving node changes all datagrams of a GSO batch but the first.
fn link__gso_batches_that_are_garbled_are_given_up() {
    let (topology, hosts) = pair([]);
    if topology.is_rootless() {
        skip("root: to load a program into the kernel");
    }
    let (mut client, mut server) = connected(&topology, &hosts);
    assert!(gso_batches_for(&mut client, &mut server, 16 * MIB) > 0);
    let hook = garble_gso(&topology.node(2));
    let Ok(_hook) = hook else { skip(format!("programs at devices: {hook:?}")) };
    gso_batches_for(&mut client, &mut server, 32 * MIB);
    assert_eq!(client.ok("udp s gso_withdrawn"), "1");
    assert_eq!(client.ok("udp s gso_tests_failed"), "2");
    let changed = server.ok("drops s bad_crc");
    assert_ne!(changed, "0", "no segment has been changed");
    // Single datagrams arrive unchanged.
    assert_eq!(gso_batches_for(&mut client, &mut server, 16 * MIB), 0);
    assert_eq!(server.ok("drops s bad_crc"), changed);
    // In the other direction they get through.
    assert!(gso_batches_for(&mut server, &mut client, 16 * MIB) > 0);
}

/// In the middle of a transfer the link begins to drop frames with PRP's EtherType, and still
/// carries IP.
fn link__udp_is_the_backup_of_ethernet() {
    if Command::new("nft").arg("--version").output().is_err() {
        skip("nft");
    }
    let topology = Topology::pair_with(["--underlay", "both"]);
    let [mut client, mut server] =
        [1, 2].map(|number| Puppet::start(&topology.node(number), PUPPET));
    stream::connect(&mut client, &mut server, "2:80", "");
    assert_eq!(gso_batches_for(&mut client, &mut server, 16 * MIB), 0);
    transfer(&mut client, &mut server, 64 * MIB, || {
        for number in [1, 2] {
            let chain = "add chain netdev t i { type filter hook ingress device eth0 priority 0; }";
            for command in
                ["add table netdev t", chain, "add rule netdev t i ether type 0x88b5 drop"]
            {
                topology.node(number).run("nft", &[command]);
            }
        }
    });
    // What is left of the first transfer when the rules take effect may be too little for a GSO
    // batch.
    assert!(gso_batches_for(&mut client, &mut server, 16 * MIB) > 0);
}

/// Both nodes have an address on each of two networks. In the middle of a transfer the first
/// network begins to lose all frames.
fn link__stream_goes_on_by_the_next_address() {
    if Command::new("nft").arg("--version").output().is_err() {
        skip("nft");
    }
    let (topology, _) = pair([]);
    let mut lines = String::new();
    for number in [1, 2] {
        let node = topology.node(number);
        let second = format!("10.98.0.{number}");
        node.run("ip", &["addr", "add", &format!("{second}/24"), "dev", "eth0"]);
        let first = node.field("ipv4");
        let first = first.split('/').next().unwrap_or_default().to_owned();
        lines += &format!("{number} udp:{first}, udp:{second} metric 2\n");
        node.run("nft", &["add table inet t"]);
        node.run("nft", &["add chain inet t in { type filter hook input priority 0; }"]);
    }
    let hosts = TempFile::new(lines);
    let (mut client, mut server) = connected(&topology, &hosts);
    transfer(&mut client, &mut server, 64 * MIB, || {
        for number in [1, 2] {
            let rule = "add rule inet t in ip daddr != 10.98.0.0/24 counter drop";
            topology.node(number).run("nft", &[rule]);
        }
    });
    // The first transfer may have ended before the rules took effect.
    transfer(&mut client, &mut server, 16 * MIB, || ());
    // The rules are set one after the other, and an end may leave the address before the second.
    let rules = [1, 2].map(|number| topology.node(number).run("nft", &["list ruleset"]));
    let has_lost = rules.iter().any(|rules| !rules.contains("packets 0 "));
    assert!(has_lost, "no node has lost anything: {rules:?}");
}
