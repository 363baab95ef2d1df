//! Many processes on node 2 of a pair, and streams to them.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::puppet::Puppet;
use crate::topology::Topology;

/// Port of the first process. The others have the ports after it.
const FIRST_PORT: usize = 100;

/// A process of `program` on node 2 that listens on `port`.
pub fn listener(topology: &Topology, program: &str, port: usize) -> Puppet {
    let mut process = Puppet::start(&topology.node(2), program);
    process.ok(format!("listen l 2:{port}"));
    process
}

/// `processes` of them, on ports from 100 up.
pub fn listeners(topology: &Topology, program: &str, processes: usize) -> Vec<Puppet> {
    let ports = FIRST_PORT..FIRST_PORT + processes;
    ports.map(|port| listener(topology, program, port)).collect()
}

/// Opens a stream to each process N of `servers`: `sN` at the client, `s` at the process.
pub fn connect(client: &mut Puppet, servers: &mut [Puppet]) {
    for (number, server) in servers.iter_mut().enumerate() {
        client.ok(format!("connect s{number} 2:{}", FIRST_PORT + number));
        server.ok("accept l s");
    }
}

/// Sends `bytes` bytes to each process N of `servers` that is in `which`, all at the same time. It
/// calls `meanwhile` after the transfers have begun, and checks that everything arrives.
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

/// Kills those of `all` that are not in `survive`, in quick succession.
pub fn kill_others(all: &mut [Puppet], survive: impl Fn(usize) -> bool) {
    let doomed: Vec<_> = (0..all.len()).filter(|n| !survive(*n)).collect();
    doomed.iter().for_each(|n| signal(&all[*n], Signal::SIGKILL));
    doomed.iter().for_each(|n| assert_eq!(all[*n].wait(), -9));
}
