//! The examples of the crates, run as a user would.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use prp_tests::harness::skip;
use prp_tests::topology::Topology;
use prp_tests::wait;

prp_tests::main! {
    light:
        chat__members_read_each_other,
        echo__answers_what_it_was_sent,
        epoll__serves_prp_cat,
        file_transfer__keeps_what_came_whole,
        http__is_answered,
        kv_store__keeps_values,
        log__has_both_ends_of_a_connection,
        messages__are_answered_one_by_one,
        sans_io__carries_a_text,
        tokio__answers_what_it_was_sent;
}

/// A program of these tests. The others are in the same folder.
const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// A text longer than a segment.
const TEXT_LEN: usize = 5000;

/// The program at `path` in the folder of these tests' programs.
fn program(path: &str) -> PathBuf {
    let program = Path::new(PUPPET).with_file_name(path);
    if !program.exists() {
        skip(format!("{path}: `cargo test --workspace --all-features` builds it"));
    }
    program
}

/// A server example. It is killed when this is dropped.
struct Server(Child);

impl Server {
    /// `example` on node 2.
    fn start(topology: &Topology, example: &str) -> Self {
        let mut command = topology.node(2).command(program(example));
        Self(command.spawn().expect("topo runs"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().expect("the server has not been waited for");
        self.0.wait().expect("the server has not been waited for");
    }
}

/// Runs `example` on node 1 with `words` once its server listens; returns its output.
fn client(topology: &Topology, example: &str, words: &[&str]) -> String {
    wait::until(format_args!("an answer for {example}"), || {
        let mut command = topology.node(1).command(program(example));
        let output = command.args(words).output().expect("topo runs");
        output.status.success().then(|| String::from_utf8(output.stdout).expect("text"))
    })
}

/// Sends a text to `example` on node 2 with another process of it on node 1.
fn ask(example: &str) {
    let topology = Topology::pair();
    let _server = Server::start(&topology, example);
    let text = "x".repeat(TEXT_LEN);
    let printed = client(&topology, example, &["2", &text]);
    assert_eq!(printed.trim_end(), text);
}

fn echo__answers_what_it_was_sent() {
    ask("examples/echo");
}

fn tokio__answers_what_it_was_sent() {
    ask("examples/tokio");
}

fn messages__are_answered_one_by_one() {
    let topology = Topology::pair();
    let _server = Server::start(&topology, "examples/messages");
    let printed = client(&topology, "examples/messages", &["2", "one", "three"]);
    assert_eq!(printed, "one: 3 bytes\nthree: 5 bytes\n");
}

fn epoll__serves_prp_cat() {
    let topology = Topology::pair();
    let _server = Server::start(&topology, "examples/epoll");
    // More than the buffers of both ends.
    let sent = vec![b'x'; 8 << 20];
    assert_eq!(client(&topology, "prp", &["cat", "-q", "2", "7003"]), "");
    let mut command = topology.node(1).command(program("prp"));
    command.args(["cat", "-q", "2", "7003"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = command.spawn().expect("topo runs");
    let mut input = client.stdin.take().expect("it is piped");
    let text = sent.clone();
    let writer = std::thread::spawn(move || input.write_all(&text));
    let output = client.wait_with_output().expect("topo runs");
    writer.join().expect("it does not panic").expect("prp cat takes everything");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout == sent, "other bytes than were sent");
}

/// One member receives the other's lines, and messages when it joins and leaves.
fn chat__members_read_each_other() {
    let topology = Topology::pair();
    let _server = Server::start(&topology, "examples/chat");
    wait::until("the room", || {
        let mut probe = topology.node(1).command(program("prp"));
        probe
            .args(["cat", "-q", "2", "7005"])
            .output()
            .expect("topo runs")
            .status
            .success()
            .then_some(())
    });
    let join = |node: u8, name: &str| {
        let mut command = topology.node(node).command(program("examples/chat"));
        command.args(["2", name]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("topo runs")
    };
    let mut listener = join(1, "ada");
    let mut lines = BufReader::new(listener.stdout.take().expect("it is piped")).lines();
    let mut next_line = || lines.next().expect("another line").expect("text");
    assert_eq!(next_line(), "* ada has come");
    let mut guest = join(2, "bob");
    let mut input = guest.stdin.take().expect("it is piped");
    writeln!(input, "hello").expect("the guest reads");
    drop(input);
    let output = guest.wait_with_output().expect("topo runs");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        [next_line(), next_line(), next_line()],
        ["* bob has come", "bob: hello", "* bob has left"]
    );
    drop(listener.stdin.take());
    assert!(listener.wait().expect("topo runs").success());
}

fn file_transfer__keeps_what_came_whole() {
    let topology = Topology::pair();
    let from = tempfile::tempdir().expect("a folder");
    let to = tempfile::tempdir().expect("a folder");
    let mut command = topology.node(2).command(program("examples/file_transfer"));
    let _server = Server(command.arg(to.path()).spawn().expect("topo runs"));
    for (name, len) in [("empty", 0), ("large", 3 << 20)] {
        let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        let file = from.path().join(name);
        std::fs::write(&file, &bytes).expect("the folder can be written");
        let words = ["2", file.to_str().expect("a path in UTF-8")];
        let printed = client(&topology, "examples/file_transfer", &words);
        assert_eq!(printed, format!("{name}: {len} bytes\n"));
        assert!(std::fs::read(to.path().join(name)).expect("it is there") == bytes, "{name}");
    }
    // Expect: nothing but whole files.
    assert_eq!(std::fs::read_dir(to.path()).expect("the folder").count(), 2);
}

fn http__is_answered() {
    let topology = Topology::pair();
    let _server = Server::start(&topology, "examples/http");
    assert_eq!(client(&topology, "examples/http", &["2", "/a/b"]), "200 OK: GET /a/b\n");
}

fn kv_store__keeps_values() {
    let topology = Topology::pair();
    let _server = Server::start(&topology, "examples/kv_store");
    let request =
        |words: &[&str]| client(&topology, "examples/kv_store", &[&["2"], words].concat());
    assert_eq!(request(&["PING"]), "+PONG\r\n");
    assert_eq!(request(&["GET", "colour"]), "$-1\r\n");
    assert_eq!(request(&["SET", "colour", "red\r\nand blue"]), "+OK\r\n");
    assert_eq!(request(&["get", "colour"]), "$13\r\nred\r\nand blue\r\n");
    assert_eq!(request(&["DEL", "colour", "size"]), ":1\r\n");
    assert!(request(&["SET", "colour"]).starts_with("-ERR "));
}

/// The server logs the begin and the end of the client's connection.
fn log__has_both_ends_of_a_connection() {
    let topology = Topology::pair();
    let mut command = topology.node(2).command(program("examples/log"));
    let mut server = Server(command.stderr(Stdio::piped()).spawn().expect("topo runs"));
    let log = BufReader::new(server.0.stderr.take().expect("it is piped"));
    assert_eq!(client(&topology, "examples/log", &["2", "a text"]), "a text\n");
    let lines = log.lines().map(|line| line.expect("text"));
    let lines: Vec<_> = lines.filter(|line| line.contains("prp::connection")).take(2).collect();
    assert!(lines[0].contains("DEBUG prp::connection: connection began local=2:7008 peer=1:"));
    assert!(lines[0].contains(r#" role="accepted" device=""#), "{lines:?}");
    assert!(lines[1].contains("connection ended local=2:7008 peer=1:"), "{lines:?}");
    assert!(lines[1].ends_with(r#" reason="closed""#), "{lines:?}");
}

fn sans_io__carries_a_text() {
    let output = Command::new(program("examples/sans_io")).output().expect("it runs");
    let printed = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{printed}");
    assert_eq!(printed.lines().last(), Some("a byte stream without a socket"));
}
