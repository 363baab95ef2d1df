//! A router resets the connections of killed processes of its node.
#![allow(non_snake_case, reason = "tests are named function__case")]

use prp_routed::report::Question;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::topology::Topology;
use prp_tests::wait;

prp_tests::main! {
    light:
        killed__peers_are_reset_at_either_end_of_the_request,
        killed__peers_on_the_same_node_are_reset,
        killed__after_the_router_was_restarted,
        killed__with_many_connections_spares_those_of_others,
        ended__by_itself_what_it_wrote_is_read_to_the_end;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");

fn puppet(topology: &Topology, node: u8) -> Puppet {
    Puppet::start(&topology.node(node), PUPPET)
}

fn router(topology: &Topology, node: u8) -> Router {
    Router::start(&topology.node(node), ROUTED)
}

/// Waits until `processes` processes of `node` have registered.
fn registered(topology: &Topology, node: u8, processes: u64) {
    wait::until(format!("{processes} processes in the register"), || {
        let status = ask(&topology.node(node), ASK, &Question::Status);
        (status["processes"] == processes).then_some(())
    });
}

fn resets(topology: &Topology, node: u8) -> u64 {
    let counters = ask(&topology.node(node), ASK, &Question::Counters);
    counters["connections_reset"].as_u64().expect("a number")
}

/// A stream `s` from `client` to `server`, which is on node `to`.
fn connect(client: &mut Puppet, server: &mut Puppet, to: u8) {
    server.ok(format!("listen l {to}:80"));
    client.ok(format!("connect s {to}:80"));
    server.ok("accept l s");
}

/// Neither end sends data: without a router the peer would wait for ever (`lifecycle`: `kill__*`).
fn killed__peers_are_reset_at_either_end_of_the_request() {
    let topology = Topology::pair();
    let _router = router(&topology, 1);
    for dies_as_server in [false, true] {
        let (mut dies, mut stays) = (puppet(&topology, 1), puppet(&topology, 2));
        if dies_as_server {
            connect(&mut stays, &mut dies, 1);
        } else {
            connect(&mut dies, &mut stays, 2);
        }
        // Data that have arrived before can still be read.
        dies.ok("write s farewell");
        registered(&topology, 1, 1);
        dies.kill();
        assert_eq!(stays.ok("read s 100"), "farewell");
        assert_eq!(stays.fails("read s 1"), "ConnectionReset");
        assert_eq!(stays.ok("read s 1"), "");
    }
}

fn killed__peers_on_the_same_node_are_reset() {
    let topology = Topology::pair();
    let _router = router(&topology, 1);
    let (mut dies, mut stays) = (puppet(&topology, 1), puppet(&topology, 1));
    connect(&mut dies, &mut stays, 1);
    registered(&topology, 1, 2);
    dies.kill();
    assert_eq!(stays.fails("read s 1"), "ConnectionReset");
}

/// Processes that started before the router are registered as well, with their connections.
fn killed__after_the_router_was_restarted() {
    let topology = Topology::pair();
    let (mut dies, mut stays) = (puppet(&topology, 1), puppet(&topology, 2));
    connect(&mut dies, &mut stays, 2);
    for _ in 0..2 {
        let first = router(&topology, 1);
        registered(&topology, 1, 1);
        first.stop();
        dies.ok("write s still-here");
        assert_eq!(stays.ok("read s 100"), "still-here");
    }
    let _router = router(&topology, 1);
    registered(&topology, 1, 1);
    dies.kill();
    assert_eq!(stays.fails("read s 1"), "ConnectionReset");
}

fn killed__with_many_connections_spares_those_of_others() {
    const CONNECTIONS: u64 = 300;
    let topology = Topology::pair();
    let _router = router(&topology, 1);
    let (mut dies, mut lives) = (puppet(&topology, 1), puppet(&topology, 1));
    let mut peer = puppet(&topology, 2);
    connect(&mut lives, &mut peer, 2);
    for n in 0..CONNECTIONS {
        dies.ok(format!("connect d{n} 2:80"));
        peer.ok(format!("accept l d{n}"));
    }
    // Closed connections are not reset.
    for n in CONNECTIONS / 2..CONNECTIONS {
        dies.ok(format!("drop d{n}"));
        peer.ok(format!("drop d{n}"));
    }
    registered(&topology, 1, 2);
    dies.kill();
    for n in 0..CONNECTIONS / 2 {
        assert_eq!(peer.fails(format!("read d{n} 1")), "ConnectionReset", "{n}");
    }
    lives.ok("write s hello");
    assert_eq!(peer.ok("read s 5"), "hello");
    // Expect: a reset is repeated, since frames can be lost, and closed connections have none.
    // During the first of three rounds the dying process may still have its ports.
    wait::until("the second round", || (resets(&topology, 1) >= CONNECTIONS / 2 * 2).then_some(()));
    assert!(resets(&topology, 1) <= CONNECTIONS / 2 * 3);
}

fn ended__by_itself_what_it_wrote_is_read_to_the_end() {
    let topology = Topology::pair();
    let _router = router(&topology, 1);
    let (mut ends, mut stays) = (puppet(&topology, 1), puppet(&topology, 2));
    connect(&mut ends, &mut stays, 2);
    registered(&topology, 1, 1);
    ends.ok("write s bye");
    ends.send("return");
    assert_eq!(ends.wait(), 0);
    // Expect: the process has notified its peer that it exits (SPEC PRP-CLOSE-10), with or without
    // a reset by the router. Neither is an error for a reader.
    assert_eq!(stays.ok("read s 100"), "bye");
    assert_eq!(stays.ok("read s 1"), "");
    assert_eq!(stays.fails("write s x"), "BrokenPipe");
}
