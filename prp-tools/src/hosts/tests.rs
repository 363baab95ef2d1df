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
        let expected = format!("no node {name} in {path}; name 1 (alpha), 2, or add its line");
        assert_eq!(failure, Failure::new(Code::Unreachable, expected));
    }
    for name in ["10.0.0.3", "[::]"] {
        let failure = find(&file, name).expect_err("no node");
        assert!(failure.text().contains("numbers or names, and no IP addresses: "), "{failure:?}");
    }
}

#[test]
fn unknown__names_some_of_many_nodes_and_none_of_none() {
    let file = |text: &str| {
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(text.as_bytes()).expect("room");
        load(file.path()).expect("no mistakes")
    };
    let many: String = (1..=64).map(|node| format!("{node} udp:10.0.0.{node} n{node}\n")).collect();
    let (_, fix) = unknown(&file(&many), "omega");
    assert!(fix.starts_with("name 1 (n1), 2 (n2), ") && fix.contains("8 (n8) or one of 56 others"));
    assert_eq!(unknown(&file("ethertype 0x88b5\n"), "omega").1, "add its line");
    let forgotten = "1 02:00:00:00:00:01 eth0 alpha\n2 02:00:00:00:00:02 beta\n";
    let fix = "line 2 has beta as its device: write the device in front of it";
    assert_eq!(unknown(&file(forgotten), "beta").1, fix);
}
