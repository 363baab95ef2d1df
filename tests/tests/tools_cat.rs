//! `prp cat` and `prp proxy`, with commands and programs at their ends.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::path::PathBuf;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_tests::program;
use prp_tests::topology::{Node, Topology};
use prp_tests::wait;

prp_tests::main! {
    light:
        cat__runs_a_command_for_each_connection,
        cat__scans_ports,
        proxy__passes_tcp_over_prp_and_back;
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

/// Received data are the input of a command, and its output is sent back. Many connections run at
/// the same time.
fn cat__runs_a_command_for_each_connection() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let mut server = two.command(prp());
    server.args(["cat", "-lkv", "7000", "-e", "echo $PRP_PEER; tr a-z A-Z"]);
    let mut server = server.stderr(Stdio::null()).spawn().expect("topo runs");
    // It keeps its connection open, and delays no other client.
    let mut holder = wait::until("a server", || {
        let (code, ..) = run(&one, &["cat", "-z", "2", "7000"]);
        let mut holder = one.command(prp());
        holder.args(["cat", "-q", "2", "7000"]).stdin(Stdio::piped()).stdout(Stdio::null());
        (code == Some(0)).then(|| holder.spawn().expect("topo runs"))
    });
    for (flags, wanted) in [("-q", "1:"), ("-q -p 4444", "1:4444")] {
        let script = format!("printf hello | \"$0\" cat {flags} 2 7000");
        let printed = one.run("sh", &["-c", &script, prp().to_str().expect("text")]);
        let (peer, text) = printed.split_once('\n').expect("two lines");
        assert!(peer.starts_with(wanted) && text == "HELLO", "{printed}");
    }
    drop(holder.stdin.take());
    assert_eq!(holder.wait().expect("a child").code(), Some(0));
    // A command that reads nothing: its output still arrives.
    let mut single = two.command(prp());
    single.args(["cat", "-l", "7001", "-e", "echo done"]);
    let mut single = single.spawn().expect("topo runs");
    let script = "head -c 1000000 /dev/zero | \"$0\" cat -q 2 7001";
    let stdout = wait::until("a server", || {
        let mut command = one.command("sh");
        command.args(["-c", script]).arg(prp());
        let (_, stdout, why) = program::finish(command);
        (!why.contains("refused")).then_some(stdout)
    });
    assert_eq!(stdout, "done\n");
    assert_eq!(single.wait().expect("a child").code(), Some(0));
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    server.wait().expect("a child");
}

fn cat__scans_ports() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let mut server = two.command(prp());
    let mut server = server.args(["cat", "-lk", "7001", "-e", "true"]).spawn().expect("topo runs");
    let scan = |args: &[&str]| run(&one, &[&["cat", "-z"], args].concat());
    wait::until("a server", || (scan(&["2", "7001"]).0 == Some(0)).then_some(()));
    let (code, stdout, found) = scan(&["-v", "2", "7000-7002"]);
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "{found}");
    let lines: Vec<_> = found.lines().collect();
    assert_eq!(lines.len(), 3, "{found}");
    assert!(lines[0].starts_with("prp: 2:7000: ") && lines[0].contains("refused"), "{found}");
    assert_eq!(lines[1], "prp: 2:7001: open");
    assert!(lines[2].starts_with("prp: 2:7002: ") && lines[2].contains("refused"), "{found}");
    let (code, _, stderr) = scan(&["-v", "2", "7002"]);
    assert!(code == Some(3) && stderr.lines().count() == 1, "said once: {stderr}");
    let (code, _, stderr) = scan(&["2", "7002-7003"]);
    assert!(code == Some(3) && stderr.contains("2:7003"), "{stderr}");
    let (code, _, stderr) = run(&one, &["cat", "2", "7002-7003"]);
    assert!(code == Some(2) && stderr.contains("--scan"), "{stderr}");
    kill(Pid::from_raw(server.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    server.wait().expect("a child");
}

/// TCP over PRP, and PRP over TCP, to a server that sends each line back.
fn proxy__passes_tcp_over_prp_and_back() {
    let topology = Topology::pair();
    let (one, two) = (topology.node(1), topology.node(2));
    let start = |node: &Node<'_>, args: &[&str]| {
        let mut command = node.command(prp());
        command.args(args).stderr(Stdio::null()).spawn().expect("topo runs")
    };
    let mut all = [
        start(&two, &["cat", "-lk", "7000", "-e", "read -r line; echo \"$line?\""]),
        start(&one, &["proxy", "tcp:127.0.0.1:8080", "prp:2:7000"]),
        start(&two, &["proxy", "prp:7001", "tcp:127.0.0.1:8081"]),
        start(&two, &["proxy", "tcp:127.0.0.1:8081", "prp:2:7000"]),
    ];
    let script = "exec 3<>/dev/tcp/127.0.0.1/8080 && echo from tcp >&3 && head -n 1 <&3";
    wait::until("TCP over PRP", || {
        let mut command = one.command("bash");
        command.args(["-c", script]);
        (program::finish(command).1 == "from tcp?\n").then_some(())
    });
    let script = "echo from prp | \"$0\" cat -q 2 7001";
    wait::until("PRP over TCP", || {
        let mut command = one.command("sh");
        command.args(["-c", script]).arg(prp());
        (program::finish(command).1 == "from prp?\n").then_some(())
    });
    let (code, _, stderr) = run(&one, &["proxy", "tcp:127.0.0.1:8082", "prp:7000"]);
    assert!(code == Some(2) && stderr.contains("which node and port"), "{stderr}");
    for child in &mut all {
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).expect("it runs");
        child.wait().expect("a child");
    }
}
