//! Many processes on a node whose sockets stand in rows, and what becomes of their streams when any of them,
//! the steward or the link fails.
#![allow(non_snake_case, reason = "tests are named function__case")]

use nix::sys::signal::Signal;
use prp_tests::crowd::{
    self, SOCKETS, connect, in_rows, kill_others, signal, sockets, transfer, until_in_rows,
};
use prp_tests::puppet::Puppet;
use prp_tests::topology::{Link, Topology};
use prp_tests::wait::until;

prp_tests::main! {
    heavy:
        rows__thirty_two_processes,
        rows__worn_by_those_who_end_are_given_up,
        kill__several_at_once_while_streams_run,
        kill__the_steward_while_streams_run,
        link__down_and_up_while_streams_run,
        stop__the_steward_and_others_come;
    light:
        rows__only_where_they_pay,
        ports__hundreds_of_a_member,
        ports__move_between_members;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// A process on node 2 that listens on `port`.
fn listener(topology: &Topology, port: usize) -> Puppet {
    crowd::listener(topology, PUPPET, port)
}

/// So many of them, on ports from 100 up; the first is the steward, the others are in rows.
fn crowd(topology: &Topology, processes: usize) -> Vec<Puppet> {
    crowd::crowd(topology, PUPPET, processes, processes - 1)
}

fn rows__only_where_they_pay() {
    let topology = Topology::pair();
    let mut two: Vec<_> = (0..2).map(|n| listener(&topology, 100 + n)).collect();
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut two);
    transfer(&mut client, &mut two, 1 << 20, |_| true, |_| ());
    assert_eq!(in_rows(&topology), 0, "the steward and another one");
    let _third = listener(&topology, 102);
    until_in_rows(&topology, 2);
    transfer(&mut client, &mut two, 1 << 20, |_| true, |_| ());
}

fn rows__thirty_two_processes() {
    let topology = Topology::pair();
    let mut all = crowd(&topology, 32);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    transfer(&mut client, &mut all, 2 << 20, |_| true, |_| ());
    // Among themselves, by the loopback device, in both directions.
    for number in 1..all.len() {
        all[number].ok(format!("connect back 2:{}", 100 + number - 1));
        all[number - 1].ok("accept l forth");
        all[number - 1].ok("write forth hello");
        assert_eq!(all[number].ok("read back 5"), "hello");
    }
    assert_eq!(client.fails("connect t 2:99"), "ConnectionRefused", "the steward answers");
}

fn rows__worn_by_those_who_end_are_given_up() {
    let topology = Topology::pair();
    let mut all = crowd(&topology, 24);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all[..4]);
    let rest = all.split_off(4);
    let end = |_: &mut Vec<_>| {
        // All at once: one that outlives the rows by long enough stands in new ones, and a few gaps are left in peace.
        rest.iter().for_each(|process| signal(process, Signal::SIGKILL));
        drop(rest);
    };
    transfer(&mut client, &mut all, 8 << 20, |_| true, end);
    // The sockets of those who have ended are kept in their places, and in the end they go.
    until("the end of all old sockets", || {
        (sockets(&topology).matches("p_raw").count() == 4 * SOCKETS).then_some(())
    });
    until_in_rows(&topology, 3);
    transfer(&mut client, &mut all, 1 << 20, |_| true, |_| ());
}

fn kill__several_at_once_while_streams_run() {
    let topology = Topology::pair();
    let mut all = crowd(&topology, 16);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    let survives = |n: usize| n % 3 != 1;
    transfer(&mut client, &mut all, 4 << 20, survives, |all| kill_others(all, survives));
    // Their ports are free, and whoever has them next is reached.
    let mut next = listener(&topology, 101);
    client.ok("connect t 2:101");
    next.ok("accept l s");
    until_in_rows(&topology, 16 - 1 + 1);
    client.ok("write t hello");
    assert_eq!(next.ok("read s 5"), "hello");
}

fn kill__the_steward_while_streams_run() {
    let topology = Topology::pair();
    let mut all = crowd(&topology, 12);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    let mut dead = Vec::new();
    for _ in 0..2 {
        let steward = steward(&topology, &all);
        let other = (0..all.len()).find(|n| *n != steward && !dead.contains(n)).expect("many live");
        dead.extend([steward, other]);
        // With a gap in the rows, which closes when the steward ends.
        transfer(
            &mut client,
            &mut all,
            4 << 20,
            |n| !dead.contains(&n),
            |all| {
                all[other].kill();
                all[steward].kill();
            },
        );
        until_in_rows(&topology, 12 - dead.len() - 1);
        assert_eq!(client.fails("connect t 2:99"), "ConnectionRefused", "the next steward answers");
    }
}

/// Which process is the steward of node 2: the one that has the name of port 0.
fn steward(topology: &Topology, all: &[Puppet]) -> usize {
    let said = topology.node(2).run("ss", &["--unix", "--listening", "--processes"]);
    let line = said.lines().find(|line| line.contains("@prp/2/0 ")).expect("there is one");
    let is = |process: &Puppet| line.contains(&format!("pid={},", process.pid()));
    all.iter().position(is).expect("it is one of ours")
}

fn link__down_and_up_while_streams_run() {
    let topology = Topology::pair();
    let mut all = crowd(&topology, 10);
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
            for _ in 0..3 {
                topology.link(2, Link::Down);
                topology.link(2, Link::Up);
            }
        },
    );
    until_in_rows(&topology, 8);
    transfer(&mut client, &mut all, 1 << 20, |n| n != 2, |_| ());
}

fn stop__the_steward_and_others_come() {
    let topology = Topology::pair();
    let mut all = crowd(&topology, 8);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    connect(&mut client, &mut all);
    signal(&all[0], Signal::SIGSTOP);
    let mut come = Vec::new();
    transfer(
        &mut client,
        &mut all,
        4 << 20,
        |n| n > 0 && n != 7,
        |all| {
            come = (108..112).map(|port| listener(&topology, port)).collect();
            // A member gets ports all the same, and is reached on them.
            all[3].ok("listen m 2:700");
            all[4].ok("connect c 2:700");
            all[3].ok("accept m c");
            all[4].ok("write c hello");
            assert_eq!(all[3].ok("read c 5"), "hello");
            // So is who has the port of one that has ended.
            all[7].kill();
            come.push(listener(&topology, 107));
        },
    );
    for (number, server) in (8..12).zip(&mut come) {
        client.ok(format!("connect s{number} 2:{}", 100 + number));
        server.ok("accept l s");
    }
    client.ok("connect t 2:107");
    come[4].ok("accept l s");
    all.extend(come.drain(..4));
    transfer(&mut client, &mut all, 1 << 20, |n| n > 0 && n != 7, |_| ());
    signal(&all[0], Signal::SIGCONT);
    until_in_rows(&topology, 12);
    transfer(&mut client, &mut all, 1 << 20, |n| n != 7, |_| ());
}

fn ports__hundreds_of_a_member() {
    let topology = Topology::pair();
    let mut all = crowd(&topology, 4);
    let mut server = Puppet::start(&topology.node(1), PUPPET);
    server.ok("listen l 1:80");
    for number in 0..300 {
        let from = all[2].ok(format!("connect c{number} 1:80"));
        assert_eq!(server.ok(format!("accept l c{number}")), from);
        server.ok(format!("write c{number} {number}"));
        assert_eq!(all[2].ok(format!("read c{number} 5")), number.to_string());
    }
    // Another one finds ports of its own.
    all[3].ok("connect c 1:80");
    server.ok("accept l d");
    server.ok("write d hello");
    assert_eq!(all[3].ok("read c 5"), "hello");
}

fn ports__move_between_members() {
    let topology = Topology::pair();
    let mut all = crowd(&topology, 4);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    for round in 0..12 {
        let (owner, other) = (1 + round % 3, 1 + (round + 1) % 3);
        all[owner].ok("listen p 2:333");
        assert_eq!(all[other].fails("listen p 2:333"), "AddrInUse");
        client.ok("connect p 2:333");
        all[owner].ok("accept p q");
        client.ok("write p hello");
        assert_eq!(all[owner].ok("read q 5"), "hello");
        client.ok("drop p");
        assert_eq!(all[owner].ok("read q 1"), "");
        all[owner].ok("drop q");
        all[owner].ok("drop p");
        // The connection waits out its quiet time, and the port goes with it.
        until("the port to be free", || all[other].ask("listen p 2:333").ok());
        all[other].ok("drop p");
    }
}
