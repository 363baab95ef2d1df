//! Properties: any bytes are survived, what is printed is what was parsed, junk costs little.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::time::{Duration, Instant};

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;

use super::parse;
use crate::hosts::{Hosts, MIN_MTU};

/// The text of one hop of node `index`, which may go via the nodes of lower index only.
fn arb_hop(nodes: Vec<u16>, index: usize) -> impl Strategy<Value = String> {
    // Few different ones among the many, so that nodes do share addresses and devices.
    let octets = prop_oneof![any::<[u8; 5]>(), (0..4u8).prop_map(|last| [0, 0xab, 0, 0, last])];
    let device = prop_oneof!["e[a-z0-9.@-]{0,14}", "eth[01]"];
    // One priority for each device or VLAN in all lines.
    let tag = prop_oneof![3 => Just(0), 1 => 1..3u16, 1 => 1..4095u16];
    let tag = tag.prop_map(|vlan| match vlan {
        0 => String::new(),
        _ if vlan % 2 == 0 => format!(" vlan={vlan} priority={}", vlan % 8),
        _ => format!(" priority={}\tvlan={vlan}", vlan % 8),
    });
    let direct = (octets, device, tag).prop_map(|(octets, device, tag)| {
        let [a, b, c, d, e] = octets;
        format!("02:{a:02x}:{b:02X}:{c:02x}:{d:02x}:{e:02x} {device}{tag}")
    });
    // Ports far enough from each other that those of nodes on one address do not overlap.
    let udp = (0..3u8, 0..3u16).prop_map(|(host, port)| match port {
        0 => format!("udp:10.0.0.{host}"),
        _ => format!("udp:10.0.0.{host}:{}", 5230 + port * 128),
    });
    let direct = prop_oneof![3 => direct, 1 => udp];
    let via = (0..index.max(1)).prop_map(move |i| format!("via {}", nodes[i]));
    let target = if index == 0 { direct.boxed() } else { prop_oneof![direct, via].boxed() };
    (target, option::of(prop_oneof![0..3u16, any::<u16>()])).prop_map(|(target, metric)| {
        match metric {
            Some(metric) => format!("{target} metric {metric}"),
            None => target,
        }
    })
}

/// The text of a file without mistakes, spaced as the generator likes.
pub(crate) fn arb_file() -> impl Strategy<Value = String> {
    let nodes = btree_set(1u16..65535, 1..12).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    let nodes = nodes.prop_shuffle();
    let lines = nodes.prop_flat_map(|nodes| {
        let lines: Vec<_> = (0..nodes.len())
            .map(|i| {
                let node = nodes[i];
                let hops = vec(arb_hop(nodes.clone(), i), 1..4).prop_map(|mut hops| {
                    hops.sort_by(|a, b| target(a).cmp(target(b)));
                    hops.dedup_by(|a, b| target(a) == target(b));
                    hops.join(",\t")
                });
                let names = vec("[A-Za-z_.][a-zA-Z0-9._-]{0,8}", 0..3);
                let mtu = option::of(MIN_MTU..);
                (hops, names, mtu, "[ \t]{1,3}").prop_map(move |(hops, names, mtu, space)| {
                    let mut line = format!("{node}{space}{hops}");
                    for (k, name) in names.iter().enumerate() {
                        line += &format!("{space}{name}-{node}-{k}");
                    }
                    if let Some(mtu) = mtu {
                        line += &format!("{space}mtu={mtu}");
                    }
                    line
                })
            })
            .collect();
        (lines, Just(nodes)).prop_flat_map(|(lines, nodes)| {
            (Just(lines).prop_shuffle(), option::of(proptest::sample::select(nodes)))
        })
    });
    (lines, option::of(0x9000u16..), "\r?\n").prop_map(|((lines, own), ethertype, end)| {
        let own = own.map(|node| format!("self {node}"));
        let ethertype =
            ethertype.map(|value| format!("ethertype {value:#06X}").replace("0X", "0x"));
        own.into_iter().chain(lines).chain(ethertype).collect::<Vec<_>>().join(&end)
    })
}

/// A hop without its metric.
fn target(hop: &str) -> &str {
    hop.split(" metric").next().unwrap_or_default()
}

/// Words a parser of prphosts has reason to stumble over.
fn arb_word() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => proptest::sample::select(
            &[
                "1", "2", "3", "65535", "via", "metric", ",", "self", "ethertype", "0x88b6", "#", "\n",
                "\n", "\n", "\r\n", "\r", "\t", "02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "eth0",
                "mtu=", "mtu=1500", "vlan=7", "priority=5", "unix:/a", "unix:", "=", "alpha", "\u{feff}", "\u{a0}", "\u{e9}", "-", "\0",
            ][..],
        ).prop_map(|word| word.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..6),
    ]
}

fn survives(bytes: &[u8]) {
    if let Err(errors) = Hosts::parse(bytes) {
        assert!(errors.total() > 0);
        let lines = bytes.split(|&b| b == b'\n').count();
        for error in &errors {
            let shown = error.to_string();
            assert!(error.line() >= 1 && error.line() as usize <= lines, "{shown}");
            assert!(error.column() as usize <= bytes.len() + 1, "{shown}");
            assert!(!shown.contains(char::is_control), "{shown:?}");
            assert!(shown.len() < 1000, "{shown}");
        }
    }
}

proptest! {
    #[test]
    fn parse__survives_any_bytes(bytes in vec(any::<u8>(), 0..300)) {
        survives(&bytes);
    }

    #[test]
    fn parse__survives_any_words(words in vec(arb_word(), 0..60), space in "[ \t]?") {
        survives(&words.join(space.as_bytes()));
    }

    #[test]
    fn display__parses_back(text in arb_file()) {
        let hosts = parse(&text);
        let printed = hosts.to_string();
        let again = parse(&printed);
        prop_assert_eq!(&again, &hosts);
        // Expect: canonical, so printing once more changes nothing.
        prop_assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn resolve__finds_every_name_of_every_node(text in arb_file()) {
        let hosts = parse(&text);
        for entry in hosts.entries() {
            prop_assert_eq!(hosts.resolve(&entry.node().to_string()), Some(entry.node()));
            for name in entry.names() {
                prop_assert_eq!(hosts.resolve(&name.to_ascii_uppercase()), Some(entry.node()));
            }
        }
    }
}

/// Far more than a linear parser needs for 10 MB even unoptimised, far less than a quadratic one.
const AMPLE: Duration = Duration::from_secs(20);

#[test]
fn parse__junk_costs_little() {
    let size = 10_000_000;
    let fill = |unit: &str| unit.repeat(size / unit.len());
    let via_chain: String = (1..65534).map(|n| format!("{n} via {}\n", n + 1)).collect();
    let back_edges: String = (1..=65534)
        .map(|n| {
            let hops: Vec<_> = (1..=15).map(|k| format!("via {k}")).collect();
            format!("{n} via {}, {}\n", n % 65534 + 1, hops.join(", "))
        })
        .collect();
    for (what, text) in [
        ("one word", fill("x")),
        ("spaces", fill(" ")),
        ("commas", format!("1 via 2 {}", fill(","))),
        (
            "names",
            format!("1 via 2 {}", (0..1_000_000).map(|n| format!("n{n} ")).collect::<String>()),
        ),
        ("bad names", format!("1 via 2 {}", fill("\u{e9} "))),
        ("the same name", format!("1 via 2 {}", fill("n "))),
        ("the same node", fill("1 via 2\n")),
        ("lines", fill("\n")),
        ("bad lines", fill("x\n")),
        ("a long chain into nothing", via_chain),
        ("loops", back_edges),
        ("devices", (1..65535).map(|n| format!("{n} 02:00:00:00:00:01 e{n}\n")).collect()),
    ] {
        let start = Instant::now();
        let errors = Hosts::parse(text.as_bytes()).err().map_or(0, |errors| errors.total());
        let took = start.elapsed();
        assert!(took < AMPLE, "{what}: {took:?}, {errors} mistakes");
    }
}
