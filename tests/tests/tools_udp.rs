//! `prp ping`, `trace` and `doctor` over UDP by a user without privileges, and `prp dump` of
//! datagrams.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_tests::harness::skip;
use prp_tests::loopback::Loopback;
use prp_tests::puppet::Puppet;
use prp_tests::router::Router;
use prp_tests::scratch::TempFile;
use prp_tests::topology::{Node, Topology};
use prp_tests::wait;
use serde_json::Value;

prp_tests::main! {
    light:
        ping__a_process_of_the_node_answers,
        ping__answers_for_its_node_where_no_router_does,
        ping__takes_the_node_s_own_port_when_its_holder_ends,
        trace__routers_of_both_underlays,
        routed__has_the_udp_addresses_of_prphosts,
        doctor__what_is_wrong_with_the_route,
        doctor__the_holder_of_the_node_s_own_port_is_stopped,
        check__finds_the_own_node_where_any_address_can_be_bound,
        dump__shows_gso_batches_packet_by_packet;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");

/// The prp command in the folder of these tests' programs.
fn prp_path() -> PathBuf {
    let path = PathBuf::from(ROUTED).with_file_name("prp");
    if !path.exists() {
        skip("the prp command (cargo build -p prp-tools)");
    }
    path
}

/// As [`prp_path`], without any capability.
fn unprivileged_prp() -> Command {
    let path = prp_path();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]).arg(path);
    command
}

/// As [`unprivileged_prp`], on a node, with `hosts` as prphosts if it is set.
fn prp_on(node: &Node<'_>, hosts: Option<&Path>) -> Command {
    let prp = unprivileged_prp();
    let mut command = match hosts {
        Some(hosts) => node.command_with_hosts(hosts, prp.get_program()),
        None => node.command(prp.get_program()),
    };
    command.args(prp.get_args());
    command
}

/// The exit code, and the JSON that it prints.
fn json(command: &mut Command) -> (Option<i32>, Value) {
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let stdout = String::from_utf8_lossy(&stdout);
    let report = serde_json::from_str(&stdout)
        .unwrap_or_else(|e| panic!("{e}: {stdout}{}", String::from_utf8_lossy(&stderr)));
    (status.code(), report)
}

/// No router runs. The process that holds the node's own port answers, and after its end another
/// one.
fn ping__a_process_of_the_node_answers() {
    let nodes = Loopback::new();
    let start = |node: u8, port: u16| {
        let mut command = Command::new(PUPPET);
        command.env("PRP_HOSTS", nodes.hosts()).env("PRP_NODE", node.to_string());
        let mut process = Puppet::run(format!("puppet of node {node}"), command);
        process.ok(format!("listen l {node}:{port}"));
        process
    };
    let ping = |words: &[&str]| {
        let mut command = unprivileged_prp();
        command.env("PRP_HOSTS", nodes.hosts()).env("PRP_NODE", nodes.client.to_string());
        json(command.args(["ping", "--json"]).args(words))
    };
    let [first, second] = [80, 81].map(|port| start(nodes.server, port));
    for size in ["0", "32", "8000", "60000"] {
        let (code, report) = ping(&["-c", "5", "-i", "0.01", "-s", size, "beta"]);
        assert_eq!((code, &report["answered"]), (Some(0), &5.into()), "{size}: {report}");
        assert_eq!(report["answers"][0]["routers"], 0, "{report}");
    }
    // A process of the asking node holds the port to which answers from other ports are sent.
    let neighbour = start(nodes.client, 80);
    let (code, report) = ping(&["-c", "3", "-i", "0.01", "beta"]);
    assert_eq!((code, &report["answered"]), (Some(0), &3.into()), "{report}");
    drop((first, neighbour));
    let (code, report) = ping(&["-c", "100", "-i", "0.1", "-w", "9", "-q", "beta"]);
    assert!(report["answered"].as_u64().is_some_and(|n| n > 0), "{code:?} {report}");
    drop(second);
    let (code, report) = ping(&["-c", "2", "-i", "0.01", "-W", "0.05", "beta"]);
    assert_eq!((code, &report["answered"]), (Some(4), &0.into()), "{report}");
}

/// No other process runs on either node: each ping holds the own port of its node.
fn ping__answers_for_its_node_where_no_router_does() {
    let nodes = Loopback::new();
    let prp = |node: u8, words: &[&str]| {
        let mut command = unprivileged_prp();
        command.env("PRP_HOSTS", nodes.hosts()).env("PRP_NODE", node.to_string()).args(words);
        command
    };
    let mut first = prp(nodes.client, &["ping", "-q", "-i", "0.05", "-w", "60", "--json", "beta"]);
    let first = first.stdout(Stdio::piped()).spawn().expect("it runs");
    let second = ["ping", "-q", "-c", "100", "-i", "0.1", "-w", "9", "--json", "alpha"];
    let (code, report) = json(&mut prp(nodes.server, &second));
    assert!(report["answered"].as_u64().is_some_and(|n| n > 0), "{code:?} {report}");
    // No process owns the port.
    let mut scan = prp(nodes.server, &["cat", "-w", "20", "alpha", "7000"]);
    let Output { status, stderr, .. } = scan.output().expect("it runs");
    assert_eq!(status.code(), Some(3), "{}", String::from_utf8_lossy(&stderr));
    kill(Pid::from_raw(first.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    let output = first.wait_with_output().expect("a child");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["answered"].as_u64().is_some_and(|n| n > 0), "{report}");
}

/// A router sends all datagrams to the node's own port. Once the process that held the port has
/// ended, the ping itself hands them on.
fn ping__takes_the_node_s_own_port_when_its_holder_ends() {
    let nodes = Loopback::new();
    let prp = |node: u8, words: &[&str]| {
        let mut command = unprivileged_prp();
        command.env("PRP_HOSTS", nodes.hosts()).env("PRP_NODE", node.to_string()).args(words);
        command
    };
    let mut command = Command::new(PUPPET);
    command.env("PRP_HOSTS", nodes.hosts()).env("PRP_NODE", nodes.client.to_string());
    let mut holder = Puppet::run("the holder", command);
    holder.ok(format!("listen l {}:80", nodes.client));
    let mut first = prp(nodes.client, &["ping", "-i", "0.05", "-w", "60", "beta"]);
    let mut first = first.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut line = String::new();
    let mut out = BufReader::new(first.stdout.take().expect("a pipe"));
    out.read_line(&mut line).expect("it has opened its sockets");
    assert!(line.starts_with("PING "), "{line}");
    holder.kill();
    let second = ["ping", "-q", "-c", "100", "-i", "0.1", "-w", "9", "--json", "alpha"];
    let (code, report) = json(&mut prp(nodes.server, &second));
    kill(Pid::from_raw(first.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    first.wait().expect("a child");
    assert!(report["answered"].as_u64().is_some_and(|n| n > 0), "{code:?} {report}");
}

/// From an Ethernet segment to a UDP network and back.
fn trace__routers_of_both_underlays() {
    let (topology, hosts) = Topology::ethernet_then_udp();
    let _routers = [1, 2, 3].map(|node| {
        let hosts = hosts[usize::from(node) - 1].path();
        Router::run(topology.node(node).command_with_hosts(hosts, ROUTED))
    });
    // Ethernet needs a privilege, but the asking process at the other end needs none.
    let prp = PathBuf::from(ROUTED).with_file_name("prp");
    let commands = [
        (topology.node(1).command_with_hosts(hosts[0].path(), prp), "3"),
        (prp_on(&topology.node(3), Some(hosts[2].path())), "1"),
    ];
    for (mut command, to) in commands {
        let words = ["trace", "-q", "1", "-w", "5", "--json", to];
        let (code, report) = json(command.args(words));
        assert_eq!((code, &report["reached"]), (Some(0), &true.into()), "{report}");
        let nodes = [0, 1].map(|hop| report["hops"][hop]["answers"][0]["node"].to_string());
        assert_eq!(nodes, ["2", to], "{report}");
    }
}

/// An address is what prphosts has, and not the number by which the router knows it.
fn routed__has_the_udp_addresses_of_prphosts() {
    let topology = Topology::pair_with(["--underlay", "udp"]);
    let node = topology.node(1);
    let _router = Router::start(&node, ROUTED);
    let ask = |what: &str| {
        let (code, report) = json(prp_on(&node, None).args(["routed", what, "--json"]));
        assert_eq!(code, Some(0), "{report}");
        report
    };
    let [own, peer] = ["udp:10.99.0.1:5230", "udp:10.99.0.2:5230"];
    assert_eq!(ask("status")["devices"][0]["mac"], own);
    assert_eq!(ask("neighbours")[0]["mac"], peer);
    assert_eq!(ask("routes")[1]["next_hops"][0]["mac"], peer);
    assert!(ask("metrics").to_string().contains(&format!("\"mac\":\"{peer}\"")));
}

/// Runs the doctor on node 1 for the path to node 2; returns the kinds of faults and warnings.
fn examine(topology: &Topology) -> (Vec<String>, Value) {
    let (_, report) = json(prp_on(&topology.node(1), None).args(["doctor", "--json", "2"]));
    let findings = report["findings"].as_array().expect("a list").iter();
    let is_bad = |finding: &&Value| finding["severity"] != "note";
    let kinds = findings.filter(is_bad).map(|f| f["kind"].as_str().unwrap_or_default().to_owned());
    (kinds.collect(), report)
}

/// No such node, no fault, a link with a smaller MTU, and a filter that drops whole GSO batches.
fn doctor__what_is_wrong_with_the_route() {
    let topology = Topology::pair_with(["--underlay", "udp"]);
    let two = topology.node(2);
    let (kinds, report) = examine(&topology);
    assert_eq!(kinds, ["no_answer"], "{report:#}");
    assert!(report.to_string().contains("5230 to 5357"), "{report:#}");
    let other_port = TempFile::new("self 1\n1 udp:10.99.0.1\n2 udp:10.99.0.2:6000\n");
    let path = Some(other_port.path());
    let (_, report) = json(prp_on(&topology.node(1), path).args(["doctor", "--json", "2"]));
    assert!(report.to_string().contains("6000 to 6127"), "{report:#}");
    let mut process = Puppet::start(&two, PUPPET);
    process.ok("listen l 2:80");
    let (kinds, report) = examine(&topology);
    assert_eq!(kinds, [""; 0], "{report:#}");
    // Expect: datagrams that are lost since the loopback device is down are blamed on no process.
    two.run("ip", &["link", "set", "lo", "down"]);
    let (_, report) = json(prp_on(&two, None).args(["doctor", "--json"]));
    let text = report.to_string();
    assert!(text.contains("device lo is down") && !text.contains("node_port"), "{report:#}");
    two.run("ip", &["link", "set", "lo", "up"]);
    two.run("ip", &["link", "set", "eth0", "mtu", "1400"]);
    let (kinds, report) = examine(&topology);
    assert_eq!(kinds, ["mtu_hole"], "{report:#}");
    // As in prphosts: with the headers of IP and UDP.
    assert!(report.to_string().contains("mtu=1400 "), "{report:#}");
    two.run("ip", &["link", "set", "eth0", "mtu", "1500"]);
    if Command::new("nft").arg("--version").output().is_err() {
        skip("nft");
    }
    let rule = "add rule inet t in udp dport 5230-5357 meta length > 2000 drop";
    let chain = "add chain inet t in { type filter hook input priority 0; }";
    for command in ["add table inet t", chain, rule] {
        two.run("nft", &[command]);
    }
    let (kinds, report) = examine(&topology);
    assert_eq!(kinds, ["gso_batches_lost"], "{report:#}");
}

/// For a process of the same user the doctor names the process; for one of another user it names
/// the user.
fn doctor__the_holder_of_the_node_s_own_port_is_stopped() {
    let nodes = Loopback::new();
    let doctor = || {
        let mut command = unprivileged_prp();
        command.env("PRP_HOSTS", nodes.hosts()).env("PRP_NODE", nodes.server.to_string());
        let (_, report) = json(command.args(["doctor", "--json"]));
        let findings = report["findings"].as_array().expect("a list").iter();
        let found: Vec<_> = findings.filter(|it| it["kind"] == "node_port").cloned().collect();
        found
    };
    assert_eq!(doctor(), [Value::Null; 0], "nobody holds it");
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", PUPPET]);
    command.env("PRP_HOSTS", nodes.hosts()).env("PRP_NODE", nodes.server.to_string());
    let mut process = Puppet::run("the holder", command);
    process.ok(format!("listen l {}", nodes.at(80)));
    assert_eq!(doctor(), [Value::Null; 0], "it answers");
    let pid = process.pid();
    let signal = |signal| kill(Pid::from_raw(pid.cast_signed()), signal).expect("it runs");
    signal(Signal::SIGSTOP);
    let found = doctor();
    assert_eq!(found.len(), 1, "{found:?}");
    let words = |key: &str| found[0][key].as_str().expect("text").to_owned();
    let port = format!("udp:{}:5230", nodes.ip(nodes.server));
    for part in [&format!("puppet ({pid}) holds"), &port, "is stopped"] {
        assert!(words("cause").contains(part), "{found:?}");
    }
    assert!(words("fix").contains(&format!("kill -CONT {pid}")), "{found:?}");
    signal(Signal::SIGCONT);
    assert_eq!(doctor(), [Value::Null; 0], "it goes on");
    process.kill();
    let address = format!("{}:5230", nodes.ip(nodes.server));
    let _other = std::net::UdpSocket::bind(address).expect("it is free");
    let found = doctor();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].to_string().contains("does not answer"), "{found:?}");
}

/// The kernel allows programs to bind addresses of other machines, as on redundant routers
/// (keepalived).
fn check__finds_the_own_node_where_any_address_can_be_bound() {
    let topology = Topology::pair_with(["--underlay", "udp"]);
    let one = topology.node(1);
    let hosts = TempFile::new("1 udp:10.99.0.1\n2 udp:10.99.0.2\n");
    one.run("sh", &["-c", "echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind"]);
    let output = prp_on(&one, Some(hosts.path())).args(["hosts", "check"]).output();
    let Output { status, stdout, stderr } = output.expect("topo runs");
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(status.success() && stdout.contains("node 1"), "{stdout}{stderr}");
}

/// The scheduling policy of a process: the 41st field of its line in /proc.
fn policy(pid: u32) -> libc::c_int {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, fields) = line.rsplit_once(')').expect("the name of the program");
    let field = fields.split_whitespace().nth(38);
    field.and_then(|field| field.parse().ok()).expect("a policy")
}

/// The capture is taken at the sender's device, which gets whole GSO batches.
fn dump__shows_gso_batches_packet_by_packet() {
    let topology = Topology::pair_with(["--underlay", "udp"]);
    let (one, two) = (topology.node(1), topology.node(2));
    let prp = prp_path();
    let file = TempFile::new("");
    let path = file.path().to_str().expect("text");
    let mut dump = one.interruptible(&prp);
    let mut dump = dump.args(["dump", "-i", "eth0", "-w", path]).spawn().expect("topo runs");
    // By default the capture is of headers, and does not slow down other processes.
    let lines = TempFile::new("");
    let lines_path = lines.path().to_str().expect("text");
    let mut printing = one.interruptible(&prp);
    printing.args(["dump", "-i", "eth0", "--json"]);
    let out = std::fs::File::create(lines_path).expect("a file of ours");
    let mut printing = printing.stdout(out).spawn().expect("topo runs");
    let headers = TempFile::new("");
    let headers_path = headers.path().to_str().expect("text");
    let mut short = one.interruptible(&prp);
    short.args(["dump", "-i", "eth0", "-s", "128", "-w", headers_path]);
    let mut short = short.spawn().expect("topo runs");
    let read = |args: &[&str]| read_capture(&one, path, args);
    // Until the first packet the file may lack its header.
    wait::until("the first packets", || {
        let mut scan = one.command(&prp);
        scan.args(["cat", "-z", "-w", "0.2", "2", "9"]).output().expect("topo runs");
        let has_some = |path| std::fs::metadata(path).is_ok_and(|it| it.len() > 100);
        (has_some(path) && has_some(headers_path) && has_some(lines_path)).then_some(())
    });
    let mut server = two.command(&prp);
    server.args(["cat", "-lk", "7000", "-e", "cat >/dev/null"]);
    let mut server = server.spawn().expect("topo runs");
    wait::until("a server", || {
        let mut scan = one.command(&prp);
        let scan = scan.args(["cat", "-z", "2", "7000"]).output().expect("topo runs");
        scan.status.success().then_some(())
    });
    let mut client = one.command(&prp);
    client.args(["cat", "-q", "2", "7000"]).stdin(Stdio::piped());
    let mut client = client.spawn().expect("topo runs");
    let mut input = client.stdin.take().expect("a pipe");
    let mut sent = String::new();
    // The first GSO test comes after 1.5 MB, and its report some time after that.
    wait::until("GSO batches", || {
        let from = sent.len();
        let next = sent.lines().count();
        sent.extend((next..next + 50_000).map(|line| format!("{line}\n")));
        input.write_all(&sent.as_bytes()[from..]).expect("it reads");
        let rows = rows_of(&read_capture(&one, headers_path, &["--json", "--kind", "data"]));
        (rows.iter().filter(|row| is_gso_batch(row)).count() > 3).then_some(())
    });
    drop(input);
    assert!(client.wait().expect("a child").success());
    // Captured packets are written to the file later.
    wait::until("all bytes in the capture, once and in order", || {
        (read(&["--follow", "--port", "7000"]) == sent).then_some(())
    });
    let policies = [printing.id(), dump.id()].map(policy);
    assert_eq!(policies, [libc::SCHED_IDLE, libc::SCHED_OTHER], "a file has all packets");
    wait::until("a GSO batch among the lines", || {
        let text = std::fs::read_to_string(lines_path).expect("a file of ours");
        rows_of(&text).iter().any(is_gso_batch).then_some(())
    });
    let dumps = [&mut dump, &mut short, &mut printing].map(|dump| (dump, Signal::SIGINT));
    for (process, signal) in dumps.into_iter().chain([(&mut server, Signal::SIGTERM)]) {
        kill(Pid::from_raw(process.id().cast_signed()), signal).expect("it runs");
        process.wait().expect("a child");
    }
    let rows: Vec<Value> =
        read(&["--json"]).lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    assert!(
        rows.iter().all(|row| row["underlay"] == "udp" && row["kind"] != "unknown"),
        "{rows:?}"
    );
    let of_gso_batches = |kind: &str| {
        let is_one = |row: &&Value| row["kind"] == kind && row["gso_batch"].as_u64() > Some(1);
        rows.iter().filter(is_one).count()
    };
    assert!(of_gso_batches("data") > 100 && of_gso_batches("gso_probe") >= 8, "{rows:?}");
    let first = read(&["--kind", "gso-probe", "-c", "1"]);
    assert!(first.contains(":5231 > 10.") && first.contains("probe 0, of a GSO batch"), "{first}");
    check_headers(&one, headers_path);
    assert!(headers.path().metadata().expect("a file").len() < sent.len() as u64 / 4);
}

/// The output of `prp dump` for the capture at `path`.
fn read_capture(node: &Node<'_>, path: &str, args: &[&str]) -> String {
    let output = node.command(prp_path()).args(["dump", "-r", path]).args(args).output();
    let Output { status, stdout, stderr } = output.expect("topo runs");
    assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).into_owned()
}

/// The lines of JSON in `text`. The last one may be incomplete.
fn rows_of(text: &str) -> Vec<Value> {
    text.lines().filter_map(|row| serde_json::from_str(row).ok()).collect()
}

/// Whether the packet of `row` is the only captured one of its GSO batch.
fn is_gso_batch(row: &Value) -> bool {
    row["kind"] == "data" && row["gso_batch"].is_null() && row["bytes"].as_u64() > Some(10_000)
}

/// A capture of headers has the first packet of each GSO batch, and the batch's length.
fn check_headers(node: &Node<'_>, path: &str) {
    let rows = rows_of(&read_capture(node, path, &["--json", "--kind", "data"]));
    assert!(rows.iter().all(|row| row["destination_port"] == 7000));
    assert!(rows.iter().all(|row| row["gso_batch"] == 1 || row["gso_batch"].is_null()), "{rows:?}");
    assert!(rows.iter().any(is_gso_batch), "no GSO batch");
    let text = read_capture(node, path, &[]);
    assert!(text.contains(" | the first of "), "{text}");
}
