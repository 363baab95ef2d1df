//! Streams over UDP: processes without a privilege on loopback addresses, and nodes with IP
//! addresses on a link.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::process::Command;

use prp_tests::puppet::Puppet;
use prp_tests::scratch::TempFile;
use prp_tests::seed;
use prp_tests::stream::{self, exchange, send};
use prp_tests::topology::Topology;

prp_tests::main! {
    light:
        loopback__stream_of_processes_without_privileges,
        link__stream_of_full_segments,
        link__stream_through_losses;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const MIB: u64 = 1 << 20;

/// prphosts of two nodes on loopback addresses that no other test has at the time.
fn loopback_hosts() -> TempFile {
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let net = format!("127.{}.{low}", 128 | high);
    TempFile::new(format!("1 udp:{net}.1 alpha\n2 udp:{net}.2 beta\n"))
}

/// A process of node `node` by `hosts` that has no capability and gets none.
fn unprivileged(hosts: &TempFile, node: u8) -> Puppet {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", PUPPET]);
    command.env("PRP_HOSTS", hosts.path()).env("PRP_NODE", node.to_string());
    Puppet::run(format!("node {node} without privileges"), command)
}

/// The capabilities in force of the process, in hexadecimal.
fn capabilities(process: &Puppet) -> String {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.expect("the kernel says").trim().to_owned()
}

fn loopback__stream_of_processes_without_privileges() {
    let hosts = loopback_hosts();
    let [mut client, mut server] = [1, 2].map(|node| unprivileged(&hosts, node));
    stream::connect(&mut client, &mut server, "2:80", "");
    for process in [&client, &server] {
        assert_eq!(capabilities(process), "0000000000000000");
    }
    let seed = seed::of("loopback__stream_of_processes_without_privileges");
    exchange(&mut client, &mut server, seed, 64 * MIB, |_| ());
}

/// A pair of nodes, and the prphosts that has their IP addresses and nothing else.
fn pair<'a>(words: impl IntoIterator<Item = &'a str>) -> (Topology, TempFile) {
    let topology = Topology::pair_with(words);
    let line = |number: u8| {
        let address = topology.node(number).field("ipv4");
        format!("{number} udp:{}\n", address.split('/').next().unwrap_or_default())
    };
    let hosts = TempFile::new(line(1) + &line(2));
    (topology, hosts)
}

/// Puppets on both nodes of `topology` by `hosts`, with a stream `s` between them.
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
    let (topology, hosts) = pair(["--loss", "1%"]);
    let (mut client, mut server) = connected(&topology, &hosts);
    send(&mut client, &mut server, seed::of("link__stream_through_losses"), 16 * MIB);
}
