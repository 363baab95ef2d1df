//! `prp top` beside a connection, at a terminal and without one.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_tests::program;
use prp_tests::terminal::Terminal;
use prp_tests::topology::{Node, Topology};
use prp_tests::wait;
use serde_json::Value;

prp_tests::main! {
    light:
        top__at_a_terminal_is_live_and_gives_it_back,
        top__without_a_terminal_prints_rates;
}

const ROUTED: &str = env!("CARGO_BIN_EXE_routed");

/// The prp command in the folder of these tests' programs.
fn prp() -> PathBuf {
    program::prp(ROUTED)
}

/// A server on node 2, and a client on node 1 that sends its standard input.
struct Pair {
    server: Child,
    client: Child,
}

impl Pair {
    fn connect(one: &Node<'_>, two: &Node<'_>, port: &str) -> Self {
        let mut server = two.command(prp());
        server.args(["cat", "-lk", port, "-e", "cat >/dev/null"]);
        let server = server.spawn().expect("topo runs");
        wait::until("a server", || {
            let mut scan = one.command(prp());
            scan.args(["cat", "-z", "2", port]).stderr(Stdio::null());
            scan.status().expect("topo runs").success().then_some(())
        });
        let mut client = one.command(prp());
        client.args(["cat", "2", port]).stdin(Stdio::piped()).stdout(Stdio::null());
        Self { server, client: client.spawn().expect("topo runs") }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.client.stdin.as_mut().expect("a pipe").write_all(bytes).expect("it reads");
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        drop(self.client.stdin.take());
        let _ = kill(Pid::from_raw(self.server.id().cast_signed()), Signal::SIGTERM);
        for child in [&mut self.client, &mut self.server] {
            let _ = child.wait();
        }
    }
}

fn top__at_a_terminal_is_live_and_gives_it_back() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let pair = Pair::connect(&one, &two, "7000");
    let prp = prp();
    let words = [prp.to_str().expect("text"), "top", "-d", "0.1"];
    let mut terminal = Terminal::run(&one, &words, 24, 80);
    terminal.wait_for(|screen| {
        let row = screen.lines().nth(5).unwrap_or_default();
        row.contains(" 2:7000 ") && row.contains(" ESTAB ") && row.contains(" prp(")
    });
    let keys = |screen: &str| screen.trim_end().lines().last().unwrap_or_default().to_owned();
    terminal.wait_for(|screen| keys(screen).ends_with("1-1 of 1"));
    // The screen shows a new connection, and no longer shows one that has ended.
    let other = Pair::connect(&one, &two, "7001");
    terminal.wait_for(|screen| screen.contains(" 2:7001 "));
    drop(other);
    terminal.wait_for(|screen| !screen.contains(" 2:7001 "));
    assert!(!terminal.screen().contains("Underlay"), "{}", terminal.screen());
    terminal.resize(30, 120);
    terminal.wait_for(|screen| {
        screen.contains(" Underlay ")
            && screen.contains(" ethernet ")
            && screen.lines().count() == 30
    });
    terminal.press("s");
    terminal.wait_for(|screen| keys(screen).contains("sort: rtt"));
    terminal.press("q");
    assert!(terminal.finish().success());
    // Ctrl-C is read as a key. A signal from another process ends it like any other program.
    let mut terminal = Terminal::run(&one, &words, 24, 80);
    terminal.wait_for(|screen| screen.contains(" ESTAB "));
    terminal.press("\u{3}");
    assert!(terminal.finish().success());
    let terminal = Terminal::run(&one, &words, 24, 80);
    terminal.wait_for(|screen| screen.contains(" ESTAB "));
    kill(Pid::from_raw(terminal.child.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    assert_eq!(terminal.finish().signal(), Some(Signal::SIGTERM as i32));
    drop(pair);
}

fn top__without_a_terminal_prints_rates() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let mut pair = Pair::connect(&one, &two, "7000");
    let run = |args: &[&str]| {
        let mut command = one.command(prp());
        let output = command.arg("top").args(args).output().expect("topo runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, stdout, why) = run(&[]);
    assert!(code == Some(2) && stdout.is_empty() && why.contains("`prp top -b`"), "{why}");
    let (code, stdout, why) = run(&["--once", "-d", "0.1", "dst", "2:7000"]);
    assert_eq!(code, Some(0), "{why}");
    let head = "Local       Peer        State      Send/s Recv/s RTT ms Again Recv-Q";
    assert!(stdout.starts_with("prp top ") && stdout.contains(head), "{stdout}");
    assert_eq!(stdout.lines().filter(|line| line.contains("2:7000 ")).count(), 1, "{stdout}");
    let (code, stdout, _) = run(&["-b", "-n", "2", "-d", "0.1", "dst", "2:7001"]);
    assert!(code == Some(0) && !stdout.contains("2:7000"), "{stdout}");
    assert_eq!(stdout.matches("prp top ").count(), 2, "{stdout}");
    // The client sends data while it samples.
    let mut top = one.command(prp());
    top.args(["top", "--json", "-d", "0.1", "-n", "100"]).stdout(Stdio::piped());
    let mut top = top.spawn().expect("topo runs");
    let lines = BufReader::new(top.stdout.take().expect("a pipe"));
    let mut lines = lines.lines();
    let row = std::iter::from_fn(|| {
        pair.send(&[0; 10_000]);
        let line = lines.next()?.expect("text");
        let sample: Value = serde_json::from_str(&line).expect("JSON");
        assert!(sample["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.1), "{line}");
        Some(sample["connections"][0].clone())
    })
    .find(|row| row["send_bits_per_second"].as_f64().is_some_and(|rate| rate > 0.0));
    let row = row.expect("a rate");
    assert_eq!((&row["state"], &row["peer_port"]), (&"ESTAB".into(), &7000.into()), "{row}");
    assert_eq!(row["pid"], pair.client.id(), "{row}");
    kill(Pid::from_raw(top.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    top.wait().expect("a child");
}
