//! Every mistake, as the reader of the message sees it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;
use core::mem::{Discriminant, discriminant};

use super::{EXAMPLE, parse};
use crate::hosts::{Hosts, HostsErrorKind, HostsErrors, MAX_FILE};

fn errors(text: &[u8]) -> HostsErrors {
    match Hosts::parse(text) {
        Ok(_) => panic!("no mistake found in {:?}", String::from_utf8_lossy(text)),
        Err(errors) => errors,
    }
}

fn only(text: &str) -> String {
    let errors = errors(text.as_bytes());
    assert_eq!(errors.total(), 1, "{errors}");
    errors.to_string()
}

/// How many kinds there are. The match is here so that a new kind stops this from compiling.
fn kinds(mistake: &HostsErrorKind) -> usize {
    match mistake {
        HostsErrorKind::FileSize
        | HostsErrorKind::NotUtf8
        | HostsErrorKind::LineStart
        | HostsErrorKind::NodeNumber => {}
        HostsErrorKind::NodeAgain { .. }
        | HostsErrorKind::HopStart
        | HostsErrorKind::ZeroAddress => {}
        HostsErrorKind::GroupAddress
        | HostsErrorKind::DeviceName
        | HostsErrorKind::Metric
        | HostsErrorKind::HopAgain => {}
        HostsErrorKind::TooManyHops | HostsErrorKind::MissingComma | HostsErrorKind::Comma => {}
        HostsErrorKind::LateMetric
        | HostsErrorKind::NameCharacters
        | HostsErrorKind::NameNumber => {}
        HostsErrorKind::NameHyphen | HostsErrorKind::NameLength | HostsErrorKind::NameReserved => {}
        HostsErrorKind::NameAgain { .. }
        | HostsErrorKind::OptionName
        | HostsErrorKind::OptionAgain => {}
        HostsErrorKind::Mtu | HostsErrorKind::DirectiveAgain { .. } | HostsErrorKind::LineEnd => {}
        HostsErrorKind::Ethertype
        | HostsErrorKind::EthertypeRange
        | HostsErrorKind::EthertypeUsed { .. } => {}
        HostsErrorKind::NodeUnknown | HostsErrorKind::ViaItself | HostsErrorKind::ViaLoop => {}
        HostsErrorKind::UdpAddress
        | HostsErrorKind::UdpHost
        | HostsErrorKind::UdpLinkLocal
        | HostsErrorKind::UdpPort => {}
        HostsErrorKind::UdpOverlap { .. } | HostsErrorKind::TooManyUdp => {}
        HostsErrorKind::UnixFolder | HostsErrorKind::UnixOther { .. } => {}
        HostsErrorKind::Vlan
        | HostsErrorKind::Priority
        | HostsErrorKind::PriorityOther { .. }
        | HostsErrorKind::LateTag => {}
        HostsErrorKind::NodeKey | HostsErrorKind::TooManyKeys | HostsErrorKind::KeyAgain { .. } => {
        }
    }
    42
}

/// A line with a mistake each, some with two.
const BAD_LINES: &[&str] = &[
    "ten 02:00:00:00:00:01 eth0",
    "slef 3",
    "0 02:00:00:00:00:01 eth0",
    "65535 via 2 0x3",
    "3x",
    "-3 via 2",
    "20",
    "20 # no next hop",
    "20 eth0 delta",
    "20 Via 2",
    "20 02-00-00-00-00-01 eth0",
    "20 02:00:00:00:00:1 eth0",
    "20 00:00:00:00:00:00 eth0",
    "20 01:00:5e:00:00:01 eth0",
    "20 ff:ff:ff:ff:ff:ff eth0",
    "20 02:00:00:00:00:01",
    "20 02:00:00:00:00:01 , via 2",
    "20 02:00:00:00:00:01 enterprise-eth00",
    "20 02:00:00:00:00:01 eth0:1",
    "20 02:00:00:00:00:01 ..",
    "20 02:00:00:00:00:01 mtu=1500 zeta",
    "20 02:00:00:00:00:01 metric 3",
    "20 02:00:00:00:00:01 e\u{1b}[31mth0",
    "20 udp:",
    "20 udp:beta",
    "20 udp:10.0.0.256",
    "20 udp:10.0.0.2:70000",
    "20 udp:10.0.0.2:0",
    "20 10.0.0.2:65500 zeta",
    "20 udp:224.0.0.1",
    "20 udp:[::]:5300",
    "20 udp:[fe80::1]",
    "20 udp:10.0.0.2, udp:10.0.0.2:5230",
    "20 udp:10.0.0.2 udp:10.0.0.3",
    "20 udp:10.0.0.2 10.0.0.3",
    "20 02:00:00:00:00:01 udp",
    "20 udp:10.0.0.2:5300\n21 udp:10.0.0.2",
    "20 via",
    "20 via beta",
    "20 02:00:00:00:00:01 eth0 vlan=0",
    "20 02:00:00:00:00:01 eth0 vlan=4095",
    "20 02:00:00:00:00:01 eth0 vlan=7 vlan=8",
    "20 02:00:00:00:00:01 eth0 priority=8",
    "20 02:00:00:00:00:01 eth0 priority=",
    "20 02:00:00:00:00:09 eth0 priority=5",
    "20 02:00:00:00:00:09 eth0 vlan=7\n21 02:00:00:00:00:0a eth0 priority=5 vlan=7",
    "20 02:00:00:00:00:01 eth0 zeta vlan=7 priority=5",
    "20 02:00:00:00:00:01 eth0 metric 3 vlan=7",
    "20 udp:10.0.0.2 vlan=7",
    "20 via 2 metric",
    "20 via 2 metric 65536",
    "20 via 2 metric -1 zeta",
    "20 via 2, via 3, via 2 metric 9",
    "20 02:00:00:00:00:01 eth0, 02:00:00:00:00:01 eth0",
    "20 via 2,",
    "20 via 2,, via 3",
    "20 via 2 via 3",
    "20 via 2 02:00:00:00:00:01 eth0",
    "20 via 2 zeta metric 4",
    "20 via 2 zeta, eta",
    "20 via 2 zeta/eta h\u{e9}t\u{e9} \u{202e}evil\u{a0}",
    "20 via 2 1000",
    "20 via 2 -v",
    "20 via 2 Self LOCALHOST",
    "20 via 2 Alpha",
    "20 via 2 twin twin",
    "20 via 2 speed=10 MTU=9000 =",
    "20 via 2 mtu=9000 mtu=1500",
    "20 via 2 mtu=171",
    "20 via 2 mtu=65536 zeta!",
    "20 via 2 mtu=",
    "20 via 2 key=12",
    "20 via 20",
    "20 via 21",
    "20 via 2, via 21 metric 3, via 22",
    "2 via 1",
    "self",
    "self beta",
    "self 21",
    "self 3 4",
    "ethertype",
    "ethertype 88b6",
    "ethertype 35000",
    "ethertype 0x",
    "ethertype 0x5ff",
    "ethertype 0x10000",
    "ethertype 0x88fb",
    "ethertype 0x0800",
    "ethertype 0x0806",
    "ethertype 0x86DD",
    "ethertype 0x8100",
    "ethertype 0x88b6 please",
    "self 3\nself 3",
    "ethertype 0x88b6\nethertype 0x88b7",
    "20 via 21\n21 via 22 metric 1\n22 via 2, via 20",
    "20 unix:run/prp",
    "20 unix:/run/a\n21 unix:/run/b",
    "20 via 2 unix:/run/a",
];

//= PRP-HOSTS-11, type=test
#[test]
fn display__every_mistake() {
    let mut seen: Vec<Discriminant<HostsErrorKind>> = Vec::new();
    let mut out = String::new();
    let mut show = |bad: &[u8], shown: &str| {
        // Expect: the example's seven lines come before the bad one.
        let text = [EXAMPLE.as_bytes(), bad, b"\n"].concat();
        let found = errors(&text);
        assert_eq!(kinds(found.iter().next().unwrap().kind()), 42);
        seen.extend(found.iter().map(|error| discriminant(error.kind())));
        writeln!(out, "{}\n{found}\n", shown.escape_debug()).unwrap();
    };
    for bad in BAD_LINES {
        show(bad.as_bytes(), bad);
    }
    let hops: Vec<_> = (1..=17).map(|number| format!("via {number}")).collect();
    show(format!("20 {}", hops.join(", ")).as_bytes(), "20 via 1, via 2, ... via 17");
    show(format!("20 via 2 {}", "n".repeat(256)).as_bytes(), "20 via 2 nnn...");
    show(b"20 via 2 # Gr\xfc\xdfe aus Parma", "20 via 2 # Gr\\xfc\\xdfe aus Parma");
    show(b"20 v\xc3\xadas 2 \xe6\xbc", "20 v\u{ed}as 2 \\xe6\\xbc");
    let long: Vec<_> = (20..40).map(|n| format!("{n} via {}", n + 1)).collect();
    show(
        format!("{}\n40 via 20", long.join("\n")).as_bytes(),
        "20 via 21\n21 via 22\n...\n40 via 20",
    );
    insta::assert_snapshot!(out);

    let size = errors(&alloc::vec![b'#'; MAX_FILE + 1]);
    assert_eq!(size.to_string(), "1:1: expected at most 64 MiB of text, found 67108865 bytes");
    seen.extend(size.iter().map(|error| discriminant(error.kind())));

    let mut distinct: Vec<Discriminant<HostsErrorKind>> = Vec::new();
    for kind in seen {
        if !distinct.contains(&kind) {
            distinct.push(kind);
        }
    }
    assert_eq!(
        distinct.len(),
        44,
        "a kind of mistake is not shown; of too many addresses and keys tell other tests"
    );
}

#[test]
fn column__counts_characters() {
    // Expect: the byte order mark counts for nothing, a tab and a three-byte character for one
    // each.
    assert!(only("\u{feff}one").starts_with("1:1: "));
    let text = "1 02:00:00:00:00:01 eth0 a\n\t2\tvia 1 \u{6f22}\u{6f22} b";
    assert!(only(text).starts_with("2:10: "), "{}", only(text));
    assert!(only(&format!("{text}#\r\n")).starts_with("2:10: "));
    let text = "1 02:00:00:00:00:01 \u{6f22}\u{6f22} \u{6f22}!";
    assert!(only(text).starts_with("1:24: "), "{}", only(text));
}

#[test]
fn column__of_what_is_missing_is_just_behind_the_last_word() {
    assert!(only("1 02:00:00:00:00:01   # device?").starts_with("1:20: "));
    assert!(only("1 02:00:00:00:00:01\r\n").starts_with("1:20: "));
}

#[test]
fn errors__characters_that_are_not_seen_are_named() {
    let bom = only("1 02:00:00:00:00:01 eth0\n\u{feff}2 02:00:00:00:00:02 eth0");
    assert_eq!(
        bom,
        "2:1: expected a node number, `self` or `ethertype`, found \"\\u{feff}2\" with a byte order mark \
         (U+FEFF), which editors do not show"
    );
    for (unseen, name) in [('\u{a0}', "(U+00A0)"), ('\u{200b}', "(U+200B)"), ('\u{ad}', "(U+00AD)")]
    {
        let shown = only(&format!("1 02:00:00:00:00:01 eth0 al{unseen}pha"));
        assert!(shown.contains(name), "{shown}");
    }
}

#[test]
fn errors__huge_words_are_cut() {
    let text = format!("1 {} eth0", "x".repeat(1 << 20));
    let shown = only(&text);
    assert!(shown.len() < 200 && shown.contains("xxx…\""), "{shown}");
}

#[test]
fn errors__come_in_file_order_from_all_passes() {
    let text = "1 via 9\n2 via 3\n3 via 2\n4 via 4\n5 02:00:00:00:00:05 eth0 7\n";
    let errors = errors(text.as_bytes());
    let places: Vec<_> = errors.iter().map(|error| (error.line(), error.column())).collect();
    assert_eq!(places, [(1, 7), (2, 7), (4, 7), (5, 26)]);
}

#[test]
fn errors__beyond_the_first_twenty_are_counted() {
    let text = "x\n".repeat(33);
    let errors = errors(text.as_bytes());
    assert_eq!((errors.iter().count(), errors.total()), (20, 33));
    let shown = errors.in_file("/etc/prphosts").to_string();
    let lines: Vec<_> = shown.lines().collect();
    assert_eq!(lines.len(), 21);
    assert_eq!(
        lines[19],
        "/etc/prphosts:20:1: expected a node number, `self` or `ethertype`, found \"x\""
    );
    assert_eq!(lines[20], "and 13 more mistakes");
}

#[test]
fn errors__a_line_not_understood_does_not_make_its_node_unknown() {
    assert!(only("1 via 2\n2: 02:00:00:00:00:02 eth0").starts_with("2:1: "));
    // Expect: so too where the line's number is fine and the rest is not.
    assert!(only("1 via 2\n2 02:00:00:00:00:02").starts_with("2:20: "));
}

#[test]
fn errors__a_line_of_no_node_lends_its_hops_to_no_other() {
    let shown = only("1 02:00:00:00:00:01 eth0\n0 via 1");
    assert!(shown.starts_with("2:1: "), "{shown}");
    let errors = errors(b"0    via 1\n1 via 1");
    let places: Vec<_> = errors.iter().map(|error| (error.line(), error.column())).collect();
    assert_eq!(places, [(1, 1), (2, 7)]);
}

#[test]
fn errors__a_comma_among_names_does_not_hide_the_next_mistake() {
    let errors = errors(b"1 02:00:00:00:00:01 eth0 a, b, 4");
    assert_eq!(errors.total(), 3, "{errors}");
}

#[test]
fn loops__an_acyclic_diamond_is_none() {
    parse("1 via 2, via 3\n2 via 4\n3 via 4\n4 02:00:00:00:00:04 eth0");
}

#[test]
fn loops__of_two_backups_for_each_other_is_one() {
    let text = "1 02:00:00:00:00:01 eth0, via 2 metric 9\n2 02:00:00:00:00:02 eth0, via 1 metric 9";
    assert!(only(text).contains("found the loop 1 via 2 via 1"), "{}", only(text));
}

#[test]
fn loops__are_reported_from_their_first_line_even_if_found_from_outside() {
    let shown = only("1 via 3\n2 via 3\n3 via 2");
    assert!(shown.starts_with("2:7: ") && shown.contains("loop 2 via 3 via 2;"), "{shown}");
}
