//! prp-routed as the steward of a node with many processes: their sockets stand in rows, and keep their ports,
//! whoever else ends.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeSet;

use prp_routed::report::Question;
use prp_tests::crowd::{self, SOCKETS, connect, kill_others, sockets, transfer, until_in_rows};
use prp_tests::harness::skip;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::scratch::TempFile;
use prp_tests::topology::{Link, Topology};

prp_tests::main! {
    heavy:
        router__keeps_rows_while_processes_die,
        router__dies_and_comes_back_while_streams_run,
        router__link_down_and_up_while_streams_run;
    light:
        router__takes_the_place_of_a_steward_that_ends,
        router__as_another_user_is_believed,
        router__rows_of_each_user_are_apart;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");

fn router(topology: &Topology) -> Router {
    let router = Router::start(&topology.node(2), ROUTED);
    assert_eq!(ask(&topology.node(2), ASK, &Question::Status)["steward"], true);
    router
}

fn listener(topology: &Topology, port: usize) -> Puppet {
    crowd::listener(topology, PUPPET, port)
}

/// So many processes on node 2, on ports from 100 up, all of them in rows.
fn crowd(topology: &Topology, processes: usize) -> Vec<Puppet> {
    crowd::crowd(topology, PUPPET, processes, processes)
}

fn router__keeps_rows_while_processes_die() {
    let topology = Topology::pair();
    let _router = router(&topology);
    let mut all = crowd(&topology, 16);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    let survives = |n: usize| n % 3 != 1;
    transfer(&mut client, &mut all, 4 << 20, survives, |all| kill_others(all, survives));
    // Their places are kept, so nobody else's has changed: the others' streams go on, on the ports they have.
    until_in_rows(&topology, 16);
    transfer(&mut client, &mut all, 1 << 20, survives, |_| ());
    // Their ports are free, and whoever has them next is reached; nobody answers for them but the router.
    assert_eq!(client.fails("connect t 2:101"), "ConnectionRefused");
    let mut next = listener(&topology, 101);
    until_in_rows(&topology, 17);
    client.ok("connect t 2:101");
    next.ok("accept l s");
    client.ok("write t hello");
    assert_eq!(next.ok("read s 5"), "hello");
    assert_eq!(client.fails("connect u 2:99"), "ConnectionRefused", "the router answers");
}

fn router__dies_and_comes_back_while_streams_run() {
    let topology = Topology::pair();
    let old = router(&topology);
    let mut all = crowd(&topology, 8);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    transfer(&mut client, &mut all, 8 << 20, |_| true, |_| drop(old));
    // One of them is the steward now, and the others are in its rows.
    until_in_rows(&topology, 7);
    let _router = Router::start(&topology.node(2), ROUTED);
    assert_eq!(ask(&topology.node(2), ASK, &Question::Status)["steward"], false);
    transfer(&mut client, &mut all, 1 << 20, |_| true, |_| ());
}

fn router__takes_the_place_of_a_steward_that_ends() {
    let topology = Topology::pair();
    let mut all: Vec<_> = vec![listener(&topology, 100)];
    // The first one is the steward, and the router follows.
    let _router = Router::start(&topology.node(2), ROUTED);
    assert_eq!(ask(&topology.node(2), ASK, &Question::Status)["steward"], false);
    all.extend((101..104).map(|port| listener(&topology, port)));
    until_in_rows(&topology, 3);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    all[0].kill();
    // It may be one of them as well: whoever is first.
    until_in_rows(&topology, 2);
    transfer(&mut client, &mut all, 1 << 20, |n| n > 0, |_| ());
}

fn router__link_down_and_up_while_streams_run() {
    let topology = Topology::pair();
    let _router = router(&topology);
    let mut all = crowd(&topology, 6);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    // An early place is free when the link goes: the order before and after cannot be the same.
    all[2].kill();
    transfer(
        &mut client,
        &mut all,
        4 << 20,
        |n| n != 2,
        |_| {
            topology.link(2, Link::Down);
            topology.link(2, Link::Up);
        },
    );
    until_in_rows(&topology, 5);
    transfer(&mut client, &mut all, 1 << 20, |n| n != 2, |_| ());
}

/// Its sockets are from when it was root.
fn router__as_another_user_is_believed() {
    let topology = Topology::pair();
    if topology.is_rootless() {
        skip("root: a user namespace has one user");
    }
    let node = topology.node(2);
    // The node's own prphosts is everybody's to read.
    let mut command = node.command(ROUTED);
    command.args(["--user", "nobody"]);
    let _router = Router::run(command);
    let mut all = crowd(&topology, 4);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    transfer(&mut client, &mut all, 1 << 20, |_| true, |_| ());
}

/// What stands in rows, by the number of the row.
fn rows(topology: &Topology) -> BTreeSet<String> {
    let said = sockets(topology);
    let rows = said.match_indices("fanout(").map(|(at, _)| {
        let rest = &said[at..];
        rest[..rest.find(')').expect("it ends")].to_owned()
    });
    rows.collect()
}

fn router__rows_of_each_user_are_apart() {
    let topology = Topology::pair();
    if topology.is_rootless() {
        skip("root: a user namespace has one user");
    }
    let _router = router(&topology);
    let mut all = crowd(&topology, 3);
    assert_eq!(rows(&topology).len(), SOCKETS, "one for each device");
    let program = TempFile::copy(PUPPET);
    for port in 103..106 {
        let mut command = topology.node(2).command("setpriv");
        command.args(["--reuid", "65534", "--clear-groups", "--inh-caps", "+net_raw"]);
        command.args(["--ambient-caps", "+net_raw"]).arg(program.path());
        let mut process = Puppet::run("puppet of nobody on node 2", command);
        process.ok(format!("listen l 2:{port}"));
        all.push(process);
    }
    until_in_rows(&topology, 6);
    assert_eq!(rows(&topology).len(), 2 * SOCKETS, "for each user one for each device");
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    transfer(
        &mut client,
        &mut all,
        4 << 20,
        |n| n % 3 != 1,
        |all| {
            // One of each user.
            all[1].kill();
            all[4].kill();
        },
    );
}
