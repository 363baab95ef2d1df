use std::io::Write;

use tempfile::NamedTempFile;

use super::*;

#[test]
fn find__a_node_that_has_a_line() {
    let mut text = NamedTempFile::new().expect("a temporary file");
    text.write_all(b"self 2\n1 02:00:00:00:00:01 eth0 alpha\n2 via 1\n").expect("room");
    let file = load(text.path()).expect("no mistakes");
    for (name, number) in [("alpha", 1), ("Alpha", 1), ("2", 2), ("self", 2), ("localhost", 2)] {
        assert_eq!(find(&file, name).map(NodeId::number), Ok(number), "{name}");
    }
    for name in ["9", "beta", "0", "65535", ""] {
        let failure = find(&file, name).expect_err("no such node");
        let path = text.path().display();
        assert_eq!(failure, Failure::new(Code::Unreachable, format!("no node {name} in {path}")));
    }
    for name in ["10.0.0.3", "[::]"] {
        let failure = find(&file, name).expect_err("no node");
        assert!(failure.text().ends_with("numbers or names, and no IP addresses"), "{failure:?}");
    }
}
