//! Processes that start, exit and are killed, and the effects on others.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::thread;
use std::time::Duration;

use prp_tests::pattern::Tally;
use prp_tests::puppet::Puppet;
use prp_tests::stream;
use prp_tests::topology::{Link, Topology};
use prp_tests::wait;

prp_tests::main! {
    light:
        half_close__question_and_answer,
        exit__by_returning_delivers,
        exit__by_exit_delivers,
        exit__with_the_stream_leaked_delivers,
        exit__of_a_dropped_stream_delivers,
        exit__with_an_idle_stream_is_the_end_of_it,
        exit__with_data_unread_resets,
        exit__with_data_unread_and_leaked_resets,
        exit__ends_though_the_peer_is_dead,
        exit__survives_an_outage,
        exit__by_quick_exit_delivers,
        exit__other_threads_read_no_end,
        exit__handlers_of_the_program_may_write,
        kill__survivor_that_writes_times_out,
        kill__survivor_that_waits_times_out_by_keepalive,
        kill__survivor_is_reset_by_another_process_of_the_node,
        kill__survivor_is_reset_by_the_ports_next_owner,
        restart__old_streams_are_reset_and_new_ones_work,
        port__belongs_to_one_process,
        port__of_a_connection_belongs_to_one_process,
        port__is_free_again_after_death,
        port__is_free_again_after_exit,
        connect__no_process_on_the_node_times_out,
        connect__refused_by_any_process_of_the_node,
        connect__refused_after_the_steward_has_died,
        connect__both_ends_at_once;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// More than the buffers of both ends hold.
const BEYOND_BUFFERS: u64 = 4 << 20;

/// Bytes that fit into the buffers of both ends, so that writing them does not block.
const SOME: u64 = 400_000;

fn puppet(topology: &Topology, node: u8) -> Puppet {
    Puppet::start(&topology.node(node), PUPPET)
}

/// Starts puppets on both nodes with a stream `s` between them. The client on node 1 has
/// `settings`.
fn connected(topology: &Topology, settings: &str) -> (Puppet, Puppet) {
    let (client, server, _) = stream::connected(PUPPET, topology, [1, 2], settings);
    (client, server)
}

fn half_close__question_and_answer() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    let question = client.ok(format!("send s 1 {SOME}"));
    client.ok("shutdown s write");
    assert_eq!(client.fails("write s x"), "BrokenPipe");
    assert_eq!(server.ok("drain s"), question);
    server.ok(format!("bg send send s 2 {BEYOND_BUFFERS}"));
    let answer = client.ok(format!("take s {BEYOND_BUFFERS}"));
    assert_eq!(server.ok("join send"), answer);
    server.ok("drop s");
    assert_eq!(client.ok("read s 1"), "");
}

/// The client writes and ends by `ending`. Only then the server begins to read.
fn delivers(ends: &[&str]) {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    let sent = client.ok(format!("send s 3 {SOME}"));
    for command in &ends[..ends.len() - 1] {
        client.ok(command);
    }
    client.send(ends[ends.len() - 1]);
    assert_eq!(server.ok("drain s"), sent);
    assert_eq!(client.wait(), 0);
    assert_eq!(server.ok("error s"), "none");
}

fn exit__by_returning_delivers() {
    delivers(&["return"]);
}

fn exit__by_exit_delivers() {
    delivers(&["exit 0"]);
}

fn exit__with_the_stream_leaked_delivers() {
    delivers(&["forget s", "exit 0"]);
}

fn exit__of_a_dropped_stream_delivers() {
    delivers(&["drop s", "exit 0"]);
}

fn exit__with_an_idle_stream_is_the_end_of_it() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    client.send("exit 0");
    assert_eq!(server.ok("read s 1"), "");
    assert_eq!(client.wait(), 0);
}

/// The client has unread data when it ends.
fn resets(ends: &[&str]) {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    server.ok("write s ab");
    assert_eq!(client.ok("read s 1"), "a");
    for command in &ends[..ends.len() - 1] {
        client.ok(command);
    }
    client.send(ends[ends.len() - 1]);
    assert_eq!(server.fails("read s 1"), "ConnectionReset");
    assert_eq!(client.wait(), 0);
}

fn exit__with_data_unread_resets() {
    resets(&["return"]);
}

fn exit__with_data_unread_and_leaked_resets() {
    resets(&["forget s", "exit 0"]);
}

/// An outage that is shorter than the time limit at exit loses no data: at exit the process waits
/// up to this limit for an established stream.
fn exit__survives_an_outage() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    topology.link(1, Link::Down);
    let sent = client.ok(format!("send s 5 {SOME}"));
    client.send("return");
    // Longer than any pause between two retransmissions in the first second.
    thread::sleep(Duration::from_secs(3));
    topology.link(1, Link::Up);
    assert_eq!(server.ok("drain s"), sent);
    assert_eq!(client.wait(), 0);
}

/// The program `leaver` that exits as `how` says, and the server that has accepted its stream `s`.
fn leaver(topology: &Topology, how: &str) -> (Puppet, Puppet) {
    let mut server = puppet(topology, 2);
    server.ok("listen l 2:80");
    let mut command = topology.node(1).command(env!("CARGO_BIN_EXE_leaver"));
    command.args(["2:80", how]);
    let client = Puppet::run(format!("leaver {how}"), command);
    server.ok("accept l s");
    (client, server)
}

fn exit__by_quick_exit_delivers() {
    let topology = Topology::pair();
    let (mut client, mut server) = leaver(&topology, "quick_exit");
    assert_eq!(server.ok("drain s"), Tally::expected(1, SOME).to_string());
    assert_eq!(client.wait(), 0);
}

/// While a process exits, its reads must not return the end of the stream if the peer has not
/// closed it.
fn exit__other_threads_read_no_end() {
    let topology = Topology::pair();
    let (mut client, mut server) = leaver(&topology, "reader");
    server.ok("accept l read");
    // The process is exiting, and waits until the other connection is read.
    assert_eq!(server.ok("read read 1"), "");
    server.ok("drop read");
    assert_eq!(server.ok("drain s"), Tally::expected(1, SOME).to_string());
    assert_eq!(client.wait(), 0);
    assert_eq!(client.rest(), "");
}

fn exit__handlers_of_the_program_may_write() {
    let topology = Topology::pair();
    let (mut client, mut server) = leaver(&topology, "last-words");
    assert_eq!(client.next_line(), "Some(Ok(()))");
    assert_eq!(server.ok("read s 100"), "goodbye");
    assert_eq!(server.ok("read s 100"), "");
    assert_eq!(client.wait(), 0);
}

/// A process with data that are never acknowledged still ends.
fn exit__ends_though_the_peer_is_dead() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    server.kill();
    client.ok(format!("send s 4 {SOME}"));
    client.send("return");
    assert_eq!(client.wait(), 0);
}

/// If no process on its node answers for a killed peer, there is no answer: unacknowledged data
/// time out.
fn kill__survivor_that_writes_times_out() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, " user_timeout=500");
    server.kill();
    client.ok("write s hello?");
    assert_eq!(client.fails("read s 1"), "TimedOut");
    assert_eq!(client.fails("write s x"), "BrokenPipe");
}

fn kill__survivor_that_waits_times_out_by_keepalive() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, " keepalive=100");
    client.ok("bg read read s 1");
    server.kill();
    assert_eq!(client.fails("join read"), "TimedOut");
}

/// Another process of that node answers for the killed one: to a writer's retransmissions and to a
/// reader's keepalives.
fn kill__survivor_is_reset_by_another_process_of_the_node() {
    for (settings, last_words) in [("", "write s hello?"), (" keepalive=100", "bg wait read s 1")] {
        let topology = Topology::pair();
        let mut other = puppet(&topology, 2);
        other.ok("listen l 2:99");
        let (mut client, mut server) = connected(&topology, settings);
        server.kill();
        client.ok(last_words);
        let read = if settings.is_empty() { "read s 1" } else { "join wait" };
        assert_eq!(client.fails(read), "ConnectionReset");
        // Expect: a new request to the dead process' port has an answer, and the other process
        // keeps its own port.
        assert_eq!(client.fails("connect again 2:80"), "ConnectionRefused");
        client.ok("connect more 2:99");
    }
}

fn kill__survivor_is_reset_by_the_ports_next_owner() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    client.ok("bg read read s 1");
    server.kill();
    let mut next = puppet(&topology, 2);
    next.ok("listen l 2:80");
    client.ok("write s anybody?");
    assert_eq!(client.fails("join read"), "ConnectionReset");
}

fn restart__old_streams_are_reset_and_new_ones_work() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    client.ok("connect waiting 2:80");
    for round in 0..3 {
        server.kill();
        server = puppet(&topology, 2);
        assert_eq!(server.ok("listen l 2:80"), "2:80");
        client.ok("write s lost");
        assert_eq!(client.fails("read s 1"), "ConnectionReset", "round {round}");
        client.ok("drop s");
        client.ok("connect s 2:80");
        server.ok("accept l s");
        client.ok("write s arrives");
        assert_eq!(server.ok("read s 100"), "arrives");
    }
    // Expect: the stream that was not accepted is reset as well.
    client.ok("write waiting x");
    assert_eq!(client.fails("read waiting 1"), "ConnectionReset");
}

fn port__belongs_to_one_process() {
    let topology = Topology::pair();
    let (mut one, mut two) = (puppet(&topology, 1), puppet(&topology, 1));
    one.ok("listen l 1:80");
    assert_eq!(two.fails("listen l 1:80"), "AddrInUse");
    assert_eq!(one.fails("listen again 1:80"), "AddrInUse");
    // Expect: the same port on another node, and another port on this node, are free.
    puppet(&topology, 2).ok("listen l 2:80");
    two.ok("listen l 1:81");
    one.ok("drop l");
    two.ok("listen m 1:80");
}

fn port__of_a_connection_belongs_to_one_process() {
    let topology = Topology::pair();
    let (_client, mut server) = connected(&topology, " port=700");
    let mut other = puppet(&topology, 1);
    assert_eq!(other.fails("connect s 2:80 port=700"), "AddrInUse");
    assert_eq!(other.fails("listen l 1:700"), "AddrInUse");
    let from = other.ok("connect s 2:80");
    assert_ne!(from, "1:700");
    assert_eq!(server.ok("accept l t"), from);
}

fn port__is_free_again_after_death() {
    let topology = Topology::pair();
    let (mut one, mut two) = (puppet(&topology, 1), puppet(&topology, 1));
    one.ok("listen l 1:80");
    assert_eq!(two.fails("listen l 1:80"), "AddrInUse");
    one.kill();
    two.ok("listen l 1:80");
}

fn port__is_free_again_after_exit() {
    let topology = Topology::pair();
    let (mut one, mut two) = (puppet(&topology, 1), puppet(&topology, 1));
    one.ok("listen l 1:80");
    one.send("exit 3");
    assert_eq!(one.wait(), 3);
    two.ok("listen l 1:80");
}

/// With TCP the kernel always refuses. Without a PRP process, a node does not answer.
fn connect__no_process_on_the_node_times_out() {
    let topology = Topology::pair();
    let mut client = puppet(&topology, 1);
    assert_eq!(client.fails("connect s 2:80 timeout=300"), "TimedOut");
    // No process can listen on port 0, and `connect` sends no request to it.
    assert_eq!(client.fails("connect s 2:0 timeout=300"), "InvalidInput");
}

fn connect__refused_by_any_process_of_the_node() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    assert_eq!(client.fails("connect t 2:81"), "ConnectionRefused");
    assert_eq!(server.fails("connect t 1:80"), "ConnectionRefused");
    assert_eq!(client.fails("connect t 1:80"), "ConnectionRefused", "on its own node");
}

fn connect__refused_after_the_steward_has_died() {
    let topology = Topology::pair();
    // The first process of a node answers for ports without an owner; the next one succeeds it.
    let mut processes = [1, 2, 3].map(|number| {
        let mut process = puppet(&topology, 2);
        process.ok(format!("listen l 2:{number}"));
        process
    });
    let mut client = puppet(&topology, 1);
    for steward in &mut processes[..2] {
        assert_eq!(client.fails("connect s 2:80"), "ConnectionRefused");
        steward.kill();
    }
    assert_eq!(client.fails("connect s 2:80"), "ConnectionRefused");
}

/// Neither listens. The first process may be refused by the other one before that sends its own
/// request, as with TCP.
fn connect__both_ends_at_once() {
    let topology = Topology::pair();
    let (mut one, mut two) = (puppet(&topology, 1), puppet(&topology, 2));
    wait::until("a connection", || {
        one.ok("bg ask connect s 2:80 port=70 timeout=500");
        let theirs = two.ask("connect s 1:70 port=80 timeout=500");
        let ours = one.ask("join ask");
        (theirs.is_ok() && ours.is_ok()).then_some(())
    });
    one.ok("write s hello");
    assert_eq!(two.ok("read s 100"), "hello");
    two.ok("write s same");
    assert_eq!(one.ok("read s 100"), "same");
}
