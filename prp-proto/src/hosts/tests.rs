use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt::Write;

use super::{Entry, HopTarget, Hosts, LocalNodeError, Tag, interface_name, is_local_name};
use crate::addr::{MacAddr, NodeId};

mod mistakes;
mod props;
mod udp;
mod unix;

pub(crate) use props::arb_file;

/// The example of the module's documentation and of SPEC.md.
const EXAMPLE: &str = "\
# node  hardware address     device   names and options
1       02:00:00:00:00:01    eth0     alpha
2       02:00:00:00:00:02    eth0     beta  b.cluster  mtu=9000
3       02:00:00:00:00:03    eth0
7       02:00:00:00:00:02    eth0     gamma          # as in the paper: a far node behind beta's address
8       via 2                         delta          # the same, by node
9       via 2 metric 10, via 3 metric 20  epsilon    # backup next hops
";

fn node(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

fn mac(last: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, last])
}

fn parse(text: &str) -> Hosts {
    Hosts::parse(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}\nin {text:?}"))
}

fn numbers(hosts: &Hosts) -> Vec<u16> {
    hosts.nodes().map(NodeId::number).collect()
}

//= PRP-HOSTS-2, type=test
#[test]
fn parse__example() {
    let hosts = parse(EXAMPLE);
    assert_eq!(numbers(&hosts), [1, 2, 3, 7, 8, 9]);
    assert_eq!(hosts.len(), 6);
    assert_eq!(hosts.ethertype(), 0x88b5);
    assert_eq!(hosts.self_node(), None);
    assert_eq!(hosts.devices().collect::<Vec<_>>(), ["eth0"]);

    let beta = hosts.entry(node(2)).unwrap();
    assert_eq!(beta.line(), 3);
    assert_eq!(beta.mtu(), Some(9000));
    assert_eq!(beta.names().collect::<Vec<_>>(), ["beta", "b.cluster"]);
    let hops: Vec<_> = beta.hops().map(|hop| (hop.target, hop.metric)).collect();
    assert_eq!(hops, [(HopTarget::Direct { mac: mac(2), device: "eth0" }, 0)]);

    let epsilon = hosts.entry(node(9)).unwrap();
    let hops: Vec<_> = epsilon.hops().map(|hop| (hop.target, hop.metric)).collect();
    assert_eq!(hops, [(HopTarget::Via(node(2)), 10), (HopTarget::Via(node(3)), 20)]);
    assert_eq!(hosts.name(node(9)), Some("epsilon"));
    assert_eq!(hosts.name(node(3)), None);
    assert!(hosts.entry(node(4)).is_none());
    assert!(hosts.entry(node(65534)).is_none());
}

#[test]
fn parse__sample_file() {
    let hosts = Hosts::parse(include_bytes!("../../../etc/prphosts")).unwrap();
    assert_eq!(numbers(&hosts), [1, 2, 3, 7, 8, 9]);
    assert_eq!(hosts.resolve("epsilon"), Some(node(9)));
}

//= PRP-HOSTS-1, type=test
#[test]
fn parse__line_ends_spaces_comments_and_byte_order_mark_do_not_count() {
    let plain = parse("self 2\n1 02:00:00:00:00:01 eth0 a b\n2 via 1\n");
    for same in [
        "self 2\r\n1 02:00:00:00:00:01 eth0 a b\r\n2 via 1\r\n",
        "\u{feff}self 2\n1 02:00:00:00:00:01 eth0 a b\n2 via 1",
        "\t self\t2 # this\n\n1\t02:00:00:00:00:01\teth0 \t a b#c\n  # é ä 漢\n2 via 1 \t#\n\n",
    ] {
        assert_eq!(parse(same), plain, "{same:?}");
    }
    assert_eq!(parse(""), Hosts::default());
    assert_eq!(parse("# nothing"), Hosts::default());
}

#[test]
fn parse__equality_is_about_what_the_file_says() {
    let hosts = parse("1 02:00:00:00:00:01 eth0 a");
    for other in [
        "1 02:00:00:00:00:01 eth0 A",
        "1 02:00:00:00:00:01 eth0",
        "1 02:00:00:00:00:01 eth1 a",
        "1 02:00:00:00:00:02 eth0 a",
        "1 02:00:00:00:00:01 eth0 metric 1 a",
        "1 02:00:00:00:00:01 eth0 a mtu=1500",
        "1 02:00:00:00:00:01 eth0 a key=8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
        "2 02:00:00:00:00:01 eth0 a",
        "self 1\n1 02:00:00:00:00:01 eth0 a",
        "ethertype 0x88b6\n1 02:00:00:00:00:01 eth0 a",
    ] {
        assert_ne!(parse(other), hosts, "{other:?}");
    }
}

//= PRP-HOSTS-19, type=test
#[test]
fn parse__keys_of_nodes() {
    let [one, two, three] = ["1", "a2", "f3"].map(|digits| format!("{digits:0>64}"));
    let text = format!(
        "1 02:00:00:00:00:01 eth0 key={one} alpha key={two} mtu=1500\n\
         2 02:00:00:00:00:02 eth0\n3 via 1 key={}\n",
        three.to_uppercase()
    );
    let hosts = parse(&text);
    let keys: Vec<Vec<_>> =
        hosts.entries().map(|entry| entry.keys().map(|key| key.to_string()).collect()).collect();
    assert_eq!(keys, [vec![one.clone(), two.clone()], vec![], vec![three.clone()]]);
    let of_nodes = hosts.node_keys();
    assert_eq!(of_nodes.keys().copied().collect::<Vec<_>>(), [1, 3]);
    assert_eq!(of_nodes[&1].len(), 2);
    let printed = hosts.to_string();
    assert!(printed.contains(&format!("alpha  mtu=1500  key={one}  key={two}\n")), "{printed}");
    assert_eq!(parse(&printed), hosts);

    let mistakes = [
        ("1 via 2 key=12\n2 02:00:00:00:00:02 eth0".to_owned(), "1:9: expected a public key"),
        (format!("2 02:00:00:00:00:02 eth0 key={one} key={one}"), "1:95: expected each key once"),
        (
            format!("1 via 2 key={one}\n2 02:00:00:00:00:02 eth0 key={one}"),
            "2:26: expected each key once",
        ),
        (
            format!("2 02:00:00:00:00:02 eth0 key={one} key={two} key={three}"),
            "1:164: expected at most 2 keys",
        ),
    ];
    for (text, says) in mistakes {
        let errors = Hosts::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(errors.contains(says), "{errors}");
    }
}

//= PRP-HOSTS-3, type=test
#[test]
fn parse__hops_of_both_kinds_mix() {
    let hosts = parse(
        "1 02:00:00:00:00:01 eth0, 02:00:00:00:00:01 eth1 metric 5,via 2 metric 9 a\n2 via 3\n3 02:00:00:00:00:03 eth1",
    );
    let hops: Vec<_> = hosts.entry(node(1)).unwrap().hops().collect();
    assert_eq!(hops[1].target, HopTarget::Direct { mac: mac(1), device: "eth1" });
    assert_eq!(hops[2].target, HopTarget::Via(node(2)));
    assert_eq!(hops.iter().map(|hop| hop.metric).collect::<Vec<_>>(), [0, 5, 9]);
    assert_eq!(hosts.devices().collect::<Vec<_>>(), ["eth0", "eth1"]);
}

//= PRP-HOSTS-5, type=test
#[test]
fn parse__devices_of_the_greatest_length() {
    let hosts = parse("1 02:00:00:00:00:01 enterprise-eth0, 02:00:00:00:00:01 \u{6f22}#");
    assert_eq!(hosts.devices().collect::<Vec<_>>(), ["enterprise-eth0", "\u{6f22}"]);
}

//= PRP-HOSTS-17, type=test
#[test]
fn parse__vlans_of_one_device_are_apart() {
    let text = "\
1 02:00:00:00:00:01 eth0 vlan=7, 02:00:00:00:00:01 eth0 priority=5 vlan=8 metric 3 router
2 02:00:00:00:00:02 eth0 vlan=7
3 02:00:00:00:00:03 eth0 vlan=8 priority=5
4 02:00:00:00:00:04 eth0
5 02:00:00:00:00:05 eth1 priority=1
";
    let hosts = parse(text);
    let devices: Vec<_> = hosts.devices().collect();
    assert_eq!(devices, ["eth0:vlan7", "eth0:vlan8", "eth0", "eth1"]);
    let names: Vec<_> = devices.iter().map(|device| interface_name(device)).collect();
    assert_eq!(names, ["eth0", "eth0", "eth0", "eth1"]);
    let tags: Vec<_> = devices.iter().map(|device| hosts.tag(device).bytes()).collect();
    let tag = |said: u8, vlan| Some([0x81, 0, said, vlan]);
    assert_eq!(tags, [tag(0, 7), tag(0xa0, 8), None, tag(0x20, 0)]);
    assert_eq!(hosts.tag("eth0:vlan8"), Tag::new(8, 5));
    assert_eq!(hosts.tag("eth9"), Tag::default());
    // Expect: what differs in a priority only is another file.
    assert_ne!(parse(&text.replace("priority=1", "priority=2")), hosts);
    insta::assert_snapshot!(hosts, @r"
    1  02:00:00:00:00:01 eth0 vlan=7, 02:00:00:00:00:01 eth0 vlan=8 priority=5 metric 3  router
    2  02:00:00:00:00:02 eth0 vlan=7
    3  02:00:00:00:00:03 eth0 vlan=8 priority=5
    4  02:00:00:00:00:04 eth0
    5  02:00:00:00:00:05 eth1 priority=1
    ");
}

//= PRP-HOSTS-9, type=test
//= PRP-HOSTS-10, type=test
#[test]
fn parse__directives() {
    let hosts = parse("ethertype 0x88B6\nself 2\n2 02:00:00:00:00:02 eth0");
    assert_eq!(hosts.ethertype(), 0x88b6);
    assert_eq!(hosts.self_node(), Some(node(2)));
    assert_eq!(parse("ethertype 0x0600").ethertype(), 0x0600);
    assert_eq!(parse("ethertype 0xffff").ethertype(), 0xffff);
}

//= PRP-HOSTS-14, type=test
#[test]
fn resolve__names_in_any_case_and_plain_numbers() {
    let hosts = parse(EXAMPLE);
    assert_eq!(hosts.resolve("beta"), Some(node(2)));
    assert_eq!(hosts.resolve("B.CLUSTER"), Some(node(2)));
    assert_eq!(hosts.resolve("9"), Some(node(9)));
    // Expect: a number is a number whether listed or not; the route says there is no route.
    assert_eq!(hosts.resolve("77"), Some(node(77)));
    for nobody in ["", "0", "65535", "99999999999", "+1", "be", "betaa", "b.cluster.", "self", "é"]
    {
        assert_eq!(hosts.resolve(nobody), None, "{nobody:?}");
    }
    assert_eq!(hosts.resolve(&"x".repeat(1000)), None);
    assert!(is_local_name("self") && is_local_name("LocalHost") && !is_local_name("selfie"));
}

#[test]
fn resolve__names_of_the_greatest_length_stay_apart() {
    let name = "n".repeat(super::MAX_NAME);
    let text = std::format!("1 via 2 {name}\n2 02:00:00:00:00:02 eth0 {}o", &name[1..]);
    let hosts = parse(&text);
    assert_eq!(hosts.resolve(&name.to_ascii_uppercase()), Some(node(1)));
    assert_eq!(hosts.resolve(&std::format!("{}o", &name[1..])), Some(node(2)));
    assert_eq!(hosts.resolve(&std::format!("{name}n")), None);
}

//= PRP-HOSTS-12, type=test
#[test]
fn local_node__is_the_one_line_with_a_local_address() {
    let hosts = parse(EXAMPLE);
    assert_eq!(
        hosts.local_node(|own| own == HopTarget::Direct { mac: mac(1), device: "eth0" }),
        Ok(node(1))
    );
    let text = std::format!("self 3\n{EXAMPLE}");
    assert_eq!(
        parse(&text)
            .local_node(|own| matches!(own, HopTarget::Direct { mac: addr, .. } if addr == mac(1))),
        Ok(node(3))
    );
}

#[test]
fn local_node__says_how_to_decide_between_several() {
    let error = parse(EXAMPLE)
        .local_node(|own| matches!(own, HopTarget::Direct { mac: addr, .. } if addr == mac(2)))
        .unwrap_err();
    insta::assert_snapshot!(error, @"several lines have an address of this machine: node 2 (line 3), node 7 (line 5); set PRP_NODE or write `self N` to say which it is");

    let mut many = String::new();
    for number in 1..=30 {
        writeln!(many, "{number} 02:00:00:00:00:01 eth0").unwrap();
    }
    let error = parse(&many).local_node(|_| true).unwrap_err();
    assert!(
        matches!(&error, LocalNodeError::Several { total: 30, candidates } if candidates.len() == 8)
    );
    assert!(error.to_string().contains("node 8 (line 8) and 22 more; set PRP_NODE"), "{error}");
}

#[test]
fn local_node__says_when_there_is_none() {
    let error = parse(EXAMPLE).local_node(|_| false).unwrap_err();
    insta::assert_snapshot!(error, @"no line has an address of this machine; add its line, or set PRP_NODE or write `self N`");
}

#[test]
fn local_node__one_line_with_two_local_addresses_is_one_candidate() {
    let hosts = parse("1 02:00:00:00:00:01 eth0, 02:00:00:00:00:02 eth1\n2 via 1");
    assert_eq!(hosts.local_node(|_| true), Ok(node(1)));
}

//= PRP-HOSTS-13, type=test
#[test]
fn display__canonical_form() {
    let text = std::format!("self 9\nethertype 0x88B6 #\n{EXAMPLE}");
    insta::assert_snapshot!(parse(&text), @r"
    ethertype 0x88b6
    self 9
    1  02:00:00:00:00:01 eth0  alpha
    2  02:00:00:00:00:02 eth0  beta b.cluster  mtu=9000
    3  02:00:00:00:00:03 eth0
    7  02:00:00:00:00:02 eth0  gamma
    8  via 2  delta
    9  via 2 metric 10, via 3 metric 20  epsilon
    ");
}

/// A cluster of the greatest size, each node with an address and a name of its own.
pub(crate) fn full_cluster() -> String {
    let mut text = String::new();
    for number in 1..=65534u16 {
        let [high, low] = number.to_be_bytes();
        writeln!(text, "{number}\t02:00:00:00:{high:02x}:{low:02x}\teth0\tnode{number}").unwrap();
    }
    text
}

#[test]
fn heap_size__of_a_full_cluster() {
    let hosts = parse(&full_cluster());
    assert_eq!(hosts.len(), 65534);
    assert_eq!(hosts.resolve("NODE65534"), Some(node(65534)));
    // Expect: nearer 4 MiB than the 32 MiB a node may spend on hosts and routes together.
    assert!(hosts.heap_size() < 5 << 20, "{}", hosts.heap_size());
    let names: usize = hosts.entries().flat_map(Entry::names).map(str::len).sum();
    // Expect: no less than an entry, its index, a hop, and the span and table slot of a name.
    let least = 65534 * (16 + 2 + 16 + 8 + 5) + names;
    assert!(hosts.heap_size() >= least, "the estimate forgets something");
}
