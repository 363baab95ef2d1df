//! `prp model collective`: one process of a pattern of messages whose time is measured.

mod mesh;
mod pattern;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use nix::time::{ClockId, clock_gettime};

use super::output::print;
use crate::argument::{any, input_file, number};
use crate::exit::{Code, Failure};
use crate::hosts;
use mesh::{Mesh, ProcessAddress};
use pattern::Pattern;

/// How long before a measurement begins all processes are told when: they have to be awake by then.
const AHEAD: u64 = 1_000_000;

/// Messages larger than this may wait for each other in the buffers of two processes that both send
/// first.
const MOST_BYTES: u64 = 16 * 1024;

/// Take part in broadcasts, reductions and exchanges, and measure them.
///
/// One process for each address, with the same arguments but for --rank. Process 0 prints a line
/// for every measurement: pattern, processes, bytes, seconds from the common start until the last
/// process is through. All processes are on one machine, in network namespaces: the time is that of
/// its one clock.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp model collective --rank 0 --addresses 1:7000,2:7000 --pattern pairs --processes 2 --bytes 64
"))]
pub(crate) struct CollectiveArgs {
    /// What carries the messages
    #[arg(long, value_enum, value_name = "NAME", default_value_t)]
    transport: MeshTransport,

    /// This process: its number among the addresses
    #[arg(long, value_name = "N", value_parser = any::<usize>)]
    rank: usize,

    /// Where each process listens: NODE:PORT for PRP, ADDRESS:PORT for TCP
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',', required = true)]
    addresses: Vec<ProcessAddress>,

    /// The patterns
    #[arg(long, value_enum, value_name = "PATTERNS", value_delimiter = ',', required = true)]
    pattern: Vec<Pattern>,

    /// Numbers of processes that take part, the first of all in each case
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', required = true)]
    #[arg(value_parser = any::<usize>)]
    processes: Vec<usize>,

    /// Bytes in a message
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', required = true)]
    #[arg(value_parser = number::<u64>(1..=MOST_BYTES))]
    bytes: Vec<u64>,

    /// Measurements of each
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = number::<u32>(1..=100_000))]
    rounds: u32,

    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,
}

/// What carries the messages.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, ValueEnum)]
enum MeshTransport {
    #[default]
    Prp,
    Tcp,
}

/// Runs `prp model collective`.
pub(super) fn run(args: &CollectiveArgs) -> Result<(), Failure> {
    let count = args.addresses.len();
    let usage = |text: String| Err(Failure::new(Code::Usage, text));
    if args.rank >= count {
        return usage(format!("--rank {}: there are {count} addresses, from 0 on", args.rank));
    }
    if let Some(number) = args.processes.iter().find(|number| !(2..=count).contains(*number)) {
        return usage(format!(
            "--processes {number}: 2 to {count}, as many as there are addresses"
        ));
    }
    let path = hosts::path_or_default(args.hosts.as_deref());
    check_addresses(args, &path)?;
    let mesh = Mesh::join(args.transport, args.rank, &args.addresses, &path)?;
    let measured = play(args, &mesh).map_err(|e| Failure::network("a collective", &e))?;
    if args.rank == 0 {
        print("pattern,processes,bytes,seconds")?;
        print(&measured.join("\n"))?;
    }
    Ok(())
}

/// Whether there are such addresses: a process that waits for one cannot tell it from one that
/// starts late.
fn check_addresses(args: &CollectiveArgs, path: &Path) -> Result<(), Failure> {
    match args.transport {
        MeshTransport::Prp => {
            let file = hosts::load(path)?;
            let mut addresses = args.addresses.iter();
            addresses.try_for_each(|address| hosts::find(&file, address.host()).map(drop))
        }
        MeshTransport::Tcp => {
            let unusable = |address: &&ProcessAddress| address.socket_addr().is_none();
            match args.addresses.iter().find(unusable) {
                Some(address) => {
                    let text = format!("{address}: TCP needs an address: ADDRESS:PORT");
                    Err(Failure::new(Code::Usage, text))
                }
                None => Ok(()),
            }
        }
    }
}

/// All measurements; a line for each, at process 0.
fn play(args: &CollectiveArgs, mesh: &Mesh) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    // Once for what only the first messages of a connection take.
    for round in 0..=args.rounds {
        for pattern in &args.pattern {
            for processes in args.processes.iter().filter(|n| pattern.suits(**n)) {
                for bytes in &args.bytes {
                    let seconds = measure(mesh, *pattern, *processes, *bytes as usize)?;
                    if let Some(seconds) = seconds.filter(|_| round > 0) {
                        let name = pattern.name();
                        lines.push(format!("{name},{processes},{bytes},{seconds:.9}"));
                    }
                }
            }
        }
    }
    Ok(lines)
}

/// One measurement: its seconds, at process 0.
fn measure(
    mesh: &Mesh,
    pattern: Pattern,
    processes: usize,
    bytes: usize,
) -> io::Result<Option<f64>> {
    let mut message = vec![0x5a; bytes];
    let start = mesh.agree(|| Ok(now()? + AHEAD))?;
    // The others sleep until they are asked for their time: they share processors with these.
    if mesh.rank < processes {
        while now()? < start {
            std::thread::yield_now();
        }
        pattern.play(mesh, processes, &mut message)?;
    }
    let ends = mesh.gather(now()?)?;
    let last = ends.into_iter().take(processes).max();
    Ok(last.map(|last| last.saturating_sub(start) as f64 * 1e-9))
}

/// Nanoseconds of the clock that all processes of a machine share.
fn now() -> io::Result<u64> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
