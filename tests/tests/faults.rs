//! Links that lose, duplicate, delay and change frames, that fail for a while, or that flap: all
//! data arrive.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use prp_tests::pattern::Pattern;
use prp_tests::puppet::Puppet;
use prp_tests::stream::{self, exchange};
use prp_tests::topology::{Link, Topology, is_over_udp};
use prp_tests::{program, seed, wait};

prp_tests::main! {
    first: prp;
    light:
        faults__loss,
        faults__much_loss,
        faults__loss_with_go_back_n,
        faults__double_and_late,
        faults__changed,
        faults__everything_at_once,
        faults__a_file_by_prp_cat,
        faults__get_worse_and_better_meanwhile,
        slow__says_nothing_twice,
        outage__of_the_whole_link,
        outage__a_flapping_link;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const WIRE: &str = env!("CARGO_BIN_EXE_wire");
const MIB: u64 = 1 << 20;

/// The program under test.
fn prp() -> PathBuf {
    program::prp(PUPPET)
}

/// A pair with these faults, and puppets on both nodes with a stream `s` between them.
fn scene(faults: &str, settings: &str, seed: u64) -> (Topology, Puppet, Puppet) {
    let topology = faulty(faults, seed);
    let (client, server) = connected(&topology, settings);
    (topology, client, server)
}

/// A pair with these faults.
fn faulty(faults: &str, seed: u64) -> Topology {
    let seed = seed.to_string();
    Topology::faulty(WIRE, faults.split(' ').chain(["--seed", &seed]))
}

/// Starts puppets on both nodes with a stream `s` between them. Returns the client, whose stream
/// has `settings`, and the server.
fn connected(topology: &Topology, settings: &str) -> (Puppet, Puppet) {
    let (client, server, _) = stream::connected(PUPPET, topology, [1, 2], settings);
    (client, server)
}

/// The counter of a fault, both directions together.
fn count(topology: &Topology, what: &str) -> u64 {
    let output = topology.topo(["faults"]);
    let words =
        output.split_whitespace().filter_map(|word| word.strip_prefix(what)?.strip_prefix('='));
    words.map(|n| n.parse::<u64>().unwrap_or(0)).sum()
}

/// Transfers until each of `kinds` has happened: where a packet holds much, chance may spare a
/// transfer.
fn until_happened(topology: &Topology, kinds: &[&str], mut transfer: impl FnMut()) {
    transfer();
    while kinds.iter().any(|kind| count(topology, kind) == 0) {
        transfer();
    }
}

/// Exchanges `mib` under these faults, until each of `kinds` has happened.
fn survives(test: &str, faults: &str, settings: &str, mib: u64, kinds: &[&str]) {
    let seed = seed::of(test);
    let topology = faulty(faults, seed);
    until_happened(&topology, kinds, || {
        let (mut client, mut server) = connected(&topology, settings);
        exchange(&mut client, &mut server, seed, mib * MIB, |_| ());
    });
}

fn faults__loss() {
    survives("faults__loss", "--loss 1%", "", 32, &["lost"]);
}

fn faults__much_loss() {
    survives("faults__much_loss", "--loss 10%", "", 2, &["lost"]);
}

fn faults__loss_with_go_back_n() {
    survives("faults__loss_with_go_back_n", "--loss 1%", " reliability=go-back-n", 8, &["lost"]);
}

fn faults__double_and_late() {
    let faults = "--dup 5% --reorder 10%";
    survives("faults__double_and_late", faults, "", 32, &["doubled", "late"]);
}

/// Only a checksum over the frame detects the change. Frames have PRP's checksum unless an end
/// refuses it. Over UDP the kernel's checksum detects it, and the kernel drops such datagrams.
fn faults__changed() {
    let seed = seed::of("faults__changed");
    let topology = faulty("--corrupt 1%", seed);
    let mut seen = 0;
    until_happened(&topology, &["corrupted"], || {
        let (mut client, mut server) = connected(&topology, "");
        exchange(&mut client, &mut server, seed, 16 * MIB, |_| ());
        seen += client.ok("drops s bad_crc").parse::<u64>().expect("a number");
    });
    assert!(seen > 0 || is_over_udp());
}

fn faults__everything_at_once() {
    let faults = "--loss 1% --dup 0.1% --reorder 1% --corrupt 0.01%";
    survives("faults__everything_at_once", faults, "", 32, &["lost", "doubled", "late"]);
}

/// With default settings 60 MB arrive unchanged.
fn faults__a_file_by_prp_cat() {
    let seed = seed::of("faults__a_file_by_prp_cat");
    let topology = faulty("--loss 3% --dup 2% --reorder 4% --corrupt 0.2%", seed);
    until_happened(&topology, &["corrupted"], || cat_a_file(&topology, seed));
}

fn cat_a_file(topology: &Topology, seed: u64) {
    const BYTES: usize = 60_000_000;
    let cat = |node: u8, words: &[&str]| {
        let mut command = topology.node(node).command(prp());
        command.arg("cat").args(words).stderr(Stdio::piped());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("prp starts")
    };
    let mut receiver = cat(2, &["--listen", "0"]);
    drop(receiver.stdin.take());
    let mut stderr = BufReader::new(receiver.stderr.take().expect("a pipe"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("it says where it listens");
    let port = line.trim().rsplit(':').next().expect("an address");
    let mut sender = cat(1, &["--send-only", "2", port]);
    let mut input = sender.stdin.take().expect("a pipe");
    let mut output = receiver.stdout.take().expect("a pipe");
    let [mut wanted, mut came] = [const { Vec::new() }; 2];
    let mut pattern = Pattern::new(seed);
    while wanted.len() < BYTES {
        wanted.extend_from_slice(pattern.next(BYTES - wanted.len()));
    }
    thread::scope(|scope| {
        scope.spawn(|| input.write_all(&wanted).map(|()| drop(input)).expect("it is taken"));
        output.read_to_end(&mut came).expect("it comes");
    });
    assert!(sender.wait().expect("it is ours").success(), "the sender, {line}");
    assert!(receiver.wait().expect("it is ours").success(), "the receiver, {line}");
    assert!(came == wanted, "{} of {BYTES} bytes", came.len());
}

fn faults__get_worse_and_better_meanwhile() {
    let seed = seed::of("faults__get_worse_and_better_meanwhile");
    // Slow enough for the transfer to last beyond the third outage on any machine.
    let (topology, mut client, mut server) = scene("--rate 20mbit", "", seed);
    exchange(&mut client, &mut server, seed, 16 * MIB, |_| {
        for loss in ["3%", "0%", "10%", "0%"] {
            topology.topo(["faults", "--loss", loss]);
            let before = count(&topology, "frames");
            wait::until("frames", || (count(&topology, "frames") > before + 500).then_some(()));
        }
    });
    assert!(count(&topology, "lost") > 0);
}

/// A segment takes 47 ms on the link. The first ones take no time, since the token bucket of the
/// link is full.
fn slow__says_nothing_twice() {
    let topology = Topology::pair_with(["--rate", "256kbit"]);
    let (mut client, mut server) = connected(&topology, "");
    const BYTES: u64 = 100 << 10;
    stream::send(&mut client, &mut server, 1, BYTES);
    assert_eq!(client.ok("retransmitted s"), "0");
    // Nothing else is sent that would use the link.
    let queue = topology.node(1).run("tc", &["-s", "qdisc", "show", "dev", "eth0"]);
    let sent = queue.split(" Sent ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    let sent: u64 = sent.unwrap_or_else(|| panic!("{queue}"));
    assert!(sent * 10 <= BYTES * 11, "{sent} bytes for {BYTES}: {queue}");
}

/// No end loses its link, as when a switch between them fails.
fn outage__of_the_whole_link() {
    let seed = seed::of("outage__of_the_whole_link");
    // Slow enough for the transfer to be still going on after the third one, whatever the machine.
    let (topology, mut client, mut server) = scene("--rate 20mbit", "", seed);
    exchange(&mut client, &mut server, seed, 16 * MIB, |_| {
        for _ in 0..3 {
            let before = count(&topology, "frames");
            wait::until("frames", || (count(&topology, "frames") > before + 500).then_some(()));
            topology.topo(["faults", "--loss", "100%"]);
            // Several retransmissions are lost as well.
            let before = count(&topology, "lost");
            wait::until("losses", || (count(&topology, "lost") > before + 5).then_some(()));
            topology.topo(["faults", "--loss", "0%"]);
        }
    });
}

/// The devices of both ends repeatedly go down and up.
fn outage__a_flapping_link() {
    let seed = seed::of("outage__a_flapping_link");
    // Slow enough for the transfer to be still going on, on any machine.
    let topology = Topology::pair_with(["--rate", "100mbit"]);
    let (mut client, mut server) = connected(&topology, "");
    exchange(&mut client, &mut server, seed, 16 * MIB, |_| {
        for round in 0..10 {
            let node = 1 + round % 2;
            topology.link(node, Link::Down);
            thread::sleep(Duration::from_millis(30));
            topology.link(node, Link::Up);
            thread::sleep(Duration::from_millis(30));
        }
    });
    assert_ne!(client.ok("retransmitted s"), "0", "the link was down while frames were on it");
}
