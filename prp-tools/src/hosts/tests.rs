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
