//! Lines with UDP addresses.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::Write;
use core::net::SocketAddr;

use super::{mac, node, parse};
use crate::addr::{LinkAddr, UdpPeer};
use crate::hosts::{HopTarget, Hosts, HostsErrorKind};

fn reaches(text: &str) -> Vec<SocketAddr> {
    let hosts = parse(text);
    let hops = hosts.entries().flat_map(|entry| entry.hops());
    let udp = |target| match target {
        HopTarget::Udp(addr) => Some(addr),
        HopTarget::Direct { .. } | HopTarget::Unix(_) | HopTarget::Via(_) => None,
    };
    hops.filter_map(|hop| udp(hop.target)).collect()
}

//= PRP-HOSTS-15, type=test
#[test]
fn parse__every_spelling_of_a_udp_address() {
    for (spelling, addr, canonical) in [
        ("udp:10.0.0.2", "10.0.0.2:5230", "udp:10.0.0.2"),
        ("10.0.0.2", "10.0.0.2:5230", "udp:10.0.0.2"),
        ("udp:10.0.0.2:5230", "10.0.0.2:5230", "udp:10.0.0.2"),
        ("10.0.0.2:5300", "10.0.0.2:5300", "udp:10.0.0.2:5300"),
        ("udp:[fd00::2]:5300", "[fd00::2]:5300", "udp:[fd00::2]:5300"),
        ("udp:[FD00::2]", "[fd00::2]:5230", "udp:[fd00::2]"),
        ("udp:fd00::2", "[fd00::2]:5230", "udp:[fd00::2]"),
        ("fd00::2", "[fd00::2]:5230", "udp:[fd00::2]"),
        ("::ffff:10.0.0.2", "10.0.0.2:5230", "udp:10.0.0.2"),
    ] {
        let text = format_args!("2 {spelling} metric 3  beta\n").to_string();
        assert_eq!(reaches(&text), [addr.parse().unwrap()], "{spelling}");
        assert_eq!(
            parse(&text).to_string(),
            format_args!("2  {canonical} metric 3  beta\n").to_string()
        );
    }
}

//= PRP-HOSTS-3, type=test
#[test]
fn parse__ethernet_first_and_udp_as_the_backup() {
    let hosts = parse("1 02:00:00:00:00:01 eth0, udp:10.0.0.1 metric 10  alpha\n");
    let hops: Vec<_> =
        hosts.entry(node(1)).unwrap().hops().map(|hop| (hop.target, hop.metric)).collect();
    let udp = HopTarget::Udp("10.0.0.1:5230".parse().unwrap());
    assert_eq!(hops, [(HopTarget::Direct { mac: mac(1), device: "eth0" }, 0), (udp, 10)]);
    assert_eq!(hosts.devices().collect::<Vec<_>>(), ["eth0"], "UDP is none of the file's devices");
}

#[test]
fn udp_peers__each_address_once_and_back_to_socket_addresses() {
    let hosts = parse(
        "1 udp:10.0.0.1:5300 metric 5, udp:10.1.0.1\n2 10.0.0.2\n3 udp:10.0.0.1:5500\n\
         4 02:00:00:00:00:04 eth0\n",
    );
    let peers: Vec<_> = hosts.udp_peers().iter().map(ToString::to_string).collect();
    assert_eq!(peers, ["10.0.0.1", "10.1.0.1", "10.0.0.2"]);
    let udp = |peer, port| LinkAddr::Udp { peer: UdpPeer(peer), port };
    let own = hosts.udp_addrs(node(1));
    let expected = [("10.1.0.1:5230", udp(1, 5230)), ("10.0.0.1:5300", udp(0, 5300))];
    assert_eq!(own, expected.map(|(text, addr)| (text.parse().unwrap(), addr)), "the best first");
    assert_eq!(hosts.socket_addr(udp(0, 5500)), "10.0.0.1:5500".parse().ok());
    assert_eq!(hosts.socket_addr(udp(3, 5500)), None);
    assert_eq!(hosts.socket_addr(mac(4).into()), None);
    assert!(hosts.udp_addrs(node(4)).is_empty());
}

//= PRP-HOSTS-16, type=test
#[test]
fn parse__nodes_of_one_address_have_ports_of_their_own_or_the_same_one() {
    // Expect: a far node behind a neighbour has that one's address and port.
    assert_eq!(reaches("1 10.0.0.1\n2 10.0.0.1:5358\n3 10.0.0.1\n").len(), 3);
    let errors = Hosts::parse(b"1 10.0.0.1:5357\n2 10.0.0.2\n3 10.0.0.1\n").unwrap_err();
    let shown = errors.to_string();
    assert!(shown.starts_with("3:3: expected 128 UDP ports of the node's own"), "{shown}");
    assert!(shown.contains("line 1 has the same IP address"), "{shown}");
}

/// The place is that of the later address, also of two on one line.
#[test]
fn parse__ports_of_one_node_that_overlap() {
    for (text, place) in [
        ("1 udp:10.0.0.1:5230, udp:10.0.0.1:5300\n", "1:22: "),
        ("1 udp:10.0.0.1:5300, udp:10.0.0.1:5230\n", "1:22: "),
    ] {
        let errors = Hosts::parse(text.as_bytes()).expect_err("ports overlap");
        let shown = errors.to_string();
        assert!(shown.starts_with(place) && errors.total() == 1, "{shown}");
        assert!(shown.ends_with("; line 1 has the same IP address and a port less than 128 away"));
    }
    let apart = "1 udp:10.0.0.1:5230, udp:10.0.0.1:5358\n";
    assert!(Hosts::parse(apart.as_bytes()).is_ok());
}

//= PRP-HOSTS-12, type=test
#[test]
fn local_node__the_line_with_an_ip_address_of_this_machine() {
    let hosts = parse("1 udp:10.0.0.1\n2 udp:10.0.0.2\n3 via 2\n");
    let is_ours = |own: HopTarget<'_>| own == HopTarget::Udp("10.0.0.2:5230".parse().unwrap());
    assert_eq!(hosts.local_node(is_ours), Ok(node(2)));
    assert!(hosts.local_node(|_| true).is_err(), "two of them");
}

#[test]
fn parse__more_addresses_than_can_be_distinguished() {
    let mut text = alloc::string::String::new();
    for number in 0..=u32::from(u16::MAX) {
        let [_, a, b, c] = number.to_be_bytes();
        let separator = if number % 16 > 0 {
            ", ".to_string()
        } else {
            format_args!("\n{} ", number / 16 + 1).to_string()
        };
        write!(text, "{separator}10.{a}.{b}.{c}").unwrap();
    }
    let errors = Hosts::parse(text.as_bytes()).unwrap_err();
    let kinds: Vec<_> = errors.iter().map(|error| error.kind().clone()).collect();
    assert_eq!(kinds, [HostsErrorKind::TooManyUdp]);
    assert!(errors.to_string().contains("found \"10.0.255.255\""), "{errors}");
}
