//! Lines with a folder of Unix sockets.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::{node, parse};
use crate::addr::{DeviceId, LinkAddr};
use crate::hosts::{HopTarget, Hosts, HostsErrorKind, MAX_UNIX_FOLDER, UNIX_DEVICE};
use crate::route::{NoRoute, Route, RouteTable};

const HOSTS: &str = "1 unix:/run/prp-cluster alpha\n\
                     2 udp:10.0.0.2, unix:/run/prp-cluster metric 5 beta\n\
                     3 udp:10.0.0.3\n4 via 1\n";

fn unix(number: u16) -> LinkAddr {
    LinkAddr::Unix { node: node(number), process: 0 }
}

fn kinds(text: &str) -> Vec<HostsErrorKind> {
    let errors = Hosts::parse(text.as_bytes()).expect_err("a mistake");
    errors.iter().map(|error| error.kind().clone()).collect()
}

//= PRP-HOSTS-18, type=test
//= PRP-HOSTS-3, type=test
#[test]
fn parse__the_folder_of_unix_sockets() {
    let hosts = parse(HOSTS);
    assert_eq!(hosts.unix_folder(), Some("/run/prp-cluster"));
    let on_unix = [1, 2, 3].map(|number| hosts.is_on_unix(node(number)));
    assert_eq!(on_unix, [true, true, false]);
    let hops: Vec<_> = hosts.entry(node(1)).unwrap().hops().map(|hop| hop.target).collect();
    assert_eq!(hops, [HopTarget::Unix("/run/prp-cluster")]);
    let printed = hosts.to_string();
    assert!(printed.contains("2  udp:10.0.0.2, unix:/run/prp-cluster metric 5  beta\n"));
    assert_eq!(parse(&printed), hosts);
    assert_eq!(parse("1 udp:10.0.0.1").unix_folder(), None);
    let longest = format!("/{}", "x".repeat(MAX_UNIX_FOLDER - 1));
    assert_eq!(parse(&format!("1 unix:{longest}")).unix_folder(), Some(&*longest));
    for wrong in ["", "run/prp", "/run/\u{7}", &format!("{longest}x")] {
        assert_eq!(kinds(&format!("1 unix:{wrong}")), [HostsErrorKind::UnixFolder], "{wrong}");
    }
    assert_eq!(kinds("1 unix:/a\n2 unix:/b"), [HostsErrorKind::UnixOther { first: 1 }]);
}

#[test]
fn build__routes_by_unix_sockets_from_a_node_that_has_them() {
    let table = |local| {
        RouteTable::build(&parse(HOSTS), node(local), |name| {
            Some(DeviceId(u16::from(name == UNIX_DEVICE)))
        })
    };
    let to = |table: &RouteTable, number| {
        let hops = table.lookup(node(number)).next_hops().iter();
        hops.map(|hop| (hop.node.number(), hop.device.0, hop.addr)).collect::<Vec<_>>()
    };
    let one = table(1);
    assert_eq!(to(&one, 2).last(), Some(&(2, 1, unix(2))));
    let two = table(2);
    assert_eq!(to(&two, 1), [(1, 1, unix(1))]);
    assert_eq!(to(&two, 4), [(1, 1, unix(1))], "behind it");
    // Node 3 has no sockets of its own to send from.
    assert_eq!(table(3).lookup(node(1)), Route::NoRoute(NoRoute::DeviceMissing));
    let addr = LinkAddr::Unix { node: node(1), process: 7 };
    assert_eq!(two.station(addr).and_then(|station| one.link_addr(station)), Some(addr));
}

//= PRP-UNIX-3, type=test
#[test]
fn is_source__any_process_of_the_node_and_of_no_other() {
    let table = RouteTable::build(&parse(HOSTS), node(2), |_| Some(DeviceId(0)));
    let is_source = |of, number, process| {
        let from = LinkAddr::Unix { node: node(number), process };
        table.is_source(node(of), DeviceId(0), from)
    };
    assert!(is_source(1, 1, 1) && is_source(1, 1, u16::MAX));
    assert!(is_source(4, 1, 1), "it is behind node 1");
    assert!(!is_source(1, 3, 1) && !is_source(3, 1, 1) && !is_source(2, 2, 1));
}
