//! The program as scripts meet it: what it prints where, and the code it exits with. Nothing here
//! needs a privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use tempfile::NamedTempFile;

const CLUSTER: &str = "\
self 2
1  02:00:00:00:00:01 none0  alpha
2  02:00:00:00:00:02 none1  beta b.cluster
8  via 2  delta
";

fn prp(args: &[&str], hosts: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_prp"))
        .args(args)
        .env("PRP_HOSTS", hosts)
        .env_remove("PRP_NODE")
        .stdin(Stdio::null())
        .output()
        .expect("the program can be run")
}

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("room for a few bytes");
    file
}

fn path(file: &NamedTempFile) -> &str {
    file.path().to_str().expect("a name in ASCII")
}

/// Code, standard output, standard error.
fn run(args: &[&str], hosts: &str) -> (Option<i32>, String, String) {
    let output = prp(args, hosts);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn usage__is_2_and_help_is_0() {
    let wrong = [
        &["cat"][..],
        &["cat", "beta"],
        &["hosts"],
        &["cat", "-l", "beta", "7"],
        &["perf"],
        &["perf", "latency"],
        &["perf", "latency", "beta", "--vs", "udp"],
        &["perf", "latency", "beta", "--wait", "long"],
        &["perf", "latency", "beta", "--size", "0"],
        &["perf", "stream", "beta", "--time", "0"],
        &["perf", "stream", "beta", "--time", "1", "--bytes", "1"],
        &["perf", "stream", "beta", "--rounds", "0"],
        &["perf", "stream", "beta", "--vs", "raw", "--bidir"],
        &["perf", "connect", "beta", "--vs", "raw"],
        &["perf", "connect", "beta", "--count", "0"],
        &["ping", "-i", "0", "alpha"],
        &["trace", "-w", "long", "alpha"],
        &["ping", "-w", "1e19", "beta"],
        &["ping", "-i", "1e19", "beta"],
        &["ping", "-W", "1e19", "beta"],
        &["trace", "-w", "1e19", "beta"],
        &["top", "-d", "1e19"],
        &["routed"],
        &["routed", "status", "--watch", "0"],
        &["routed", "--watch=soon", "status"],
        &["routed", "reload", "--watch"],
        &[],
    ];
    for args in wrong {
        let (code, out, err) = run(args, "/nowhere");
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}: {err}");
    }
    let asked =
        [&["--help"][..], &["cat", "--help"], &["cat", "-h"], &["perf", "-h"], &["routed", "-h"]];
    for args in asked {
        let (code, out, _) = run(args, "/nowhere");
        assert!(code == Some(0) && out.contains("Exit codes:"), "{args:?}: {out}");
    }
    let with_examples = [
        "cat",
        "hosts",
        "hosts check",
        "hosts generate",
        "hosts resolve",
        "perf",
        "perf serve",
        "perf latency",
        "perf stream",
        "perf connect",
        "perf sweep",
        "ping",
        "trace",
        "routed",
        "routed status",
        "routed routes",
        "routed neighbours",
        "routed counters",
        "routed metrics",
        "routed reload",
    ];
    for command in with_examples {
        let args: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let (code, out, _) = run(&args, "/nowhere");
        let example = format!("\n  prp {command}");
        let has_all =
            out.contains("Exit codes:") && out.contains("Examples:") && out.contains(&example);
        assert!(code == Some(0) && has_all, "{command}: {out}");
    }
}

/// The options of a parent may come before the subcommand as well as behind it.
#[test]
fn routed__watch_before_and_behind() {
    let file = file(CLUSTER);
    for args in [
        &["routed", "--watch", "status"][..],
        &["routed", "status", "--watch", "0.5"],
        &["routed", "--watch", "0.5", "status"],
    ] {
        let (code, _, err) = run(args, path(&file));
        // No daemon runs here for that node; but it was asked.
        assert!(code == Some(1) && err.contains("prp-routed runs"), "{args:?}: {err}");
    }
}

#[test]
fn check__takes_the_file_in_force_or_the_one_named() {
    let file = file(CLUSTER);
    let line = format!(
        "{}: 3 nodes, 4 names, devices none0 none1; this machine is node 2 (beta)",
        path(&file)
    );
    let (code, out, err) = run(&["hosts", "check", path(&file)], "/nowhere");
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let (printed, notes): (Vec<_>, Vec<_>) =
        out.lines().partition(|line| !line.starts_with("note: "));
    assert_eq!((printed, notes.len()), (vec![line.as_str()], 2), "{out}");
    assert!(notes.iter().all(|note| note.contains("this machine has no device none")), "{out}");
    // In force here, no program could work with it.
    let in_force = run(&["hosts", "check"], path(&file));
    assert_eq!(in_force, run(&["hosts", "check", path(&file), "--here"], "/nowhere"));
    let (code, out, err) = in_force;
    assert_eq!((code, out), (Some(1), format!("{line}\n")));
    assert_eq!(err.matches("this machine has no device none").count(), 2, "{err}");
}

#[test]
fn check__in_force_where_no_node_is_this_machine() {
    let file = file("1 02:00:00:00:aa:01 lo alpha\n");
    let (code, _, err) = run(&["hosts", "check"], path(&file));
    assert_eq!(code, Some(1));
    assert!(err.contains("no line has an address of this machine"), "{err}");
}

#[test]
fn check__prints_every_mistake_with_its_place() {
    let file = file("1 02:00:00:00:00:01 eth0 alpha\n2 beyond 3\nnode 4\n");
    let (code, out, err) = run(&["hosts", "check", path(&file)], "/nowhere");
    assert_eq!((code, out.as_str()), (Some(1), ""));
    let lines: Vec<_> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert!(lines[0].starts_with(&format!("{}:2:3: expected ", path(&file))), "{err}");
    assert!(lines[1].starts_with(&format!("{}:3:1: expected ", path(&file))), "{err}");
}

#[test]
fn check__a_file_that_is_not_there() {
    let (code, out, err) = run(&["hosts", "check"], "/nowhere/prphosts");
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.starts_with("prp: /nowhere/prphosts: No such file"), "{err}");
    assert_eq!(err.lines().count(), 1);
}

/// Where UDP carries everything no device and no privilege is missing.
#[test]
fn udp__ping_and_doctor_need_no_privilege() {
    let file = file("self 1\n1 udp:127.0.0.1 alpha\n2 udp:127.0.0.2 beta\n");
    let (code, out, err) = run(&["ping", "-c", "1", "-W", "0.1", "2"], path(&file));
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(out.contains("1 packets transmitted, 0 received"), "{out}{err}");
    assert!(err.contains("2 (beta): no answer"), "{out}{err}");
    let (_, out, _) = run(&["doctor", "--json", "2"], path(&file));
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let kinds: Vec<_> = findings.iter().map(|finding| finding["kind"].clone()).collect();
    assert!(kinds.contains(&"no_answer".into()), "{kinds:?}");
    let of_ethernet = |kind: &&serde_json::Value| kind.as_str().is_some_and(|k| k.contains("priv"));
    assert_eq!(kinds.iter().find(of_ethernet), None, "{kinds:?}");
}

#[test]
fn resolve__prints_the_line() {
    let file = file(CLUSTER);
    let beta = "2  02:00:00:00:00:02 none1  beta b.cluster\n";
    for name in ["b.cluster", "2", "self"] {
        let (code, out, err) = run(&["hosts", "resolve", name], path(&file));
        assert_eq!((code, out.as_str(), err.as_str()), (Some(0), beta, ""), "{name}");
    }
    let elsewhere = run(&["hosts", "resolve", "delta", "--hosts", path(&file)], "/nowhere");
    assert_eq!(elsewhere, (Some(0), "8  via 2  delta\n".into(), String::new()));
    let (code, out, _) = run(&["hosts", "resolve", "delta", "--json"], path(&file));
    let line: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &line["next_hops"][0]["via"]), (Some(0), &2.into()));
}

#[test]
fn resolve__an_unknown_node_is_5() {
    let file = file(CLUSTER);
    for name in ["omega", "77"] {
        let (code, out, err) = run(&["hosts", "resolve", name], path(&file));
        assert_eq!((code, out.as_str()), (Some(5), ""), "{name}");
        let nodes = "name 1 (alpha), 2 (beta), 8 (delta), or add its line";
        assert_eq!(err, format!("prp: no node {name} in {}; {nodes}\n", path(&file)));
    }
}

#[test]
fn resolve__a_closed_output_is_no_failure() {
    let file = file(CLUSTER);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let ended = Command::new(env!("CARGO_BIN_EXE_prp"))
        .args(["hosts", "resolve", "alpha"])
        .env("PRP_HOSTS", path(&file))
        .env_remove("PRP_NODE")
        .stdout(writer)
        .output()
        .expect("the program can be run");
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn any__an_unknown_name_is_5() {
    let file = file(CLUSTER);
    for name in ["omega", "77"] {
        for args in [&["cat", name, "7"][..], &["perf", "latency", name]] {
            let (code, out, err) = run(args, path(&file));
            assert_eq!((code, out.as_str()), (Some(5), ""), "{args:?}: {err}");
            let nodes = "name 1 (alpha), 2 (beta), 8 (delta), or add its line";
            assert_eq!(err, format!("prp: no node {name} in {}; {nodes}\n", path(&file)));
        }
    }
}

#[test]
fn any__a_port_that_is_none_is_reported_at_once() {
    let file = file(CLUSTER);
    let (code, _, err) = run(&["cat", "alpha", "0"], path(&file));
    assert!(code == Some(2) && err.contains("1 to 65535"), "{err}");
    for port in ["0", "65536", "http"] {
        let (code, _, err) = run(&["perf", "latency", "alpha", "--port", port], path(&file));
        assert!(code == Some(2) && err.contains("expected a port from 1 to 65535"), "{err}");
    }
    let (code, _, err) = run(&["cat", "-l", "65536"], path(&file));
    assert!(code == Some(2) && err.contains("expected a port from 0 to 65535"), "{err}");
}

/// Runs `command` in a shell, with the program as $PRP, which is ended if it goes on where it
/// should not.
fn shell(command: &str, hosts: &str) -> (Option<i32>, String, String) {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &command.replace("$PRP", "timeout 20 \"$PRP\"")])
        .env("PRP", env!("CARGO_BIN_EXE_prp"))
        .env("PRP_HOSTS", hosts);
    let output = shell.stdin(Stdio::null()).output().expect("there is a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// What comes would be lost, and what is printed.
#[test]
fn any__a_closed_descriptor_is_an_error() {
    let file = file(CLUSTER);
    for (command, stream) in [
        ("$PRP cat -l 7000 >&-", "output"),
        ("$PRP cat -l 7000 <&-", "input"),
        ("$PRP cat -s alpha 7000 <&-", "input"),
        ("$PRP hosts resolve alpha >&-", "output"),
        ("$PRP ping alpha >&-", "output"),
        ("$PRP routed status >&-", "output"),
        ("$PRP perf serve >&-", "output"),
    ] {
        let (code, _, err) = shell(command, path(&file));
        assert_eq!(code, Some(1), "{command}: {err}");
        assert!(err.starts_with(&format!("prp: standard {stream}: Bad file descriptor")), "{err}");
    }
    // What needs neither does not care, and /dev/null is a file like any other.
    for command in ["$PRP hosts resolve alpha <&-", "$PRP hosts resolve alpha >/dev/null"] {
        assert_eq!(shell(command, path(&file)).0, Some(0), "{command}");
    }
    let (_, _, err) = shell("$PRP cat -s alpha 7000 >&- </dev/null", path(&file));
    assert!(!err.contains("Bad file descriptor"), "{err}");
}

#[test]
fn any__a_mistake_in_prphosts_is_1() {
    let file = file("1 here\n");
    let readers: [&[&str]; 4] =
        [&["cat", "1", "7"], &["cat", "-l", "7"], &["perf", "latency", "1"], &["perf", "serve"]];
    for args in readers {
        let (code, _, err) = run(args, path(&file));
        assert_eq!(code, Some(1), "{args:?}");
        assert!(err.starts_with(&format!("prp: {}:1:3: expected ", path(&file))), "{err}");
    }
    // Expect: a name that cannot be resolved is not one that is unknown.
    let (code, _, err) = run(&["cat", "alpha", "7"], "/nowhere/prphosts");
    assert_eq!(code, Some(1), "{err}");
}

/// `-` in the place of a file: standard input, as often as a command reads it, and no file of that
/// name where one has to be named.
#[test]
fn dash__is_standard_input_or_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |args: &[&str], input: &str| {
        let input = file(input);
        let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
        command.args(args).env_remove("PRP_HOSTS").current_dir(folder.path());
        let output = command.stdin(input.reopen().expect("it is there")).output();
        let Output { status, stdout, stderr } = output.expect("the program can be run");
        let text = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (status.code(), text.concat())
    };
    let (code, text) = run(&["hosts", "check", "-"], CLUSTER);
    assert!(code == Some(0) && text.contains("/dev/stdin: 3 nodes"), "{text}");
    let (code, text) = run(&["hosts", "check", "-"], "1 here\n");
    assert!(code == Some(1) && text.contains("/dev/stdin:1:3: expected"), "{text}");
    let (code, text) = run(&["hosts", "resolve", "--hosts", "-", "delta"], CLUSTER);
    assert!(code == Some(0) && text.starts_with('8'), "{text}");
    let (code, text) = run(&["model", "fit", "-"], "bytes,seconds\nnone,1\n");
    assert!(code == Some(1) && text.contains("/dev/stdin: line 2"), "{text}");
    for args in [&["key", "new", "-"][..], &["key", "list", "-"], &["dump", "--key", "-"]] {
        let (code, text) = run(args, "");
        assert!(code == Some(2) && text.contains("name a file"), "{args:?}: {text}");
    }
    assert!(!folder.path().join("-").exists());
}
