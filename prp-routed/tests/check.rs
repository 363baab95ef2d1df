//! `prp-routed check` as scripts meet it. Nothing here needs a privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::path::Path;
use std::process::Command;

use prp_proto::plan::Plan;
use tempfile::tempdir;

/// Code, standard output, standard error.
fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp-routed"));
    let output = command.arg("check").args(args).env_remove("PRP_NODE").output();
    let output = output.expect("the program can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn plain(path: &Path) -> &str {
    path.to_str().expect("a name in ASCII")
}

#[test]
fn check__of_one_node_is_0_or_1_and_says_where() {
    let folder = tempdir().expect("a temporary folder");
    let (config, hosts) = (folder.path().join("toml"), folder.path().join("hosts"));
    let write = |path: &Path, text: &str| fs::write(path, text).expect("room");
    write(&config, "spin_us = 0\n");
    write(
        &hosts,
        "self 1\n1 02:00:00:00:01:01 lo\n2 02:00:00:00:00:02 none0\n3 02:00:00:00:00:03 lo\n",
    );
    let args = ["--config", plain(&config), "--hosts", plain(&hosts)];
    let (code, out, err) = run(&args);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("settings without a mistake") && out.contains("as node 1"), "{out}");
    assert!(out.contains("note: ") && out.contains("no device none0"), "{out}");
    let (code, out, _) = run(&[&args[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &report["ok"]), (Some(0), &true.into()));
    write(&hosts, "self 1\n1 here\n");
    write(&config, "spin_us = 'a'\n");
    let (code, out, err) = run(&args);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.starts_with(&format!("{}:1:11: ", plain(&config))), "{err}");
    write(&config, "");
    let (code, _, err) = run(&args);
    assert_eq!(code, Some(1));
    assert!(err.starts_with(&format!("{}:2:3: expected ", plain(&hosts))), "{err}");
    assert_eq!(run(&["--hosts", "x", "--all", "y"]).0, Some(2));
}

/// What there is and what to do about it are apart, and each is said once.
#[test]
fn check__each_fault_has_one_cause_and_one_fix() {
    let folder = tempdir().expect("a temporary folder");
    let path = folder.path().join("of; this");
    let hosts = |text: Option<&str>, node: &str| {
        if let Some(text) = text {
            fs::write(&path, text).expect("room");
        }
        let config = folder.path().join("toml");
        fs::write(&config, node).expect("room");
        let (code, out, _) = run(&["--config", plain(&config), "--hosts", plain(&path), "--json"]);
        let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(code, Some(1), "{report}");
        let fault = &report["faults"][0];
        assert_eq!(fault["file"], plain(&path), "{report}");
        let text = |key: &str| fault[key].as_str().unwrap_or_default().to_owned();
        (text("what"), text("fix"))
    };
    let name_itself =
        "say which node it is: `node` in the settings, `self` in prphosts, or its line";
    for (text, node, what, fix) in [
        (
            None,
            "",
            "No such file or directory (os error 2)",
            "write one (see etc/prphosts) or name another",
        ),
        (
            Some("1 02:00:00:00:00:01 none0\n"),
            "",
            "no line has an address of this machine",
            name_itself,
        ),
        (
            Some("1 02:00:00:00:00:01 none0\n"),
            "node = 7\n",
            "node 7, which this is, has no line",
            name_itself,
        ),
        (
            Some("1 02:00:00:00:00:01 none0 7\n"),
            "",
            "expected a name that is no number, found \"7\"; it would be read as a node number",
            "",
        ),
    ] {
        assert_eq!(hosts(text, node), (what.to_owned(), fix.to_owned()));
    }
}

#[test]
fn check__of_a_whole_cluster() {
    let folder = tempdir().expect("a temporary folder");
    let plan = Plan::chain(3).expect("a possible size");
    let file = |node: u16| folder.path().join(format!("prphosts.{node}"));
    (1..=3).for_each(|node| fs::write(file(node), plan.hosts(node)).expect("room"));
    let all = ["--all", plain(folder.path())];
    let (code, out, err) = run(&all);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("3 nodes, all 3 pairs reach each other"), "{out}");
    fs::write(file(1), plan.hosts(1).replace("3 via 2 node3\n", "")).expect("room");
    let (code, _, err) = run(&all);
    let expected =
        format!("{}: from 1 to 3: node 1 has no line for 3; add a line", plain(&file(1)));
    assert!(code == Some(1) && err.contains(&expected), "{err}");
    let (code, out, _) = run(&[&all[..], &["--json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &report["ok"]), (Some(1), &false.into()));
    assert!(report["faults"][0]["fix"].is_string(), "{report}");
}

#[test]
fn help__has_examples_and_exit_codes() {
    for args in [&["--help"][..], &["check", "--help"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prp-routed"));
        let output = command.args(args).output().expect("the program can be run");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{args:?}");
        assert!(
            stdout.contains("Exit codes:") && stdout.contains("\n  prp-routed check"),
            "{stdout}"
        );
    }
}
