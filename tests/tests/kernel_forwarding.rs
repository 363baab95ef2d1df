//! Routers whose kernel forwards frames, and routers that forward all frames in user space.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::process::{Command, Output};

use nix::sys::signal::Signal;
use prp_routed::report::{KernelStatus, Question};
use prp_tests::harness::skip;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, UnprivilegedRunDir, ask};
use prp_tests::scratch::TempFile;
use prp_tests::seed;
use prp_tests::stream::{self, send};
use prp_tests::topology::{Node, Topology};
use prp_tests::wait;

prp_tests::main! {
    light:
        auto__the_kernel_forwards_and_is_counted,
        auto__forwards_by_new_routes_without_its_privilege,
        auto__a_device_made_again_is_served_in_user_space,
        auto__a_lowered_mtu_is_noticed,
        auto__goes_on_while_the_daemon_is_stopped,
        mixed__three_routers_of_which_one_does_it_itself,
        required__fails_where_it_may_not_and_auto_says_why;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");
const ATTACKER: &str = env!("CARGO_BIN_EXE_attacker");
const MIB: u64 = 1 << 20;

/// A chain, as root of the machine: root of a user namespace may not load programs into the kernel.
fn chain(nodes: &str) -> Topology {
    let topology = Topology::up("chain", [nodes]);
    if topology.is_rootless() {
        skip("root: the kernel takes no programs from a user namespace");
    }
    topology
}

fn start(node: &Node<'_>, kernel_forwarding: &str) -> Router {
    let mut command = node.command(ROUTED);
    command.args(["--kernel-forwarding", kernel_forwarding]);
    Router::run(command)
}

fn number(value: &serde_json::Value, name: &str) -> u64 {
    let found = value.pointer(name).and_then(serde_json::Value::as_u64);
    found.unwrap_or_else(|| panic!("no {name} in {value}"))
}

fn counters(node: &Node<'_>) -> serde_json::Value {
    ask(node, ASK, &Question::Counters)
}

fn by_kernel(node: &Node<'_>) -> u64 {
    number(&counters(node), "/forwarded_by_kernel")
}

fn forwarding_state(node: &Node<'_>) -> String {
    status_line(&ask(node, ASK, &Question::Status))
}

fn status_line(status: &serde_json::Value) -> String {
    let forwarding_state =
        serde_json::from_value::<KernelStatus>(status["kernel_forwarding"].clone());
    forwarding_state.expect("its form").to_string()
}

fn stream_through(topology: &Topology, last: u8, bytes: u64, name: &'static str) {
    let (mut client, mut server, _) = stream::connected(PUPPET, topology, [1, last], "");
    send(&mut client, &mut server, seed::of(name), bytes);
}

fn auto__the_kernel_forwards_and_is_counted() {
    let topology = chain("3");
    let node = topology.node(2);
    let _router = start(&node, "required");
    assert_eq!(forwarding_state(&node), "yes");
    stream_through(&topology, 3, 16 * MIB, "auto__the_kernel_forwards_and_is_counted");
    let (counted, status) = (counters(&node), ask(&node, ASK, &Question::Status));
    let frames = number(&counted, "/forwarded_frames");
    // Expect: the kernel forwarded all frames, and all counters include them.
    assert_eq!(number(&counted, "/forwarded_by_kernel"), frames, "{counted}");
    assert!(number(&counted, "/forwarded_bytes") > 16 * MIB, "{counted}");
    let devices = |name: &str| -> u64 {
        (0..2).map(|at| number(&status, &format!("/devices/{at}/{name}"))).sum()
    };
    assert!(devices("received") >= frames && devices("sent") >= frames, "{status}");
    let metrics = ask(&node, ASK, &Question::Metrics);
    let line = format!("prp_routed_kernel_forwarded_frames_total {frames}\n");
    assert!(metrics.as_str().expect("text").contains(&line), "{metrics}");
}

/// Requests from node 1 to `to`, which need not exist.
fn frames(topology: &Topology, to: &str, count: &str) {
    frames_of("request", topology, to, count);
}

fn frames_of(kind: &str, topology: &Topology, to: &str, count: &str) {
    let macs = ["02:00:00:00:00:02", "02:00:00:00:00:01"];
    let mut attacker = topology.node(1).command(ATTACKER);
    attacker.arg("eth0").args(macs).args(["1:80", to, kind, count, "7"]);
    assert!(attacker.output().expect("it starts").status.success());
}

fn auto__forwards_by_new_routes_without_its_privilege() {
    let topology = chain("3");
    let node = topology.node(2);
    let text = node.hosts();
    let hosts = TempFile::new(&text);
    let mut command = node.command_with_hosts(hosts.path(), ROUTED);
    command.args(["--kernel-forwarding", "required"]);
    let router = Router::run(command);
    frames(&topology, "9:80", "100");
    assert_eq!(by_kernel(&node), 0, "nobody knows of 9");
    wait::until("all of them to be looked at", || {
        (number(&counters(&node), "/dropped/no_route") == 100).then_some(())
    });
    hosts.replace(format!("{text}9 via 3 far\n"));
    router.signal(Signal::SIGHUP);
    wait::until("the new routes", || {
        (ask(&node, ASK, &Question::Status)["reloads"] == 1).then_some(())
    });
    wait::until("a frame by the kernel", || {
        frames(&topology, "9:80", "1");
        (by_kernel(&node) > 0).then_some(())
    });
    let before = by_kernel(&node);
    frames(&topology, "9:80", "100");
    assert_eq!(by_kernel(&node), before + 100);
}

/// As when its driver is loaded again.
fn auto__a_device_made_again_is_served_in_user_space() {
    let topology = chain("3");
    let [one, two] = [1, 2].map(|number| topology.node(number));
    let router = start(&two, "required");
    let before = Puppet::start(&one, PUPPET);
    frames(&topology, "3:80", "10");
    assert_eq!(by_kernel(&two), 10);
    two.run("ip", &["link", "del", "eth0"]);
    let (there, macs) = (before.pid().to_string(), ["02:00:00:00:00:01", "02:00:00:00:00:02"]);
    let (name, peer) = (["link", "add", "eth0", "address"], ["type", "veth", "peer", "name"]);
    two.run("ip", &[&name[..], &[macs[1]], &peer, &["far", "address", macs[0]]].concat());
    two.run("ip", &["link", "set", "far", "netns", &there, "name", "eth0"]);
    for node in [one, two] {
        node.run("ip", &["link", "set", "eth0", "up"]);
    }
    wait::until("it to be noticed", || router.log().contains("is another one").then_some(()));
    assert!(forwarding_state(&two).ends_with("comes by eth0"), "{}", forwarding_state(&two));
    // Expect: frames that arrive at it pass through the daemon, and frames that leave by it do not.
    let earlier = counters(&two);
    stream_through(&topology, 3, MIB, "auto__a_device_made_again_is_served_in_user_space");
    let after = counters(&two);
    let more = |name: &str| number(&after, name) - number(&earlier, name);
    let (all, kernel) = (more("/forwarded_frames"), more("/forwarded_by_kernel"));
    assert!(kernel > 0 && all - kernel > MIB / 1500, "{earlier} {after}");
}

/// The kernel does not forward frames that exceed the new MTU of a link.
fn auto__a_lowered_mtu_is_noticed() {
    let topology = chain("3");
    let node = topology.node(2);
    let _router = start(&node, "required");
    frames_of("data", &topology, "3:80", "32");
    assert!(by_kernel(&node) > 0);
    node.run("ip", &["link", "set", "eth1", "mtu", "1400"]);
    // The device drops them at first, and the router once it knows the new MTU.
    wait::until("the router to find a frame too big", || {
        frames_of("data", &topology, "3:80", "1");
        (number(&counters(&node), "/dropped/too_big") > 0).then_some(())
    });
    // Expect: small frames still pass.
    let before = by_kernel(&node);
    frames(&topology, "3:80", "10");
    assert_eq!(by_kernel(&node), before + 10);
}

fn auto__goes_on_while_the_daemon_is_stopped() {
    let topology = chain("3");
    let node = topology.node(2);
    let router = start(&node, "required");
    frames(&topology, "3:80", "10");
    router.signal(Signal::SIGSTOP);
    frames(&topology, "3:80", "10");
    router.signal(Signal::SIGCONT);
    assert_eq!(by_kernel(&node), 20);
}

fn mixed__three_routers_of_which_one_does_it_itself() {
    let topology = chain("5");
    let _routers = [(2, "required"), (3, "off"), (4, "auto")]
        .map(|(number, wanted)| start(&topology.node(number), wanted));
    stream_through(&topology, 5, 16 * MIB, "mixed__three_routers_of_which_one_does_it_itself");
    let forwarded = [2, 3, 4].map(|number| by_kernel(&topology.node(number)));
    assert!(forwarded[0] > 1000 && forwarded[1] == 0 && forwarded[2] > 1000, "{forwarded:?}");
    let by_itself = number(&counters(&topology.node(3)), "/forwarded_bytes");
    assert!(by_itself > 16 * MIB, "{by_itself}");
    assert_eq!(forwarding_state(&topology.node(3)), "no: kernel_forwarding is off");
}

/// A daemon on `node` with CAP_NET_RAW and no other privilege.
fn with_one_capability(
    node: &Node<'_>,
    program: &TempFile,
    dir: &UnprivilegedRunDir,
    kernel_forwarding: &str,
) -> Command {
    let mut command = node.command("setpriv");
    let keep = "-all,+net_raw";
    command.args(["--bounding-set", keep, "--inh-caps", keep, "--ambient-caps", keep]);
    command
        .args(["--reuid", "65534", "--clear-groups", "env", &dir.variable()])
        .arg(program.path());
    command.args(["--kernel-forwarding", kernel_forwarding]);
    command
}

fn required__fails_where_it_may_not_and_auto_says_why() {
    const WHY: &str = "needs CAP_BPF and CAP_NET_ADMIN";
    let topology = chain("3");
    let node = topology.node(2);
    let (program, dir) = (TempFile::copy(ROUTED), UnprivilegedRunDir::new(ASK));
    let mut command = with_one_capability(&node, &program, &dir, "required");
    let Output { status, stderr, .. } = command.output().expect("topo runs");
    let stderr = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(6), "{stderr}");
    assert!(stderr.contains("kernel forwarding is required") && stderr.contains(WHY), "{stderr}");
    let router = Router::run(with_one_capability(&node, &program, &dir, "auto"));
    assert!(router.log().contains(WHY), "{}", router.log());
    let status = status_line(&dir.ask(&node, &Question::Status));
    assert!(status.starts_with(&format!("no: {WHY}")), "{status}");
    stream_through(&topology, 3, MIB, "required__fails_where_it_may_not_and_auto_says_why");
    let counters = dir.ask(&node, &Question::Counters);
    assert_eq!(number(&counters, "/forwarded_by_kernel"), 0);
    assert!(number(&counters, "/forwarded_bytes") > MIB);
}
