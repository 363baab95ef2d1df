use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{MAX_NEXT_HOPS, NextHop, NoRoute, Route, RouteTable};
use crate::addr::{DeviceId, LinkAddr, MacAddr, NodeId, UdpPeer};
use crate::hosts::tests::{arb_file, full_cluster};
use crate::hosts::{HopTarget, Hosts, MIN_MTU, UDP_DEVICE};

const EXAMPLE: &str = "
1  02:00:00:00:00:01  eth0  alpha
2  02:00:00:00:00:02  eth0  beta  mtu=9000
3  02:00:00:00:00:03  eth1  iota
7  02:00:00:00:00:02  eth0  gamma
8  via 2                    delta
9  via 2 metric 10, via 3 metric 20  epsilon
10 via 9 metric 5, via 3 metric 15   zeta  mtu=1500
11 02:00:00:00:00:0b  eth7
12 via 11, via 3
13 via 11
";

fn node(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

fn mac(last: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, last])
}

fn hosts(text: &str) -> Hosts {
    Hosts::parse(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors}\nin {text:?}"))
}

/// The view of `local`, whose machine has `eth0` and `eth1`.
fn table(text: &str, local: u16) -> RouteTable {
    RouteTable::build(&hosts(text), node(local), |name| match name {
        "eth0" => Some(DeviceId(0)),
        "eth1" => Some(DeviceId(1)),
        _ => None,
    })
}

fn hop(number: u16, device: u16, metric: u32, mtu: Option<u32>) -> NextHop {
    NextHop {
        node: node(number),
        device: DeviceId(device),
        addr: mac(number as u8).into(),
        mtu,
        metric,
    }
}

//= PRP-ROUTE-1, type=test
#[test]
fn lookup__example_from_alpha() {
    let table = table(EXAMPLE, 1);
    let jumbo = Some(9000);
    assert_eq!(table.local(), node(1));
    assert_eq!(table.lookup(node(1)), Route::Local);
    assert_eq!(table.lookup(node(2)), Route::Via(&[hop(2, 0, 0, jumbo)]));
    assert_eq!(table.lookup(node(3)), Route::Via(&[hop(3, 1, 0, None)]));
    // Expect: gamma's neighbour is beta, whose address it is; the mtu is its own line's.
    assert_eq!(table.lookup(node(7)), Route::Via(&[hop(2, 0, 0, None)]));
    assert_eq!(table.lookup(node(8)), Route::Via(&[hop(2, 0, 0, jumbo)]));
    let epsilon = [hop(2, 0, 10, jumbo), hop(3, 1, 20, None)];
    assert_eq!(table.lookup(node(9)), Route::Via(&epsilon));
    assert_eq!(table.lookup(node(200)), Route::NoRoute(NoRoute::Unknown));
    assert_eq!(table.lookup(node(5)), Route::NoRoute(NoRoute::Unknown));
    assert_eq!(table.lookup(node(65534)), Route::NoRoute(NoRoute::Unknown));
}

//= PRP-ROUTE-2, type=test
#[test]
fn lookup__via_adds_metrics_and_takes_the_smaller_mtu() {
    let table = table(EXAMPLE, 1);
    // Expect: by iota at 15, not at 5 + 20; by beta at 5 + 10; equal metrics in file order.
    let zeta = [hop(2, 0, 15, Some(1500)), hop(3, 1, 15, Some(1500))];
    assert_eq!(table.lookup(node(10)), Route::Via(&zeta));
}

//= PRP-ROUTE-3, type=test
#[test]
fn lookup__never_leads_through_the_machine_itself() {
    let table = table(EXAMPLE, 2);
    assert_eq!(table.lookup(node(2)), Route::Local);
    // Expect: true for alpha, but beta would send to itself.
    for behind in [7, 8] {
        assert_eq!(table.lookup(node(behind)), Route::NoRoute(NoRoute::Ourselves), "{behind}");
    }
    assert_eq!(table.lookup(node(9)), Route::Via(&[hop(3, 1, 20, None)]));
}

//= PRP-ROUTE-0, type=test
#[test]
fn lookup__a_neighbour_has_the_address_as_its_best_route() {
    // A ring of three: the line of 2 comes first and has the address of 3 as its backup.
    let text = "1 02:00:00:00:00:01 eth0\n\
                2 02:00:00:00:00:02 eth0, 02:00:00:00:00:03 eth1 metric 17\n\
                3 02:00:00:00:00:03 eth1, 02:00:00:00:00:02 eth0 metric 16\n";
    let table = table(text, 1);
    assert_eq!(table.lookup(node(2)), Route::Via(&[hop(2, 0, 0, None), hop(3, 1, 17, None)]));
    assert_eq!(table.lookup(node(3)), Route::Via(&[hop(3, 1, 0, None), hop(2, 0, 16, None)]));
}

#[test]
fn lookup__a_local_node_without_a_line_still_sees_the_others() {
    let table = table(EXAMPLE, 100);
    assert_eq!(table.lookup(node(100)), Route::Local);
    assert_eq!(table.lookup(node(3)), Route::Via(&[hop(3, 1, 0, None)]));
    assert_eq!(table.lookup(node(99)), Route::NoRoute(NoRoute::Unknown));
}

//= PRP-ROUTE-4, type=test
#[test]
fn lookup__routes_over_devices_this_machine_lacks_are_left_out() {
    let table = table(EXAMPLE, 1);
    assert_eq!(table.lookup(node(11)), Route::NoRoute(NoRoute::DeviceMissing));
    assert_eq!(table.lookup(node(12)), Route::Via(&[hop(3, 1, 0, None)]));
    assert_eq!(table.lookup(node(13)), Route::NoRoute(NoRoute::DeviceMissing));
}

//= PRP-ROUTE-5, type=test
#[test]
fn is_source__any_next_hop_and_no_other() {
    let table = table(EXAMPLE, 1);
    let (eth0, eth1) = (DeviceId(0), DeviceId(1));
    assert!(table.is_source(node(9), eth0, mac(2)));
    assert!(table.is_source(node(9), eth1, mac(3)), "a backup is a source too");
    assert!(table.is_source(node(7), eth0, mac(2)));
    assert!(!table.is_source(node(9), eth1, mac(2)), "the address, but not on that device");
    assert!(!table.is_source(node(9), eth0, mac(9)));
    assert!(!table.is_source(node(1), eth0, mac(1)), "this node itself");
    assert!(!table.is_source(node(11), eth0, mac(11)), "no route there, so none back");
    assert!(!table.is_source(node(200), eth0, mac(2)));
}

#[test]
fn build__empty_file() {
    let table = RouteTable::build(&Hosts::default(), node(4), |_| None);
    assert_eq!(table.lookup(node(4)), Route::Local);
    assert_eq!(table.lookup(node(3)), Route::NoRoute(NoRoute::Unknown));
}

#[test]
fn build__asks_for_each_device_once() {
    let mut asked = Vec::new();
    RouteTable::build(&hosts(EXAMPLE), node(1), |name| {
        asked.push(String::from(name));
        None
    });
    assert_eq!(asked, ["eth0", "eth1", "eth7"]);
}

#[test]
fn build__keeps_the_best_of_many_next_hops() {
    let mut text = String::new();
    let group = |from: u16| (from..from + 16).map(|n| format!("via {n}")).collect::<Vec<_>>();
    for number in 1..=32 {
        text += &format!("{number} 02:00:00:00:00:{number:02x} eth0 metric {}\n", 100 - number);
    }
    text += &format!(
        "40 {}\n41 {}\n42 via 40 metric 1, via 41\n",
        group(1).join(","),
        group(17).join(",")
    );
    let table = table(&text, 99);
    let hops = table.lookup(node(42)).next_hops();
    assert_eq!(hops.len(), MAX_NEXT_HOPS);
    let best: Vec<_> =
        (17..=32).rev().map(|number| hop(number, 0, 100 - u32::from(number), None)).collect();
    assert_eq!(hops, best);
}

#[test]
fn build__metrics_of_the_longest_chain_do_not_wrap() {
    let mut text = String::from("1 02:00:00:00:00:01 eth0 metric 65535\n");
    for number in 2..=65534 {
        text += &format!("{number} via {} metric 65535\n", number - 1);
    }
    let table = table(&text, 1000);
    assert_eq!(table.lookup(node(999)).next_hops()[0].metric, 999 * 65535);
    assert_eq!(table.lookup(node(1001)), Route::NoRoute(NoRoute::Ourselves));
    let table = self::table(&text, 65534);
    assert_eq!(table.lookup(node(65533)).next_hops()[0].metric, 65533 * 65535);
}

//= PRP-ROUTE-6, type=test
#[test]
fn heap_size__equal_lists_are_kept_once() {
    let mut text = String::from("1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n");
    for number in 3..=65534 {
        text += &format!("{number} via 1 metric 1, via 2 metric 2\n");
    }
    let table = table(&text, 1);
    assert!(table.heap_size() < 600_000, "{}", table.heap_size());
}

//= PRP-ROUTE-6, type=test
#[test]
fn heap_size__of_a_full_cluster() {
    let start = Instant::now();
    let hosts = hosts(&full_cluster());
    let table = RouteTable::build(&hosts, node(1), |_| Some(DeviceId(0)));
    let took = start.elapsed();
    let size = hosts.heap_size() + table.heap_size();
    std::println!("{size} bytes, {took:?}");
    assert!(size < 8 << 20, "{size}");
    // Expect: tens of milliseconds; the bound leaves room for a busy machine and a debug build.
    assert!(took < Duration::from_secs(5), "{took:?}");
    let route = table.lookup(node(65534));
    assert_eq!(route.next_hops()[0].addr, MacAddr([2, 0, 0, 0, 0xff, 0xfe]).into());
}

/// What sends and receives datagrams.
const UDP: DeviceId = DeviceId(100);

/// The next hops to `to` as the file has them, best first, by plain recursion.
fn expected_hops(
    hosts: &Hosts,
    local: NodeId,
    to: NodeId,
) -> Vec<(u32, LinkAddr, u16, Option<u32>)> {
    let own = |target| {
        let mut hops = hosts.entry(local).into_iter().flat_map(|entry| entry.hops());
        hops.any(|hop| match (hop.target, target) {
            (HopTarget::Direct { mac: own, .. }, HopTarget::Direct { mac, .. }) => own == mac,
            (own, target) => own == target,
        })
    };
    let room = |mtu: Option<u32>, addr: LinkAddr| match addr {
        LinkAddr::Ethernet(_) | LinkAddr::Unix { .. } => mtu,
        // The generator has IPv4 only.
        LinkAddr::Udp { .. } => mtu.map(|mtu| mtu.saturating_sub(28).max(u32::from(MIN_MTU))),
    };
    let entry = hosts.entry(to).unwrap();
    let mut expected_hops: Vec<(u32, LinkAddr, u16, Option<u32>)> = Vec::new();
    if to == local {
        return expected_hops;
    }
    for hop in entry.hops() {
        match hop.target {
            target @ (HopTarget::Direct { .. } | HopTarget::Udp(_)) if own(target) => {}
            HopTarget::Direct { mac, device } => {
                let at = hosts.devices().position(|name| name == device).unwrap();
                expected_hops.push((u32::from(hop.metric), mac.into(), at as u16, entry.mtu()));
            }
            HopTarget::Udp(addr) => {
                let at = hosts.udp_peers().iter().position(|ip| *ip == addr.ip()).unwrap();
                let addr = LinkAddr::Udp { peer: UdpPeer(at as u16), port: addr.port() };
                let mtu = room(entry.mtu(), addr);
                expected_hops.push((u32::from(hop.metric), addr, UDP.0, mtu));
            }
            HopTarget::Unix(_) => panic!("the generator has none"),
            HopTarget::Via(gateway) => {
                for (metric, addr, device, mtu) in self::expected_hops(hosts, local, gateway) {
                    let mtu = match (mtu, room(entry.mtu(), addr)) {
                        (Some(a), Some(b)) => Some(a.min(b)),
                        (a, b) => a.or(b),
                    };
                    expected_hops.push((metric + u32::from(hop.metric), addr, device, mtu));
                }
            }
        }
    }
    expected_hops.sort_by_key(|candidate| candidate.0);
    let mut kept: Vec<(u32, LinkAddr, u16, Option<u32>)> = Vec::new();
    for candidate in expected_hops {
        if !kept.iter().any(|k| (k.1, k.2) == (candidate.1, candidate.2)) {
            kept.push(candidate);
        }
    }
    kept.truncate(MAX_NEXT_HOPS);
    kept
}

const UNDERLAYS: &str = "
1  02:00:00:00:00:01 eth0, udp:10.0.0.1 metric 10
2  02:00:00:00:00:02 eth0, udp:10.0.0.2 metric 10
3  udp:10.0.0.3:5500  mtu=1500
4  udp:[fd00::4]  mtu=1500
5  via 3  mtu=1400
";

fn udp(peer: u16, port: u16) -> LinkAddr {
    LinkAddr::Udp { peer: UdpPeer(peer), port }
}

fn underlays(udp: Option<DeviceId>) -> RouteTable {
    RouteTable::build(&hosts(UNDERLAYS), node(1), |name| match name {
        UDP_DEVICE => udp,
        _ => Some(DeviceId(0)),
    })
}

//= PRP-HOSTS-8, type=test
//= PRP-HOSTS-16, type=test
#[test]
fn build__routes_over_ethernet_and_over_udp() {
    let table = underlays(Some(DeviceId(1)));
    let to = |number| {
        let hops = table.lookup(node(number)).next_hops().iter();
        hops.map(|hop| (hop.node.number(), hop.device.0, hop.addr, hop.mtu)).collect::<Vec<_>>()
    };
    assert_eq!(to(2), [(2, 0, mac(2).into(), None), (2, 1, udp(1, 5230), None)]);
    // Expect: IP's header and UDP's are not for PRP.
    assert_eq!(to(3), [(3, 1, udp(2, 5500), Some(1472))]);
    assert_eq!(to(4), [(4, 1, udp(3, 5230), Some(1452))]);
    assert_eq!(to(5), [(3, 1, udp(2, 5500), Some(1372))]);
    let without = underlays(None);
    assert_eq!(without.lookup(node(3)), Route::NoRoute(NoRoute::DeviceMissing));
    assert_eq!(without.lookup(node(2)).next_hops().len(), 1, "its Ethernet is left");
}

//= PRP-UDP-3, type=test
#[test]
fn is_source__any_udp_port_of_the_node_and_no_other() {
    let table = underlays(Some(DeviceId(1)));
    let is_source = |number, device, addr| table.is_source(node(number), DeviceId(device), addr);
    for (port, genuine) in [(5499, false), (5500, true), (5627, true), (5628, false)] {
        assert_eq!(is_source(3, 1, udp(2, port)), genuine, "{port}");
        assert_eq!(is_source(5, 1, udp(2, port)), genuine, "{port}, by its router");
    }
    assert!(!is_source(3, 1, udp(1, 5500)), "another address");
    assert!(!is_source(3, 0, udp(2, 5500)), "another device");
    assert!(!is_source(1, 1, udp(0, 5230)), "this node itself");
}

proptest! {
    #[test]
    fn build__agrees_with_plain_recursion(text in arb_file(), pick in any::<prop::sample::Index>()) {
        let hosts = hosts(&text);
        let nodes: Vec<_> = hosts.nodes().collect();
        let local = *pick.get(&nodes);
        let known: Vec<_> = hosts.devices().map(String::from).collect();
        let table = RouteTable::build(&hosts, local, |name| if name == UDP_DEVICE {
            Some(UDP)
        } else {
            known.iter().position(|known| known == name).map(|i| DeviceId(i as u16))
        });
        for to in nodes {
            let hops = table.lookup(to).next_hops();
            let got: Vec<_> = hops.iter().map(|h| (h.metric, h.addr, h.device.0, h.mtu)).collect();
            prop_assert_eq!(got, expected_hops(&hosts, local, to));
            for hop in hops {
                prop_assert!(table.is_source(to, hop.device, hop.addr));
            }
            prop_assert_eq!(table.lookup(to) == Route::Local, to == local);
        }
    }
}

#[test]
fn renumber__an_address_is_what_it_was_whatever_its_number() {
    let before = underlays(Some(UDP));
    let others =
        UNDERLAYS.lines().rev().collect::<Vec<_>>().join("\n").replace("10.0.0.2", "10.0.0.9");
    let after = RouteTable::build(&hosts(&others), node(1), |_| Some(UDP));
    for hop in before.neighbours() {
        let station = before.station(hop.addr).expect("a hop's own");
        assert_eq!(before.link_addr(station), Some(hop.addr));
        let new = after.renumber(&before, hop.addr);
        assert_eq!(new, after.link_addr(station));
        let is_gone = alloc::format!("{station}").contains("10.0.0.2");
        assert_eq!(new.and_then(|new| after.station(new)), Some(station).filter(|_| !is_gone));
    }
    assert_eq!(before.station(udp(9, 1)), None);
    assert_eq!(
        before.station(udp(2, 5500)).map(|it| alloc::format!("{it}")),
        Some("udp:10.0.0.3:5500".into())
    );
}
