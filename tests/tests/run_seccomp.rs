//! Programs without a C library whose calls could be replaced, under `prp run`: the kernel shows
//! their calls. Those of Python have a library, and are run so as well for what they try.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::LazyLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_tests::harness::skip;
use prp_tests::program;
use prp_tests::run::{Run, holder, reported};
use prp_tests::scratch::TempFile;
use prp_tests::server::Server;
use prp_tests::topology::{Node, Topology};
use prp_tests::wait::until;

prp_tests::main! {
    first: build;
    light:
        accept__is_interrupted_by_a_handler,
        connect__falls_back_or_is_refused,
        connect__goes_on_after_a_handler,
        connect__nobody_listens,
        epoll__has_a_socket_before_it_connects,
        explain__says_the_place,
        go__serves_and_calls_http,
        holder__is_killed,
        listener__serves_both_or_one_of_them,
        loopback__is_claimed,
        privileges__are_given_up_where_the_kernel_demands_it,
        python__asks_what_programs_ask_of_tcp,
        python__passes_descriptors_on,
        python__resets_and_waits,
        statically_linked__echoes_both_ways;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/run_static.c");

const GO_SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/run_peer.go");

/// Bytes that most clients send, and those that come back.
const SIZE: u64 = 300_000;

/// What has the kernel show the calls of programs that have a library as well.
const SHOWN: [&str; 2] = ["--require", "--seccomp"];

static PROGRAMS: LazyLock<PathBuf> =
    LazyLock::new(|| program::build_all(&["prp-tools", "prp-run-preload"], SIBLING));

/// The program that is linked statically, where that can be done.
static STATIC: LazyLock<Option<String>> = LazyLock::new(|| {
    let path = PROGRAMS.join("run_static");
    let mut cc = Command::new("cc");
    cc.args(["-static", "-O1", "-Wall", "-Wextra", "-o"]).arg(&path).arg(SOURCE);
    cc.status().is_ok_and(|status| status.success()).then(|| path.display().to_string())
});

/// The program of Go, where there is a compiler.
static GO: LazyLock<Option<String>> = LazyLock::new(|| {
    let path = PROGRAMS.join("run_go");
    let mut go = Command::new("go");
    go.args(["build", "-o"]).arg(&path).arg(GO_SOURCE).stderr(Stdio::null());
    go.status().is_ok_and(|status| status.success()).then(|| path.display().to_string())
});

fn build() {
    LazyLock::force(&PROGRAMS);
    LazyLock::force(&STATIC);
    LazyLock::force(&GO);
}

/// The program that is linked statically; skips the test if there is none.
fn linked() -> &'static str {
    STATIC.as_deref().unwrap_or_else(|| skip("cc -static"))
}

fn run(node: Node<'_>) -> Run<'_> {
    Run::new(&PROGRAMS, node)
}

/// With the kernel showing the calls.
fn shown(node: Node<'_>) -> Run<'_> {
    run(node).with(&SHOWN)
}

/// Starts the static server `what`.
fn serve(run: Run<'_>, what: &str, port: u16) -> Server {
    Server::start_listening(run.command(&[linked(), what, &port.to_string()]))
}

/// Runs the static client `what`; what it prints.
fn call(run: Run<'_>, what: &str, host: &str, port: u16) -> String {
    run.call_program(&[linked(), what, host, &port.to_string()])
}

/// Starts the static client `what`, and waits for its first line.
fn start(run: Run<'_>, what: &str, host: &str, port: u16) -> (Child, BufReader<ChildStdout>) {
    let mut client = run.command(&[linked(), what, host, &port.to_string()]);
    let mut client = client.stdout(Stdio::piped()).spawn().expect("it runs");
    let stdout = BufReader::new(client.stdout.take().expect("a pipe"));
    (client, stdout)
}

fn explain__says_the_place() {
    let pair = Topology::pair();
    let explain = |words: &[&str]| run(pair.node(1)).with(&["--explain"]).call_program(words);
    assert!(explain(&[linked()]).contains("carried by seccomp: linked statically"));
    assert!(explain(&["sh"]).contains("carried by preload"));
    let asked = run(pair.node(1)).with(&["--explain", "--seccomp"]).call_program(&["sh"]);
    assert!(asked.contains("carried by seccomp: by --seccomp"), "{asked}");
}

/// Processes that wait in calls, and those that wait by epoll; a child, and what it executes.
fn statically_linked__echoes_both_ways() {
    let pair = Topology::pair();
    for (server, client, host, first) in [(2, 1, "198.18.0.2", 7001), (1, 2, "198.18.0.1", 7011)] {
        for (port, what) in (first..).zip(["serve", "serve_epoll"]) {
            let _server = serve(run(pair.node(server)), what, port);
            for call_by in ["call", "call_epoll", "call_exec"] {
                let report = TempFile::new("");
                let client = run(pair.node(client)).reporting(report.path());
                call(client, call_by, host, port);
                let line = reported(&report, |line| line["connections_prp"] == 1);
                assert_eq!(line["bytes_prp"], 2 * SIZE, "{what} {call_by}: {line}");
                assert_eq!((&line["connections_tcp"], &line["fallbacks"]), (&0.into(), &0.into()));
                assert_eq!(line["program"], "run_static");
            }
        }
    }
}

/// A peer of the other place reaches it as well, by each form of address.
fn epoll__has_a_socket_before_it_connects() {
    let pair = Topology::pair();
    let mut server = serve(run(pair.node(2)), "serve", 7002);
    call(run(pair.node(1)), "call_registered", "198.18.0.2", 7002);
    assert_eq!(server.line(), "::ffff:198.18.0.1");
    run(pair.node(1)).call("call_registered", "198.18.0.2", 7002);
    let _other = run(pair.node(1)).serve("serve_asyncio", 7003);
    call(run(pair.node(2)), "call_registered", "198.18.0.1", 7003);
    shown(pair.node(2)).call("call_registered", "198.18.0.1", 7003);
    shown(pair.node(2)).call("call_inherited", "198.18.0.1", 7003);
}

fn connect__nobody_listens() {
    let pair = Topology::pair();
    // Some process refuses in the node's name.
    let _other = run(pair.node(2)).serve("serve_silent", 7004);
    let printed = call(run(pair.node(1)), "call_refused", "198.18.0.2", 7005);
    assert_eq!(printed, "ECONNREFUSED\nECONNREFUSED\n");
    shown(pair.node(1)).call("call_refused", "198.18.0.2", 7005);
}

/// To an address that TCP has as well, and to one that prphosts tells.
fn connect__falls_back_or_is_refused() {
    let pair = Topology::pair();
    let _server = serve(run(pair.node(2)).with(&["--off"]), "serve", 7006);
    let hosts = pair.node(1).hosts();
    let told = hosts.lines().map(|line| match line.split_once(' ') {
        Some(("2", device)) => format!("2 {}\n", device.replacen("eth0", "eth0, udp:10.99.0.2", 1)),
        _ => format!("{line}\n"),
    });
    let hosts = TempFile::new(told.collect::<String>());
    let option = hosts.path().display().to_string();
    for (options, host) in
        [(&["--network", "10.99.0.0/24"][..], "10.99.0.2"), (&["--hosts", &option], "198.18.0.2")]
    {
        let report = TempFile::new("");
        let client = run(pair.node(1)).with(options).reporting(report.path());
        call(client, "call_tcp", host, 7006);
        let line = reported(&report, |line| line["connections_tcp"] == 1);
        assert_eq!(
            (&line["fallbacks"], &line["connections_prp"]),
            (&1.into(), &0.into()),
            "{line}"
        );
    }
    let _other = run(pair.node(2)).serve("serve_silent", 7007);
    let options = ["--require", "--network", "10.99.0.0/24"];
    let printed = call(run(pair.node(1)).with(&options), "call_refused", "10.99.0.2", 7006);
    assert_eq!(printed, "ECONNREFUSED\nECONNREFUSED\n");
}

/// To a node whose machine is not there.
fn connect__goes_on_after_a_handler() {
    let pair = Topology::pair();
    let mut hosts = pair.node(1).hosts();
    hosts.push_str("9 02:00:00:00:00:99 eth0\n");
    let hosts = TempFile::new(hosts);
    let option = hosts.path().display().to_string();
    let options = ["--require", "--seccomp", "--hosts", &option];
    let client = run(pair.node(1)).with(&options);
    let printed = call(client, "call_interrupted", "198.18.0.9", 80);
    assert_eq!(printed, "EINTR\nETIMEDOUT\n");
    for what in ["call_unanswered", "call_interrupted"] {
        assert_eq!(client.call(what, "198.18.0.9", 80), "ETIMEDOUT\n", "{what}");
    }
}

/// A server whose call waits for a connection ends by its handler, and has reaped its children.
fn accept__is_interrupted_by_a_handler() {
    let pair = Topology::pair();
    let mut server = serve(run(pair.node(2)), "serve", 7008);
    call(run(pair.node(1)), "call", "198.18.0.2", 7008);
    assert_eq!(server.line(), "::ffff:198.18.0.1");
    let pid = until("the server", || child_of(&server));
    until("the end of its child", || {
        let children = format!("/proc/{pid}/task/{pid}/children");
        std::fs::read_to_string(children).is_ok_and(|it| it.is_empty()).then_some(())
    });
    kill(pid, Signal::SIGTERM).expect("it is there");
    assert_eq!(server.line(), "ended");
}

/// The process of a server, which `ip netns exec` and `prp run` have become.
fn child_of(server: &Server) -> Option<Pid> {
    let mut pid = server.pid();
    loop {
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        if exe == Path::new(linked()) {
            return Some(Pid::from_raw(pid));
        }
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        pid = children.split_whitespace().next()?.parse().ok()?;
    }
}

/// Connections are reset, and calls fail; none waits for an answer.
fn holder__is_killed() {
    let pair = Topology::pair();
    let mut server = serve(run(pair.node(2)), "serve", 7009);
    let (mut client, mut stdout) = start(run(pair.node(1)), "call_left", "198.18.0.2", 7009);
    let mut line = String::new();
    stdout.read_line(&mut line).expect("the client prints");
    assert_eq!(line, "connected\n");
    assert_eq!(server.line(), "::ffff:198.18.0.1");
    kill(holder(&PROGRAMS, "call_left"), Signal::SIGKILL).expect("it is there");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the client prints");
    assert_eq!(rest, "ECONNRESET\nENOSYS\n");
    assert!(client.wait().expect("it ends").success());
}

fn listener__serves_both_or_one_of_them() {
    let pair = Topology::pair();
    let succeeds =
        |mut command: Command| command.stderr(Stdio::null()).status().expect("it runs").success();
    for (port, protocol, prp, tcp) in
        [(7021, "both", true, true), (7022, "prp", true, false), (7023, "tcp", false, true)]
    {
        let options = ["--listen", protocol];
        let _server = serve(run(pair.node(2)).with(&options), "serve", port);
        let port = port.to_string();
        let over_prp = run(pair.node(1)).command(&[linked(), "call", "198.18.0.2", &port]);
        let mut plain = pair.node(1).command(linked());
        plain.args(["call", "10.99.0.2", &port]);
        assert_eq!((succeeds(over_prp), succeeds(plain)), (prp, tcp), "{protocol}");
    }
}

fn loopback__is_claimed() {
    let pair = Topology::pair();
    let report = TempFile::new("");
    let options = ["--require", "--seccomp", "--loopback", "self"];
    let run = run(pair.node(1)).with(&options).reporting(report.path());
    run.call("call_loopback", "127.0.0.1", 7024);
    let line = reported(&report, |line| line["connections_prp"] == 4);
    assert_eq!(line["connections_tcp"], 0, "{line}");
}

/// Without the privilege to have calls shown, the program and its children can gain none.
fn privileges__are_given_up_where_the_kernel_demands_it() {
    let pair = Topology::pair();
    let _server = serve(run(pair.node(2)), "serve", 7025);
    for (bounding, given_up) in [("-sys_admin", 1), ("-sys_time", 0)] {
        let mut command = pair.node(1).command("setpriv");
        command.args(["--bounding-set", bounding]).arg(PROGRAMS.join("prp")).args(["run"]);
        command.args(SHOWN).args(["sh", "-c", "grep NoNewPrivs: /proc/self/status && exec $0 $@"]);
        command.args([linked(), "call", "198.18.0.2", "7025"]);
        let (code, printed, error) = program::finish(command);
        assert_eq!(code, Some(0), "{bounding}: {error}");
        assert_eq!(printed, format!("NoNewPrivs:\t{given_up}\n"), "{bounding}");
    }
}

fn python__passes_descriptors_on() {
    let pair = Topology::pair();
    let (server, client) = (shown(pair.node(2)), shown(pair.node(1)));
    for (port, what, called) in [
        (7031, "serve_forking", "call_echo"),
        (7032, "serve_exec", "call_echo"),
        (7033, "serve_passing", "call_echo"),
        (7034, "serve_file", "call_file"),
        (7035, "serve_asyncio", "call_many"),
        (7036, "serve_prefork", "call_workers"),
        (7037, "serve_shared", "call_rights"),
    ] {
        let _server = server.serve(what, port);
        client.call(called, "198.18.0.2", port);
    }
}

fn python__asks_what_programs_ask_of_tcp() {
    let pair = Topology::pair();
    let mut server = shown(pair.node(2)).serve("serve_silent", 7041);
    let printed = shown(pair.node(1)).call("call_names", "198.18.0.2", 7041);
    assert_eq!(printed, "198.18.0.1 198.18.0.2\n");
    assert_eq!(server.line(), "accepted 198.18.0.2 198.18.0.1");
}

fn python__resets_and_waits() {
    let pair = Topology::pair();
    let (server, client) = (shown(pair.node(2)), shown(pair.node(1)));
    let mut lingering = server.serve("serve_lingering", 7051);
    assert_eq!(client.call("call_lingering", "198.18.0.2", 7051), "reset\nend\n");
    assert_eq!([(); 2].map(|()| lingering.line()), ["reset", "reset"]);
    let _resetting = server.serve("serve_resetting", 7052);
    assert!(client.call("call_reset", "198.18.0.2", 7052).starts_with("reset after"));
    let _scarce = server.serve("serve_scarce", 7053);
    assert_eq!(client.call("call_once", "198.18.0.2", 7053), "once\n");
    let _interrupted = server.serve("serve_interrupted", 7054);
    client.call("call_often", "198.18.0.2", 7054);
    let _flooding = server.serve("serve_flooding", 7055);
    client.call("call_flooded", "198.18.0.2", 7055);
}

fn go__serves_and_calls_http() {
    let go = GO.as_deref().unwrap_or_else(|| skip("go"));
    let pair = Topology::pair();
    let report = TempFile::new("");
    let _server = Server::start_listening(run(pair.node(2)).command(&[go, "serve", ":8080"]));
    let client = run(pair.node(1)).reporting(report.path());
    let printed = client.call_program(&[go, "call", "http://198.18.0.2:8080/"]);
    assert_eq!(printed, format!("198.18.0.1 {SIZE} bytes, 50 times\n"));
    let line = reported(&report, |line| line["program"] == "run_go");
    assert_eq!((&line["connections_tcp"], &line["fallbacks"]), (&0.into(), &0.into()), "{line}");
    assert!(line["bytes_prp"].as_u64().expect("a number") > 50 * SIZE, "{line}");
}
