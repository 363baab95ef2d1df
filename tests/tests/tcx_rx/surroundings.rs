//! Other programs and rules at a device, and changes of the device itself.

use std::os::fd::AsFd;
use std::process::Command;

use prp_device::{KernelDevice, Managed};
use prp_tests::harness::skip;
use socket2::SockRef;

use crate::link::{BATCH, End, FLOW, Link, PORT, Restore, SERVICE_INTERVAL};

/// The next check closes it while frames arrive, and it stays closed.
fn is_left(link: &mut Link, why: &str) {
    link.pass(FLOW);
    link.tcx_rx.disable();
    link.enable();
    link.send(BATCH);
    assert!(link.service(SERVICE_INTERVAL).is_some(), "it is to be tried again");
    link.send(BATCH);
    link.receive_all();
    assert_eq!(link.pass(BATCH), 0, "{why}");
    link.retry();
    assert_eq!(link.pass(BATCH), 0, "{why} is still there");
}

pub(crate) fn rules__at_the_ingress_are_not_passed_by() {
    let mut link = Link::open();
    if Command::new("nft").arg("--version").output().is_err() {
        skip("nft");
    }
    let at = link.at.clone();
    at.run("nft", "add table netdev t");
    let end = at.clone();
    let _restore = Restore(Box::new(move || end.run("nft", "delete table netdev t")));
    at.run("nft", "add chain netdev t e { type filter hook egress device DEV priority 0 ; }");
    link.pass(FLOW);
    assert!(link.service(SERVICE_INTERVAL).is_some());
    assert_eq!(link.pass(BATCH), BATCH, "what is at the egress does not matter");
    at.run("nft", "add chain netdev t i { type filter hook ingress device DEV priority 0 ; }");
    is_left(&mut link, "a chain");
    at.run("nft", "delete chain netdev t i");
    link.pass_until_open();
}

pub(crate) fn filters__have_a_place_that_is_not_passed_by() {
    for kind in ["clsact", "ingress"] {
        let mut link = Link::open();
        let at = link.at.clone();
        at.run("tc", &format!("qdisc add dev DEV {kind}"));
        let end = at.clone();
        let restore =
            Restore(Box::new(move || end.run("tc", &format!("qdisc del dev DEV {kind}"))));
        is_left(&mut link, kind);
        // Expect: a path that is not open yet is not opened.
        let mut fresh = Link::between(&End::of(1), &at, PORT + 16);
        fresh.flow();
        assert_eq!(fresh.pass(BATCH), 0, "{kind} was there before");
        drop(restore);
        link.pass_until_open();
        fresh.pass_until_open();
    }
    let mut link = Link::open();
    let at = link.at.clone();
    at.run("tc", "qdisc add dev DEV root pfifo");
    let _restore = Restore(Box::new(move || at.run("tc", "qdisc del dev DEV root")));
    link.pass(FLOW);
    assert!(link.service(SERVICE_INTERVAL).is_some());
    assert_eq!(link.pass(BATCH), BATCH, "a queue is for what is sent");
}

/// Two devices of node 2 that are connected to each other.
fn make_pair() -> Restore {
    let any = End { node: 2, name: "in0".into() };
    any.run(
        "ip",
        "link add out0 address 02:00:00:00:01:01 type veth peer name in0 address 02:00:00:00:01:02",
    );
    let remove = Restore(Box::new(move || any.run("ip", "link del DEV")));
    // The sending end is set up last: a device that is up before its peer begins to send only some
    // time after the peer is up.
    for name in ["in0", "out0"] {
        End { node: 2, name: name.into() }.run("ip", "link set DEV up");
    }
    remove
}

pub(crate) fn interface__removed_and_made_again() {
    let pair = make_pair();
    let [from, at] = ["out0", "in0"].map(|name| End { node: 2, name: name.into() });
    let mut link = Link::between(&from, &at, PORT);
    link.open_tcx_rx();
    link.pass(FLOW);
    link.send(BATCH);
    drop(pair);
    assert!(link.service(SERVICE_INTERVAL).is_some(), "it is to be tried again");
    assert!(!link.tcx_rx.is_requested());
    assert_eq!([link.to.index(), link.from.device.index()], [None; 2]);
    // Expect: frames that had arrived can still be received.
    link.receive_all();
    let _pair = make_pair();
    assert!(link.from.device.rebind(from.interface().index));
    assert!(link.to.rebind(at.interface().index));
    // The error of the lost device.
    let _ = SockRef::from(&link.from.device.as_fd()).take_error();
    assert_eq!(link.pass(BATCH), 0, "closed");
    link.pass_until_open();
    assert_eq!(link.pass(FLOW), FLOW);
}

pub(crate) fn mtu__changed_is_waited_for() {
    for mtu in [1514, 9000] {
        let mut link = Link::open();
        let at = link.at.clone();
        at.run("ip", &format!("link set DEV mtu {mtu}"));
        let end = at.clone();
        let restore = Restore(Box::new(move || end.run("ip", "link set DEV mtu 1500")));
        is_left(&mut link, &format!("an MTU of {mtu}"));
        drop(restore);
        link.pass_until_open();
    }
}
