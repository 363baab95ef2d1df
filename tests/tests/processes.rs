//! Many processes on one node: each receives its own frames, whatever the others do.
#![allow(non_snake_case, reason = "tests are named function__case")]

use nix::sys::signal::Signal;
use prp_tests::processes::{connect, kill_others, listener, listeners, signal, transfer};
use prp_tests::puppet::Puppet;
use prp_tests::topology::{Link, Topology};

prp_tests::main! {
    heavy:
        transfer__among_thirty_two_processes,
        kill__several_at_once_while_streams_run,
        link__down_and_up_while_streams_run;
    light:
        stop__the_steward_delays_no_process,
        ports__a_process_refuses_requests_to_those_it_holds_for_later;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

fn client(topology: &Topology) -> Puppet {
    Puppet::start(&topology.node(1), PUPPET)
}

fn transfer__among_thirty_two_processes() {
    let topology = Topology::pair();
    let mut all = listeners(&topology, PUPPET, 32);
    let mut client = client(&topology);
    connect(&mut client, &mut all);
    transfer(&mut client, &mut all, 2 << 20, |_| true, |_| ());
    // Connections among them, by the loopback device.
    for number in 1..all.len() {
        all[number].ok(format!("connect back 2:{}", 100 + number - 1));
        all[number - 1].ok("accept l forth");
        all[number].ok("write back hello");
        assert_eq!(all[number - 1].ok("read forth 5"), "hello");
    }
}

fn kill__several_at_once_while_streams_run() {
    let topology = Topology::pair();
    let mut all = listeners(&topology, PUPPET, 16);
    let mut client = client(&topology);
    connect(&mut client, &mut all);
    // Including the first one, which is the steward.
    let survives = |n: usize| n % 3 == 1;
    transfer(&mut client, &mut all, 4 << 20, survives, |all| kill_others(all, survives));
    // Their ports are free, and their next owner receives frames.
    let mut next = listener(&topology, PUPPET, 102);
    client.ok("connect t 2:102");
    next.ok("accept l s");
    client.ok("write t hello");
    assert_eq!(next.ok("read s 5"), "hello");
}

fn link__down_and_up_while_streams_run() {
    let topology = Topology::pair();
    let mut all = listeners(&topology, PUPPET, 6);
    let mut client = client(&topology);
    connect(&mut client, &mut all);
    transfer(
        &mut client,
        &mut all,
        4 << 20,
        |_| true,
        |_| {
            topology.link(2, Link::Down);
            topology.link(2, Link::Up);
        },
    );
}

/// A stopped process cannot refuse requests. No thread waits for it otherwise.
fn stop__the_steward_delays_no_process() {
    let topology = Topology::pair();
    let mut all = listeners(&topology, PUPPET, 2);
    signal(&all[0], Signal::SIGSTOP);
    all.push(listener(&topology, PUPPET, 102));
    let mut client = client(&topology);
    for port in [101, 102] {
        client.ok(format!("connect s{port} 2:{port}"));
        all[port - 100].ok("accept l s");
        client.ok(format!("write s{port} hello"));
        assert_eq!(all[port - 100].ok("read s 5"), "hello");
    }
    signal(&all[0], Signal::SIGCONT);
}

/// A connection claims 16 ports at once. The process refuses requests to the unused ones, as for a
/// port without an owner.
fn ports__a_process_refuses_requests_to_those_it_holds_for_later() {
    let topology = Topology::pair();
    // The first process is the steward, and the last one owns the block.
    let all = listeners(&topology, PUPPET, 2);
    let mut owner = Puppet::start(&topology.node(2), PUPPET);
    let local = owner.ok("listen l 2:0");
    let port: u16 = local.rsplit(':').next().and_then(|p| p.parse().ok()).expect("node:port");
    let mut client = client(&topology);
    for neighbour in (0..16).map(|n| port & !15 | n).filter(|n| *n != port) {
        let why = client.fails(format!("connect s 2:{neighbour}"));
        assert_eq!(why, "ConnectionRefused", "{neighbour} beside {port}");
    }
    client.ok(format!("connect s 2:{port}"));
    drop(all);
}
