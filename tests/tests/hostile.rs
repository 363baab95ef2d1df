//! An attacker on the link that sends forged frames or datagrams: established connections work on,
//! memory is bounded, and the counters show the attack. (An attacker that can read the frames of
//! others can do more; PRP is not encrypted.)
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::process::{Child, Stdio};

use prp_tests::puppet::Puppet;
use prp_tests::scratch::TempFile;
use prp_tests::seed;
use prp_tests::stream::{self, exchange};
use prp_tests::topology::{Topology, is_over_udp};
use prp_tests::wait;

prp_tests::main! {
    heavy:
        requests__a_million_beside_a_transfer;
    light:
        blind__resets_from_the_right_address,
        blind__segments_from_the_right_address,
        third_node__claims_to_be_another_one,
        ports__closed_ones_at_line_rate,
        sizes__cut_and_contradictory_frames,
        replay__of_the_same_connection_and_of_one_that_is_over,
        hosts__swapped_again_and_again_under_load;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ATTACKER: &str = env!("CARGO_BIN_EXE_attacker");
const MIB: u64 = 1 << 20;

/// Limit for the growth of a process under attack, in KiB: some backlogs and tables, but no entry
/// per frame.
const GROWTH: u64 = 64 << 10;

/// Starts a client on node 1 and a server on node 2 with a stream `s` between them. Returns them
/// and the client's address.
fn connected(topology: &Topology, settings: &str) -> (Puppet, Puppet, String) {
    stream::connected(PUPPET, topology, [1, 2], settings)
}

/// Starts an attacker on node `at` with the addresses of its frames: hardware `[to, from]`, PRP
/// `[from, to]`.
fn attack(
    topology: &Topology,
    at: u8,
    macs: [&str; 2],
    addrs: [&str; 2],
    kind: &str,
    count: u32,
) -> Child {
    let seed = seed::of(kind).to_string();
    let mut command = topology.node(at).command(ATTACKER);
    command.arg("eth0").args(macs).args(addrs).args([kind, &count.to_string(), &seed]);
    command.stdout(Stdio::null()).spawn().expect("the attacker starts")
}

#[track_caller]
fn ends_well(mut child: Child) {
    assert!(child.wait().expect("it is ours").success());
}

fn number(puppet: &mut Puppet, command: &str) -> u64 {
    puppet.ok(command).parse().expect("a number")
}

/// Checks that `server` has dropped at least `least` frames for this reason.
#[track_caller]
fn assert_drops(server: &mut Puppet, reason: &str, least: u64) {
    let seen = number(server, &format!("drops s {reason}"));
    let all = server.ok("drops s");
    assert!(seen >= least, "{seen} dropped as {reason}, {least} expected; all: {all}");
}

/// The attacker uses node 1's addresses, but does not know the connection ids.
fn from_the_right_address(kind: &str, settings: &str, reason: &str) {
    const FRAMES: u32 = 50_000;
    let topology = Topology::pair();
    let macs = [2, 1].map(|n| topology.node(n).field("mac"));
    let (mut client, mut server, addr) = connected(&topology, settings);
    let before = number(&mut server, "rss");
    exchange(&mut client, &mut server, 1, 32 * MIB, |_| {
        ends_well(attack(&topology, 1, [&macs[0], &macs[1]], [&addr, "2:80"], kind, FRAMES));
    });
    // The full ring loses the other frames before a thread has read them.
    assert_drops(&mut server, reason, u64::from(FRAMES) / 50);
    let after = number(&mut server, "rss");
    assert!(after < before + GROWTH, "{before} KiB became {after}");
}

fn blind__resets_from_the_right_address() {
    from_the_right_address("reset", "", "bad_id");
}

/// Only the checksum detects guessed segments: only the two ends have its key.
fn blind__segments_from_the_right_address() {
    from_the_right_address("data", "", "bad_crc");
}

/// Node 3 on the same switch claims to be node 1, with its own hardware address.
fn third_node__claims_to_be_another_one() {
    let topology = Topology::up("star", ["3"]);
    let macs = [2, 3].map(|n| topology.node(n).field("mac"));
    let (mut client, mut server, addr) = connected(&topology, "");
    exchange(&mut client, &mut server, 1, 32 * MIB, |_| {
        for kind in ["reset", "data", "request"] {
            let addrs = [&addr[..], "2:80"];
            ends_well(attack(&topology, 3, [&macs[0], &macs[1]], addrs, kind, 20_000));
        }
    });
    assert_drops(&mut server, "bad_source", 1000);
}

/// Node 3 requests a million different connections. The connection of node 1 works on, and its new
/// ones are accepted.
fn requests__a_million_beside_a_transfer() {
    let topology = Topology::up("star", ["3"]);
    let macs = [2, 3].map(|n| topology.node(n).field("mac"));
    let (mut client, mut server, _) = connected(&topology, "");
    let before = number(&mut server, "rss");
    exchange(&mut client, &mut server, 1, 32 * MIB, |_| {
        let addrs = ["3:0", "2:80"];
        ends_well(attack(&topology, 3, [&macs[0], &macs[1]], addrs, "request", 1_000_000));
    });
    let after = number(&mut server, "rss");
    assert!(after < before + GROWTH, "{before} KiB became {after}");
    assert_drops(&mut server, "peer_limit", 1000);
    // While the half-open connections of the flood still exist.
    client.ok("connect t 2:80");
    client.ok("write t here");
}

fn ports__closed_ones_at_line_rate() {
    let topology = Topology::up("star", ["3"]);
    let macs = [2, 3].map(|n| topology.node(n).field("mac"));
    let (mut client, mut server, _) = connected(&topology, "");
    let before = number(&mut server, "rss");
    exchange(&mut client, &mut server, 1, 32 * MIB, |_| {
        for kind in ["request", "data"] {
            let addrs = ["3:9", "2:0"];
            ends_well(attack(&topology, 3, [&macs[0], &macs[1]], addrs, kind, 100_000));
        }
    });
    // The process that answers for the node refuses the requests among them.
    assert_drops(&mut server, "not_our_port", 1000);
    let after = number(&mut server, "rss");
    assert!(after < before + GROWTH, "{before} KiB became {after}");
}

fn sizes__cut_and_contradictory_frames() {
    let topology = Topology::pair();
    let macs = [2, 1].map(|n| topology.node(n).field("mac"));
    let (mut client, mut server, addr) = connected(&topology, "");
    exchange(&mut client, &mut server, 1, 32 * MIB, |_| {
        ends_well(attack(&topology, 1, [&macs[0], &macs[1]], [&addr, "2:80"], "sizes", 50_000));
    });
    assert_drops(&mut server, "bad_length", 1000);
    // The filter in the kernel drops those without whole headers.
    assert_drops(&mut server, "truncated", 0);
}

/// Replays of valid frames: while their connection is established, and when its ports belong to the
/// next connection.
fn replay__of_the_same_connection_and_of_one_that_is_over() {
    let topology = Topology::pair();
    let file = TempFile::new("");
    let path = file.path().to_string_lossy().into_owned();
    let mut recorder = topology.node(2).command(ATTACKER);
    recorder.args(["eth0", "record", &path, "3000"]);
    let mut recorder = Puppet::run("recorder", recorder);
    assert_eq!(recorder.next_line(), "ready");
    let replay = || {
        let mut command = topology.node(1).command(ATTACKER);
        command.args(["eth0", "replay", &path, "20"]).stdout(Stdio::null());
        assert!(command.status().expect("the attacker starts").success());
    };
    // Captured GSO batches are too long to be sent again.
    if is_over_udp() {
        topology.node(1).run("ethtool", &["-K", "eth0", "tx-udp-segmentation", "off"]);
    }
    let (mut client, mut server, addr) = connected(&topology, "");
    let port = addr.split(':').nth(1).expect("a port").to_owned();
    exchange(&mut client, &mut server, 1, 32 * MIB, |_| {
        recorder.next_line();
        replay();
    });
    // Most of the acknowledgements in them are too old to be accepted.
    let seen = ["bad_ack", "duplicate"].map(|why| number(&mut server, &format!("drops s {why}")));
    assert!(seen[0] + seen[1] > 1000, "{seen:?}");
    for end in [&mut client, &mut server] {
        end.ok("drop s");
    }
    // A new connection between the same two addresses has another id, and another key.
    let again = format!("connect s 2:80 port={port}");
    wait::until("the port", || client.ask(&again).ok());
    server.ok("accept l s");
    exchange(&mut client, &mut server, 1, 32 * MIB, |_| replay());
}

/// A user edits prphosts while everything runs: a file with mistakes is ignored, and a correct one
/// is put in force.
fn hosts__swapped_again_and_again_under_load() {
    let topology = Topology::pair();
    let good = topology.node(1).hosts();
    let file = TempFile::new(&good);
    let mut client =
        Puppet::run("client", topology.node(1).command_with_hosts(file.path(), PUPPET));
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    client.ok("connect s 2:80");
    server.ok("accept l s");
    let mut other = Puppet::run("other", topology.node(1).command_with_hosts(file.path(), PUPPET));
    let lie = if is_over_udp() {
        good.replace("udp:10.99.0.2", "udp:10.99.0.99")
    } else {
        good.replace("02:00:00:00:00:02", "02:00:00:00:00:99")
    };
    assert_ne!(lie, good);
    exchange(&mut client, &mut server, 1, 64 * MIB, |_| {
        for round in 0..50 {
            let text = [&good[..], "nonsense\n", "", &lie][round % 4];
            file.replace(text);
            // A process that connects checks the file.
            let _ = other.ask("connect t 2:81 timeout=20");
        }
        file.replace(&good);
    });
    client.ok("connect u 2:80");
}
