//! Wrong routes, and the tools that show them: ping, trace, refusals, generators, `prp routed`.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::path::PathBuf;
use std::process::Output;

use prp_proto::plan::Plan;
use prp_routed::report::Question;
use prp_tests::program;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::scratch::TempFile;
use prp_tests::topology::{Node, Topology};
use prp_tests::wait;

prp_tests::main! {
    light:
        generate__the_stored_pair,
        loops__of_two_and_three_routers_end_at_the_hop_limit,
        tools__ping_and_trace_through_routers,
        tools__routed_tells_and_reloads,
        tools__routed_dry_run_tells_what_would_change,
        presence__refuses_at_once_where_no_program_runs,
        presence__reports_at_once_where_no_route_leads_on;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");

/// The prp command in the folder of these tests' programs.
fn prp() -> PathBuf {
    program::prp(ROUTED)
}

fn run(node: &Node<'_>, args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        node.command(prp()).args(args).output().expect("topo runs");
    let text = [stdout, stderr].concat();
    (status.code(), String::from_utf8_lossy(&text).into_owned())
}

fn counter(topology: &Topology, node: u8, name: &str) -> u64 {
    let counters = ask(&topology.node(node), ASK, &Question::Counters);
    let found = counters.pointer(name).and_then(serde_json::Value::as_u64);
    found.unwrap_or_else(|| panic!("no {name} in {counters}"))
}

/// The stored plan that `topo up pair` reads without the built programs is equal to the generated
/// one.
fn generate__the_stored_pair() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../netns-scripts/lib/pair.plan");
    let stored = std::fs::read_to_string(file).expect("it is stored");
    assert_eq!(Plan::chain(2).expect("a possible size").to_string(), stored);
}

/// Node 4 sends to node 9, whose frames routers 1 to `size` forward in a loop.
fn circle(size: u16) {
    let topology = Topology::up("star", ["4"]);
    let text = topology.node(1).hosts();
    let mac = |node: u16| {
        let line = text.lines().find(|line| line.starts_with(&format!("{node} ")));
        line.and_then(|line| line.split(' ').nth(1)).expect("a line").to_owned()
    };
    let files: Vec<_> = (1..=size)
        .map(|own| {
            let next = own % size + 1;
            // Frames from node 4 may arrive by any router.
            let others = (1..=size).filter(|n| *n != own);
            let routes: String = others.map(|n| format!(", {} eth0 metric 1", mac(n))).collect();
            let kept = text.lines().filter(|line| !line.starts_with("4 "));
            let kept: Vec<_> = kept.collect();
            let lines = kept.join("\n");
            TempFile::new(format!("{lines}\n4 {} eth0{routes}\n9 via {next}\n", mac(4)))
        })
        .collect();
    let _routers: Vec<_> = (1..)
        .zip(&files)
        .map(|(n, file)| Router::run(topology.node(n).command_with_hosts(file.path(), ROUTED)))
        .collect();
    let own = TempFile::new(format!("{text}\n9 via 1\n"));
    let command = topology.node(4).command_with_hosts(own.path(), PUPPET);
    let mut puppet = Puppet::run("puppet on node 4", command);
    puppet.fails("connect s 9:80 timeout=300");
    let sum = |name: &str| (1..=size as u8).map(|n| counter(&topology, n, name)).sum::<u64>();
    // Expect: each frame crossed fifteen routers and not one more.
    let dropped = wait::until("a frame at the hop limit", || {
        let dropped = sum("/dropped/hop_limit");
        (dropped > 0 && sum("/forwarded_frames") == 15 * dropped).then_some(dropped)
    });
    assert!(dropped < 50, "{dropped} frames of one attempt to connect");
}

fn loops__of_two_and_three_routers_end_at_the_hop_limit() {
    circle(2);
    circle(3);
}

fn tools__ping_and_trace_through_routers() {
    let topology = Topology::up("chain", ["5"]);
    let mut routers: Vec<_> = (2..=5).map(|n| Router::start(&topology.node(n), ROUTED)).collect();
    let node = topology.node(1);
    let (code, printed) = run(&node, &["ping", "node5", "-c", "3", "-i", "0.02", "-s", "1400"]);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(printed.matches("5 (node5): seq=").count(), 3, "{printed}");
    assert_eq!(printed.matches("routers=3 ").count(), 3, "{printed}");
    assert_eq!(counter(&topology, 5, "/echoes_answered"), 3);
    assert_eq!(counter(&topology, 5, "/requests_refused"), 0);
    let (code, printed) = run(&node, &["trace", "5"]);
    assert_eq!(code, Some(0), "{printed}");
    let first: Vec<_> = printed.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(first, ["2", "3", "4", "5"], "{printed}");
    let (code, printed) = run(&node, &["ping", "5", "-c", "1", "--routers", "1", "-i", "2"]);
    assert_eq!(code, Some(5), "{printed}");
    assert!(printed.contains("3 (node3): seq=1 too many routers"), "{printed}");
    // Nothing answers for a node whose router has ended.
    drop(routers.pop());
    let (code, printed) = run(&node, &["ping", "5", "-c", "2", "-i", "0.05"]);
    assert_eq!(code, Some(4), "{printed}");
    assert!(printed.contains("no answer"), "{printed}");
}

fn tools__routed_tells_and_reloads() {
    let topology = Topology::up("chain", ["3"]);
    let node = topology.node(2);
    let (code, printed) = run(&node, &["routed", "status"]);
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("start it first"), "{printed}");
    let _router = Router::start(&node, ROUTED);
    for (words, expected) in [
        (&["routed", "status"][..], "node2"),
        (&["routed", "routes"], "3 02:00:00:00:01:03 eth1"),
        (&["routed", "neighbours"], "02:00:00:00:01:03  true"),
        (&["routed", "counters", "--json"], "\"hop_limit\":0"),
        (&["routed", "metrics"], "prp_routed_dropped_frames_total{reason=\"no_route\"} 0"),
        (&["routed", "reload", "--dry-run"], "applied  false"),
        (&["routed", "reload"], "applied  true"),
    ] {
        let (code, printed) = run(&node, words);
        assert_eq!(code, Some(0), "{words:?}: {printed}");
        assert!(printed.contains(expected), "{words:?}: {printed}");
    }
}

/// A dry run lists new, removed and changed nodes with their routes before and after, and changes
/// nothing.
fn tools__routed_dry_run_tells_what_would_change() {
    let topology = Topology::up("chain", ["4"]);
    let node = topology.node(2);
    let text = node.hosts();
    let hosts = TempFile::new(&text);
    let _router = Router::run(node.command_with_hosts(hosts.path(), ROUTED));
    let routes = || ask(&node, ASK, &Question::Routes);
    let before = routes();
    // The new file reaches node 4 by node 1, and node 9 is new.
    let moved = text.lines().filter(|line| !line.starts_with("4 "));
    let moved: String = moved.map(|line| format!("{line}\n")).collect();
    hosts.replace(format!("{moved}4 via 1\n9 via 3 far\n"));
    let (code, printed) = run(&node, &["routed", "reload", "--dry-run"]);
    assert_eq!(code, Some(0), "{printed}");
    let lines: Vec<Vec<&str>> =
        printed.lines().map(|line| line.split_whitespace().collect()).collect();
    let has = |words: &[&str]| assert!(lines.contains(&words.to_vec()), "{words:?}: {printed}");
    has(&["applied", "false"]);
    has(&["changed", "2"]);
    has(&["4", "3", "02:00:00:00:01:03", "eth1", "1", "02:00:00:00:00:01", "eth0"]);
    has(&["9", "3", "02:00:00:00:01:03", "eth1"]);
    assert_eq!(routes(), before, "nothing has changed");
    assert_eq!(ask(&node, ASK, &Question::Status)["reloads"], 0);
    // A file with a mistake also fails in a dry run.
    hosts.replace("4 by mistake\n");
    let (code, printed) = run(&node, &["routed", "reload", "--dry-run"]);
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains(":1:3: expected ") && printed.contains("stay in force"), "{printed}");
}

/// Without the router a request to a node without a PRP process has no answer.
fn presence__refuses_at_once_where_no_program_runs() {
    let topology = Topology::pair();
    let mut puppet = Puppet::start(&topology.node(1), PUPPET);
    assert_eq!(puppet.fails("connect s 2:80 timeout=300"), "TimedOut");
    let _router = Router::start(&topology.node(2), ROUTED);
    assert_eq!(puppet.fails("connect s 2:80 timeout=10000"), "ConnectionRefused");
}

/// Both for frames that the kernel would forward, and for frames that the router forwards itself.
fn presence__reports_at_once_where_no_route_leads_on() {
    let topology = Topology::up("chain", ["3"]);
    let node = topology.node(2);
    let text = node.hosts();
    let known = text.lines().filter(|line| !line.starts_with("3 "));
    let hosts = TempFile::new(known.map(|line| format!("{line}\n")).collect::<String>());
    for forwarding in ["auto", "off"] {
        let mut command = node.command_with_hosts(hosts.path(), ROUTED);
        command.args(["--kernel-forwarding", forwarding]);
        let _router = Router::run(command);
        let mut puppet = Puppet::start(&topology.node(1), PUPPET);
        let (kind, text) = puppet.ask("connect s 3:80 timeout=60000").unwrap_err();
        assert_eq!(kind, "HostUnreachable", "{text}");
        assert!(text.contains("node 2, a router on the path to node 3"), "{text}");
        assert_eq!(counter(&topology, 2, "/requests_refused"), 1);
        assert_eq!(counter(&topology, 2, "/echoes_answered"), 0);
    }
}
