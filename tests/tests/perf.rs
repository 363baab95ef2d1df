//! `prp perf` between two nodes: every measurement runs and reports all its fields. The values do
//! not matter.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_tests::puppet::Puppet;
use prp_tests::scratch::TempFile;
use prp_tests::topology::{Node, Topology};
use prp_tests::{program, wait};
use serde_json::Value;
use tempfile::TempDir;

prp_tests::main! {
    first: prp;
    light:
        latency__has_its_keys,
        latency__beside_others,
        latency__with_time_to_think,
        latency__figures_stay_when_raw_frames_are_lost,
        stream__has_its_keys,
        stream__of_many_in_both_directions,
        stream__in_intervals_and_reverse,
        stream__without_offloads,
        stream__of_a_given_number_of_bytes,
        connect__has_its_keys,
        sweep__has_its_keys,
        mesh__measures_all_pairs_and_names_the_slow_port,
        mesh__goes_on_without_a_pair_that_fails,
        latency__raw_frames_have_the_vlan_of_prphosts,
        serve__survives_what_is_no_client,
        serve__notices_that_a_client_has_gone,
        client__interrupted_leaves_all_as_it_was,
        serve__interrupted_leaves_all_as_it_was,
        client__without_a_server,
        client__says_first_that_its_report_cannot_be_written,
        bench__finds_its_figures;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const WIRE: &str = env!("CARGO_BIN_EXE_wire");

/// The program under test.
fn prp() -> PathBuf {
    program::prp(PUPPET)
}

/// A program that runs, killed when dropped.
struct Running(Child);

impl Running {
    /// Ends it by SIGTERM, since SIGINT is ignored if a script runs the tests in the background.
    fn end(&self) {
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server on node 2, and the lines of its output.
struct Server(Running, Receiver<String>);

impl Server {
    fn start(node: &Node<'_>) -> Self {
        Self::run(node.command(prp()), 2)
    }

    /// By `command`, which runs prp, on the node with the number `node`.
    fn run(mut command: Command, node: u8) -> Self {
        let mut child =
            command.args(["perf", "serve"]).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let printed = lines.next().expect("it says something").expect("text");
        let wanted = format!("prp: listening on {node}:5210 and TCP");
        assert!(printed.starts_with(&wanted), "{printed}");
        // Reads on. Otherwise the server would block on the full pipe.
        let (sender, printed) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = lines.map_while(Result::ok).inspect(|l| println!("server: {l}"));
            lines.try_for_each(|line| sender.send(line))
        });
        Self(Running(child), printed)
    }
}

fn client(topology: &Topology, words: &[&str]) -> Output {
    let mut command = topology.node(1).command(prp());
    command.arg("perf").args(words).output().expect("it can be run")
}

/// Runs a measurement with `words`; returns its JSON.
fn measure(topology: &Topology, words: &[&str]) -> Value {
    let output = client(topology, &[words, &["--rounds", "2", "--json", "-"]].concat());
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {printed}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// As [`measure`], with a new server.
fn measure_once(words: &[&str]) -> Value {
    let topology = Topology::pair();
    let _server = Server::start(&topology.node(2));
    measure(&topology, words)
}

#[track_caller]
fn assert_positive(json: &Value, paths: &[&str]) {
    for path in paths {
        let value = json.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_f64);
        assert!(value.is_some_and(|value| value > 0.0), "{path} is {value:?} in {json:#}");
    }
}

fn latency__has_its_keys() {
    let topology = Topology::pair();
    let _server = Server::start(&topology.node(2));
    for wait in ["block", "spin", "adaptive"] {
        let words = ["latency", "2", "--wait", wait, "--vs", "tcp", "--vs", "raw", "--time", "0.1"];
        let json = measure(&topology, &words);
        assert_eq!(
            (&json["command"], &json["settings"]["wait"]),
            (&"latency".into(), &wait.into())
        );
        for transport in ["prp", "tcp", "raw"] {
            let keys =
                ["p50_us.median", "p50_us.rounds.1", "p99_us", "p999_us", "min_us", "samples"];
            assert_positive(&json["results"][transport], &keys);
            assert_positive(&json["results"][transport], &["distribution.0.1"]);
        }
        let keys = ["ratios.tcp", "ratios.raw", "client.cores", "server.cores"];
        assert_positive(&json, &keys);
    }
}

fn latency__beside_others() {
    let topology = Topology::pair();
    let _server = Server::start(&topology.node(2));
    let json =
        measure(&topology, &["latency", "2", "--beside", "3", "--vs", "tcp", "--time", "0.2"]);
    for transport in ["prp", "tcp"] {
        let keys =
            ["p50_us.median", "beside_gbps.median", "beside_gbps.rounds.1", "ends.server.received"];
        assert_positive(&json["results"][transport], &keys);
    }
    let refused = client(&topology, &["latency", "2", "--beside", "1", "--vs", "raw"]);
    assert_eq!(refused.status.code(), Some(2), "raw frames know no connections");
}

/// Both kinds of thinking, with both transports: each message is late enough, and what it costs is
/// counted without thinking.
fn latency__with_time_to_think() {
    let topology = Topology::pair();
    let _server = Server::start(&topology.node(2));
    let think = |words: &[&str]| {
        let words = [&["latency", "2", "--vs", "tcp", "--time", "0.2"], words].concat();
        measure(&topology, &words)
    };
    let cost = |end: &str| [format!("cost_per_message.{end}.cpu_s.median")];
    for how in [&["--think", "5ms"][..], &["--think", "5ms", "--think-busy"]] {
        let json = think(how);
        for transport in ["prp", "tcp"] {
            let result = &json["results"][transport];
            assert!(result["think_us"].as_f64().is_some_and(|us| us >= 5e3), "{result:#}");
            // Expect: no more than 0.2 s of them, in turns with messages.
            let samples = result["samples"].as_u64().expect("a number");
            assert!((1..=40).contains(&samples), "{result:#}");
            let client = &result["cost_per_message"]["client"];
            // 2.5 ms would be the client's computing.
            let cpu = client["cpu_s"]["median"].as_f64();
            assert!(cpu.is_some_and(|cpu| cpu < 2.5e-3), "{result:#}");
            let [server] = cost("server");
            assert_positive(result, &[&server, "cost_per_message.server.wake_ups"]);
        }
    }
    let json = think(&["--wait", "block"]);
    for transport in ["prp", "tcp"] {
        let result = &json["results"][transport];
        assert_eq!(result.get("think_us"), None, "{result:#}");
        let [client] = cost("client");
        assert_positive(result, &[&client, "cost_per_message.server.wake_ups"]);
    }
}

/// Raw frames are not retransmitted. The results of the other transports stay.
fn latency__figures_stay_when_raw_frames_are_lost() {
    let topology = Topology::faulty(WIRE, ["--seed", "3"]);
    let _server = Server::start(&topology.node(2));
    topology.topo(["faults", "--loss", "5%"]);
    let args = ["perf", "latency", "2", "--vs", "raw", "--rounds", "3", "--time", "0.6", "--quiet"];
    let output = topology.node(1).command(prp()).args(args).output().expect("topo runs");
    let [stdout, why] =
        [output.stdout, output.stderr].map(|it| String::from_utf8(it).expect("text"));
    assert_eq!(output.status.code(), Some(4), "{stdout}{why}");
    assert!(stdout.lines().any(|line| line.starts_with("prp ")), "{stdout}{why}");
    assert!(why.contains("raw frames to 2:5210: one was lost"), "{why}");
}

fn stream__has_its_keys() {
    let json = measure_once(&["stream", "2", "--vs", "tcp", "--vs", "raw", "--time", "0.2"]);
    for transport in ["prp", "tcp", "raw"] {
        let keys = ["gbps.median", "gbps.rounds.1", "cpu_s_per_gb", "ends.server.received"];
        assert_positive(&json["results"][transport], &keys);
        for end in ["client", "server"] {
            let cost = &json["results"][transport]["cost_per_gb"][end];
            assert_positive(cost, &["cpu_s.median", "cpu_s.rounds.1"]);
            let frames = &json["results"][transport]["ends"][end]["frames"];
            assert!(frames["sent"].is_u64() && frames["received"].is_u64(), "{frames}");
        }
        // A frame has 1.5 kB, so there are more than this.
        let bytes = json["results"][transport]["ends"]["server"]["received"].as_u64();
        let frames = json["results"][transport]["ends"]["client"]["frames"]["sent"].as_u64();
        assert!(
            bytes.zip(frames).is_some_and(|(bytes, frames)| frames >= bytes / 1500),
            "{json:#}"
        );
    }
    assert_positive(&json, &["ratios.tcp", "ratios.raw"]);
    assert!(json["stolen"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{json:#}");
    let settings = &json["results"]["prp"]["ends"]["client"]["settings"];
    assert_eq!((&settings["segment"], &settings["crc"]), (&"1480".into(), &"true".into()));
}

/// The options -i and -R, as in iperf3.
fn stream__in_intervals_and_reverse() {
    let topology = Topology::pair();
    let _server = Server::start(&topology.node(2));
    let words = ["stream", "2", "-t", "0.3", "-i", "0.1", "-R", "-P", "2", "--json"];
    let output = client(&topology, &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let prp = &json["results"]["prp"];
    assert_eq!(
        (&json["settings"]["rounds"], &json["settings"]["reverse"]),
        (&1.into(), &true.into())
    );
    assert_positive(prp, &["ends.client.received", "intervals.0.gbps", "intervals.1.bytes"]);
    assert_eq!(prp["ends"]["server"]["received"], 0, "{prp}");
    let intervals = prp["intervals"].as_array().expect("a list");
    let bytes: u64 = intervals.iter().filter_map(|i| i["bytes"].as_u64()).sum();
    assert_eq!(prp["ends"]["client"]["received"], bytes, "{prp}");
    // Expect: repeats are counted where they are sent.
    assert_eq!(prp["intervals"][0].get("retransmitted"), None, "{prp}");
    let output = client(&topology, &["stream", "2", "-q", "-t", "0.2", "-i", "0.1"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = printed.lines().next().unwrap_or_default();
    assert!(first.contains(" 0.00-") && first.ends_with(" sent again"), "{printed}");
    assert!(printed.contains("goodput, 1 stream"), "{printed}");
}

fn stream__of_many_in_both_directions() {
    let words = ["stream", "2", "--vs", "tcp", "--streams", "5", "--bidir", "--time", "0.2"];
    let json = measure_once(&words);
    for transport in ["prp", "tcp"] {
        let result = &json["results"][transport];
        let keys = ["gbps.median", "ends.server.received", "ends.client.received"];
        assert_positive(result, &keys);
        let figures = ["slowest_stream_gbps", "fastest_stream_gbps"];
        let [slowest, fastest] = figures.map(|key| result[key]["median"].as_f64().expect(key));
        let all = result["gbps"]["median"].as_f64().expect("a figure");
        assert!(0.0 < slowest && slowest <= fastest && fastest < all, "{result:#}");
    }
}

fn stream__without_offloads() {
    for underlay in ["ethernet", "udp"] {
        without_offloads(&Topology::up("pair", ["--underlay", underlay]));
    }
}

fn without_offloads(topology: &Topology) {
    let before = features(topology, 1);
    let _server = Server::start(&topology.node(2));
    let json = measure(topology, &["stream", "2", "--vs", "tcp-no-offload", "--time", "0.2"]);
    assert_positive(&json, &["results.tcp_no_offload.gbps.median", "ratios.tcp_no_offload"]);
    // Expect: the offloads are on again.
    assert_eq!(features(topology, 1), before);
}

fn stream__of_a_given_number_of_bytes() {
    let json = measure_once(&["stream", "2", "--bytes", "3000000"]);
    assert_eq!(json["results"]["prp"]["ends"]["server"]["received"], 3_000_000);
}

fn connect__has_its_keys() {
    let json = measure_once(&["connect", "2", "--vs", "tcp", "--count", "40"]);
    let keys = ["results.prp.per_s.median", "results.tcp.per_s.rounds.1", "ratios.tcp"];
    assert_positive(&json, &keys);
}

fn sweep__has_its_keys() {
    let json = measure_once(&["sweep", "2", "--vs", "tcp", "--vs", "raw", "--time", "0.5"]);
    for (transport, sizes) in [("prp", 22), ("tcp", 21), ("raw", 22)] {
        let points = json["results"][transport].as_array().expect("points");
        assert_eq!(points.len(), sizes, "{transport}");
        for point in points {
            assert_positive(point, &["p50_us.median", "p99_us"]);
        }
        assert_eq!(points.last().expect("some")["size"], 1 << 20);
    }
    assert_eq!(json["results"]["prp"][0]["size"], 0);
}

/// Three nodes on a switch, and the port of one of them sends at 20 Mbit/s only.
fn mesh__measures_all_pairs_and_names_the_slow_port() {
    let topology = Topology::up("star", ["3", "--underlay", "ethernet", "--no-routers"]);
    let _servers = [1, 2, 3].map(|node| Server::run(topology.node(node).command(prp()), node));
    let slow = ["qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", "20mbit"];
    let slow = [&slow[..], &["burst", "64kb", "latency", "50ms"]].concat();
    topology.node(3).run("tc", &slow);
    let output = client(&topology, &["mesh", "-t", "0.2", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for (list, place) in
        ["alone", "together"].iter().flat_map(|list| (0..6).map(move |at| (list, at)))
    {
        assert_positive(&json, &[&format!("{list}.{place}.gbps")]);
    }
    for node in 0..3 {
        let keys = [
            "alone_sends_gbps",
            "alone_receives_gbps",
            "together_sends_gbps",
            "together_receives_gbps",
        ];
        assert_positive(&json["nodes"][node], &keys);
    }
    let is_slow = |port: &&Value| {
        port["node"] == "node3" && port["direction"] == "sends" && port["when"] == "alone"
    };
    let named = json["slow"].as_array().expect("a list").iter().find(is_slow);
    let named = named.unwrap_or_else(|| panic!("not named in {json:#}"));
    assert!(named["gbps"].as_f64().is_some_and(|gbps| gbps < 0.03), "{named}");
    let output = client(&topology, &["mesh", "-t", "0.2", "node1", "3", "2", "node3"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("slow: 3 sends 0.0"), "{printed}");
    let alone = client(&topology, &["mesh", "2", "node2"]);
    assert_eq!(alone.status.code(), Some(2), "a node alone is no mesh");
}

/// The prphosts of one node does not know another one: both directions fail, and all others are
/// measured.
fn mesh__goes_on_without_a_pair_that_fails() {
    let topology = Topology::up("star", ["3", "--underlay", "ethernet", "--no-routers"]);
    let lines = topology.node(3).hosts();
    let is_known = |line: &&str| !line.trim_start().starts_with("2 ");
    let known: Vec<_> = lines.lines().filter(is_known).collect();
    let hosts = TempFile::new(known.join("\n") + "\n");
    let _servers = [1, 2].map(|node| Server::run(topology.node(node).command(prp()), node));
    let _other = Server::run(topology.node(3).command_with_hosts(hosts.path(), prp()), 3);
    let output = client(&topology, &["mesh", "-t", "0.1", "--json"]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("from node2 to node3: "), "{printed}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let pairs = |list: &str, has: &str| {
        let all = json[list].as_array().expect("a list").iter();
        let named = |row: &Value| {
            format!("{}{}", row["from"], row["to"]).replace("\"node", "").replace('"', "")
        };
        all.filter(|row| !row[has].is_null()).map(named).collect::<Vec<_>>()
    };
    assert_eq!(pairs("alone", "failed"), ["23", "32"], "{json:#}");
    for list in ["alone", "together"] {
        assert_eq!(pairs(list, "gbps"), ["12", "13", "21", "31"], "{json:#}");
    }
}

/// Raw frames go by the same path as PRP's, so that they can be compared.
fn latency__raw_frames_have_the_vlan_of_prphosts() {
    let topology = Topology::pair_with(["--underlay", "ethernet"]);
    let machines = [topology.node(1), topology.node(2)];
    let [one, two] = machines.each_ref().map(|machine| machine.field("mac"));
    let tag = "vlan=7 priority=5";
    let hosts = TempFile::new(format!("1 {one} eth0 {tag}\n2 {two} eth0 {tag}\n"));
    let [mut client, server] =
        machines.each_ref().map(|machine| machine.command_with_hosts(hosts.path(), prp()));
    let _server = Server::run(server, 2);
    let words = ["perf", "latency", "2", "--vs", "raw", "--time", "0.1", "--rounds", "2", "--json"];
    let output = client.args(words).output().expect("it can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for transport in ["prp", "raw"] {
        assert_positive(&json["results"][transport], &["p50_us.median"]);
    }
}

fn serve__survives_what_is_no_client() {
    let topology = Topology::pair();
    let _server = Server::start(&topology.node(2));
    let mut stranger = Puppet::start(&topology.node(1), PUPPET);
    for (n, printed) in ["GET/HTTP/1.1", "{}"].into_iter().enumerate() {
        stranger.ok(format!("connect s{n} 2:5210"));
        stranger.ok(format!("write s{n} {printed}"));
        // The first request is too large for the server, which may already have closed the
        // connection.
        if let Err((kind, text)) = stranger.ask(format!("shutdown s{n} write")) {
            assert_eq!((n, kind.as_str()), (0, "NotConnected"), "{text}");
        }
    }
    // A client that closes the connection without a message.
    drop(stranger);
    assert_positive(
        &measure(&topology, &["latency", "2", "--time", "0.1"]),
        &["results.prp.min_us"],
    );
}

/// Its TCP connection fails, between its two connections. Then the server does not wait for the
/// second one.
fn serve__notices_that_a_client_has_gone() {
    let topology = Topology::pair();
    let server = Server::start(&topology.node(2));
    let output = client(&topology, &["latency", "2", "--time", "0.1", "--vs", "tcp=240.0.0.1"]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && printed.contains("tcp=240.0.0.1"), "{printed}");
    let printed = server.1.recv().expect("it says something");
    assert!(printed.contains("the client has gone"), "{printed}");
    measure(&topology, &["latency", "2", "--time", "0.1"]);
}

/// The offloads of the device of node `number`. Skips the test if they cannot be read.
fn features(topology: &Topology, number: u8) -> String {
    let asked = topology.node(number).command("ethtool").args(["-k", "eth0"]).output();
    let Ok(output) = asked else { prp_tests::harness::skip("ethtool") };
    String::from_utf8(output.stdout).expect("text")
}

/// A client with a long measurement, during a leg with offloads off at both ends.
fn client_without_offloads(topology: &Topology) -> Running {
    let before = features(topology, 2);
    let words = ["perf", "stream", "2", "-q", "--vs", "tcp-no-offload"];
    let mut command = topology.node(1).command(prp());
    // Legs of a second, much longer than a call of ethtool.
    command.args(words).args(["--rounds", "100", "--time", "100"]).stderr(Stdio::piped());
    let client = Running(command.spawn().expect("it starts"));
    wait::until("offloads turned off", || (features(topology, 2) != before).then_some(()));
    client
}

/// The exit status of a client, and its output.
fn ended(mut client: Running) -> (ExitStatus, String) {
    let mut printed = String::new();
    client.0.stderr.take().expect("a pipe").read_to_string(&mut printed).expect("text");
    (client.0.wait().expect("it ends"), printed)
}

/// Whether the signal killed it, which shells check.
fn died_of_it(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::SIGTERM as i32)
}

fn client__interrupted_leaves_all_as_it_was() {
    let topology = Topology::pair();
    let before = [1, 2].map(|node| features(&topology, node));
    let _server = Server::start(&topology.node(2));
    let client = client_without_offloads(&topology);
    client.end();
    let (status, printed) = ended(client);
    assert!(died_of_it(status), "{status}");
    assert_eq!(printed, "", "the caller that ends it knows why it ends");
    assert_eq!(features(&topology, 1), before[0], "on again");
    wait::until("offloads on again", || (features(&topology, 2) == before[1]).then_some(()));
    // Expect: the server serves the next one at once.
    measure(&topology, &["latency", "2", "--time", "0.1"]);
}

fn serve__interrupted_leaves_all_as_it_was() {
    let topology = Topology::pair();
    let before = [1, 2].map(|node| features(&topology, node));
    let mut server = Server::start(&topology.node(2));
    let client = client_without_offloads(&topology);
    server.0.end();
    assert!(died_of_it(server.0.0.wait().expect("it ends")));
    assert_eq!(features(&topology, 2), before[1], "on again");
    // Expect: the client gets an error at once if no server listens.
    let (status, printed) = ended(client);
    assert!(!status.success() && !printed.contains("timed out"), "{printed}");
    assert_eq!(features(&topology, 1), before[0], "on again");
}

fn client__without_a_server() {
    let topology = Topology::pair();
    // Without a process on that node nothing would refuse.
    let mut other = Puppet::start(&topology.node(2), PUPPET);
    other.ok("listen l 2:80");
    let output = client(&topology, &["latency", "2"]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{printed}");
    assert!(printed.contains("prp perf serve"), "{printed}");
    let output = client(&topology, &["latency", "2:99"]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("`2 --port 99`"), "{printed}");
}

/// It fails before it connects, and not after minutes of measuring.
fn client__says_first_that_its_report_cannot_be_written() {
    let topology = Topology::pair();
    let output = client(&topology, &["latency", "2", "--json", "/nowhere/report.json"]);
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains("/nowhere/report.json"), "{printed}");
}

/// What `prp-bench` looks for in the files of `bench` is there.
fn bench__finds_its_figures() {
    let topology = Topology::pair();
    let _server = Server::start(&topology.node(2));
    let folder = TempDir::new().expect("a folder");
    let latency = ["latency", "2", "--vs", "tcp", "--time", "0.1"];
    let beside = [&latency[..], &["--beside", "1"]].concat();
    let think = [&latency[..], &["--think", "1ms"]].concat();
    let runs: [(&[&str], &[&str]); 4] = [
        (&beside, &["latency.beside", "latency.spin.64", "key.spin.off.1"]),
        (&think, &["links.udp.none.0.think.1000.64", "bindings.rust_spin.1"]),
        (
            &["stream", "2", "--vs", "tcp", "--time", "0.1"],
            &["links.ethernet.1000.0.stream", "stream.mtu1500", "stream.streams16.1"],
        ),
        (&["connect", "2", "--count", "4"], &["connect", "key.connect.sign.1"]),
    ];
    for (words, names) in runs {
        let json = measure(&topology, words).to_string();
        for name in names {
            fs::write(folder.path().join(format!("{name}.json")), &json).expect("room");
        }
    }
    let mut bench = Command::new(program::build_all(&["prp-bench"], PUPPET).join("prp-bench"));
    let output = bench.args(["summary", "--json", "-"]).arg(folder.path()).output();
    let json = serde_json::from_slice(&output.expect("it runs").stdout).expect("JSON");
    let figures = [
        "bars.1.value",
        "beside_goodput_gbps.prp",
        "beside_latency_p99_us.tcp",
        "bindings.spin_us.rust",
        "connects_per_s.prp",
        "cpu_s_per_gb.prp",
        "goodput_gbps.mtu1500.tcp",
        "key.connects_per_s.sign",
        "key.spin_us.off",
        "latency_us.prp.spin.64",
        "links.ethernet.1000.0.client.cpu_s_per_gb.prp",
        "links.ethernet.1000.0.goodput_gbps.tcp",
        "links.udp.none.0.think.1000.64.cpu_us_per_message.prp",
        "links.udp.none.0.think.1000.64.p99_us.tcp",
        "machine.cores",
        "streams16_goodput_gbps.prp",
    ];
    assert_positive(&json, &figures);
}
