//! Programs of TCP as they are, under `prp run`.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_proto::key::{KeyFile, Mode, Secret};
use prp_tests::harness::skip;
use prp_tests::program;
use prp_tests::run::{self, PEER, Run, python, reported};
use prp_tests::scratch::TempFile;
use prp_tests::server::Server;
use prp_tests::topology::{Node, Topology};
use prp_tests::wait::until;

prp_tests::main! {
    first: build;
    light:
        accept__goes_on_after_signals,
        accept__has_connections_in_their_order,
        accept__waits_for_room_in_the_queue,
        accept__without_descriptors_leaves_the_connection,
        close__changes_nothing_else,
        confined__is_not_killed_for_the_report,
        connect__from_a_bound_socket,
        connect__nobody_listens,
        connect__nobody_answers,
        connect__has_a_limited_time,
        connections__that_only_the_peer_keeps_end,
        container__has_the_program_and_the_holder,
        curl__from_a_server_in_python,
        descriptors__are_no_part_of_what_is_sent,
        descriptors__go_where_programs_pass_them,
        epoll__has_a_socket_before_it_connects,
        epoll__has_no_socket_of_a_child,
        epoll__is_inherited_with_a_socket_in_it,
        fall_back__is_counted_and_can_be_forbidden,
        flow__has_all_bytes_on_a_link_that_loses_frames,
        flow__stops_where_a_program_does_not_read,
        holder__is_asked_to_end,
        holder__that_cannot_begin_says_so,
        holder__without_descriptors_resets_connections,
        holder__without_memory_leaves_the_program_to_tcp,
        holder__is_killed,
        key__is_that_of_the_holder,
        listen__is_tried_again,
        listen__without_descriptors_says_so,
        listener__ends_with_its_last_socket,
        listener__ends_when_it_is_closed,
        listener__follows_one_of_an_older_run,
        listener__serves_both_or_one_of_them,
        loopback__is_claimed,
        program__inherits_signals_and_limits,
        many__connections_at_a_time,
        names__and_options_are_as_of_tcp,
        reset__by_a_linger_of_zero,
        reset__is_no_end_of_file,
        urgent_data__is_not_lost,
        workers__accept_from_one_listener;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");
const WIRE: &str = env!("CARGO_BIN_EXE_wire");

/// Bytes that most clients send, and those that come back.
const SIZE: u64 = 300_000;

static PROGRAMS: LazyLock<PathBuf> =
    LazyLock::new(|| program::build_all(&["prp-tools", "prp-run-preload"], SIBLING));

fn build() {
    LazyLock::force(&PROGRAMS);
}

/// With PRP alone.
fn run(node: Node<'_>) -> Run<'_> {
    Run::new(&PROGRAMS, node)
}

/// The holder of the run whose command line has `word` in it.
fn holder(word: &str) -> Pid {
    run::holder(&PROGRAMS, word)
}

/// A server of the distribution and a client of the distribution; the name of a node in the URL.
fn curl__from_a_server_in_python() {
    if Command::new("curl").arg("--version").output().is_err() {
        skip("curl");
    }
    let pair = Topology::pair();
    let hosts = pair.node(1).hosts();
    let named: String = hosts
        .lines()
        .map(|line| match line.strip_prefix("2 ") {
            Some(rest) => format!("2 {} gamma\n", rest.trim_end()),
            None => format!("{line}\n"),
        })
        .collect();
    let hosts = TempFile::new(named);
    let option = hosts.path().display().to_string();
    let report = TempFile::new("");
    let words = [python(), "-u", "-c", SERVER];
    let _server = Server::start_listening(run(pair.node(2)).command(&words));
    let options = ["--require", "--hosts", &option];
    let client = run(pair.node(1)).with(&options).reporting(report.path());
    let output = client.command(&["curl", "-sS", "http://gamma:8080/"]).output().expect("curl");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stdout.len(), SIZE as usize);
    let line = reported(&report, |line| line["program"] == "curl");
    assert_eq!((&line["connections_prp"], &line["connections_tcp"]), (&1.into(), &0.into()));
    assert!(line["bytes_prp"].as_u64().expect("a number") > SIZE, "{line}");
}

const SERVER: &str = "
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(bytes(300000))
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(('', 8080), Handler)
print('listening')
server.serve_forever()
";

/// A forked child, a program that is executed, another process, and sendfile.
fn descriptors__go_where_programs_pass_them() {
    let pair = Topology::pair();
    let client = run(pair.node(1));
    for (port, server) in [(7001, "serve_forking"), (7002, "serve_exec"), (7003, "serve_passing")] {
        let report = TempFile::new("");
        let _server = run(pair.node(2)).serve(server, port);
        client.reporting(report.path()).call("call_echo", "198.18.0.2", port);
        let line = reported(&report, |line| line["connections_prp"] == 1);
        assert_eq!(line["bytes_prp"], 2 * SIZE, "{server}: {line}");
    }
    let _server = run(pair.node(2)).serve("serve_file", 7004);
    client.call("call_file", "198.18.0.2", 7004);
}

fn descriptors__are_no_part_of_what_is_sent() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_forking", 7035);
    run(pair.node(1)).call("call_rights", "198.18.0.2", 7035);
}

/// Programs of TCP speak under the cluster's key, and none without it reaches them.
fn key__is_that_of_the_holder() {
    let keys = KeyFile::new(Mode::Seal, 1, Secret::new([7; 32]));
    let file = TempFile::new(keys.reveal().as_bytes());
    let only_ours = Permissions::from_mode(0o600);
    std::fs::set_permissions(file.path(), only_ours).expect("it is ours");
    let pair = Topology::pair();
    let _server = run(pair.node(2)).with_key(file.path()).serve("serve_asyncio", 7031);
    run(pair.node(1)).with_key(file.path()).call("call_many", "198.18.0.2", 7031);
    let mut without = pair.node(1).command(PROGRAMS.join("prp"));
    without.args(["cat", "-w", "1", "2", "7031"]).stdin(Stdio::null());
    let (code, _, error) = program::finish(without);
    assert_ne!(code, Some(0));
    assert!(error.contains("has a cluster key that this process does not have"), "{error}");
}

fn many__connections_at_a_time() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_asyncio", 7005);
    run(pair.node(1)).call("call_many", "198.18.0.2", 7005);
}

fn workers__accept_from_one_listener() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_prefork", 7006);
    run(pair.node(1)).call("call_workers", "198.18.0.2", 7006);
}

fn names__and_options_are_as_of_tcp() {
    let pair = Topology::pair();
    let mut server = run(pair.node(2)).serve("serve_silent", 7007);
    let printed = run(pair.node(1)).call("call_options", "198.18.0.2", 7007);
    assert_eq!(printed, "198.18.0.1 198.18.0.2\n");
    assert_eq!(server.line(), "accepted 198.18.0.2 198.18.0.1");
}

fn epoll__has_a_socket_before_it_connects() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_asyncio", 7008);
    run(pair.node(1)).call("call_registered", "198.18.0.2", 7008);
}

fn epoll__has_no_socket_of_a_child() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_forking", 7050);
    let printed = run(pair.node(1)).call("call_renumbered", "198.18.0.2", 7050);
    assert_eq!(printed, "[]\nTrue\n");
}

fn epoll__is_inherited_with_a_socket_in_it() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_silent", 7023);
    run(pair.node(1)).call("call_inherited", "198.18.0.2", 7023);
}

fn connect__nobody_listens() {
    let pair = Topology::pair();
    // Some process refuses in the node's name.
    let _other = run(pair.node(2)).serve("serve_silent", 7018);
    run(pair.node(1)).call("call_refused", "198.18.0.2", 7009);
}

/// A node that is in prphosts, and whose machine is not there.
fn connect__nobody_answers() {
    let pair = Topology::pair();
    let mut hosts = pair.node(1).hosts();
    hosts.push_str("9 02:00:00:00:00:99 eth0\n");
    let hosts = TempFile::new(hosts);
    let option = hosts.path().display().to_string();
    let options = ["--require", "--hosts", &option];
    for call in ["call_unanswered", "call_interrupted"] {
        let printed = run(pair.node(1)).with(&options).call(call, "198.18.0.9", 80);
        assert_eq!(printed, "ETIMEDOUT\n", "{call}");
    }
}

fn connect__has_a_limited_time() {
    let pair = Topology::pair();
    let mut hosts = pair.node(1).hosts();
    hosts.push_str("9 02:00:00:00:00:99 eth0\n");
    let hosts = TempFile::new(hosts);
    let option = hosts.path().display().to_string();
    for place in [&["--require", "--hosts", &option][..], &["--seccomp", "--hosts", &option]] {
        let printed = run(pair.node(1)).with(place).call("call_timed", "198.18.0.9", 80);
        assert_eq!(printed, "EINPROGRESS\n", "{place:?}");
    }
}

fn close__changes_nothing_else() {
    let pair = Topology::pair();
    let printed = run(pair.node(1)).call_program(&[python(), PEER, "serve_confined", "7051"]);
    assert_eq!(printed, "EISDIR\nclosed\n");
}

/// For longer than the kernel of a holder waits that asks once.
fn accept__waits_for_room_in_the_queue() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_slow", 7052);
    assert_eq!(run(pair.node(1)).call("call_six", "198.18.0.2", 7052), "xxxxxx\n");
}

/// A holder that has no descriptors for a port when a program listens has some later.
fn listen__is_tried_again() {
    let pair = Topology::pair();
    let server = run(pair.node(2)).with(&["--prefer"]);
    let mut server = Server::start(server.command(&[python(), PEER, "serve_late", "7053"]));
    assert_eq!(server.line(), "waiting");
    let holder = holder("serve_late");
    let open = std::fs::read_dir(format!("/proc/{holder}/fd")).expect("a process").count();
    let limit = |descriptors: usize| {
        let mut command = Command::new("prlimit");
        command.arg(format!("--pid={holder}")).arg(format!("--nofile={descriptors}:"));
        assert!(command.status().expect("util-linux").success());
    };
    limit(open);
    kill(Pid::from_raw(server.pid()), Signal::SIGUSR1).expect("it waits");
    assert_eq!(server.line(), "listening 7053");
    limit(256);
    until("a connection", || {
        let words = [python(), PEER, "call_greeted", "198.18.0.2", "7053"];
        let mut client = run(pair.node(1)).command(&words);
        client.stderr(Stdio::null()).status().expect("it runs").success().then_some(())
    });
}

/// What `prp` changes of that for itself.
fn program__inherits_signals_and_limits() {
    let pair = Topology::pair();
    let prp = PROGRAMS.join("prp").display().to_string();
    let shown = |words: &[&str]| {
        let set = "trap '' PIPE XCPU; ulimit -t 100; exec prlimit --rttime=2000000 \"$@\"";
        let mut command = pair.node(1).command("sh");
        command.args(["-c", set, "sh"]).args(words);
        command.args([
            "grep",
            "-hE",
            "^Sig(Blk|Ign)|^Max",
            "/proc/self/status",
            "/proc/self/limits",
        ]);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{words:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    assert_eq!(shown(&[&prp, "run", "--require"]), shown(&[]));
    assert_eq!(shown(&[&prp, "run", "--off"]), shown(&[]));
}

fn confined__is_not_killed_for_the_report() {
    let pair = Topology::pair();
    let report = TempFile::new("");
    let _server = run(pair.node(2)).serve("serve_forking", 7027);
    let client = run(pair.node(1)).reporting(report.path());
    client.call("call_confined", "198.18.0.2", 7027);
    reported(&report, |line| line["connections_prp"] == 1);
}

fn accept__goes_on_after_signals() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_interrupted", 7020);
    run(pair.node(1)).call("call_often", "198.18.0.2", 7020);
}

/// A process that has no descriptor for a connection accepts it when it has some.
fn accept__without_descriptors_leaves_the_connection() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_scarce", 7032);
    assert_eq!(run(pair.node(1)).call("call_once", "198.18.0.2", 7032), "once\n");
}

fn listen__without_descriptors_says_so() {
    let pair = Topology::pair();
    assert_eq!(run(pair.node(1)).call_program(&[python(), PEER, "serve_full", "7037"]), FULL);
}

/// What `listen` and `connect` say.
const FULL: &str = "EMFILE\nEMFILE\n";

/// A holder with few descriptors passes a connection on or resets it, and has no peer take that for
/// an end in order.
fn holder__without_descriptors_resets_connections() {
    let pair = Topology::pair();
    let mut greeted = 0;
    for limit in 16..64 {
        let mut command = pair.node(2).command("prlimit");
        command.arg(format!("--nofile={limit}:{limit}")).arg(PROGRAMS.join("prp"));
        let port = 7100 + limit;
        command.args(["run", "--require", python(), PEER, "serve_greeting", &port.to_string()]);
        // Python says what it lacks.
        command.stderr(Stdio::null());
        let mut server = Server::start(command);
        let line = server.line();
        if !line.starts_with("listening") {
            // The holder has none to listen with; or Python has none to start with.
            assert!(["EMFILE", ""].contains(&line.trim()), "{limit} descriptors: {line}");
            continue;
        }
        let printed = run(pair.node(1)).call("call_greeting", "198.18.0.2", port);
        assert!(["hello\n", "error\n"].contains(&&*printed), "{limit} descriptors: {printed}");
        greeted = if printed == "hello\n" { greeted + 1 } else { 0 };
        if greeted == 3 {
            return;
        }
    }
    panic!("64 descriptors are enough for a connection");
}

/// Where it has no descriptors to begin with, and the program has enough.
fn holder__that_cannot_begin_says_so() {
    let pair = Topology::pair();
    for limit in 4..7 {
        let mut command = pair.node(1).command("prlimit");
        command.arg(format!("--nofile={limit}:{limit}")).arg(PROGRAMS.join("prp"));
        command.args(["run", "--prefer", "echo", "here"]);
        let (_, printed, error) = program::finish(command);
        assert_eq!(printed, "here\n", "{limit} descriptors");
        let is_told = error.contains("without PRP") && error.lines().count() == 1;
        assert!(is_told, "{limit} descriptors: {error}");
    }
}

/// The first limit of memory at which the program has room, and its holder no threads.
fn holder__without_memory_leaves_the_program_to_tcp() {
    let pair = Topology::pair();
    let echo = |kib: u64, policy: &str| {
        let mut command = pair.node(1).command("prlimit");
        command.arg(format!("--as={}", kib << 10)).arg(PROGRAMS.join("prp"));
        command.args(["run", policy, "echo", "here"]);
        program::finish(command)
    };
    let is_without = |kib: &u64| {
        let (_, printed, error) = echo(*kib, "--prefer");
        printed == "here\n" && error.contains("no threads") && error.lines().count() == 1
    };
    let limit = (4 << 10..64 << 10).step_by(128).find(is_without).expect("a limit");
    let (code, printed, error) = echo(limit, "--require");
    assert_ne!(code, Some(0), "{error}");
    assert_eq!(printed, "");
    assert!(error.contains("no threads") && error.contains("RLIMIT_AS"), "{error}");
}

fn accept__has_connections_in_their_order() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_ordered", 7048);
    run(pair.node(1)).call("call_ordered", "198.18.0.2", 7048);
}

fn flow__has_all_bytes_on_a_link_that_loses_frames() {
    let faulty = Topology::faulty(WIRE, ["--loss", "1%"]);
    let _server = run(faulty.node(2)).serve("serve_forking", 7036);
    run(faulty.node(1)).call("call_echo", "198.18.0.2", 7036);
}

fn flow__stops_where_a_program_does_not_read() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_flooding", 7033);
    run(pair.node(1)).call("call_flooded", "198.18.0.2", 7033);
}

/// What has listeners serve PRP only leaves clients of TCP alone.
fn connect__from_a_bound_socket() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).with(&["--off"]).serve("serve_forking", 7021);
    run(pair.node(1)).with(&["--listen", "prp"]).call("call_bound", "10.99.0.2", 7021);
}

/// Set by a listener, and no more; set before a connection and in it.
fn reset__by_a_linger_of_zero() {
    let pair = Topology::pair();
    let mut server = run(pair.node(2)).serve("serve_lingering", 7034);
    let printed = run(pair.node(1)).call("call_lingering", "198.18.0.2", 7034);
    assert_eq!(printed, "reset\nend\n");
    assert_eq!([(); 2].map(|()| server.line()), ["reset", "reset"]);
}

fn reset__is_no_end_of_file() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_resetting", 7010);
    let printed = run(pair.node(1)).call("call_reset", "198.18.0.2", 7010);
    assert!(printed.starts_with("reset after"), "{printed}");
}

/// A program that waits for all its children does not wait for the holder.
fn container__has_the_program_and_the_holder() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_forking", 7026);
    let mut command = pair.node(1).command("unshare");
    command.args(["--pid", "--fork", "--kill-child"]).arg(PROGRAMS.join("prp"));
    command.args(["run", "--require", python(), PEER, "call_as_first", "198.18.0.2", "7026"]);
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1 child\n");
}

/// As for all processes of a service that ends: the program still has its connections, and the
/// holder ends with it.
fn holder__is_asked_to_end() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_forking", 7020);
    let words = [python(), PEER, "call_when_told", "198.18.0.2", "7020"];
    let mut client = run(pair.node(1)).command(&words);
    let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut stdout = BufReader::new(client.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("the client prints");
    assert_eq!(line, "connected\n");
    let holder = holder("call_when_told");
    kill(holder, Signal::SIGTERM).expect("it is there");
    client.stdin.take().expect("a pipe").write_all(b"go on\n").expect("the client reads");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the client prints");
    assert_eq!(rest, "got x\n");
    assert!(client.wait().expect("it ends").success());
    let exe = format!("/proc/{holder}/exe");
    until("the end of the holder", || std::fs::read_link(&exe).is_err().then_some(()));
}

/// Once no process has an end any more, connections last as long as with TCP, and have no thread
/// each.
fn connections__that_only_the_peer_keeps_end() {
    let pair = Topology::pair();
    pair.node(1).run("sh", &["-c", "echo 2 >/proc/sys/net/ipv4/tcp_fin_timeout"]);
    let _server = run(pair.node(2)).serve("serve_silent", 7025);
    let words = [python(), PEER, "call_leaving", "198.18.0.2", "7025"];
    let mut client = run(pair.node(1)).command(&words);
    let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut line = String::new();
    let mut stdout = BufReader::new(client.stdout.take().expect("a pipe"));
    stdout.read_line(&mut line).expect("the client prints");
    assert_eq!(line, "connected\n");
    let holder = holder("call_leaving");
    drop(client.stdin.take());
    assert!(client.wait().expect("it ends").success());
    // It ends with its last connection.
    kill(holder, Signal::SIGTERM).expect("it is there");
    let exe = format!("/proc/{holder}/exe");
    let mut most = 0;
    until("the end of the holder", || {
        let threads = std::fs::read_dir(format!("/proc/{holder}/task"));
        most = most.max(threads.map_or(0, Iterator::count));
        std::fs::read_link(&exe).is_err().then_some(())
    });
    assert!((1..40).contains(&most), "{most} threads for 60 connections");
}

/// Both ends of a connection see a reset, and the server goes on with TCP.
fn holder__is_killed() {
    let pair = Topology::pair();
    let mut server = run(pair.node(2)).serve("serve_silent", 7011);
    let words = [python(), PEER, "call_waiting", "198.18.0.2", "7011"];
    let mut client = run(pair.node(1)).command(&words);
    let mut client = client.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut stdout = BufReader::new(client.stdout.take().expect("a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("the client prints");
    assert_eq!(line, "connected\n");
    assert!(server.line().starts_with("accepted"));
    kill(holder("call_waiting"), Signal::SIGKILL).expect("it is there");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the client prints");
    assert_eq!(rest, "reset\n");
    assert!(client.wait().expect("it ends").success());
    kill(holder("serve_silent"), Signal::SIGKILL).expect("it is there");
    let tcp = pair.node(1).run(python(), &[PEER, "call_options", "10.99.0.2", "7011"]);
    assert_eq!(tcp, "10.99.0.1 10.99.0.2\n");
}

/// A port is free again when the last process that had its socket has ended.
fn listener__ends_with_its_last_socket() {
    let pair = Topology::pair();
    let client = run(pair.node(1));
    let server = run(pair.node(2)).serve("serve_asyncio", 7012);
    client.call("call_echo", "198.18.0.2", 7012);
    drop(server);
    until("a refusal", || {
        let words = [python(), PEER, "call_refused", "198.18.0.2", "7012"];
        client
            .command(&words)
            .stderr(Stdio::null())
            .status()
            .expect("it runs")
            .success()
            .then_some(())
    });
    let _server = run(pair.node(2)).serve("serve_asyncio", 7012);
    client.call("call_echo", "198.18.0.2", 7012);
}

fn urgent_data__is_not_lost() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_forking", 7038);
    run(pair.node(1)).call("call_urgent", "198.18.0.2", 7038);
}

/// While its process goes on, and may listen at the port again.
fn listener__ends_when_it_is_closed() {
    let pair = Topology::pair();
    let _server = run(pair.node(2)).serve("serve_closing", 7029);
    run(pair.node(1)).call("call_closing", "198.18.0.2", 7029);
}

/// As at a graceful reload: the older process still has the port when the newer one listens.
fn listener__follows_one_of_an_older_run() {
    let pair = Topology::pair();
    let options = ["--prefer"];
    let server = run(pair.node(2)).with(&options);
    let older = server.serve("serve_shared", 7024);
    let _newer = server.serve("serve_shared", 7024);
    drop(older);
    until("an answer of the newer one", || {
        let words = [python(), PEER, "call_echo", "198.18.0.2", "7024"];
        let mut client = run(pair.node(1)).command(&words);
        client.stderr(Stdio::null()).status().expect("it runs").success().then_some(())
    });
}

fn listener__serves_both_or_one_of_them() {
    let pair = Topology::pair();
    let plain = |host: &str, port: u16| {
        let mut command = pair.node(1).command(python());
        command.args([PEER, "call_echo", host, &port.to_string()]).stderr(Stdio::null());
        command.status().expect("it runs").success()
    };
    let over_prp = |port: u16| {
        let words = [python(), PEER, "call_echo", "198.18.0.2", &port.to_string()];
        let mut command = run(pair.node(1)).command(&words);
        command.stderr(Stdio::null()).status().expect("it runs").success()
    };
    // One socket, or one of IPv4 and one of IPv6 alone.
    for (server, port, protocol, prp, tcp) in [
        ("serve_forking", 7013, "both", true, true),
        ("serve_forking", 7014, "prp", true, false),
        ("serve_forking", 7015, "tcp", false, true),
        ("serve_asyncio", 7022, "prp", true, false),
    ] {
        let options = ["--listen", protocol];
        let _server = run(pair.node(2)).with(&options).serve(server, port);
        assert_eq!((over_prp(port), plain("10.99.0.2", port)), (prp, tcp), "{server} {protocol}");
    }
}

fn fall_back__is_counted_and_can_be_forbidden() {
    let pair = Topology::pair();
    let off = ["--off"];
    let _server = run(pair.node(2)).with(&off).serve("serve_forking", 7016);
    let report = TempFile::new("");
    let options = ["--network", "10.99.0.0/24"];
    let client = run(pair.node(1)).with(&options).reporting(report.path());
    client.call("call_echo", "10.99.0.2", 7016);
    let line = reported(&report, |line| line["connections_tcp"] == 1);
    assert_eq!((&line["fallbacks"], &line["connections_prp"]), (&1.into(), &0.into()), "{line}");
    let options = ["--require", "--network", "10.99.0.0/24"];
    let _other = run(pair.node(2)).serve("serve_silent", 7019);
    run(pair.node(1)).with(&options).call("call_refused", "10.99.0.2", 7016);
}

fn loopback__is_claimed() {
    let pair = Topology::pair();
    let report = TempFile::new("");
    let options = ["--require", "--loopback", "self"];
    let run = run(pair.node(1)).with(&options).reporting(report.path());
    run.call("call_loopback", "127.0.0.1", 7017);
    let line = reported(&report, |line| line["connections_prp"] == 4);
    assert_eq!(line["connections_tcp"], 0, "{line}");
}
