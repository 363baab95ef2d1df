use std::io::Write;

use prp_device::Interface;
use prp_proto::addr::MacAddr;
use tempfile::NamedTempFile;

use super::*;
use crate::settings::Settings;

const HOSTS: &str = "self 2\n1 02:00:00:00:00:11 eth0 alpha\n2 02:00:00:00:00:02 eth0\n\
    3 02:00:00:00:01:03 eth1\n4 via 1\n5 02:00:00:00:00:05 absent0\n";

/// The routes of node 2 by this file.
fn table(text: &str) -> Table {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("room for a few bytes");
    let settings = Settings { hosts: file.path().to_owned(), ..Settings::default() };
    let device = |name: &str| Interface {
        name: name.into(),
        index: 1000,
        mac: MacAddr::ZERO,
        loopback: false,
        mtu: 1500,
    };
    Table::load(&settings, &[device("eth0"), device("eth1")]).expect("no mistake")
}

fn node(number: u16) -> NodeId {
    NodeId::new(number).expect("a node")
}

fn second(n: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(n)
}

/// What is said of a frame of `number` from `from` by the first device.
fn said(table: &Table, number: u16, from: StationAddr) -> String {
    let mut mismatches = SourceMismatches::default();
    mismatches.note(second(1), node(number), DeviceId(0), from);
    let file = table.file.path().display().to_string();
    let said: Vec<_> = mismatches.describe(second(2), table).collect();
    assert_eq!(said.len(), 1);
    said[0].replace(&file, "FILE")
}

#[test]
fn describe__has_both_sides() {
    let table = table(HOSTS);
    let from = StationAddr::Ethernet(MacAddr([2, 0, 0, 0, 0, 1]));
    for (number, expected) in [
        (1, "node 1 (alpha) come from 02:00:00:00:00:01 at eth0, FILE says 02:00:00:00:00:11;"),
        (2, "at eth0, and this is that node: two machines have its number"),
        (3, "FILE says 02:00:00:00:01:03 at eth1;"),
        (4, "FILE says node 1, 02:00:00:00:00:11;"),
        (5, "FILE has no route to it;"),
        (6, "node 6 come from 02:00:00:00:00:01 at eth0, FILE has no line for it;"),
    ] {
        let said = said(&table, number, from);
        assert!(said.contains(expected), "{number}: {said}");
    }
    // What this node has sent to a neighbour comes back.
    let said = said(&table, 2, StationAddr::Ethernet(MacAddr([2, 0, 0, 0, 0, 0x11])));
    assert!(
        said.contains("which is node 1's, and this is that node: routes make a loop"),
        "{said}"
    );
}

#[test]
fn describe__over_udp_an_address_may_be_translated() {
    let table = table("self 2\n1 udp:127.0.0.1\n2 udp:127.0.0.2\n");
    let from = StationAddr::Udp("127.0.0.1:40000".parse().expect("an address"));
    let said = said(&table, 1, from);
    let expected = "node 1 come from udp:127.0.0.1:40000, FILE says udp:127.0.0.1:5230";
    assert!(said.contains(expected) && said.contains("translates"), "{said}");
}

#[test]
fn note__keeps_the_last_of_each_node_for_a_minute() {
    let table = table(HOSTS);
    let mut mismatches = SourceMismatches::default();
    let from = |last| StationAddr::Ethernet(MacAddr([2, 0, 0, 0, 9, last]));
    mismatches.note(second(0), node(1), DeviceId(0), from(1));
    mismatches.note(second(2), node(1), DeviceId(0), from(2));
    mismatches.note(second(1), node(3), DeviceId(0), from(3));
    let at = |mismatches: &SourceMismatches, now| {
        mismatches.describe(second(now), &table).collect::<Vec<_>>()
    };
    let said = at(&mismatches, 60);
    assert!(said.len() == 2 && said[0].contains("09:02"), "{said:?}");
    assert_eq!(at(&mismatches, 61).len(), 1);
    assert_eq!(at(&mismatches, 62).len(), 0);
    // Expect: many nodes find no more room, and the last ones are kept.
    for number in 100..200 {
        mismatches.note(second(u64::from(number)), node(number), DeviceId(0), from(1));
    }
    let said = at(&mismatches, 200);
    assert!(said.len() == MAX_NODES, "{said:?}");
    assert!(said.iter().any(|text| text.contains("node 199")), "{said:?}");
    mismatches.clear();
    assert_eq!(at(&mismatches, 200).len(), 0);
}
