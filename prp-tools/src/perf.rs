//! `prp perf`: how fast PRP is between two nodes, beside what else could carry the bytes.
//!
//! A leg is one measurement with one transport; legs of different transports are interleaved, so
//! that a machine that gets slower meanwhile does so for all of them. One client and one server;
//! client and server talk over a control connection (`control`) on which neither waits while a leg
//! runs.

mod conn;
mod connect;
mod control;
mod cost;
mod counters;
mod display;
mod first_hop;
mod flood;
mod flow;
mod iperf3;
mod latency;
mod machine;
mod mesh;
mod meter;
mod offload;
mod parallel;
mod pingpong;
mod raw;
mod report;
mod rotation;
mod serve;
mod session;
mod steal;
mod stream;
mod sweep;
mod think;
mod transport;
mod usage;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use clap::{Args, Subcommand};
use prp_node::descriptors;
use prp_sock::{Controller, reset_all};

use crate::argument::{input_file, number, peer_port};
use crate::exit::{Failure, help};
use crate::policy::Policy;
use crate::signals::{Signals, die_of};
use transport::{Transport, Versus, WaitMode};

/// Where a server listens, both PRP and TCP: next to iperf3's port.
const DEFAULT_PORT: u16 = 5210;

/// Rounds of each transport: enough for a median that one round in which the machine did something
/// else does not move.
const DEFAULT_ROUNDS: u32 = 5;

/// How long the end of the program waits for offloads to be turned on: ethtool takes some
/// milliseconds, unless it waits for a lock of the kernel's.
const OFFLOAD_TIMEOUT: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
  prp perf serve                         on node beta; the others on another node:
  prp perf latency beta --vs tcp         ping-pong, PRP and TCP in turns
  prp perf stream beta --vs tcp --vs raw  goodput
  prp perf connect beta --vs tcp         short connections
  prp perf sweep beta --json sweep.json  ping-pong from 0 to 1 MiB
  prp perf mesh                          all pairs of nodes, with a server on each
";

/// Measure latency and goodput to another node, and compare.
#[derive(Debug, Args)]
#[command(after_help = help(EXAMPLES))]
pub(crate) struct PerfArgs {
    #[command(subcommand)]
    command: PerfCommand,
}

#[derive(Debug, Subcommand)]
enum PerfCommand {
    Serve(serve::ServeArgs),
    Latency(latency::LatencyArgs),
    Stream(stream::StreamArgs),
    Connect(connect::ConnectArgs),
    Sweep(sweep::SweepArgs),
    Mesh(mesh::MeshArgs),
}

/// What all measurements have in common.
#[derive(Clone, Debug, Args)]
struct Common {
    /// The node where `prp perf serve` runs: its number, or a name in prphosts
    node: String,

    /// The server's PRP port
    #[arg(short, long, default_value_t = DEFAULT_PORT, value_parser = peer_port)]
    port: u16,

    /// Measure this too, interleaved with PRP: tcp (or tcp=ADDRESS where the node's address is not
    /// 10.99.0.NODE), tcp-no-offload (frames no larger than the MTU, checksums computed),
    /// tcp-no-segmentation (checksums still left to the device), raw (plain packet sockets). May be
    /// given several times
    #[arg(long = "vs", value_name = "WHAT")]
    versus: Vec<Versus>,

    /// How threads of both ends wait for data
    #[arg(long, value_enum, value_name = "MODE", default_value_t)]
    wait: WaitMode,

    /// What PRP does about lost segments, if not selective-repeat
    #[arg(long, value_enum, value_name = "POLICY")]
    reliability: Option<Policy>,

    /// PRP's congestion controller at this end, which sends: aimd or delay, if not delay
    #[arg(short = 'C', long, value_name = "NAME")]
    congestion: Option<Controller>,

    /// Do without PRP's CRC-32 over every frame
    #[arg(long)]
    no_crc: bool,

    /// Rounds of each transport; figures are medians over them [default: 5]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1000))]
    rounds: Option<u32>,

    /// Write everything measured to this file; without one, or to -, in place of the table to
    /// standard output
    #[arg(short = 'J', long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,

    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

impl Common {
    /// Rounds of each transport.
    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(DEFAULT_ROUNDS)
    }

    /// The interleaved transports, PRP first.
    fn transports(&self) -> Vec<Transport> {
        let mut all = vec![Transport::Prp];
        for versus in &self.versus {
            if !all.contains(&versus.transport) {
                all.push(versus.transport);
            }
        }
        all
    }
}

/// Runs `prp perf`.
pub(crate) fn run(args: &PerfArgs) -> Result<(), Failure> {
    let ending = end_in_order()?;
    // Each stream over TCP has one at both ends, and there may be more than the 1,024 that a
    // process begins with.
    let _ = descriptors::raise_limit();
    let done = match &args.command {
        PerfCommand::Serve(args) => serve::run(args),
        PerfCommand::Latency(args) => latency::run(args),
        PerfCommand::Stream(args) => stream::run(args),
        PerfCommand::Connect(args) => connect::run(args),
        PerfCommand::Sweep(args) => sweep::run(args),
        PerfCommand::Mesh(args) => mesh::run(args),
    };
    while ending.load(Ordering::Relaxed) {
        // What has failed now did so because of the signal, which is about to end us.
        thread::park();
    }
    done
}

/// Sees to what is left to do when a signal ends the program; whether one does.
fn end_in_order() -> Result<Arc<AtomicBool>, Failure> {
    let signals = Signals::watch().map_err(|e| Failure::local("waiting for signals", &e))?;
    let ending = Arc::new(AtomicBool::new(false));
    let begun = ending.clone();
    signals.set_listener(move |signal| {
        begun.store(true, Ordering::Relaxed);
        // The other end would go on waiting for a minute, and a server would serve no other client.
        reset_all();
        // On a thread of its own, since ethtool may hang.
        let (sender, restored) = mpsc::channel();
        let restore = move || {
            offload::restore();
            let _ = sender.send(());
        };
        if thread::Builder::new().name("prp-restore".into()).spawn(restore).is_ok() {
            let _ = restored.recv_timeout(OFFLOAD_TIMEOUT);
        }
        die_of(signal);
    });
    Ok(ending)
}

/// A number of seconds, as an argument.
fn seconds(text: &str) -> Result<f64, &'static str> {
    let secs = text.parse().ok().filter(|secs| (0.01..=86400.0).contains(secs));
    secs.ok_or("expected a number of seconds from 0.01 to 86400")
}
