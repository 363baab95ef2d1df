//! Nodes with the cluster's key, over Ethernet and over UDP.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use prp_proto::key::{KeyFile, Mode, NodeKeyFile, Secret};
use prp_tests::program;
use prp_tests::puppet::Puppet;
use prp_tests::router::Router;
use prp_tests::scratch::TempFile;
use prp_tests::seed;
use prp_tests::stream::{connect, exchange};
use prp_tests::topology::{Topology, is_over_udp};
use prp_tests::wait;

prp_tests::main! {
    light:
        stream__of_each_mode_over_both_underlays,
        node__without_the_key_is_refused_and_named,
        file__that_others_can_read_or_that_is_missing_is_refused,
        file__is_read_again_where_a_process_only_listens,
        router__what_it_says_is_believed_if_it_has_the_key,
        tools__ask_with_the_key_and_name_who_has_none,
        dump__says_how_frames_are_protected,
        nodes__with_keys_know_each_other_and_no_member_is_another,
        nodes__a_capture_is_checked_with_the_key_of_one_end,
        nodes__a_key_is_replaced_under_a_stream,
        nodes__without_their_private_key_are_told_so;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ATTACKER: &str = env!("CARGO_BIN_EXE_attacker");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const MIB: u64 = 1 << 20;

/// What nobody else may read.
const WORDS: &str = "what-is-said-here-stays-between-two-nodes-that-have-the-key-of-the-cluster";

fn keys(mode: Mode) -> KeyFile {
    KeyFile::new(mode, 1, Secret::new([7; 32]))
}

/// A key file with the rights that it has to have.
fn key_file(keys: &KeyFile) -> TempFile {
    let file = TempFile::new(keys.reveal().as_bytes());
    only_for_its_user(file.path());
    file
}

fn only_for_its_user(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("it is ours");
}

/// A pair of nodes, and the prphosts with their IP addresses, if that is to be used.
fn pair(over_udp: bool) -> (Topology, Option<TempFile>) {
    let topology = Topology::pair();
    let hosts = over_udp.then(|| {
        let line = |number: u8| {
            let address = topology.node(number).field("ipv4");
            format!("{number} udp:{}\n", address.split('/').next().unwrap_or_default())
        };
        TempFile::new(line(1) + &line(2))
    });
    (topology, hosts)
}

/// A puppet on `node`, with a prphosts and a key file of its own.
fn process(topology: &Topology, node: u8, hosts: Option<&TempFile>, key: Option<&Path>) -> Puppet {
    let mut command = topology.node(node).command("env");
    if let Some(hosts) = hosts {
        command.arg(format!("PRP_HOSTS={}", hosts.path().display()));
    }
    if let Some(key) = key {
        command.arg(format!("PRP_KEY={}", key.display()));
    }
    command.arg(PUPPET);
    Puppet::run(format!("puppet on node {node}"), command)
}

/// Records `frames` frames that come to node 2 while `meanwhile` runs; the bytes of all.
fn recorded(topology: &Topology, over_udp: bool, frames: u32, meanwhile: impl FnOnce()) -> Vec<u8> {
    let file = TempFile::new("");
    let path = file.path().to_string_lossy().into_owned();
    let mut recorder = topology.node(2).command("env");
    if over_udp {
        recorder.arg("PRP_UNDERLAY=udp");
    }
    recorder.args([ATTACKER, "eth0", "record", &path, &frames.to_string()]);
    let mut recorder = Puppet::run("recorder", recorder);
    assert_eq!(recorder.next_line(), "ready");
    meanwhile();
    assert!(recorder.next_line().starts_with("ok "));
    fs::read(file.path()).expect("it was written")
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// PRP-KEY-10: a capture has what is said in mode sign, and has nothing of it in mode seal.
fn stream__of_each_mode_over_both_underlays() {
    let seed = seed::of("stream__of_each_mode_over_both_underlays");
    for over_udp in [false, true] {
        for mode in [Mode::Sign, Mode::Seal] {
            let (topology, hosts) = pair(over_udp);
            let key = key_file(&keys(mode));
            let [mut client, mut server] =
                [1, 2].map(|node| process(&topology, node, hosts.as_ref(), Some(key.path())));
            connect(&mut client, &mut server, "2:80", "");
            let agreed = format!("{mode} 1");
            assert_eq!([client.ok("security s"), server.ok("security s")], [&*agreed; 2]);
            let is_by_ip = over_udp || is_over_udp();
            let bytes = recorded(&topology, is_by_ip, 40, || {
                for _ in 0..60 {
                    client.ok(format!("write s {WORDS}"));
                    assert_eq!(server.ok(format!("read s {}", WORDS.len())), WORDS);
                }
            });
            assert_eq!(contains(&bytes, WORDS), mode == Mode::Sign, "{mode}, UDP: {over_udp}");
            exchange(&mut client, &mut server, seed, 16 * MIB, |_| ());
            for end in [&mut client, &mut server] {
                for why in ["bad_tag", "unknown_key", "unsigned", "bad_crc"] {
                    assert_eq!(end.ok(format!("drops s {why}")), "0", "{mode}, UDP: {over_udp}");
                }
            }
        }
    }
}

/// PRP-KEY-14: neither connects to the other, and both count why.
fn node__without_the_key_is_refused_and_named() {
    let key = key_file(&keys(Mode::Seal));
    for over_udp in [false, true] {
        let (topology, hosts) = pair(over_udp);
        let mut with = process(&topology, 1, hosts.as_ref(), Some(key.path()));
        let mut without = process(&topology, 2, hosts.as_ref(), None);
        // A connection of each to itself, by which its counters can be asked for.
        for (process, at) in [(&mut with, "1:70"), (&mut without, "2:70")] {
            process.ok(format!("listen own {at}"));
            process.ok(format!("connect s {at}"));
        }
        with.ok("listen l 1:80");
        without.ok("listen l 2:80");
        for (process, at, says) in [
            (&mut with, "2:80", "seems to have no cluster key"),
            (&mut without, "1:80", "has a cluster key that this process does not have"),
        ] {
            let (kind, text) = process.message(format!("connect t {at} timeout=1000"));
            assert!(kind == "TimedOut" && text.contains(says), "{kind}: {text}");
        }
        for (process, why) in [(&mut with, "unsigned"), (&mut without, "unknown_key")] {
            let drops: u64 = process.ok(format!("drops s {why}")).parse().expect("a number");
            assert!(drops > 3, "{why}: {drops}, {}", process.ok("drops s"));
        }
    }
}

/// Who cannot have the key that there is does not speak without it.
fn file__that_others_can_read_or_that_is_missing_is_refused() {
    let (topology, _) = pair(false);
    let key = key_file(&keys(Mode::Seal));
    fs::set_permissions(key.path(), Permissions::from_mode(0o644)).expect("it is ours");
    let mut process_1 = process(&topology, 1, None, Some(key.path()));
    for command in ["connect s 2:80", "listen l 1:80"] {
        let (kind, text) = process_1.message(command);
        assert_eq!(kind, "PermissionDenied");
        assert!(text.contains("644") && text.contains("chmod 600"), "{text}");
    }
    only_for_its_user(key.path());
    process_1.ok("listen l 1:80");

    let gone = key.path().with_extension("gone");
    let (kind, text) = process(&topology, 1, None, Some(&gone)).message("connect s 2:80");
    assert_eq!(kind, "NotFound");
    assert!(text.contains(&*gone.to_string_lossy()) && text.contains("prp key new"), "{text}");

    let wrong = key_file(&keys(Mode::Seal));
    fs::write(wrong.path(), "mode seal\nkey 1 abcd use\n").expect("it is ours");
    let (kind, text) = process(&topology, 1, None, Some(wrong.path())).message("connect s 2:80");
    assert_eq!(kind, "InvalidData");
    assert!(text.contains(":2:7: ") && !text.contains("abcd"), "{text}");
}

/// PRP-KEY-3: a stream lives on while the file changes at both ends, and new ones have the new
/// secret.
fn file__is_read_again_where_a_process_only_listens() {
    let (topology, _) = pair(false);
    let old = keys(Mode::Seal);
    let mut new = old.clone();
    let id = new.add(Secret::new([8; 32])).expect("there is room");
    new.use_key(id).expect("it is there");
    let files = [key_file(&old), key_file(&old)];
    let [mut client, mut server] = [1, 2]
        .map(|node| process(&topology, node, None, Some(files[usize::from(node) - 1].path())));
    connect(&mut client, &mut server, "2:80", "");
    let mut both = old;
    both.add(Secret::new([8; 32])).expect("there is room");
    for file in [&both, &new] {
        for place in &files {
            let next = key_file(file);
            fs::rename(next.path(), place.path()).expect("within one folder");
        }
        // The server looks at its file now and then.
        wait::until("a connection with the present secret", || {
            client.ask("connect t 2:80 timeout=1000").ok()?;
            server.ok("accept l t");
            let is_new = client.ok("security t") == format!("seal {}", file.used().id());
            (is_new && server.ok("security t") == client.ok("security t")).then_some(())
        });
    }
    client.ok(format!("write s {WORDS}"));
    assert_eq!(server.ok(format!("read s {}", WORDS.len())), WORDS);
    assert_eq!([client.ok("security s"), server.ok("security s")], ["seal 1"; 2]);
}

/// A router on `node`, with a key file if there is one.
fn router(topology: &Topology, node: u8, key: Option<&Path>) -> Router {
    let node = topology.node(node);
    Router::run(match key {
        Some(key) => node.command_with("PRP_KEY", key, ROUTED),
        None => node.command(ROUTED),
    })
}

/// What `prp` with these arguments says on `node`: code, output, errors.
fn prp(
    topology: &Topology,
    node: u8,
    key: Option<&Path>,
    words: &[&str],
) -> (Option<i32>, String, String) {
    let (node, program) = (topology.node(node), program::prp(ROUTED));
    let mut command = match key {
        Some(key) => node.command_with("PRP_KEY", key, program),
        None => node.command(program),
    };
    command.args(words);
    program::finish(command)
}

/// PRP-KEY-19: a closed port and a dead process are known at once, in each mode.
fn router__what_it_says_is_believed_if_it_has_the_key() {
    for mode in [Mode::Sign, Mode::Seal] {
        let (topology, _) = pair(false);
        let key = key_file(&keys(mode));
        let _router = router(&topology, 2, Some(key.path()));
        let [mut client, mut server] =
            [1, 2].map(|node| process(&topology, node, None, Some(key.path())));
        connect(&mut client, &mut server, "2:80", "");
        assert_eq!(client.fails("connect t 2:81 timeout=5000"), "ConnectionRefused", "{mode}");
        wait::until("a process in the register", || {
            let (_, status, _) = prp(&topology, 2, None, &["routed", "status", "--json"]);
            let status: serde_json::Value = serde_json::from_str(&status).ok()?;
            (status["processes"] == 1).then_some(())
        });
        server.kill();
        assert_eq!(client.fails("read s 1"), "ConnectionReset", "{mode}");
    }
}

/// Echoes of a node with the key are signed, and so are their answers.
fn tools__ask_with_the_key_and_name_who_has_none() {
    let (topology, _) = pair(false);
    let key = key_file(&keys(Mode::Seal));
    let with = router(&topology, 2, Some(key.path()));
    let ping: &[&str] = &["ping", "-c", "2", "-i", "0.05", "2"];
    let trace: &[&str] = &["trace", "-q", "1", "2"];
    for words in [ping, trace] {
        for key in [Some(key.path()), None] {
            let (code, out, error) = prp(&topology, 1, key, words);
            assert_eq!(code, Some(0), "{words:?}: {out}{error}");
        }
    }
    drop(with);
    let _without = router(&topology, 2, None);
    for words in [ping, trace, &["ping", "-c", "1", "--all"], &["doctor", "2"]] {
        let (code, out, error) = prp(&topology, 1, Some(key.path()), words);
        let said = out + &error;
        assert_ne!(code, Some(0), "{words:?}: {said}");
        let is_named =
            said.contains("only without the cluster key") || said.contains("no cluster key");
        assert!(is_named, "{words:?}: {said}");
    }
}

/// A capture says mode, secret and counter of each frame, and with the key file who made it.
/// A capture of 60 frames at node 2, while the first process connects to the second one.
fn capture(topology: &Topology, [mut client, mut server]: [Puppet; 2]) -> TempFile {
    let capture = TempFile::new("");
    let mut command = topology.node(2).command(program::prp(ROUTED));
    let path = capture.path().to_string_lossy().into_owned();
    command.args(["dump", "-w", &path, "-c", "60"]);
    let recorder = command.stderr(std::process::Stdio::null()).spawn();
    let mut recorder = recorder.expect("topo runs");
    connect(&mut client, &mut server, "2:80", "");
    // Until it has begun to record, and has its number of frames.
    let mut turn = 0;
    wait::until("a capture", || {
        turn += 1;
        let name = format!("t{turn}");
        client.ok(format!("connect {name} 2:80"));
        server.ok(format!("accept l {name}"));
        client.ok(format!("write {name} {WORDS}"));
        recorder.try_wait().expect("a child").map(drop)
    });
    capture
}

fn dump__says_how_frames_are_protected() {
    for mode in [Mode::Sign, Mode::Seal] {
        let (topology, _) = pair(false);
        let key = key_file(&keys(mode));
        let ends = [1, 2].map(|node| process(&topology, node, None, Some(key.path())));
        let capture = capture(&topology, ends);
        let path = capture.path().to_string_lossy().into_owned();
        let file = key.path().to_string_lossy().into_owned();
        let (code, lines, error) =
            prp(&topology, 1, None, &["dump", "--json", "-r", &path, "--key", &file]);
        assert_eq!(code, Some(0), "{error}");
        let rows: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let of = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).collect::<Vec<_>>();
        let (requests, data) = (of("request"), of("data"));
        assert!(!requests.is_empty() && !data.is_empty(), "{lines}");
        for row in requests {
            assert_eq!(
                (&row["security"], &row["key_tag"]),
                (&mode.to_string().into(), &"right".into())
            );
        }
        let known: Vec<_> = data.iter().filter(|row| !row["security"].is_null()).collect();
        assert!(!known.is_empty(), "{lines}");
        for row in known {
            assert_eq!((&row["security"], &row["key_id"]), (&mode.to_string().into(), &1.into()));
            assert!(row["key_frame"].is_u64(), "{row}");
        }
    }
}

/// The private key with the number `n`, in a file, and the public one.
fn node_key(n: u8) -> (TempFile, String) {
    let keys = NodeKeyFile::new(Secret::new([n; 32]));
    let public = keys.secrets().map(|secret| secret.key().to_string()).collect();
    (private(&[n]), public)
}

/// A file with the private keys of these numbers.
fn private(numbers: &[u8]) -> TempFile {
    let mut lines = String::new();
    for n in numbers {
        lines += &format!("key {}\n", *Secret::new([*n; 32]).reveal());
    }
    let file = TempFile::new(lines);
    only_for_its_user(file.path());
    file
}

/// A pair of nodes, and the text of its prphosts with `keys` behind the lines of nodes 1 and 2.
struct Nodes {
    topology: Topology,
    lines: [String; 2],
    key: TempFile,
}

impl Nodes {
    fn new(over_udp: bool) -> Self {
        let (topology, hosts) = pair(over_udp);
        let text = match hosts {
            Some(hosts) => fs::read_to_string(hosts.path()).expect("it was written"),
            None => topology.node(1).hosts(),
        };
        let line = |number: &str| {
            let mut lines = text.lines();
            let line = lines.find(|line| line.split(' ').next() == Some(number));
            line.expect("a line of each node").trim_end().to_owned()
        };
        Self { lines: [line("1"), line("2")], topology, key: key_file(&keys(Mode::Seal)) }
    }

    fn hosts(&self, keys: [&[&str]; 2]) -> TempFile {
        let with = |line: &String, keys: &[&str]| {
            keys.iter().fold(line.clone(), |line, key| format!("{line} key={key}"))
        };
        let [one, two] = [0, 1].map(|at| with(&self.lines[at], keys[at]));
        TempFile::new(format!("{one}\n{two}\n"))
    }

    /// A puppet on `node` with this prphosts and these private keys.
    fn process(&self, node: u8, hosts: &TempFile, private: Option<&TempFile>) -> Puppet {
        let mut command = self.topology.node(node).command("env");
        command.arg(format!("PRP_HOSTS={}", hosts.path().display()));
        command.arg(format!("PRP_KEY={}", self.key.path().display()));
        let none = self.key.path().with_extension("none");
        let private = private.map_or(&*none, |file| file.path());
        command.arg(format!("PRP_NODE_KEY={}", private.display()));
        command.arg(PUPPET);
        Puppet::run(format!("puppet on node {node}"), command)
    }
}

/// PRP-KEY-21 and 22: a member that has the cluster's key, and is on the place of node 1, is not
/// node 1: neither with the key of another node nor with none.
fn nodes__with_keys_know_each_other_and_no_member_is_another() {
    let seed = seed::of("nodes__with_keys_know_each_other_and_no_member_is_another");
    for over_udp in [false, true] {
        let nodes = Nodes::new(over_udp);
        let [(first, one), (second, two), (third, other)] = [1, 2, 3].map(node_key);
        let hosts = nodes.hosts([&[&one], &[&two]]);
        let mut server = nodes.process(2, &hosts, Some(&second));
        let mut client = nodes.process(1, &hosts, Some(&first));
        connect(&mut client, &mut server, "2:80", "");
        assert_eq!([client.ok("security s"), server.ok("security s")], ["seal 1"; 2]);
        exchange(&mut client, &mut server, seed, 4 * MIB, |_| ());
        assert_eq!(client.fails("connect t 2:81 timeout=5000"), "ConnectionRefused");
        drop(client);
        for (forged, private, why) in [
            (nodes.hosts([&[], &[]]), None, "unsigned"),
            (nodes.hosts([&[&other], &[&two]]), Some(&third), "bad_tag"),
        ] {
            let mut liar = nodes.process(1, &forged, private);
            let before: u64 = server.ok(format!("drops s {why}")).parse().expect("a number");
            assert_eq!(liar.fails("connect t 2:80 timeout=1000"), "TimedOut", "{why}");
            let after: u64 = server.ok(format!("drops s {why}")).parse().expect("a number");
            assert!(after > before, "{why}");
        }
    }
}

/// Requests and answers are checked with the private key of either node, and what connections carry
/// with none: `prp dump` says which it has not checked, and why.
fn nodes__a_capture_is_checked_with_the_key_of_one_end() {
    let nodes = Nodes::new(false);
    let [(first, one), (second, two), (third, _)] = [1, 2, 3].map(node_key);
    let hosts = nodes.hosts([&[&one], &[&two]]);
    let ends = [(1, &first), (2, &second)];
    let ends = ends.map(|(node, private)| nodes.process(node, &hosts, Some(private)));
    let capture = capture(&nodes.topology, ends);
    let dump = |private: Option<&TempFile>| {
        let mut command = nodes.topology.node(1).command("env");
        command.arg(format!("PRP_HOSTS={}", hosts.path().display())).arg(program::prp(ROUTED));
        command.args(["dump", "-r"]).arg(capture.path()).arg("--key").arg(nodes.key.path());
        if let Some(private) = private {
            command.arg("--node-key").arg(private.path());
        }
        program::finish(command)
    };
    let (code, out, error) = dump(None);
    assert!(code == Some(0) && out.contains("asks for seal key 1 tag unchecked"), "{out}");
    assert!(error.contains("--node-key") && error.contains("no key file checks"), "{error}");
    for private in [&first, &second] {
        let (code, out, error) = dump(Some(private));
        assert_eq!(code, Some(0), "{error}");
        for says in ["asks for seal key 1 tag right", "agrees on seal key 1 tag right"] {
            assert!(out.contains(says), "{out}");
        }
        assert!(!out.contains("unchecked") && !out.contains("wrong"), "{out}");
        assert!(error.contains("no key file checks") && !error.contains("--node-key"), "{error}");
    }
    let (code, _, error) = dump(Some(&third));
    assert!(code == Some(1) && error.contains("on a line of prphosts"), "{error}");
}

/// PRP-KEY-24: the new key behind the old one, in front of it, and alone; a stream lives on, and
/// others are made at each step.
fn nodes__a_key_is_replaced_under_a_stream() {
    let nodes = Nodes::new(false);
    let [(_, old), (second, two), (_, new)] = [1, 2, 3].map(node_key);
    let first = private(&[1, 3]);
    let stages: [&[&str]; 4] = [&[&old], &[&old, &new], &[&new, &old], &[&new]];
    let files = [0, 1].map(|_| nodes.hosts([stages[0], &[&two]]));
    let mut client = nodes.process(1, &files[0], Some(&first));
    let mut server = nodes.process(2, &files[1], Some(&second));
    connect(&mut client, &mut server, "2:80", "");
    for (turn, stage) in stages.iter().enumerate().skip(1) {
        for (file, is_last) in files.iter().zip([false, true]) {
            let next = nodes.hosts([stage, &[&two]]);
            fs::rename(next.path(), file.path()).expect("within one folder");
            let name = format!("t{turn}{}", u8::from(is_last));
            client.ok(format!("connect {name} 2:80 timeout=5000"));
            server.ok(format!("accept l {name}"));
            assert_eq!(server.ok(format!("security {name}")), "seal 1");
        }
    }
    client.ok(format!("write s {WORDS}"));
    assert_eq!(server.ok(format!("read s {}", WORDS.len())), WORDS);
}

/// PRP-KEY-20: programs fail, and the doctor names the file and prphosts.
fn nodes__without_their_private_key_are_told_so() {
    let nodes = Nodes::new(false);
    let [(_, one), (_, two), (third, _)] = [1, 2, 3].map(node_key);
    let hosts = nodes.hosts([&[&one], &[&two]]);
    for (private, kind, says) in [
        (None, "NotFound", "prp key node new"),
        (Some(&third), "InvalidData", "the line of node 1 in prphosts"),
    ] {
        let (found, text) = nodes.process(1, &hosts, private).message("listen l 1:80");
        assert!(found == kind && text.contains(says), "{found}: {text}");
    }
    let mut doctor = nodes.topology.node(1).command("env");
    doctor.arg(format!("PRP_HOSTS={}", hosts.path().display()));
    doctor.arg(format!("PRP_KEY={}", nodes.key.path().display()));
    doctor.arg(format!("PRP_NODE_KEY={}", third.path().display()));
    doctor.arg(program::prp(ROUTED)).args(["doctor", "--json"]);
    let (code, out, error) = program::finish(doctor);
    assert_eq!(code, Some(1), "{out}{error}");
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let of_key: Vec<_> = findings.iter().filter(|it| it["kind"] == "node_key").collect();
    assert!(of_key.len() == 1 && of_key[0]["severity"] == "fault", "{out}");
    let cause = of_key[0]["cause"].as_str().unwrap_or_default();
    assert!(cause.contains("the line of node 1 in prphosts"), "{cause}");
}
