//! Streams between processes, and the path on which their frames arrive.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_tests::namespace::{hosts, on_node};
use prp_tests::pattern::Tally;
use prp_tests::puppet::Puppet;
use prp_tests::{seed, stream, wait};

use crate::fast_path_thread::{HeldThread, threads};
use crate::link::{End, need_tcx_rx};

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// Bytes of a flow that lasts for several checks.
const BYTES: u64 = 64 << 20;

/// Maximum number of flows until one arrives by the tcx receive path: on a loaded machine the
/// threads of a process may all sleep through one.
const ROUNDS: u64 = 50;

/// How long to poll for the first frame of a flow that arrives by the tcx receive path: longer than
/// most flows last.
const FOR_LONG: Duration = Duration::from_secs(1);

/// More frames than the rest of a flow.
const NEW_FLOW_FRAMES: u64 = 10;

/// A puppet on node `number`, started by the command `prefix`.
fn puppet_by(number: u8, prefix: &[&str]) -> Puppet {
    let words: Vec<_> = prefix.iter().chain(&[PUPPET]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("PRP_HOSTS", hosts(number));
    on_node(number, || Puppet::run(format!("puppet on node {number}"), command))
}

fn puppet(number: u8) -> Puppet {
    puppet_by(number, &[])
}

/// Starts puppets on both nodes with a stream `s` between them. Returns the client, whose stream
/// has `settings`, and the server, which `prefix` starts.
fn connected(settings: &str, prefix: &[&str]) -> (Puppet, Puppet) {
    need_tcx_rx(&End::of(2));
    let (mut client, mut server) = (puppet(1), puppet_by(2, prefix));
    // Elsewhere a process does not poll beside others that compute, and no slow flow opens a path.
    for puppet in [&mut client, &mut server] {
        puppet.ok("assume_idle");
    }
    stream::connect(&mut client, &mut server, "2:80", settings);
    (client, server)
}

/// Frames that arrived by the tcx receive path.
fn tcx_rx(puppet: &mut Puppet) -> u64 {
    puppet.ok("tcx_rx s").parse().expect("a number")
}

/// Sends a flow on stream `s`, and checks that all of it arrives.
fn transfer(from: &mut Puppet, to: &mut Puppet, seed: u64) {
    to.ok(format!("bg take take s {BYTES}"));
    from.ok(format!("send s {seed} {BYTES}"));
    assert_eq!(to.ok("join take"), Tally::expected(seed, BYTES).to_string());
}

/// Sends at most `most` flows, until frames of one arrive by the tcx receive path; returns their
/// number.
fn rounds_to_tcx_rx(from: &mut Puppet, to: &mut Puppet, most: u64) -> Option<u64> {
    (1..=most).find(|round| {
        let before = tcx_rx(to);
        transfer(from, to, *round);
        tcx_rx(to) > before
    })
}

fn open_tcx_rx(from: &mut Puppet, to: &mut Puppet) -> u64 {
    rounds_to_tcx_rx(from, to, ROUNDS).expect("a flow comes by the tcx receive path")
}

pub(crate) fn stream__comes_by_tcx_rx() {
    let (mut client, mut server) = connected("", &[]);
    open_tcx_rx(&mut client, &mut server);
    open_tcx_rx(&mut server, &mut client);
    // Both directions at the same time.
    let seed = seed::of("stream__comes_by_tcx_rx");
    stream::exchange(&mut client, &mut server, seed, BYTES, |_| ());
}

/// A flow from one puppet to the other, while the thread that would close the tcx receive path is
/// stopped.
fn hold_tcx_rx_open(from: &mut Puppet, to: &mut Puppet) -> HeldThread {
    let held = (1..=ROUNDS).find_map(|seed| {
        let before = tcx_rx(to);
        to.ok(format!("bg take take s {BYTES}"));
        from.ok(format!("bg send send s {seed} {BYTES}"));
        let begun = Instant::now();
        let held = std::iter::repeat_with(|| {
            let held = (tcx_rx(to) > before).then(|| HeldThread::of(to.pid()))??;
            Some((tcx_rx(to), held))
        });
        let held = held.take_while(|_| begun.elapsed() < FOR_LONG).find_map(|held| held);
        from.ok("join send");
        assert_eq!(to.ok("join take"), Tally::expected(seed, BYTES).to_string());
        let (before, held) = held?;
        (tcx_rx(to) > before + NEW_FLOW_FRAMES).then_some(held)
    });
    held.expect("it is held while it is open")
}

/// A process that is set to poll gets the answer at once. Other processes do not poll while another
/// thread uses their processor.
pub(crate) fn messages__come_by_tcx_rx() {
    let (mut client, mut server) = connected(" spin=1000", &[]);
    let _held = hold_tcx_rx_open(&mut server, &mut client);
    let before = tcx_rx(&mut client);
    server.ok("bg pong pong s 5000");
    client.ok("ping s 5000");
    server.ok("join pong");
    assert!(tcx_rx(&mut client) > before + NEW_FLOW_FRAMES);
}

/// The processor time of the threads of `puppet`, in nanoseconds.
fn time_spent(puppet: &Puppet) -> u64 {
    let of = |thread: PathBuf| {
        let text = fs::read_to_string(thread.join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    threads(puppet.pid()).filter_map(of).sum()
}

/// Waits until all threads of `puppet` sleep, and none polls for frames.
fn wait_until_asleep(puppet: &Puppet) {
    let mut last = None;
    wait::until("a sleeper", || {
        let spent = time_spent(puppet);
        (last.replace(spent) == Some(spent)).then_some(())
    });
}

/// This holds however long it polled before it went to sleep, and however the flow ended.
pub(crate) fn message__wakes_a_reader_that_sleeps() {
    for settings in ["", " spin=0", " spin=1000"] {
        let (mut client, mut server) = connected(settings, &[]);
        for _ in 0..3 {
            let _held = hold_tcx_rx_open(&mut server, &mut client);
            for _ in 0..10 {
                client.ok("bg read read s 5");
                wait_until_asleep(&client);
                server.ok("write s again");
                assert_eq!(client.ok("join read"), "again");
            }
        }
    }
}

/// The process is killed while it polls for frames. The program in the kernel must end with it.
/// Otherwise the next owner of the port would receive nothing until all slots are full.
pub(crate) fn process__killed_leaves_its_port_to_the_next() {
    const SETTINGS: &str = " port=900 spin=60000000";
    let (mut client, mut server) = connected(SETTINGS, &[]);
    for _ in 0..3 {
        let held = hold_tcx_rx_open(&mut server, &mut client);
        let before = tcx_rx(&mut client);
        wait::until("a message by the tcx receive path", || {
            client.ok("bg read read s 1");
            server.ok("write s x");
            assert_eq!(client.ok("join read"), "x");
            (tcx_rx(&mut client) > before).then_some(())
        });
        client.ok("bg read read s 1");
        kill(Pid::from_raw(client.pid().cast_signed()), Signal::SIGKILL).expect("it runs");
        drop(held);
        assert_eq!(client.wait(), -9);

        client = puppet(1);
        client.ok(format!("connect s 2:80{SETTINGS}"));
        server.ok("drop s");
        server.ok("accept l s");
        transfer(&mut server, &mut client, 9);
    }
}

/// Sends more flows than an unrestricted server needs for the tcx receive path, to a server that
/// `prefix` starts: none arrives by it.
fn is_kept_out(prefix: &[&str]) {
    let needed = {
        let (mut client, mut server) = connected("", &[]);
        open_tcx_rx(&mut client, &mut server)
    };
    let (mut client, mut server) = connected("", prefix);
    assert_eq!(rounds_to_tcx_rx(&mut client, &mut server, needed + 2), None);
}

pub(crate) fn variable__keeps_frames_from_tcx_rx() {
    is_kept_out(&["env", "PRP_FAST_PATHS=off"]);
}

pub(crate) fn privilege__keeps_frames_from_tcx_rx() {
    for one in ["bpf", "net_admin"] {
        is_kept_out(&["setpriv", &format!("--bounding-set=-{one}"), &format!("--inh-caps=-{one}")]);
    }
}
