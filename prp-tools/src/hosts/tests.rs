use std::io::Write;

use tempfile::NamedTempFile;

use super::*;

const CLUSTER: &str = "\
self 2
1  02:00:00:00:00:01 eth0  alpha
2  02:00:00:00:00:02 eth0  beta b.cluster  mtu=9000
9  via 2 metric 10, via 1 metric 20  epsilon
";

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("room for a few bytes");
    file
}

fn look_up(text: &str, name: &str) -> Result<String, Failure> {
    let file = file(text);
    resolve(&load(file.path()).expect("no mistakes"), name)
}

#[test]
fn check__counts_and_says_who_we_are() {
    let file = file(CLUSTER);
    let path = file.path().display();
    let line = check(file.path()).expect("no mistakes");
    assert!(line.starts_with(&format!("{path}: 3 nodes, 4 names, device eth0; ")), "{line}");
}

#[test]
fn check__of_an_empty_file_is_not_in_the_plural() {
    let file = file("# nobody here\n");
    let line = check(file.path()).expect("no mistakes");
    assert!(line.contains(": 0 nodes, 0 names, no devices; which node this machine is"), "{line}");
}

#[test]
fn check__a_file_with_mistakes_fails() {
    let file = file("1 02:00:00:00:00:01\n");
    assert_eq!(check(file.path()), Err(Failure::new(Code::Failed, "")));
}

#[test]
fn resolve__finds_names_and_numbers() {
    let beta = "2  02:00:00:00:00:02 eth0  beta b.cluster  mtu=9000";
    for name in ["beta", "B.Cluster", "2"] {
        assert_eq!(look_up(CLUSTER, name).as_deref(), Ok(beta), "{name}");
    }
    let epsilon = "9  via 2 metric 10, via 1 metric 20  epsilon";
    assert_eq!(look_up(CLUSTER, "epsilon").as_deref(), Ok(epsilon));
}

#[test]
fn resolve__unknown_nodes_have_a_code_of_their_own() {
    for name in ["gamma", "77"] {
        let failure = look_up(CLUSTER, name).expect_err("no such node");
        let text = format!("{failure:?}");
        assert!(text.contains("NoWay") && text.contains(name), "{text}");
    }
}
