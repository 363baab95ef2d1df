//! An unchanged program with TCP sockets over PRP, by the library for `LD_PRELOAD`.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use prp_tests::program;
use prp_tests::scratch::TempFile;
use prp_tests::topology::{Node, Topology};

prp_tests::main! {
    first: build;
    light:
        counters__are_of_prp_only,
        program__has_what_tcp_gives_it,
        program__has_it_on_a_link_that_loses_frames;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");
const WIRE: &str = env!("CARGO_BIN_EXE_wire");

/// Bytes of each connection in each direction: more than one buffer.
const BYTES: u64 = 900_000;

static PROGRAMS: LazyLock<PathBuf> =
    LazyLock::new(|| program::build_all(&["prp-preload"], SIBLING));

static ECHO: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = PROGRAMS.join("tcp_echo");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../prp-preload/tests/programs/tcp_echo.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source);
    assert!(compiler.status().expect("cc runs").success(), "{compiler:?} failed");
    program
});

fn build() {
    LazyLock::force(&ECHO);
}

/// The program on a node with the library preloaded. Its counters go to `report`.
fn echo(node: Node<'_>, report: &Path, network: Option<&str>, words: &[&str]) -> Command {
    let mut command = node.command("env");
    command.arg(format!("LD_PRELOAD={}", PROGRAMS.join("libprp_preload.so").display()));
    command.arg(format!("PRP_PRELOAD_REPORT={}", report.display()));
    command.args(network.map(|network| format!("PRP_PRELOAD_NETWORK={network}")));
    command.arg(&*ECHO).args(words).stdout(Stdio::piped());
    command
}

/// Opens two connections from node 1 to node 2, one after the other; returns the counters of both
/// ends.
fn exchange(pair: &Topology, network: Option<&str>) -> [String; 2] {
    let reports = [(); 2].map(|()| TempFile::new(""));
    let paths = [0, 1].map(|end: usize| reports[end].path().to_owned());
    let mut serving = echo(pair.node(2), &paths[1], network, &["serve", "7000", "2"]);
    let mut serving = serving.spawn().expect("topo runs");
    let mut stdout = BufReader::new(serving.stdout.take().expect("it is a pipe"));
    let mut line = String::new();
    stdout.read_line(&mut line).expect("the server speaks");
    assert_eq!(line, "listening\n");
    let bytes = BYTES.to_string();
    for waiting in ["poll", "epoll"] {
        let words = ["call", "10.99.0.2", "7000", &bytes, waiting];
        let called = echo(pair.node(1), &paths[0], network, &words).output().expect("topo runs");
        assert!(called.status.success(), "{waiting}: {called:?}");
        assert_eq!(called.stdout, b"ok\n", "{waiting}");
    }
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the server speaks");
    assert_eq!(rest, "accepted from 10.99.0.1\n".repeat(2));
    assert!(serving.wait().expect("it can be waited for").success());
    paths.map(|path| std::fs::read_to_string(path).expect("the report is there"))
}

/// The counters of all lines of a report, added.
fn counters(report: &str) -> BTreeMap<&str, u64> {
    let mut all = BTreeMap::new();
    for line in report.lines() {
        let (_, counters) = line.split_once(": streams").expect("a line of counters");
        let words: Vec<_> = std::iter::once("streams").chain(counters.split(' ')).collect();
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        for pair in words.chunks(2) {
            *all.entry(pair[0]).or_default() += pair[1].parse::<u64>().expect("a number");
        }
    }
    all
}

fn check(pair: &Topology) {
    let [calling, serving] = exchange(pair, Some("10.99.0.0/24"));
    for (end, report) in [("calling", &calling), ("serving", &serving)] {
        let counted = counters(report);
        assert_eq!(counted["bytes_sent"], 2 * BYTES, "{end}: {report}");
        assert_eq!(counted["bytes_received"], 2 * BYTES, "{end}: {report}");
        assert!(counted["segments_sent"] >= 2 * BYTES / 65_535, "{end}: {report}");
    }
    // Each run also has a connection that is refused.
    assert_eq!(counters(&calling)["streams"], 4, "{calling}");
    assert_eq!(counters(&serving)["streams"], 2, "{serving}");
}

fn program__has_what_tcp_gives_it() {
    check(&Topology::pair());
}

fn program__has_it_on_a_link_that_loses_frames() {
    check(&Topology::faulty(WIRE, ["--loss", "1%"]));
}

/// Without a network the kernel carries all connections, and all counters are zero.
fn counters__are_of_prp_only() {
    let pair = Topology::pair();
    assert_eq!(exchange(&pair, None), ["", ""]);
}
