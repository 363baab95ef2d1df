//! `prp doctor` finds every planted fault, and none on a healthy pair.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use prp_tests::harness::skip;
use prp_tests::program;
use prp_tests::router::Router;
use prp_tests::scratch::{ForeignFolder, TempFile};
use prp_tests::terminal::Terminal;
use prp_tests::topology::{Link, Node, Topology};
use prp_tests::wait;
use serde_json::Value;

prp_tests::main! {
    light:
        healthy__has_no_finding,
        healthy__has_no_finding_over_udp,
        machine__what_it_lacks_is_found,
        machine__a_filter_is_found,
        prphosts__what_is_wrong_is_found,
        process__one_that_is_stopped_is_found,
        router__one_that_is_stopped_is_found,
        router__a_reading_that_failed_has_its_cure,
        router__a_file_that_it_has_not_read_is_said,
        router__frames_of_a_wrong_source_are_found,
        router__frames_of_a_stranger_over_udp_are_found,
        rights__what_the_process_lacks_is_found,
        rights__calls_that_a_unit_refuses,
        path__a_node_that_is_not_reached,
        path__a_device_that_is_down_behind_a_router,
        path__an_mtu_hole_has_its_size,
        path__what_is_examined_is_on_the_terminal,
        path__losses_are_found,
        path__two_machines_of_one_number,
        path__a_loop_and_a_device_that_is_down,
        path__all_nodes,
        report__has_what_a_bug_report_needs;
}

const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const SANDBOXED: &str = env!("CARGO_BIN_EXE_sandboxed");
const WIRE: &str = env!("CARGO_BIN_EXE_wire");

/// The prp command in the folder of these tests' programs.
fn prp() -> PathBuf {
    program::prp(ROUTED)
}

/// Runs the doctor by `command`; returns its report.
fn report(mut command: Command) -> Value {
    let Output { status, stdout, stderr } = command.output().expect("topo runs");
    let text = String::from_utf8_lossy(&stdout);
    let report: Value = serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&stderr)));
    let count = |key: &str| report[key].as_u64().expect("a number");
    let is_bad = count("faults") + count("warnings") > 0;
    assert_eq!(status.code(), Some(i32::from(is_bad)), "{report:#}");
    report
}

/// Runs the doctor on `node` with `words`; returns its report.
fn examine(node: &Node<'_>, words: &[&str]) -> Value {
    let mut command = node.command(prp());
    command.args(["doctor", "--json"]).args(words);
    report(command)
}

/// As [`examine`], with a different prphosts.
fn examine_with(node: &Node<'_>, hosts: &Path) -> Value {
    let mut command = node.command_with_hosts(hosts, prp());
    command.args(["doctor", "--json"]);
    report(command)
}

/// Faults and warnings: kinds and causes. Each has a fix.
fn bad(report: &Value) -> Vec<(String, String)> {
    let findings = report["findings"].as_array().expect("a list");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let is_bad = |finding: &&Value| finding["severity"] != "note";
    let bad: Vec<_> = findings.iter().filter(is_bad).collect();
    assert!(bad.iter().all(|f| f["fix"].is_string()), "one has no fix: {report:#}");
    bad.into_iter().map(|f| (text(f, "kind"), text(f, "cause"))).collect()
}

/// Checks that there is a finding of this kind with these words in its cause.
#[track_caller]
fn assert_finds(report: &Value, kind: &str, words: &str) {
    let found = bad(report);
    let is_it = |(k, cause): &(String, String)| k == kind && cause.contains(words);
    assert!(found.iter().any(is_it), "no {kind} with {words:?} in {report:#}");
}

fn ip(node: &Node<'_>, words: &str) {
    node.run("ip", &words.split(' ').collect::<Vec<_>>());
}

fn healthy__has_no_finding() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    // A missing router is only a note.
    assert_eq!(bad(&examine(&one, &[])), []);
    let _routers = [Router::start(&one, ROUTED), Router::start(&two, ROUTED)];
    let report = examine(&one, &["2"]);
    assert_eq!(bad(&report), [], "{report:#}");
    assert!(!report["findings"].to_string().contains("no_router"), "{report:#}");
    let mut command = one.command(prp());
    let output = command.args(["doctor", "-q", "2"]).output().expect("topo runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 faults, 0 warnings\n");
}

fn healthy__has_no_finding_over_udp() {
    let topology = Topology::pair_with(["--underlay", "udp"]);
    let _routers = [1, 2].map(|node| Router::start(&topology.node(node), ROUTED));
    let report = examine(&topology.node(1), &["2"]);
    assert_eq!(bad(&report), [], "{report:#}");
}

/// A bridge port, a device that is down, one without a link, one that does not exist, and a
/// queueing discipline that shapes.
fn machine__what_it_lacks_is_found() {
    let topology = Topology::pair();
    let two = topology.node(2);
    ip(&two, "link add br0 type bridge");
    ip(&two, "link set eth0 master br0");
    assert_finds(&examine(&two, &[]), "prphosts", "eth0 is a port of the bridge br0");
    ip(&two, "link set eth0 nomaster");
    two.run(
        "tc",
        &[
            "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "1mbit", "burst", "10kb",
            "latency", "1s",
        ],
    );
    assert_finds(&examine(&two, &[]), "qdisc", "tbf");
    two.run("tc", &["qdisc", "del", "dev", "eth0", "root"]);
    assert_eq!(bad(&examine(&two, &[])), []);
    topology.link(1, Link::Down);
    wait::until("eth0 has no link", || {
        two.run("ip", &["-o", "link", "show", "eth0"]).contains("NO-CARRIER").then_some(())
    });
    assert_finds(&examine(&two, &[]), "prphosts", "eth0 has no link");
    topology.link(2, Link::Down);
    assert_finds(&examine(&two, &[]), "prphosts", "eth0 is down");
    let absent = TempFile::new(two.hosts().replace("eth0", "eth7"));
    assert_finds(&examine_with(&two, absent.path()), "prphosts", "eth7");
}

/// The rule drops what comes from PRP: the machine that has it is told so, and the others are told
/// where to look.
fn machine__a_filter_is_found() {
    if Command::new("nft").arg("--version").output().is_err() {
        skip("nft");
    }
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let _router = Router::start(&two, ROUTED);
    for command in [
        "add table netdev f",
        "add chain netdev f c { type filter hook ingress device eth0 priority 0; }",
        "add rule netdev f c ether type 0x88b5 drop",
    ] {
        two.run("nft", &[command]);
    }
    assert_finds(&examine(&two, &[]), "filter", "at eth0, c of table f, sees all that comes");
    let report = examine(&one, &["2"]);
    assert_finds(&report, "no_answer", "2 (node2) does not answer");
    assert!(report.to_string().contains("nft list ruleset"), "{report:#}");
    two.run("nft", &["delete table netdev f"]);
    assert_eq!(bad(&examine(&two, &[])), []);
    assert_eq!(bad(&examine(&one, &["2"])), []);
}

/// A router sends what is for node 3 back: the doctor names the command that finds the loop. Each
/// cause is named once.
fn path__a_loop_and_a_device_that_is_down() {
    let topology = Topology::up("chain", ["3"]);
    let (one, two) = (topology.node(1), topology.node(2));
    let is_third = |line: &&str| line.starts_with("3 ") || line.starts_with("3\t");
    let others = two.hosts();
    let others = others.lines().filter(|line| !is_third(line)).chain(["3 via 1 node3"]);
    let looped = TempFile::new(others.map(|line| format!("{line}\n")).collect::<String>());
    let _router = Router::run(two.command_with_hosts(looped.path(), ROUTED));
    let report = examine(&one, &["3"]);
    let text = report["findings"].to_string();
    assert!(text.contains("prp hosts check --all"), "{report:#}");
    topology.link(1, Link::Down);
    let report = examine(&one, &["2"]);
    assert_finds(&report, "prphosts", "eth0 is down");
    assert_eq!(bad(&report).len(), 1, "one cause: {report:#}");
}

/// All nodes of prphosts in place of one.
fn path__all_nodes() {
    let topology = Topology::up("chain", ["3"]);
    let (one, two) = (topology.node(1), topology.node(2));
    let routers = [Router::start(&one, ROUTED), Router::start(&two, ROUTED)];
    let third = Router::start(&topology.node(3), ROUTED);
    assert_eq!(bad(&examine(&one, &["--all"])), []);
    drop(third);
    // Its neighbour may have noticed, and says so.
    let found = bad(&examine(&one, &["--all"]));
    assert!(found.len() == 1 && found[0].1.contains("3 (node3)"), "{found:?}");
    drop(routers);
}

/// A file for a bug report, which has the findings and what the programs say, and no payload.
fn report__has_what_a_bug_report_needs() {
    const SECRET: &str = "the-payload-of-a-connection";
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let _routers = [Router::start(&one, ROUTED), Router::start(&two, ROUTED)];
    let mut server = two.command(prp());
    let mut server = server
        .args(["cat", "-l", "7000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("topo runs");
    wait::until("a listener", || {
        two.run(prp().to_str().expect("text"), &["stat", "-lH"]).contains("LISTEN").then_some(())
    });
    let mut client = one.command(prp());
    client.args(["cat", "2", "7000"]).stdin(Stdio::piped());
    let mut client = client.spawn().expect("topo runs");
    let mut input = client.stdin.take().expect("a pipe");
    writeln!(input, "{SECRET}").expect("it is read");
    wait::until("a connection", || {
        one.run(prp().to_str().expect("text"), &["stat", "-H"]).contains("ESTAB").then_some(())
    });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("report");
    let mut command = one.command(prp());
    command.args(["doctor", "2", "--report"]).arg(&path);
    let output = command.output().expect("topo runs");
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(&path).expect("it was written");
    for words in [
        env!("CARGO_PKG_VERSION"),
        "Linux",
        "02:00:00:00:00:02",
        "eth0",
        "ESTAB",
        "uptime",
        "0 faults",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(!text.contains(SECRET), "{text}");
    // A file that is there is kept.
    let mut command = one.command(prp());
    command.args(["doctor", "--report"]).arg(&path);
    let again = command.output().expect("topo runs");
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), text);
    // Each end goes on until both have ended.
    drop((input, server.stdin.take()));
    client.wait().expect("a child");
    server.wait().expect("a child");
}

/// No file, a mistake, a wrong device name, a wrong address, no line of its own, an address twice,
/// and an MTU larger than the device's.
fn prphosts__what_is_wrong_is_found() {
    let topology = Topology::pair();
    let two = topology.node(2);
    let good = two.hosts();
    let with = |text: String| {
        let file = TempFile::new(text);
        examine_with(&two, file.path())
    };
    assert_finds(&examine_with(&two, Path::new("/nowhere/prphosts")), "prphosts", "No such file");
    assert_finds(&with(format!("{good}9 here\n")), "prphosts", "expected");
    ip(&two, "link property add dev eth0 altname lan0");
    let renamed = with(good.replace("eth0", "lan0"));
    assert_finds(&renamed, "prphosts", "lan0 is an alternative name of device eth0");
    let moved = good.replace("02:00:00:00:00:02", "02:00:00:00:00:0a");
    assert_finds(&with(format!("self 2\n{moved}")), "prphosts", "and not 02:00:00:00:00:0a");
    assert_finds(&with(moved), "prphosts", "no line has an address of this machine");
    let twice = format!("{good}9 02:00:00:00:00:01 eth0\n");
    assert_finds(&with(twice), "prphosts", "is there twice, for nodes 1 and 9");
    let own = |line: &str| {
        let is_own = line.contains("02:00:00:00:00:02");
        if is_own { format!("{line} mtu=9000\n") } else { format!("{line}\n") }
    };
    assert_finds(&with(good.lines().map(own).collect()), "mtu", "mtu=9000 of this node");
}

fn process__one_that_is_stopped_is_found() {
    let topology = Topology::pair();
    let one = topology.node(1);
    let mut child = one.command(prp()).args(["cat", "-l", "7000"]).spawn().expect("topo runs");
    let pid = Pid::from_raw(child.id().cast_signed());
    wait::until("a listener", || {
        let listed = one.run(prp().to_str().expect("text"), &["stat", "-lH"]);
        listed.contains("LISTEN").then_some(())
    });
    kill(pid, Signal::SIGSTOP).expect("it runs");
    assert_finds(&examine(&one, &[]), "process_silent", &format!("prp ({pid}) is stopped"));
    kill(pid, Signal::SIGKILL).expect("it is there");
    child.wait().expect("a child");
}

/// The fix of the finding of this kind.
#[track_caller]
fn fix_of(report: &Value, kind: &str) -> String {
    let findings = report["findings"].as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["kind"] == kind);
    let found = found.unwrap_or_else(|| panic!("no {kind} in {report:#}"));
    found["fix"].as_str().expect("a fix").to_owned()
}

fn router__one_that_is_stopped_is_found() {
    let topology = Topology::pair();
    let two = topology.node(2);
    let router = Router::start(&two, ROUTED);
    router.signal(Signal::SIGSTOP);
    let report = examine(&two, &[]);
    let pid = router.pid();
    assert_finds(&report, "router_silent", &format!("node 2 (process {pid}) is stopped"));
    assert_eq!(fix_of(&report, "router_silent"), format!("`kill -CONT {pid}`"));
    let output = two.command(prp()).args(["routed", "status"]).output().expect("topo runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("is stopped") && text.contains(&format!("`kill -CONT {pid}`")), "{text}");
    router.signal(Signal::SIGCONT);
    assert_eq!(bad(&examine(&two, &[])), []);
}

/// What takes a restart, a mistake, and a mistake that was taken back since.
fn router__a_reading_that_failed_has_its_cure() {
    let topology = Topology::pair();
    let two = topology.node(2);
    let good = two.hosts();
    let hosts = TempFile::new(&good);
    let router = Router::run(two.command_with_hosts(hosts.path(), ROUTED));
    let examine_after = |text: String, expected: &str| {
        hosts.replace(text);
        router.signal(Signal::SIGHUP);
        wait::until(format!("a complaint with {expected:?}"), || {
            let report = examine(&two, &[]);
            bad(&report).iter().any(|(_, cause)| cause.contains(expected)).then_some(report)
        })
    };
    let report = examine_after(format!("ethertype 0x88b6\n{good}"), "no longer 0x88b5");
    assert!(fix_of(&report, "router_hosts").starts_with("restart prp-routed"), "{report:#}");
    let report = examine_after(format!("{good}9 here\n"), "expected");
    assert!(fix_of(&report, "router_hosts").starts_with("fix that"), "{report:#}");
    // Expect: nothing is left of it once the file is what is in force, without another reload.
    hosts.replace(&good);
    let report = examine(&two, &[]);
    assert_eq!(bad(&report), [], "{report:#}");
}

fn router__a_file_that_it_has_not_read_is_said() {
    let topology = Topology::pair();
    let two = topology.node(2);
    let hosts = TempFile::new(two.hosts());
    let router = Router::run(two.command_with_hosts(hosts.path(), ROUTED));
    hosts.replace(format!("{}9 02:00:00:00:00:09 eth0\n", two.hosts()));
    let is_said = |report: &Value| {
        bad(report).iter().any(|(_, cause)| cause.contains("was written after it was read"))
    };
    let report = examine(&two, &[]);
    assert!(is_said(&report), "{report:#}");
    assert!(fix_of(&report, "router").contains("prp routed reload --dry-run"), "{report:#}");
    router.signal(Signal::SIGHUP);
    wait::until("the new file in force", || (!is_said(&examine(&two, &[]))).then_some(()));
}

/// Sends echoes of node 1 until the doctor of node 2 finds that its router drops them for their
/// source; the cause.
fn wrong_source(topology: &Topology, expected: &str) -> String {
    let (one, two) = (topology.node(1), topology.node(2));
    wait::until(format!("a complaint with {expected:?}"), || {
        let mut ping = one.command(prp());
        let output = ping.args(["ping", "-c", "1", "-W", "0.1", "2"]).output();
        assert!(!output.expect("topo runs").status.success(), "no answer goes back");
        let found = bad(&examine(&two, &[]));
        found.into_iter().find_map(|(kind, cause)| {
            (kind == "router" && cause.contains(expected)).then_some(cause)
        })
    })
}

/// The file of one node has another address for the other one.
fn router__frames_of_a_wrong_source_are_found() {
    let topology = Topology::pair();
    let two = topology.node(2);
    let wrong = two.hosts().replace("02:00:00:00:00:01", "02:00:00:00:00:11");
    let hosts = TempFile::new(wrong);
    let router = Router::run(two.command_with_hosts(hosts.path(), ROUTED));
    let cause = wrong_source(&topology, "node 1 (node1) come from 02:00:00:00:00:01 at eth0, ");
    assert!(cause.ends_with(" says 02:00:00:00:00:11"), "{cause}");
    // Expect: once the file is right nothing is left of it.
    hosts.replace(two.hosts());
    router.signal(Signal::SIGHUP);
    wait::until("no complaint", || bad(&examine(&two, &[])).is_empty().then_some(()));
}

fn router__frames_of_a_stranger_over_udp_are_found() {
    let topology = Topology::pair_with(["--underlay", "udp"]);
    let two = topology.node(2);
    let other = |line: &str| {
        let is_of_one = line.starts_with("1 ") || line.starts_with("1\t");
        if is_of_one { "1 udp:192.0.2.1 node1\n".to_owned() } else { format!("{line}\n") }
    };
    let wrong: String = two.hosts().lines().map(other).collect();
    let hosts = TempFile::new(wrong);
    let _router = Router::run(two.command_with_hosts(hosts.path(), ROUTED));
    let cause = wrong_source(&topology, "node 1 (node1) come from udp:10.");
    assert!(cause.ends_with(" says udp:192.0.2.1:5230"), "{cause}");
}

/// No CAP_NET_RAW, few descriptors, a seccomp filter without bpf, and a folder for the router's
/// sockets that all users may write to.
fn rights__what_the_process_lacks_is_found() {
    let topology = Topology::pair();
    let one = topology.node(1);
    let mut command = one.command("prlimit");
    command.arg("--nofile=100").arg(prp()).args(["doctor", "--json"]);
    assert_finds(&report(command), "descriptors", "100 descriptors");
    // A folder of this user: the owner of another folder is unknown in a user namespace.
    let folder = ForeignFolder::new(Uid::effective().as_raw(), 0o777);
    let mut command = one.command_with("PRP_RUN_DIR", folder.path(), prp());
    command.args(["doctor", "--json"]);
    assert_finds(&report(command), "run_dir", "other users may write to it");
    if topology.is_rootless() {
        skip("root: nobody else may give privileges up so");
    }
    let words = ["--bounding-set", "-all", "--inh-caps", "-all"];
    let program = TempFile::copy(prp().to_str().expect("a plain name"));
    let mut command = one.command("setpriv");
    command.args(words).args(["--reuid", "65534", "--clear-groups"]).arg(program.path());
    command.args(["doctor", "--json", "2"]);
    assert_finds(&report(command), "privilege_raw", "no CAP_NET_RAW");
}

/// A unit's list of system calls leaves out what the kernel's forwarding needs.
fn rights__calls_that_a_unit_refuses() {
    program::require_unit_call_sets();
    let topology = Topology::pair();
    if topology.is_rootless() {
        skip("root: nobody else may give privileges up so");
    }
    let unit = TempFile::new("[Service]\nSystemCallFilter=@system-service @network-io\n");
    let mut command = topology.node(1).command(SANDBOXED);
    command.arg(unit.path()).arg(prp()).args(["doctor", "--json"]);
    assert_finds(&report(command), "seccomp", "refuses bpf(2)");
}

/// No router on that node, no line for the node, and no route behind a router.
fn path__a_node_that_is_not_reached() {
    let topology = Topology::up("chain", ["3"]);
    let one = topology.node(1);
    assert_finds(&examine(&one, &["2"]), "no_answer", "2 (node2) does not answer");
    assert_finds(&examine(&one, &["77"]), "route", "77");
    let two = topology.node(2);
    let is_known = |line: &&str| !line.starts_with("3 ") && !line.starts_with("3\t");
    let ignorant: String = two.hosts().lines().filter(is_known).map(|l| format!("{l}\n")).collect();
    let ignorant = TempFile::new(ignorant);
    let _router = Router::run(two.command_with_hosts(ignorant.path(), ROUTED));
    assert_finds(&examine(&one, &["3"]), "no_route", "2 (node2) has no route to 3 (node3)");
}

/// The router before says so to all that ask, and a connection fails at once.
fn path__a_device_that_is_down_behind_a_router() {
    let topology = Topology::up("chain", ["3"]);
    let one = topology.node(1);
    let _routers = [2, 3].map(|node| Router::start(&topology.node(node), ROUTED));
    wait::until("a route", || bad(&examine(&one, &["3"])).is_empty().then_some(()));
    ip(&topology.node(2), "link set eth1 down");
    let cause = "2 (node2) has no route to 3 (node3): eth1 is down";
    let report = wait::until("a router that knows", || {
        let report = examine(&one, &["3"]);
        bad(&report).iter().any(|(_, found)| found == cause).then_some(report)
    });
    assert!(fix_of(&report, "no_route").contains("`prp doctor`"), "{report:#}");
    let run = |words: &[&str]| {
        let output = one.command(prp()).args(words).stdin(Stdio::null()).output();
        let Output { status, stdout, stderr } = output.expect("topo runs");
        let text = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (status.code(), text.concat())
    };
    let (_, text) = run(&["ping", "-c", "1", "3"]);
    assert!(text.contains("From 2 (node2)") && text.contains("eth1 is down"), "{text}");
    let (code, text) = run(&["trace", "3"]);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("no route to it from 2 (node2): eth1 is down"), "{text}");
    // Expect: it does not wait until it gives up.
    let (code, text) = run(&["cat", "3", "7000"]);
    assert_eq!(code, Some(5), "{text}");
    assert!(text.contains("node 2, a router on the path to node 3, has no route on"), "{text}");
}

/// The device sends frames of 1500 bytes, and the path loses those of more than 1200.
fn path__an_mtu_hole_has_its_size() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let _router = Router::start(&two, ROUTED);
    ip(&two, "link set eth0 mtu 1200");
    let report = examine(&one, &["2"]);
    assert_finds(&report, "mtu_hole", "frames of 1500 bytes do not get to 2 (node2)");
    // A virtual link accepts four bytes more than its MTU, for a VLAN tag.
    let found = bad(&report);
    let sizes = ["those of 1200 do", "those of 1204 do"];
    assert!(sizes.iter().any(|size| found[0].1.contains(size)), "{found:?}");
    // What is to be written has no room for it.
    let report = report.to_string();
    assert!(report.contains("mtu=1200 "), "{report}");
}

/// The search for a size takes seconds.
fn path__what_is_examined_is_on_the_terminal() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let _router = Router::start(&two, ROUTED);
    ip(&two, "link set eth0 mtu 1200");
    let prp = prp();
    let words = [prp.to_str().expect("text"), "doctor", "-q", "2"];
    let terminal = Terminal::run(&one, &words, 24, 160);
    terminal.wait_for(|screen| screen.contains("examining which frames get to 2 (node2)"));
    terminal.wait_for(|screen| screen.contains("fix: mtu="));
    // Expect: nothing of it is left.
    assert!(!terminal.screen().contains("examining"), "{}", terminal.screen());
    assert_eq!(terminal.finish().code(), Some(1));
}

fn path__losses_are_found() {
    let topology = Topology::faulty(WIRE, ["--seed", "11"]);
    let _router = Router::start(&topology.node(2), ROUTED);
    topology.topo(["faults", "--loss", "30%"]);
    assert_finds(&examine(&topology.node(1), &["2"]), "loss", "of 20 echoes");
}

/// Each echo has two answers, as if two machines had the same address.
fn path__two_machines_of_one_number() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let name = format!("prp-tests-doctor-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir(&folder).expect("a folder of ours");
    let routers = [
        Router::start(&two, ROUTED),
        Router::run(two.command_with("PRP_RUN_DIR", &folder, ROUTED)),
    ];
    let report = examine(&one, &["2"]);
    drop(routers);
    let _ = std::fs::remove_dir_all(&folder);
    assert_finds(&report, "duplicate_node", "two machines have its number");
}
