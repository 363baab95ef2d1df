//! Routers between real nodes: streams through them, loops, reloading, absence.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use prp_routed::report::Question;
use prp_tests::harness::skip;
use prp_tests::pattern::Tally;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::seed;
use prp_tests::stream::{self, send};
use prp_tests::topology::{Topology, is_over_udp};
use prp_tests::wait;

prp_tests::main! {
    heavy:
        hypercube__all_to_all,
        failover__a_stream_survives_a_cut_link,
        failover__a_stream_survives_a_killed_router,
        failover__in_user_space_a_stream_survives_a_cut_link,
        failover__in_user_space_a_stream_survives_a_killed_router;
    light:
        chain__five_nodes_end_to_end,
        chain__in_user_space_five_nodes_end_to_end,
        star__eight_nodes_on_a_switch,
        chain__a_router_killed_and_restarted,
        reload__a_hundred_times_under_load,
        reload__a_wrong_file_changes_nothing;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");
const MIB: u64 = 1 << 20;

/// Routers with kernel forwarding where it is possible, and routers without.
const ANY: &[&str] = &[];
const USER_SPACE: &[&str] = &["--kernel-forwarding", "off"];

/// The kernel forwards no datagrams: over UDP both kinds of routers are the same.
fn needs_frames() {
    if is_over_udp() {
        skip("Ethernet: over UDP all routers forward in user space");
    }
}

/// A router on each of `nodes`, with these arguments.
fn routers(
    topology: &Topology,
    nodes: impl IntoIterator<Item = u8>,
    arguments: &[&str],
) -> Vec<Router> {
    let start = |node| {
        let mut command = topology.node(node).command(ROUTED);
        command.args(arguments);
        Router::run(command)
    };
    nodes.into_iter().map(start).collect()
}

/// Opens a stream `s` from a puppet on node `from` to one on node `to`.
fn connected(topology: &Topology, from: u8, to: u8) -> (Puppet, Puppet) {
    let (client, server, _) = stream::connected(PUPPET, topology, [from, to], "");
    (client, server)
}

fn counter(topology: &Topology, node: u8, name: &str) -> u64 {
    let counters = ask(&topology.node(node), ASK, &Question::Counters);
    let found = counters.pointer(name).and_then(serde_json::Value::as_u64);
    found.unwrap_or_else(|| panic!("no {name} in {counters}"))
}

fn chain__five_nodes_end_to_end() {
    five_nodes_end_to_end(ANY);
}

fn chain__in_user_space_five_nodes_end_to_end() {
    needs_frames();
    five_nodes_end_to_end(USER_SPACE);
}

fn five_nodes_end_to_end(arguments: &[&str]) {
    let topology = Topology::routed("chain", ["5"], 5);
    let routers = routers(&topology, 2..=4, arguments);
    let (mut client, mut server) = connected(&topology, 1, 5);
    let seed = seed::of("chain__five_nodes_end_to_end");
    send(&mut client, &mut server, seed, 64 * MIB);
    // Expect: every router has forwarded all frames, and dropped none without reason.
    for node in 2..=4 {
        assert!(counter(&topology, node, "/forwarded_bytes") > 64 * MIB, "node {node}");
        for why in ["bad_source", "no_route", "hop_limit", "too_big", "truncated"] {
            assert_eq!(counter(&topology, node, &format!("/dropped/{why}")), 0, "{node}: {why}");
        }
    }
    for router in routers {
        assert!(router.stop().contains("stopped"));
    }
}

/// These streams need no router, and the routers do not disturb them.
fn star__eight_nodes_on_a_switch() {
    let topology = Topology::routed("star", ["8"], 8);
    let _routers = routers(&topology, 1..=8, ANY);
    all_to_all(&topology, 8, MIB);
    for node in 1..=8 {
        assert_eq!(counter(&topology, node, "/forwarded_frames"), 0, "node {node}");
    }
}

fn hypercube__all_to_all() {
    let topology = Topology::routed("hypercube", ["3"], 8);
    let routers = routers(&topology, 1..=8, ANY);
    all_to_all(&topology, 8, 2 * MIB);
    drop(routers);
}

/// Every node sends `bytes` to every other one, all at the same time.
fn all_to_all(topology: &Topology, nodes: u8, bytes: u64) {
    let mut puppets: Vec<_> =
        (1..=nodes).map(|n| Puppet::start(&topology.node(n), PUPPET)).collect();
    let pairs: Vec<(u8, u8)> = (1..=nodes)
        .flat_map(|from| (1..=nodes).map(move |to| (from, to)))
        .filter(|(from, to)| from != to)
        .collect();
    let at = |node: u8| usize::from(node) - 1;
    for n in 1..=nodes {
        puppets[at(n)].ok(format!("listen l {n}:80"));
    }
    for (from, to) in &pairs {
        puppets[at(*from)].ok(format!("connect to{to} {to}:80"));
        puppets[at(*to)].ok(format!("accept l from{from}"));
        puppets[at(*to)].ok(format!("bg drain{from} drain from{from}"));
    }
    let seed = seed::of("all_to_all");
    let seed_of = |from: u8, to: u8| seed.wrapping_add(u64::from(from) * 100 + u64::from(to));
    for (from, to) in &pairs {
        let seed = seed_of(*from, *to);
        puppets[at(*from)].ok(format!("bg send{to} send to{to} {seed} {bytes}"));
    }
    for (from, to) in &pairs {
        puppets[at(*from)].ok(format!("join send{to}"));
        puppets[at(*from)].ok(format!("shutdown to{to} write"));
    }
    for (from, to) in &pairs {
        let expected = Tally::expected(seed_of(*from, *to), bytes).to_string();
        assert_eq!(puppets[at(*to)].ok(format!("join drain{from}")), expected, "{from} to {to}");
    }
}

/// From corner 000 to 111 frames go by 001 and 011: nodes 2 and 4.
struct Cube {
    topology: Topology,
    routers: Vec<Router>,
    client: Puppet,
    server: Puppet,
}

impl Cube {
    /// A cube with a stream of `bytes` in transit, some of which router 4 has forwarded.
    fn started(seed: u64, bytes: u64, arguments: &[&str]) -> Self {
        // The link is so slow that the transfer cannot end before the failure, however late this
        // thread runs.
        let topology = Topology::routed("hypercube", ["3", "--rate", "400mbit"], 8);
        let routers = routers(&topology, 1..=8, arguments);
        wait::until("router 4 to be known to router 2 as alive", || {
            let neighbours = ask(&topology.node(2), ASK, &Question::Neighbours);
            let lines = neighbours.as_array().expect("a list");
            lines.iter().any(|n| n["node"] == 4 && n["liveness"] == "up").then_some(())
        });
        let (mut client, mut server) = connected(&topology, 1, 8);
        server.ok("bg drain drain s");
        client.ok(format!("bg send send s {seed} {bytes}"));
        wait::until("some of it to be in transit", || {
            (counter(&topology, 4, "/forwarded_bytes") > MIB).then_some(())
        });
        Self { topology, routers, client, server }
    }

    fn arrives(&mut self) {
        let sent = self.client.ok("join send");
        self.client.ok("shutdown s write");
        assert_eq!(self.server.ok("join drain"), sent);
    }
}

/// Router 4 loses its link to node 8, and forwards by nodes 3 and 7.
fn failover__a_stream_survives_a_cut_link() {
    a_cut_link(ANY);
}

fn failover__in_user_space_a_stream_survives_a_cut_link() {
    needs_frames();
    a_cut_link(USER_SPACE);
}

fn a_cut_link(arguments: &[&str]) {
    let seed = seed::of("failover__a_stream_survives_a_cut_link");
    let mut cube = Cube::started(seed, 128 * MIB, arguments);
    cube.topology.topo(["link", "4", "down", "eth2"]);
    // Over UDP no end notices the lost link, and node 1 may take its next route, by nodes 5 and
    // 6, before router 4 has detected the loss of node 8.
    let others: &[u8] = if is_over_udp() { &[3, 6] } else { &[3] };
    wait::until("frames on the path round", || {
        let passes = |node: &u8| counter(&cube.topology, *node, "/forwarded_bytes") > MIB;
        others.iter().any(passes).then_some(())
    });
    cube.arrives();
}

/// Router 4 is stopped. Router 2 notices, and forwards by node 6.
fn failover__a_stream_survives_a_killed_router() {
    a_killed_router(ANY);
}

fn failover__in_user_space_a_stream_survives_a_killed_router() {
    needs_frames();
    a_killed_router(USER_SPACE);
}

fn a_killed_router(arguments: &[&str]) {
    let seed = seed::of("failover__a_stream_survives_a_killed_router");
    let mut cube = Cube::started(seed, 128 * MIB, arguments);
    drop(cube.routers.remove(3));
    // By nodes 2 and 6, or by 3 or 5 if router 1 has missed the probes of router 2 as well: all
    // routers share few processors.
    wait::until("frames on a path round", || {
        let passes = |n| counter(&cube.topology, n, "/forwarded_bytes") > MIB;
        [6, 3, 5].into_iter().any(passes).then_some(())
    });
    cube.arrives();
    let neighbours = ask(&cube.topology.node(2), ASK, &Question::Neighbours);
    let lines = neighbours.as_array().expect("a list");
    let dead = lines.iter().find(|n| n["node"] == 4).expect("a neighbour");
    assert_eq!((&dead["usable"], &dead["changes"]), (&false.into(), &1.into()));
}

/// How long a stream must survive without a router: systemd restarts one within 200 ms, a person
/// takes longer.
const ABSENCE: Duration = Duration::from_secs(2);

/// `kill -9` of the only router, and a new one after some time: streams wait and go on.
fn chain__a_router_killed_and_restarted() {
    // The link is so slow that the transfer cannot end before this thread kills the router.
    let topology = Topology::routed("chain", ["3", "--rate", "200mbit"], 3);
    let router = Router::start(&topology.node(2), ROUTED);
    let (mut client, mut server) = connected(&topology, 1, 3);
    let seed = seed::of("chain__a_router_killed_and_restarted");
    server.ok("bg drain drain s");
    client.ok(format!("bg send send s {seed} {}", 64 * MIB));
    wait::until("some of it to be in transit", || {
        (counter(&topology, 2, "/forwarded_bytes") > MIB).then_some(())
    });
    drop(router);
    let gone = Instant::now();
    let before: u64 = client.ok("timeouts s").parse().expect("a number");
    wait::until("the silence to be noticed", || {
        let now: u64 = client.ok("timeouts s").parse().expect("a number");
        (now > before).then_some(())
    });
    // The test must have an absence of this length.
    std::thread::sleep(ABSENCE.saturating_sub(gone.elapsed()));
    let _router = Router::start(&topology.node(2), ROUTED);
    let sent = client.ok("join send");
    client.ok("shutdown s write");
    assert_eq!(server.ok("join drain"), sent);
}

/// The router's packet sockets, by their inodes. Frames in the queue of a socket are lost if it is
/// closed.
fn sockets(topology: &Topology, router: &Router) -> Vec<String> {
    let open = std::fs::read_dir(format!("/proc/{}/fd", router.pid())).expect("it runs");
    let links = open.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    let open: Vec<_> = links.map(|link| link.display().to_string()).collect();
    // The column of the inode.
    let (table, column) = if is_over_udp() { ("udp", 9) } else { ("packet", 8) };
    let table = topology.node(2).run("cat", &[&format!("/proc/net/{table}")]);
    let numbers = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(column));
    let sockets = numbers.map(|number| format!("socket:[{number}]"));
    let mut own: Vec<_> = sockets.filter(|socket| open.contains(socket)).collect();
    own.sort();
    own
}

/// prphosts is replaced and reloaded while a stream passes the router: no frame is lost.
fn reload__a_hundred_times_under_load() {
    const ROUNDS: u64 = 100;
    let topology = Topology::routed("chain", ["3"], 3);
    let node = topology.node(2);
    let text = node.hosts();
    let hosts = prp_tests::scratch::TempFile::new(&text);
    let router = Router::run(node.command_with_hosts(hosts.path(), ROUTED));
    let before = sockets(&topology, &router);
    // One per device; over UDP the router's socket and the one at the node's own port.
    assert_eq!(before.len(), 2, "{before:?}");
    let (mut client, mut server) = connected(&topology, 1, 3);
    server.ok("bg drain drain s");
    let seed = seed::of("reload__a_hundred_times_under_load");
    client.ok(format!("bg send send s {seed} {}", 256 * MIB));
    for round in 0..ROUNDS {
        // One node is added, and one removed.
        let more = if round % 2 == 0 { "9 via 3 far\n" } else { "" };
        hosts.replace(format!("{text}{more}"));
        router.signal(Signal::SIGHUP);
        wait::until("the new routes", || {
            let status = ask(&node, ASK, &Question::Status);
            (status["reloads"] == round + 1).then_some(())
        });
    }
    let sent = client.ok("join send");
    client.ok("shutdown s write");
    assert_eq!(server.ok("join drain"), sent);
    for why in ["bad_source", "no_route", "all_down", "send_failed"] {
        assert_eq!(counter(&topology, 2, &format!("/dropped/{why}")), 0, "{why}");
    }
    // Expect: the router has the same sockets as before, with the frames in their queues.
    assert_eq!(sockets(&topology, &router), before);
}

fn reload__a_wrong_file_changes_nothing() {
    let topology = Topology::routed("chain", ["3"], 3);
    let node = topology.node(2);
    let text = node.hosts();
    let hosts = prp_tests::scratch::TempFile::new(&text);
    let router = Router::run(node.command_with_hosts(hosts.path(), ROUTED));
    for (wrong, expected) in [
        (format!("{text}9 by mistake\n"), "expected"),
        (text.replace("\n2 ", "\n7 "), "no longer 2"),
        (format!("ethertype 0x88b6\n{text}"), "restart"),
    ] {
        hosts.replace(&wrong);
        router.signal(Signal::SIGHUP);
        wait::until(format!("the complaint {expected:?}"), || {
            let status = ask(&node, ASK, &Question::Status);
            status["last_error"].as_str().is_some_and(|e| e.contains(expected)).then_some(())
        });
        let status = ask(&node, ASK, &Question::Status);
        assert_eq!((&status["nodes"], &status["reloads"]), (&3.into(), &0.into()));
    }
    // A dry run reports the changes, and makes none.
    hosts.replace(format!("{text}9 via 3 far\n"));
    let answer = ask(&node, ASK, &Question::Reload { dry_run: true });
    assert_eq!((&answer["applied"], &answer["changed"]), (&false.into(), &1.into()));
    assert_eq!(ask(&node, ASK, &Question::Status)["nodes"], 3);
    let answer = ask(&node, ASK, &Question::Reload { dry_run: false });
    assert_eq!((&answer["applied"], &answer["changes"][0]["node"]), (&true.into(), &9.into()));
    let status = ask(&node, ASK, &Question::Status);
    assert_eq!((&status["nodes"], &status["last_error"]), (&4.into(), &serde_json::Value::Null));
    let (mut client, mut server) = connected(&topology, 1, 3);
    send(&mut client, &mut server, 7, MIB);
}
