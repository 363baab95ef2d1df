//! Runs a whole file of tests inside a topology, with threads of one process on different nodes.
//!
//! Without root, a process must enter a user namespace, and a process with several threads cannot.
//! So a test program that needs its threads on nodes starts itself again on node 1. The threads of
//! that process may enter any other node of the topology, with root or without.

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;

use nix::sched::{CloneFlags, setns};
use prp_device::interfaces;
use prp_sock::MacAddr;

use crate::children;
use crate::harness::{LOCK, Test, lock_path, run_here, run_none};
use crate::privilege;
use crate::scratch::TempFile;
use crate::topology::Topology;

/// Set, for each node, to the path of its network namespace.
const PATHS: [&str; 2] = ["PRP_TESTS_NETNS_1", "PRP_TESTS_NETNS_2"];

/// Set, for each node, to the path of its prphosts.
const HOSTS: [&str; 2] = ["PRP_TESTS_HOSTS_1", "PRP_TESTS_HOSTS_2"];

/// Runs `tests` in one process on node 1 of a pair, whose threads may work
/// [`on_node`] 1 and 2. `hosts`
/// may give node 1 another prphosts.
///
/// # Panics
/// If this program cannot be started again.
pub fn run_on_pair(tests: &[Test], hosts: impl FnOnce(&Topology) -> Option<TempFile>) -> ExitCode {
    let only_lists = std::env::args().any(|arg| arg == "--list");
    if only_lists || std::env::var_os(PATHS[0]).is_some() {
        return run_here(tests);
    }
    crate::cleanup::take_down_leftovers();
    if let Some(needs) = privilege::missing() {
        return run_none(tests, needs);
    }
    let topology = Topology::pair();
    let program = std::env::current_exe().expect("this program has a path");
    let hosts = hosts(&topology);
    let mut command = match &hosts {
        Some(hosts) => topology.node(1).command_with_hosts(hosts.path(), program),
        None => topology.node(1).command(program),
    };
    command.args(std::env::args_os().skip(1)).env(LOCK, lock_path());
    for (number, (path, hosts)) in (1..).zip(PATHS.into_iter().zip(HOSTS)) {
        let node = topology.node(number);
        command.env(path, node.field("path"));
        command.env(hosts, node.run("sh", &["-c", "printf %s \"$PRP_HOSTS\""]));
    }
    let status = command.status().expect("this program starts again");
    status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8))
}

/// Runs `work` on node `number`. Sockets and streams that it makes stay in that namespace,
/// whichever thread uses them.
///
/// # Panics
/// If [`run_on_pair`] did not start the process, or if `work` panics.
pub fn on_node<T: Send>(number: u8, work: impl FnOnce() -> T + Send) -> T {
    let test = children::current_test();
    std::thread::scope(|scope| {
        let there = scope.spawn(|| {
            children::work_for(test);
            enter(number);
            work()
        });
        there.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
    })
}

/// The hardware address of the device of node `number`.
///
/// # Panics
/// As [`on_node`].
pub fn mac(number: u8) -> MacAddr {
    static MACS: [OnceLock<MacAddr>; 2] = [const { OnceLock::new() }; 2];
    let found = || on_node(number, || interfaces().into_iter().find(|i| !i.loopback));
    *MACS[usize::from(number) - 1].get_or_init(|| found().expect("a device").mac)
}

/// The path of the prphosts of node `number`.
///
/// # Panics
/// As [`on_node`].
pub fn hosts(number: u8) -> PathBuf {
    std::env::var_os(HOSTS[usize::from(number) - 1]).expect("a process that runs on a node").into()
}

fn enter(number: u8) {
    let path = std::env::var_os(PATHS[usize::from(number) - 1]);
    let file = File::open(path.expect("a process that runs on a node"));
    let file = file.expect("the node's namespace is there");
    setns(file, CloneFlags::CLONE_NEWNET).expect("the namespace can be entered");
}
