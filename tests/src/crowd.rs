//! Many processes on node 2 of a pair, and streams to them: what tests of sockets in rows have in common.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::puppet::Puppet;
use crate::topology::Topology;
use crate::wait::until;

/// Sockets of a process on a node of a pair: on its device and on the loopback device.
pub const SOCKETS: usize = 2;

/// Port of the first process; the others have those after it.
const FIRST_PORT: usize = 100;

/// What the kernel says of the packet sockets on node 2.
pub fn sockets(topology: &Topology) -> String {
    topology.node(2).run("ss", &["--packet", "--extended", "--numeric"])
}

/// Processes on node 2 that are in rows, or have been.
pub fn in_rows(topology: &Topology) -> usize {
    sockets(topology).matches("fanout(").count() / SOCKETS
}

/// Waits until so many processes on node 2 are in rows, or have been.
pub fn until_in_rows(topology: &Topology, processes: usize) {
    until(format!("{processes} processes in rows"), || {
        (in_rows(topology) >= processes).then_some(())
    });
}

/// A process of `program` on node 2 that listens on `port`.
pub fn listener(topology: &Topology, program: &str, port: usize) -> Puppet {
    let mut process = Puppet::start(&topology.node(2), program);
    process.ok(format!("listen l 2:{port}"));
    process
}

/// So many of them, on ports from 100 up, once `in_rows` of them are in rows.
pub fn crowd(topology: &Topology, program: &str, processes: usize, in_rows: usize) -> Vec<Puppet> {
    let ports = FIRST_PORT..FIRST_PORT + processes;
    let all = ports.map(|port| listener(topology, program, port)).collect();
    until_in_rows(topology, in_rows);
    all
}

/// A stream `sN` to each process N of `servers`, which calls it `s`.
pub fn connect(client: &mut Puppet, servers: &mut [Puppet]) {
    for (number, server) in servers.iter_mut().enumerate() {
        client.ok(format!("connect s{number} 2:{}", FIRST_PORT + number));
        server.ok("accept l s");
    }
}

/// Sends so many bytes to each process N of `servers` that is in `which`, all at once, lets `meanwhile`
/// happen when they have begun, and expects that everything arrives.
pub fn transfer(
    client: &mut Puppet,
    servers: &mut Vec<Puppet>,
    bytes: u64,
    which: impl Fn(usize) -> bool,
    meanwhile: impl FnOnce(&mut Vec<Puppet>),
) {
    let numbers: Vec<_> = (0..servers.len()).filter(|n| which(*n)).collect();
    for number in &numbers {
        servers[*number].ok(format!("bg take take s {bytes}"));
        client.ok(format!("bg send{number} send s{number} {number} {bytes}"));
    }
    meanwhile(servers);
    for number in numbers {
        let sent = client.ok(format!("join send{number}"));
        assert_eq!(servers[number].ok("join take"), sent, "to process {number}");
    }
}

/// Sends a process a signal.
pub fn signal(process: &Puppet, signal: Signal) {
    kill(Pid::from_raw(process.pid().cast_signed()), signal).expect("it is there");
}

/// Kills those of `all` that are not in `survive`, as close together as can be.
pub fn kill_others(all: &mut [Puppet], survive: impl Fn(usize) -> bool) {
    let doomed: Vec<_> = (0..all.len()).filter(|n| !survive(*n)).collect();
    doomed.iter().for_each(|n| signal(&all[*n], Signal::SIGKILL));
    doomed.iter().for_each(|n| assert_eq!(all[*n].wait(), -9));
}
