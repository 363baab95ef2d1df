use std::fs;

use prp_proto::plan::Plan;
use tempfile::{TempDir, tempdir};

use super::*;

/// The files of `plan`, each changed by `spoil`.
fn folder(plan: &Plan, spoil: impl Fn(u16, String) -> String) -> TempDir {
    let folder = tempdir().expect("a temporary folder");
    for node in 1..=plan.nodes() {
        let file = folder.path().join(format!("prphosts.{node}"));
        fs::write(file, spoil(node, plan.hosts(node))).expect("room");
    }
    folder
}

fn words(findings: &[Finding], folder: &TempDir) -> Vec<String> {
    let prefix = format!("{}/", folder.path().display());
    findings.iter().map(|f| f.to_string().replace(&prefix, "")).collect()
}

#[test]
fn cluster__that_is_right() {
    for plan in [Plan::ring(5), Plan::hypercube(3), Plan::tree(2, 2), Plan::star(4)] {
        let folder = folder(&plan.expect("a possible size"), |_, text| text);
        let report = cluster(folder.path());
        assert!(report.ok, "{report:?}");
        assert!(report.summary.contains("reach each other"), "{}", report.summary);
    }
}

#[test]
fn cluster__paths_that_differ_are_noted_and_no_fault() {
    let folder = folder(&Plan::hypercube(2).expect("a possible size"), |_, text| text);
    let report = cluster(folder.path());
    assert!(report.ok);
    assert_eq!(
        words(&report.notes, &folder),
        [
            "prphosts.1:4: from 1 to 4 by 2, and back by 3",
            "prphosts.2:3: from 2 to 3 by 1, and back by 4"
        ]
    );
}

#[test]
fn cluster__names_file_line_and_fix_and_each_once() {
    let chain = Plan::chain(4).expect("a possible size");
    // Node 4 does not know 1, and 3 sends back what is for 4.
    let folder = folder(&chain, |node, text| match node {
        4 => text.replace("1 via 3 node1\n", ""),
        3 => {
            let lines = text.lines().map(|l| if l.starts_with("4 ") { "4 via 2" } else { l });
            lines.map(|line| format!("{line}\n")).collect()
        }
        _ => text,
    });
    let report = cluster(folder.path());
    assert!(!report.ok);
    let checked = words(&report.faults, &folder);
    let has = |text: &str| assert!(checked.iter().any(|s| s == text), "{text}: {checked:#?}");
    has("prphosts.4: from 4 to 1: node 4 has no line for 1; add a line, `1 via NODE`");
    has(
        "prphosts.3:4: from 1 to 4: frames go in a circle: node 3 sends them to node 2, where they have \
         been; name another next hop here, or on the line for 4 of node 2 (and another pair of nodes alike)",
    );
}

#[test]
fn cluster__files_that_cannot_be_read_or_belong_to_no_node() {
    let folder = folder(&Plan::chain(2).expect("a possible size"), |_, text| text);
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("room");
    write("readme", "");
    write("prphosts.7", "1 here\n");
    write("again", "self 2\n2 02:00:00:00:00:02 eth0\n");
    let checked = words(&cluster(folder.path()).faults, &folder);
    assert_eq!(checked.len(), 3, "{checked:?}");
    assert!(checked[0].starts_with("prphosts.2: of node 2, and so is "), "{checked:?}");
    assert!(checked[1].starts_with("prphosts.7:1:3: expected "), "{checked:?}");
    assert!(checked[2].starts_with("readme: whose is it?; call it prphosts.NODE"), "{checked:?}");
    let empty = tempdir().expect("a temporary folder");
    assert!(!cluster(empty.path()).ok);
    assert!(!cluster(&empty.path().join("nowhere")).ok);
}

#[test]
fn settings__mistakes_with_their_place() {
    let folder = tempdir().expect("a temporary folder");
    let file = folder.path().join("prp-routed.toml");
    fs::write(&file, "# mine\nspin_us = 7\n\nhots = 'x'\n").expect("room");
    let (report, read) = settings(Some(&file));
    assert!(!report.ok && read.is_none());
    assert_eq!((report.faults[0].line, report.faults[0].column), (Some(4), Some(1)));
    assert!(report.faults[0].what.contains("hots"), "{report:?}");
    fs::write(&file, "node = 0\n").expect("room");
    let (report, _) = settings(Some(&file));
    assert!(
        report.faults[0].to_string().ends_with("expected a node number, 1 to 65534, found 0"),
        "{report:?}"
    );
    fs::write(&file, "user = 'no-such-user'\n").expect("room");
    let fault = settings(Some(&file)).0.faults[0].to_string();
    assert!(fault.contains("no such user; make it"), "{fault}");
    let (report, _) = settings(Some(&folder.path().join("nowhere")));
    assert!(!report.ok, "one that is named has to be there");
}

#[test]
fn daemon__what_it_would_begin_with() {
    let folder = tempdir().expect("a temporary folder");
    let file = folder.path().join("prphosts");
    fs::write(&file, "self 1\n1 02:00:00:00:01:01 test0\n2 02:00:00:00:00:02 test0\n")
        .expect("room");
    let own = Settings { hosts: file, ..Settings::default() };
    let report = daemon(&own);
    assert!(!report.ok, "it would have no device: {report:?}");
    assert!(report.summary.contains("as node 1, by no device, it reaches 0 other nodes"));
    let checked = words(&report.faults, &folder);
    assert!(checked[0].starts_with("prphosts: this machine has no device test0; "), "{checked:?}");
    let checked = words(&report.notes, &folder);
    assert!(
        checked[0].starts_with("prphosts:3: node 2 is not reached: this machine"),
        "{checked:?}"
    );
    let other = Settings { node: NodeId::new(9), ..own };
    let fault = daemon(&other).faults[0].to_string();
    assert!(fault.contains("node 9, which this is, has no line; say which"), "{fault}");
}

#[test]
fn hosts__no_file_has_no_name_in_front() {
    let report = hosts(Path::new(""), HostsScope::Here);
    let [fault] = &report.faults[..] else { panic!("{report:?}") };
    assert!(fault.to_string().starts_with("the path of prphosts is empty; "), "{fault}");
}

#[test]
fn hosts__counts_and_names_this_node() {
    let folder = tempdir().expect("a temporary folder");
    let file = folder.path().join("prphosts");
    let checked = |text: &str| {
        fs::write(&file, text).expect("room");
        hosts(&file, HostsScope::Anywhere)
    };
    let cluster = "self 2\n1 02:00:00:00:00:01 eth0 alpha\n2 02:00:00:00:00:02 eth0 beta b\n\
        9 via 2 metric 10, via 1 metric 20 epsilon\n";
    let summary = checked(cluster).summary;
    let start = format!("{}: 3 nodes, 4 names, device eth0; this machine is", file.display());
    assert!(summary.starts_with(&start), "{summary}");
    let summary = checked("# nobody here\n").summary;
    assert!(summary.contains(": 0 nodes, 0 names, no devices; which node this machine is"));
    let report = checked("1 02:00:00:00:00:01\n");
    assert!(!report.ok && report.faults[0].column.is_some(), "{report:?}");
}

#[test]
fn hosts__tells_of_devices_that_are_not_here() {
    let folder = tempdir().expect("a temporary folder");
    let file = folder.path().join("prphosts");
    let checked = |text: &str| {
        fs::write(&file, text).expect("room");
        let report = hosts(&file, HostsScope::Anywhere);
        assert!(report.ok, "{report:?}");
        words(&report.notes, &folder)
    };
    let ours = checked("self 1\n1 02:00:00:00:01:01 test0\n2 02:00:00:00:01:02 lo\n");
    assert_eq!(ours.len(), 1, "{ours:?}");
    assert!(ours[0].starts_with("prphosts: this machine has no device test0; "), "{ours:?}");
    // What another machine has is not known here.
    assert!(checked("1 02:00:00:00:01:01 test0\n2 02:00:00:00:01:02 test0\n").is_empty());
}

#[test]
fn hosts__in_force_here_is_wrong_where_no_program_can_work() {
    let folder = tempdir().expect("a temporary folder");
    let file = folder.path().join("prphosts");
    let faults = |text: &str| {
        fs::write(&file, text).expect("room");
        let report = hosts(&file, HostsScope::Here);
        assert_eq!(report.ok, report.faults.is_empty());
        assert!(hosts(&file, HostsScope::Anywhere).ok, "elsewhere it may be right");
        words(&report.faults, &folder)
    };
    let stranger = "1 02:00:00:00:01:01 test0\n";
    let checked = faults(stranger);
    assert!(
        checked[0].starts_with("prphosts: no line has an address of this machine"),
        "{checked:?}"
    );
    assert!(faults("# nobody\n")[0].contains("no line has an address of this machine"));
    let checked = faults(&format!("self 1\n{stranger}"));
    assert!(checked[0].starts_with("prphosts: this machine has no device test0"), "{checked:?}");
    assert_eq!(faults("self 1\n1 02:00:00:00:01:01 lo\n"), [""; 0]);
}

#[test]
fn hosts__one_address_of_several_nodes_is_noted() {
    let folder = tempdir().expect("a temporary folder");
    let file = folder.path().join("prphosts");
    let text = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0, 02:00:00:00:00:02 eth1 metric 1\n\
                3 02:00:00:00:00:02 eth0\n4 02:00:00:00:00:01 eth1\n5 via 2\n\
                6 udp:10.0.0.6, udp:10.1.0.6\n7 udp:10.0.0.6:5400\n8 10.1.0.6\n";
    fs::write(&file, text).expect("room");
    let report = hosts(&file, HostsScope::Anywhere);
    assert!(report.ok, "{report:?}");
    assert_eq!(
        words(&report.notes, &folder),
        [
            "prphosts:3: hardware address 02:00:00:00:00:02 on eth0 is there twice, for nodes 2 and 3; right if \
          node 3 is behind node 2",
            "prphosts:8: UDP address 10.1.0.6:5230 is there twice, for nodes 6 and 8; right if node 8 is \
             behind node 6",
        ]
    );
}
