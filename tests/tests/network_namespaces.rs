//! A process whose threads are in two network namespaces has two nodes: a socket belongs to the
//! namespace of the thread that made it, whichever thread uses it later.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::{ErrorKind, Read, Write};
use std::process::ExitCode;
use std::time::Duration;

use prp_node::PortClaims;
use prp_sock::{Builder, NodeId, Port, PrpAddr, PrpListener};
use prp_tests::harness::{Load, Test};
use prp_tests::namespace::{self, on_node};

/// Longer than a refusal takes. Without an answer, `connect` waits for this time.
const TIMEOUT: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    // The tests check all names of a node.
    let tests = [
        Test::new(
            "thread__in_another_namespace_is_on_another_node",
            Load::Light,
            thread__in_another_namespace_is_on_another_node,
        ),
        Test::new(
            "leader__from_another_namespace_changes_nothing",
            Load::Light,
            leader__from_another_namespace_changes_nothing,
        ),
    ];
    namespace::run_on_pair(&tests, |_| None)
}

fn node(number: u8) -> NodeId {
    NodeId::new(number.into()).expect("a node")
}

fn addr(number: u8, port: u16) -> PrpAddr {
    PrpAddr::new(node(number), Port::new(port))
}

fn builder(number: u8) -> Builder {
    Builder::new().hosts(namespace::hosts(number)).connect_timeout(TIMEOUT)
}

/// Listens on node `number`.
fn listen(number: u8, port: u16) -> PrpListener {
    on_node(number, || builder(number).bind(addr(number, port)).expect("the port is free"))
}

/// Names of node 1 or 2 that are bound in the namespace of the calling thread.
fn names() -> Vec<String> {
    let sockets = std::fs::read_to_string("/proc/thread-self/net/unix").expect("/proc");
    let names = sockets.lines().filter_map(|line| line.split_once("@prp/"));
    names.map(|(_, name)| name.to_owned()).collect()
}

/// The names that are bound on a node have that node's number.
fn check_names() {
    for number in [1, 2] {
        let found = on_node(number, names);
        let own = format!("{number}/");
        assert!(!found.is_empty() && found.iter().all(|n| n.starts_with(&own)), "{found:?}");
    }
}

fn thread__in_another_namespace_is_on_another_node() {
    let listeners = [1, 2].map(|number| listen(number, 4000));
    for (number, listener) in (1..).zip(&listeners) {
        assert_eq!(listener.local_addr().expect("it has one"), addr(number, 4000));
    }
    check_names();
    for (number, listener) in (1..).zip(&listeners) {
        let other = 3 - number;
        let connecting = || builder(other).connect(addr(number, 4000)).expect("it listens");
        let mut ours = on_node(other, connecting);
        let (mut theirs, peer) = listener.accept().expect("somebody has connected");
        assert_eq!(peer.node, node(other));
        // Each thread may use the sockets of the others.
        ours.write_all(b"from there").expect("the peer is there");
        drop(ours);
        let mut got = String::new();
        theirs.read_to_string(&mut got).expect("it comes whole");
        assert_eq!(got, "from there");
    }
    check_names();
}

/// The process that answers for ports without an owner searches for owners on its own node,
/// whichever thread does it.
fn leader__from_another_namespace_changes_nothing() {
    let listener = listen(1, 4100);
    let served = std::thread::spawn(move || on_node(2, || listener.accept().map(drop)));
    // A claim as of another process of node 1. Nothing listens there, so that there is no answer.
    let mut claims = PortClaims::new(node(1));
    let claimed = on_node(1, || claims.claim(Port::new(4101)).expect("a descriptor is left"));
    assert!(claimed);
    let ask = |port| on_node(2, || builder(2).connect(addr(1, port)).map(drop));
    // Expect: the thread that waits in `accept` on the other node answers for 4102, not for 4101.
    for _ in 0..20 {
        let error = ask(4102).expect_err("nobody listens");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
    }
    let error = ask(4101).expect_err("nobody answers");
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    check_names();
    ask(4100).expect("it listens");
    served.join().expect("no panic").expect("somebody has connected");
}
