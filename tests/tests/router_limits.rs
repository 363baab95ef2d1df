//! Routers with forged frames, and with the maximum number of nodes.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fmt::Write;
use std::process::Stdio;
use std::time::Instant;

use prp_routed::report::Question;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::scratch::TempFile;
use prp_tests::seed;
use prp_tests::topology::{Node, Topology};

prp_tests::main! {
    heavy:
        hostile__forged_and_broken_frames_end_at_the_router;
    light:
        nodes__as_many_as_there_can_be;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");
const ATTACKER: &str = env!("CARGO_BIN_EXE_attacker");
const MIB: u64 = 1 << 20;

/// Limit for the memory of a router with a table of all nodes, in KiB.
const MEMORY: u64 = 32 * 1024;

fn counter(node: &Node<'_>, name: &str) -> u64 {
    let counters = ask(node, ASK, &Question::Counters);
    let found = counters.pointer(name).and_then(serde_json::Value::as_u64);
    found.unwrap_or_else(|| panic!("no {name} in {counters}"))
}

/// Memory of the router on `node`, in KiB.
fn resident(node: &Node<'_>) -> u64 {
    let pid = ask(node, ASK, &Question::Status)["pid"].as_u64().expect("a number");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel knows");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Node 1 sends forged and malformed frames to the router between it and node 3, while a stream
/// passes that router.
fn hostile__forged_and_broken_frames_end_at_the_router() {
    let topology = Topology::up("chain", ["3"]);
    let node = topology.node(2);
    let _router = Router::start(&node, ROUTED);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    let mut server = Puppet::start(&topology.node(3), PUPPET);
    server.ok("listen l 3:80");
    client.ok("connect s 3:80");
    server.ok("accept l s");
    let before = resident(&node);
    server.ok("bg drain drain s");
    let seed = seed::of("hostile__forged_and_broken_frames_end_at_the_router");
    client.ok(format!("bg send send s {seed} {}", 64 * MIB));
    // To the router's hardware address, from node 1's own.
    let macs = ["02:00:00:00:00:02", "02:00:00:00:00:01"];
    for (from, kind) in [("3:80", "reset"), ("2:80", "data"), ("9:0", "request"), ("1:80", "sizes")]
    {
        let mut attacker = topology.node(1).command(ATTACKER);
        attacker.arg("eth0").args(macs).args([from, "3:80", kind, "20000", &seed.to_string()]);
        let ended = attacker.stdout(Stdio::null()).status().expect("the attacker starts");
        assert!(ended.success(), "{kind}");
    }
    let sent = client.ok("join send");
    client.ok("shutdown s write");
    assert_eq!(server.ok("join drain"), sent);
    // Expect: forged and malformed frames are counted, as far as the router's ring had room for
    // them.
    assert!(counter(&node, "/dropped/bad_source") > 1000);
    let broken = ["truncated", "bad_length"].map(|why| counter(&node, &format!("/dropped/{why}")));
    assert!(broken.iter().sum::<u64>() > 1000, "{broken:?}");
    let after = resident(&node);
    assert!(after < before + 4 * 1024, "{before} KiB became {after}");
}

/// PRP-ADDR-1: 65,534 nodes, all but two of them behind node 2.
fn nodes__as_many_as_there_can_be() {
    let topology = Topology::pair();
    let node = topology.node(1);
    let mut text = node.hosts();
    for number in 3..=65_534 {
        writeln!(text, "{number} via 2 node{number}").expect("a string takes all");
    }
    let hosts = TempFile::new(&text);
    let start = Instant::now();
    let _router = Router::run(node.command_with_hosts(hosts.path(), ROUTED));
    let (time, memory) = (start.elapsed(), resident(&node));
    println!("65,534 nodes: routing {time:?} after the start, {memory} KiB");
    assert_eq!(ask(&node, ASK, &Question::Status)["nodes"], 65_534);
    assert!(memory < MEMORY, "{memory} KiB");
    // Expect: a second reload frees the memory that it needed beside the first table.
    let answer = ask(&node, ASK, &Question::Reload { dry_run: false });
    assert_eq!((&answer["applied"], &answer["changed"]), (&true.into(), &0.into()));
    let again = resident(&node);
    println!("after reading it again: {again} KiB");
    assert!(again < MEMORY, "{again} KiB");
}
