//! Programs in C with sockets of the family `AF_PRPF`, linked with libprp_socket.so.0 as it is
//! installed.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use prp_tests::loopback::Loopback;
use prp_tests::program::{self, finish};
use prp_tests::scratch::TempFile;
use prp_tests::server::Server;
use prp_tests::topology::Topology;
use prp_tests::wait::until;
use serde_json::Value;

prp_tests::main! {
    first: build;
    light:
        connection__is_counted_under_prp_run,
        ping_pong__over_each_underlay,
        socket__has_the_calls_of_the_system,
        socket__needs_a_node;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");

/// What the programs are compiled with.
const C_FLAGS: [&str; 6] = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-g"];

/// Checks of the compiler's own while a program runs. Not of one that is started by `prp run`: the
/// library that it loads before all others comes before the one of these checks, which refuses
/// that.
const SANITIZERS: &str = "-fsanitize=address,undefined";

static BUILT: LazyLock<PathBuf> =
    LazyLock::new(|| program::build_all(&["prp-capi", "prp-run-preload", "prp-tools"], SIBLING));

/// Where the library is installed, with the prp command, and beside the programs.
static PREFIX: LazyLock<PathBuf> = LazyLock::new(|| {
    let prefix = BUILT.join("family-programs");
    let mut install = Command::new(BUILT.join("prp-capi-install"));
    let status = install.arg("--prefix").arg(&prefix).status().expect("prp-capi-install runs");
    assert!(status.success(), "{install:?}: {status}");
    std::fs::create_dir_all(prefix.join("bin")).expect("the target folder can be written");
    let prp = prefix.join("bin/prp");
    let _ = std::fs::remove_file(&prp);
    symlink(BUILT.join("prp"), prp).expect("the target folder can be written");
    let capi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../prp-capi");
    for name in ["examples/pingpong", "examples/family_echo", "tests/programs/family"] {
        let source = capi.join(name).with_extension("c");
        let program = prefix.join(source.file_stem().expect("a name"));
        compile(&prefix, &source, &program, &[SANITIZERS]);
        compile(&prefix, &source, &program.with_extension("plain"), &[]);
    }
    prefix
});

fn build() {
    LazyLock::force(&PREFIX);
}

/// Compiles and links a program as its documentation says.
fn compile(prefix: &Path, source: &Path, program: &Path, more: &[&str]) {
    let mut config = Command::new("pkg-config");
    config.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let (code, words, errors) = finish({
        config.args(["--cflags", "--libs", "prp_socket"]);
        config
    });
    assert_eq!(code, Some(0), "pkg-config: {errors}");
    let mut command = Command::new("cc");
    command.args(C_FLAGS).args(more).arg("-o").arg(program);
    command.arg(source).args(words.split_whitespace());
    command.arg(format!("-Wl,-rpath,{}", prefix.join("lib").display()));
    let status = command.status().expect("cc runs");
    assert!(status.success(), "{command:?}: {status}");
}

/// A program on a node without a link, and without privileges.
fn at(nodes: &Loopback, node: u8, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("PRP_HOSTS", nodes.hosts()).env("PRP_NODE", node.to_string());
    command
}

/// Names, errors, ports, poll, epoll, fork, exec, and TCP beside it.
fn socket__has_the_calls_of_the_system() {
    let nodes = Loopback::new();
    let mut server = Server::start(at(&nodes, nodes.server, PREFIX.join("family_echo")));
    let line = server.line();
    let port = line.strip_prefix(&format!("node {}, port ", nodes.server)).expect(&line);
    let mut client = at(&nodes, nodes.client, PREFIX.join("family"));
    client.args([&nodes.server.to_string(), port]);
    let (code, out, errors) = finish(client);
    assert_eq!((code, &*out), (Some(0), "done\n"), "{errors}");
    assert!(server.line().starts_with(&format!("from node {}, port ", nodes.client)));
}

/// A client that asks until the server listens; what it prints.
fn ping(mut command: impl FnMut() -> Command) -> String {
    until("a server", || {
        let (code, out, _) = finish(command());
        (code == Some(0)).then_some(out)
    })
}

fn ping_pong__over_each_underlay() {
    for underlay in ["ethernet", "udp"] {
        let pair = Topology::pair_with(["--underlay", underlay]);
        let program = PREFIX.join("pingpong");
        let program = program.to_str().expect("text");
        let _server = Server::start(pair.node(2).command(program));
        let printed = ping(|| {
            let mut client = pair.node(1).command(program);
            client.arg("2");
            client
        });
        assert_eq!(printed.lines().count(), 5, "{printed}");
        assert!(printed.contains("\n65536 bytes: "), "{printed}");
    }
}

fn connection__is_counted_under_prp_run() {
    let nodes = Loopback::new();
    let report = TempFile::new("");
    let run = |node: u8| {
        let mut command = at(&nodes, node, BUILT.join("prp"));
        // The program could start no holder of its own.
        command.env("PRP_HOSTS", "/no/such/prphosts").env("PRP_RUN_REPORT", report.path());
        command.args(["run", "--require", "--hosts"]).arg(nodes.hosts());
        command.arg(PREFIX.join("pingpong.plain"));
        command
    };
    let _server = Server::start(run(nodes.server));
    ping(|| {
        let mut client = run(nodes.client);
        client.arg(nodes.server.to_string());
        client
    });
    let line = until("the line of the client", || {
        let text = std::fs::read_to_string(report.path()).expect("the report is there");
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.find(|line| line["connections_prp"] == 1)
    });
    // 100 messages of each size go there and back.
    let bytes = 2 * 100 * (1 + 16 + 256 + 4096 + 65536);
    assert_eq!(
        (&line["bytes_prp"], &line["connections_tcp"]),
        (&bytes.into(), &0.into()),
        "{line}"
    );
}

/// Where no holder can be started, `socket` fails, and a line says why.
fn socket__needs_a_node() {
    let mut program = Command::new(PREFIX.join("pingpong"));
    program.env("PRP_HOSTS", "/no/such/prphosts");
    let (code, _, errors) = finish(program);
    assert_eq!(code, Some(1), "{errors}");
    let lines: Vec<_> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(lines[0].contains("/no/such/prphosts"), "{errors}");
    assert_eq!(lines[1], "socket: Network is down");
}
