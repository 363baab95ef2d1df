//! The prp command on nodes with a faulty device, prphosts, privilege or link.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_tests::harness::skip;
use prp_tests::program;
use prp_tests::router::Router;
use prp_tests::scratch::TempFile;
use prp_tests::topology::{Link, Node, Topology};
use prp_tests::wait;
use serde_json::Value;

prp_tests::main! {
    light:
        check__a_port_of_a_bridge_and_a_bridge_of_another_address,
        check__an_alternative_name_and_a_device_that_is_down,
        connect__where_the_own_device_is_down_says_so,
        dump__captures_and_filters,
        dump__of_more_than_the_rate_pauses,
        dump__takes_no_more_than_the_rate,
        ping__counts_and_ends_with_a_summary,
        ping__without_the_privilege_says_what_is_missing,
        stat__shows_both_ends_and_filters,
        routed__is_found_whatever_is_wrong_with_prphosts,
        trace__gives_up_without_answers;
}

const ROUTED: &str = env!("CARGO_BIN_EXE_routed");

/// The prp command in the folder of these tests' programs.
fn prp() -> PathBuf {
    program::prp(ROUTED)
}

fn run(node: &Node<'_>, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = node.command(prp());
    command.args(args);
    program::finish(command)
}

/// As [`run`], with a different prphosts.
fn run_with(node: &Node<'_>, hosts: &TempFile, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = node.command_with_hosts(hosts.path(), prp());
    command.args(args);
    program::finish(command)
}

fn ip(node: &Node<'_>, words: &str) {
    node.run("ip", &words.split(' ').collect::<Vec<_>>());
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// A bridge takes the frames of its ports. A port that joins may change the bridge's address.
fn check__a_port_of_a_bridge_and_a_bridge_of_another_address() {
    let topology = Topology::pair();
    let two = topology.node(2);
    let (code, _, stderr) = run(&two, &["hosts", "check"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    ip(&two, "link add br0 type bridge");
    ip(&two, "link set br0 up");
    ip(&two, "link set eth0 master br0");
    let (code, _, stderr) = run(&two, &["hosts", "check"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("eth0 is a port of the bridge br0"), "{stderr}");
    let by_bridge = TempFile::new(two.hosts().replace("eth0", "br0"));
    let (code, _, stderr) = run_with(&two, &by_bridge, &["hosts", "check"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    ip(&two, "link add low address 00:11:22:33:44:55 type veth peer name far");
    ip(&two, "link set low master br0");
    let (code, _, stderr) = run_with(&two, &by_bridge, &["hosts", "check"]);
    assert_eq!(code, Some(1), "{stderr}");
    let expected = "br0 has the hardware address 00:11:22:33:44:55, and not 02:00:00:00:00:02, which is \
                    that of eth0";
    assert!(stderr.contains(expected), "{stderr}");
}

fn check__an_alternative_name_and_a_device_that_is_down() {
    let topology = Topology::pair();
    let two = topology.node(2);
    ip(&two, "link property add dev eth0 altname lan0");
    let other_name = TempFile::new(two.hosts().replace("eth0", "lan0"));
    let (code, _, stderr) = run_with(&two, &other_name, &["hosts", "check"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("lan0 is an alternative name of device eth0; write eth0"), "{stderr}");
    topology.link(1, Link::Down);
    let (code, stdout, _) = run(&two, &["hosts", "check"]);
    assert_eq!(code, Some(0), "the other end is not ours: {stdout}");
    assert!(stdout.contains("note: ") && stdout.contains("eth0 has no link"), "{stdout}");
    topology.link(2, Link::Down);
    let (code, _, stderr) = run(&two, &["hosts", "check"]);
    assert!(code == Some(1) && stderr.contains("eth0 is down"), "{stderr}");
    // So does a listener, which would otherwise wait without an error.
    let mut listener = two.interruptible(prp());
    listener.args(["cat", "-lv", "7000"]).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut listener = listener.spawn().expect("topo runs");
    let lines = BufReader::new(listener.stderr.take().expect("a pipe")).lines();
    let printed = lines.map_while(Result::ok);
    let printed: Vec<_> = printed.take_while(|line| !line.contains("listening on")).collect();
    assert!(printed.iter().any(|line| line.contains("eth0 is down")), "{printed:?}");
    kill(Pid::from_raw(listener.id().cast_signed()), Signal::SIGINT).expect("it runs");
    listener.wait().expect("a child");
}

/// No node answers, and the error names the cause.
fn connect__where_the_own_device_is_down_says_so() {
    let topology = Topology::pair();
    let one = topology.node(1);
    let (code, _, stderr) = run(&one, &["cat", "-w", "0.3", "2", "7000"]);
    assert_eq!(code, Some(4), "{stderr}");
    assert!(
        stderr.contains("2:7000: no answer from the peer for 0.3 s; is a server started"),
        "{stderr}"
    );
    // Expect: an error at once, since waiting would not help. The kernel reports a lost link
    // after a while.
    topology.link(2, Link::Down);
    let flags = || one.run("ip", &["-o", "link", "show", "eth0"]);
    wait::until("eth0 has no link", || flags().contains("NO-CARRIER").then_some(()));
    let (code, _, stderr) = run(&one, &["ping", "-c", "1", "2"]);
    assert!(code == Some(4) && stderr.contains("device eth0 has no link"), "{stderr}");
    let (code, _, stderr) = run(&one, &["cat", "-w", "60", "2", "7000"]);
    assert!(
        code == Some(5) && stderr.contains("eth0 of this machine is down or has no"),
        "{stderr}"
    );
    topology.link(1, Link::Down);
    let (code, _, stderr) = run(&one, &["cat", "-w", "60", "2", "7000"]);
    assert!(code == Some(5) && stderr.contains("eth0 is down"), "{stderr}");
    assert!(!stderr.contains("no answer"), "{stderr}");
}

/// A live capture is read again from the file, and filtered by kind.
fn dump__captures_and_filters() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let file = TempFile::new("");
    let path = file.path().to_str().expect("text");
    let mut dump = one.interruptible(prp());
    dump.args(["dump", "-i", "eth0", "-w", path]).stderr(Stdio::piped());
    let dump = dump.spawn().expect("topo runs");
    let read = |args: &[&str]| {
        let (code, stdout, why) = run(&one, &[&["dump", "-r", path], args].concat());
        assert_eq!(code, Some(0), "{args:?}: {why}");
        stdout
    };
    let (code, _, why) = run(&one, &["dump", "-i", "eth9"]);
    let wanted = "prp: capturing: eth9: no such device; there are lo, eth0";
    assert!(code == Some(5) && why.starts_with(wanted), "{why}");
    // Until the first frame the file may lack its header.
    wait::until("the first frames", || {
        run(&one, &["cat", "-z", "-w", "0.2", "2", "9"]);
        std::fs::metadata(path).is_ok_and(|it| it.len() > 100).then_some(())
    });
    let mut server = two.command(prp());
    let mut server = server.args(["cat", "-lk", "7000", "-e", "cat"]).spawn().expect("topo runs");
    wait::until("a server", || (run(&one, &["cat", "-z", "2", "7000"]).0 == Some(0)).then_some(()));
    let script =
        "i=0; while [ $i -lt 999 ]; do echo line $i; i=$((i+1)); done | \"$0\" cat -q 2 7000";
    let sent = one.run("sh", &["-c", script, prp().to_str().expect("text")]);
    assert!(sent.starts_with("line 0\n") && sent.ends_with("line 998\n"), "{sent}");
    // Both directions have the same lines; the port selects one of them. Captured frames are
    // written to the file later.
    wait::until("all lines in the capture, once each and in order", || {
        (read(&["--follow", "--port", "7000"]) == sent).then_some(())
    });
    kill(Pid::from_raw(dump.id().cast_signed()), Signal::SIGINT).expect("it runs");
    let printed = dump.wait_with_output().expect("a child");
    let printed = String::from_utf8_lossy(&printed.stderr).into_owned();
    assert!(printed.contains(" packets; 0 frames were lost"), "{printed}");
    let requests = read(&["--json", "--kind", "request", "--port", "7000"]);
    let request = json(requests.lines().next().expect("a request"));
    assert_eq!((&request["destination_port"], &request["kind"]), (&7000.into(), &"request".into()));
    assert!(request["time"].as_f64().is_some_and(|time| time > 1e9), "{request}");
    assert_eq!(read(&["-c", "2"]).lines().count(), 2);
    let data = read(&["--kind", "data", "-c", "1"]);
    assert!(data.contains("1:") && data.contains(" > 2:7000 ["), "{data}");
    assert_eq!(read(&["--node", "77"]), "");
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    server.wait().expect("a child");
}

/// A limit holds for frames that pass packet sockets, and for frames that bypass them.
fn dump__takes_no_more_than_the_rate() {
    const RATE: usize = 50;
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let mut dump = one.interruptible(prp());
    dump.args(["dump", "-i", "eth0", "--rate", &RATE.to_string()]);
    let began = Instant::now();
    let mut dump = dump.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("topo runs");
    let mut lines = BufReader::new(dump.stdout.take().expect("a pipe"));
    let mut ping = one.command(prp());
    let ping = ping.args(["ping", "-q", "-i", "0.05", "2"]).stdout(Stdio::null());
    let mut ping = ping.spawn().expect("topo runs");
    lines.read_line(&mut String::new()).expect("a frame was seen");
    kill(Pid::from_raw(ping.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    ping.wait().expect("a child");
    let mut server = two.command(prp());
    let server = server.args(["cat", "-lk", "7000"]).stdout(Stdio::null());
    let mut server = server.spawn().expect("topo runs");
    wait::until("a server", || (run(&one, &["cat", "-z", "2", "7000"]).0 == Some(0)).then_some(()));
    // The flow has at least a thousand frames, in much less than a second.
    let script = "head -c 1500000 /dev/zero | \"$0\" cat -q 2 7000";
    one.run("sh", &["-c", script, prp().to_str().expect("text")]);
    kill(Pid::from_raw(dump.id().cast_signed()), Signal::SIGINT).expect("it runs");
    let shown = lines.lines().count();
    let printed = dump.wait_with_output().expect("a child");
    let seconds = began.elapsed().as_secs() as usize + 1;
    let summary = String::from_utf8_lossy(&printed.stderr).into_owned();
    assert!(summary.contains("or exceeded 50 a second (--rate)"), "{summary}");
    assert!(shown > 0 && shown <= 2 * RATE * (seconds + 1), "{shown} in {seconds} s");
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    server.wait().expect("a child");
}

/// A packet socket slows down senders and receivers while it receives their frames, also those that
/// it does not record. It receives all incoming frames.
fn dump__of_more_than_the_rate_pauses() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let seen = TempFile::new("");
    let mut dump = two.interruptible(prp());
    dump.args(["dump", "-i", "eth0", "--rate", "50"]).stderr(Stdio::piped());
    let dump = dump.stdout(File::create(seen.path()).expect("a file of ours"));
    let dump = dump.spawn().expect("topo runs");
    let mut server = two.command(prp());
    let server = server.args(["cat", "-lk", "7000"]).stdout(Stdio::null());
    let mut server = server.spawn().expect("topo runs");
    wait::until("a server and a capture", || {
        let is_open = run(&one, &["cat", "-z", "2", "7000"]).0 == Some(0);
        let has_seen = std::fs::metadata(seen.path()).is_ok_and(|it| it.len() > 0);
        (is_open && has_seen).then_some(())
    });
    // Another flow of at least a thousand frames, in much less than a second.
    let script = "head -c 1500000 /dev/zero | \"$0\" cat -q 2 7000";
    let send = || one.run("sh", &["-c", script, prp().to_str().expect("text")]);
    send();
    let lines = || std::fs::read_to_string(seen.path()).expect("a file of ours").lines().count();
    let before = lines();
    wait::until("frames after a pause", || {
        send();
        (lines() > before + 20).then_some(())
    });
    kill(Pid::from_raw(dump.id().cast_signed()), Signal::SIGINT).expect("it runs");
    let printed = dump.wait_with_output().expect("a child");
    let summary = String::from_utf8_lossy(&printed.stderr).into_owned();
    assert!(summary.contains(" s frames were left out and not counted"), "{summary}");
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    server.wait().expect("a child");
}

fn ping__counts_and_ends_with_a_summary() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let router = Router::start(&two, ROUTED);
    let (code, stdout, _) = run(&one, &["ping", "-c", "3", "-i", "0.01", "--json", "2"]);
    let report = json(&stdout);
    assert_eq!(code, Some(0), "{stdout}");
    assert_eq!((&report["sent"], &report["answered"]), (&3.into(), &3.into()), "{stdout}");
    assert_eq!((&report["lost_percent"], &report["node"]), (&0.0.into(), &2.into()), "{stdout}");
    assert!(report["max_seconds"].as_f64().is_some_and(|s| s > 0.0), "{stdout}");
    assert_eq!(report["answers"].as_array().map(Vec::len), Some(3), "{stdout}");
    // Ctrl-C while it runs.
    let output = TempFile::new("");
    let mut command = one.interruptible(prp());
    let file = File::create(output.path()).expect("a file of ours");
    let mut child = command
        .args(["ping", "-c", "100000", "-i", "0.02", "2"])
        .stdout(file)
        .spawn()
        .expect("topo");
    let read = || std::fs::read_to_string(output.path()).expect("text");
    wait::until("answers", || read().contains("seq=3 ").then_some(()));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it runs");
    assert_eq!(child.wait().expect("a child").code(), Some(0), "{}", read());
    let last = read().lines().last().expect("a line").to_owned();
    assert!(last.starts_with("rtt min/avg/max/mdev = ") && last.ends_with(" ms"), "{last}");
    assert!(read().contains("\n--- 2 (node2) ping statistics ---\n"), "{}", read());
    // Answers in time, and too late; a flood removes the dot of each answer.
    let (code, stdout, _) = run(&one, &["ping", "-c", "3", "-w", "0.01", "-i", "9", "2"]);
    assert_eq!(code, Some(4), "one of three in time: {stdout}");
    let (code, stdout, _) = run(&one, &["ping", "-f", "-c", "50", "2"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert_eq!(stdout.matches("\u{8} \u{8}").count(), 50, "{stdout}");
    let (code, stdout, _) = run(&one, &["ping", "-q", "-c", "2", "-i", "0.01", "-s", "100", "2"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.starts_with("PING 2 (node2) 100(136) bytes of data.\n\n--- 2 (n"), "{stdout}");
    // Each line has its time, and each echo without an answer has a line.
    let (code, stdout, _) = run(&one, &["ping", "-D", "-c", "1", "2"]);
    let time = stdout.lines().nth(1).and_then(|line| line.split_once("] 68 bytes from 2"));
    let time = time.and_then(|(time, _)| time.strip_prefix('[')?.parse::<f64>().ok());
    assert!(code == Some(0) && time.is_some_and(|time| time > 1e9), "{stdout}");
    drop(router);
    let (code, stdout, _) = run(&one, &["ping", "-O", "-c", "2", "-i", "0.1", "-W", "0.1", "2"]);
    assert!(code == Some(4) && stdout.contains("\nno answer yet for seq=1\n"), "{stdout}");
    // No node answers, and the summary after Ctrl-C says so as well.
    let mut command = one.command("timeout");
    command
        .args(["--preserve-status", "-s", "INT", "0.5"])
        .arg(prp())
        .args(["ping", "-c", "9", "1"]);
    assert_eq!(program::finish(command).0, Some(2), "oneself is no other node");
}

fn ping__without_the_privilege_says_what_is_missing() {
    let topology = Topology::pair();
    if topology.is_rootless() {
        skip("root: nobody else may give privileges up so");
    }
    let node = topology.node(1);
    let program = TempFile::copy(prp().to_str().expect("a plain name"));
    for words in [
        &["ping", "2"][..],
        &["trace", "2"],
        &["cat", "2", "7000"],
        &["cat", "-l", "7000"],
        &["perf", "serve"],
        &["perf", "latency", "2"],
        &["proxy", "tcp:127.0.0.1:0", "prp:2:7000"],
        &["proxy", "prp:7000", "tcp:127.0.0.1:80"],
    ] {
        let mut command = node.command("setpriv");
        command.args(["--bounding-set", "-all", "--inh-caps", "-all", "--reuid", "65534"]);
        command.arg("--clear-groups").arg(program.path()).args(words);
        let (code, _, stderr) = program::finish(command);
        assert_eq!(code, Some(6), "{words:?}: {stderr}");
        assert!(stderr.contains("a packet socket needs CAP_NET_RAW"), "{words:?}: {stderr}");
    }
}

fn routed__is_found_whatever_is_wrong_with_prphosts() {
    let topology = Topology::pair();
    let node = topology.node(1);
    let good = node.hosts();
    let hosts = TempFile::new(&good);
    let _router = Router::run(node.command_with_hosts(hosts.path(), ROUTED));
    let status = |what: &str| {
        let (code, stdout, why) = run_with(&node, &hosts, &["routed", "status", "--json"]);
        assert_eq!(code, Some(0), "{what}: {why}");
        let status = json(&stdout);
        assert_eq!(status["node"], 1, "{what}: {stdout}");
        assert!(status["uptime_seconds"].is_u64(), "{stdout}");
        status
    };
    assert!(status("all is well")["last_error"].is_null());
    hosts.replace(format!("{good}9 here\n"));
    status("a mistake");
    let (code, _, stderr) = run_with(&node, &hosts, &["routed", "reload"]);
    assert!(code == Some(1) && stderr.contains("stay in force"), "{stderr}");
    let why = status("a mistake that was read")["last_error"].to_string();
    assert!(why.contains(":4:3: expected "), "{why}");
    // Expect: what is said is of the file as it is now, without another reload.
    let error = |what| status(what)["last_error"].as_str().map(str::to_owned);
    hosts.replace("7 02:00:00:00:00:07 eth0\n");
    let why = error("no line of this node");
    assert!(why.as_ref().is_some_and(|why| why.contains("no line has")), "{why:?}");
    std::fs::remove_file(hosts.path()).expect("it is there");
    let why = error("no file");
    assert!(why.as_ref().is_some_and(|why| why.contains("No such file")), "{why:?}");
    hosts.replace(format!("{good}9 via 2\n"));
    let other = status("another file");
    assert!(other["last_error"].is_null(), "{other}");
    assert!(other["troubles"][0].as_str().is_some_and(|it| it.contains("after it was read")));
    hosts.replace(&good);
    let same = status("the file in force");
    assert_eq!((&same["last_error"], &same["troubles"]), (&Value::Null, &serde_json::json!([])));
    let (code, stdout, _) = run_with(&node, &hosts, &["routed", "routes", "--json"]);
    assert_eq!(code, Some(0));
    let routes = json(&stdout);
    assert_eq!(
        (&routes[0]["route"], &routes[1]["route"]),
        (&"local".into(), &"via".into()),
        "{stdout}"
    );
    assert_eq!(routes[1]["next_hops"][0]["mac"], "02:00:00:00:00:02", "{stdout}");
    let (_, stdout, _) = run_with(&node, &hosts, &["routed", "neighbours", "--json"]);
    assert!(json(&stdout)[0]["liveness"].is_null(), "{stdout}");
    let (_, stdout, _) = run_with(&node, &hosts, &["routed", "metrics", "--json"]);
    let metrics = json(&stdout);
    let drops: Vec<_> = metrics
        .as_array()
        .expect("a list")
        .iter()
        .filter(|metric| metric["name"] == "prp_routed_dropped_frames_total")
        .collect();
    assert!(drops.len() > 5 && drops.iter().all(|drop| drop["value"].is_u64()), "{stdout}");
    assert!(drops.is_sorted_by_key(|drop| drop["labels"]["reason"].as_str()), "{stdout}");
}

/// The processes of each node, and none of another network namespace.
fn stat__shows_both_ends_and_filters() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let mut server = two.command(prp());
    let mut server =
        server.args(["cat", "-lk", "7000", "-e", "cat >/dev/null"]).spawn().expect("topo runs");
    let mut client = one.command(prp());
    let mut client = wait::until("a connection", || {
        if run(&one, &["cat", "-z", "2", "7000"]).0 != Some(0) {
            return None;
        }
        client.args(["cat", "2", "7000"]).stdin(Stdio::piped()).stdout(Stdio::null());
        Some(client.spawn().expect("topo runs"))
    });
    let stat = |node: &Node<'_>, args: &[&str]| {
        let (code, stdout, why) = run(node, &[&["stat"], args].concat());
        assert_eq!(code, Some(0), "{args:?}: {why}");
        stdout
    };
    let words = ["--json", "state", "estab", "sport", "=", ":7000"];
    let server_end = wait::until("the server's end", || {
        let snapshot = json(&stat(&two, &words));
        Some(snapshot["processes"][0]["connections"][0].clone()).filter(|c| !c.is_null())
    });
    let snapshot = json(&stat(&one, &["--json", "dst", "2:7000"]));
    let processes = snapshot["processes"].as_array().expect("a list");
    assert_eq!(processes.len(), 1, "the server is in another namespace: {snapshot}");
    assert_eq!((&processes[0]["pid"], &processes[0]["node"]), (&client.id().into(), &1.into()));
    let end = &processes[0]["connections"][0];
    assert_eq!(end["local_port"], server_end["peer_port"], "{snapshot}");
    assert_eq!((&end["state"], &end["underlay"]), (&"ESTAB".into(), &"ethernet".into()));
    assert_eq!((&end["device"], &end["role"]), (&"eth0".into(), &"connected".into()), "{end}");
    let table = stat(&two, &["-a", "-r"]);
    let head = "State   Recv-Q  Send-Q  Local";
    assert!(table.starts_with(head) && table.contains("LISTEN "), "{table}");
    assert!(table.contains("node2:7000") && table.contains("  prp("), "{table}");
    assert!(stat(&two, &["-H", "state", "time-wait"]).is_empty());
    assert!(stat(&two, &["-s"]).starts_with("1 connection of 1 process: ESTAB 1"));
    let metrics = stat(&two, &["--openmetrics"]);
    assert!(metrics.contains("# TYPE prp_accepted counter") && metrics.ends_with("# EOF\n"));
    check_openmetrics(&metrics);
    // For a stopped process `prp stat` shows its last record, without waiting for long.
    kill(Pid::from_raw(client.id().cast_signed()), Signal::SIGSTOP).expect("it runs");
    let (code, stdout, why) = run(&one, &["stat", "-H"]);
    assert!(
        code == Some(0) && stdout.contains("ESTAB") && why.contains("does not answer"),
        "{why}"
    );
    kill(Pid::from_raw(client.id().cast_signed()), Signal::SIGCONT).expect("it is there");
    drop(client.stdin.take());
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    client.wait().expect("a child");
    server.wait().expect("a child");
}

fn trace__gives_up_without_answers() {
    let topology = Topology::pair();
    let node = topology.node(1);
    let (code, stdout, why) = run(&node, &["trace", "-q", "1", "-w", "0.05", "2"]);
    assert_eq!((code, stdout.lines().count()), (Some(4), 3), "{stdout}{why}");
    assert!(why.contains("does prp-routed run on 2 (node2), the first node on the path?"), "{why}");
    let _router = Router::start(&topology.node(2), ROUTED);
    let (code, stdout, _) = run(&node, &["trace", "-q", "1", "-w", "5", "--json", "2"]);
    let report = json(&stdout);
    assert_eq!((code, &report["reached"]), (Some(0), &true.into()), "{stdout}");
    assert_eq!(report["hops"][0]["answers"][0]["node"], 2, "{stdout}");
}

/// The parser of the reference implementation accepts `text`. This check is skipped if it is not
/// installed.
fn check_openmetrics(text: &str) {
    /// The distribution's interpreter, which has the package python3-prometheus-client.
    const PYTHON: &str = "/usr/bin/python3";
    const PARSER: &str = "from prometheus_client.openmetrics.parser import \
        text_string_to_metric_families as parse; import sys; \
        assert sum(len(f.samples) for f in parse(sys.stdin.read())) > 0";
    let has_parser = Command::new(PYTHON).args(["-c", "import prometheus_client"]).output();
    if !has_parser.is_ok_and(|output| output.status.success()) {
        return;
    }
    let mut command = Command::new(PYTHON);
    let mut parser =
        command.args(["-c", PARSER]).stdin(Stdio::piped()).spawn().expect("it is there");
    let mut input = parser.stdin.take().expect("it is piped");
    input.write_all(text.as_bytes()).expect("it reads all");
    drop(input);
    assert!(parser.wait().expect("a child").success(), "{text}");
}
