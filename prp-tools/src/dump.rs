//! `prp dump`: frames on the wire, or in a capture file, in words.

mod decode;
mod filter;
mod follow;
mod gso_batch;
mod live;
mod packet;
mod protection;
mod reader;
mod sink;
mod writer;

use std::io::{self, ErrorKind};
use std::mem;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{ArgAction, Args};
use nix::sys::signal::Signal;
use parking_lot::Mutex;
use prp_device::raw::{CaptureLengths, CaptureSocket};
use prp_node::environment::is_privileged;
use prp_node::printable_path;

use crate::argument::{any, named_file, number, peer_port, port};
use crate::exit::{Code, Failure, help};
use crate::hosts;
use crate::print::notice;
use crate::signals::{self, Signals};
use crate::sys::priority::run_when_idle;
use decode::ProtocolNumbers;
use filter::{PacketFilter, PacketSide, Subject};
use live::Live;
use packet::{Packet, PacketKind};
use reader::{Next, Reader};
use sink::Sink;

/// Show PRP's packets as they pass this machine's devices, or those of a capture file: in Ethernet
/// frames and in UDP datagrams.
///
/// Live it needs root. It sees what all processes of this node send and receive; those that send by
/// AF_XDP copy their frames for it. Lines are of headers, and cost a busy stream little: this
/// command misses packets where the processors are busy, and beyond --rate a second, where it sees
/// none for 100 ms at a time. It says how many it missed, and for how long it saw none. Whole
/// frames (-w, --follow) cost a busy stream more: -s limits that.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp dump                                  all packets, until Ctrl-C
  prp dump host 2 and port 7000 -c 10       ten packets of a port, in tcpdump's words
  prp dump -w trace.pcapng                  to a file, for Wireshark and for prp dump -r
  prp dump -r trace.pcapng --kind reset
  ssh beta prp dump -w - | wireshark -ki -  what passes on another machine
  prp dump -r trace.pcap --follow --port 7000 >bytes
"))]
pub(crate) struct DumpArgs {
    /// Packets that are all of this: `host NODE`, `port PORT`, `src` or `dst` before either, and
    /// `and` between them
    #[arg(value_name = "FILTER")]
    words: Vec<String>,
    /// This device only; may be given several times [default: any]
    #[arg(short, long, value_name = "DEVICE", conflicts_with = "read")]
    interface: Vec<String>,
    /// Read a capture file, pcap or pcapng; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    read: Option<PathBuf>,
    /// Write frames to a file as pcapng, and print none; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "follow")]
    write: Option<PathBuf>,
    /// Capture this number of bytes of a frame: 256 have all that is shown. Of a GSO batch of UDP
    /// datagrams the first packet is shown then [default: 256; all with -w and --follow; all of UDP
    /// datagrams with --node, --port or --kind]
    #[arg(short, long, value_name = "BYTES", conflicts_with_all = ["read", "follow"],
        value_parser = number::<u32>(96..=CaptureSocket::LONGEST.into()))]
    snapshot_length: Option<u32>,
    /// Take at most this number of frames a second of those that come in, and of those that
    /// processes send past packet sockets; 0 takes all [default: 5000; 0 with -w, --follow, --node,
    /// --port and --kind]
    #[arg(long, value_name = "FRAMES", conflicts_with = "read", value_parser = any::<u32>)]
    rate: Option<u32>,
    /// End after this number of packets; with -w, of frames
    #[arg(short, long, value_name = "N", value_parser = number::<u64>(1..=u64::MAX))]
    count: Option<u64>,
    /// Packets from or to this node: a number, or a name in prphosts
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Packets from or to this port
    #[arg(long, value_name = "PORT", value_parser = port)]
    port: Option<u16>,
    /// Packets of this kind only; may be given several times
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Vec<PacketKind>,
    /// Routers' liveness probes, too, which are left out otherwise unless --kind names them: each
    /// router sends ten a second to each neighbour
    #[arg(short, long)]
    all: bool,
    /// Write the payload of the first connection that passes the filter to standard output, each
    /// byte once and in order; of both directions if --port does not name the receiver's port
    #[arg(long)]
    follow: bool,
    /// A packet a line as JSON
    #[arg(long, conflicts_with_all = ["write", "follow"])]
    json: bool,
    /// Say of handshakes and of frames outside connections whether members of the cluster with this
    /// key file have made them; what a connection carries, no key file checks or opens
    #[arg(long, value_name = "FILE", conflicts_with_all = ["write", "follow"])]
    #[arg(value_parser = named_file())]
    key: Option<PathBuf>,
    /// And of those for which keys of nodes vouch, by the private key of one of the two nodes and
    /// the public ones in prphosts
    #[arg(long, value_name = "FILE", requires = "key", value_parser = named_file())]
    node_key: Option<PathBuf>,
    /// The EtherType in use [default: that of prphosts, else 0x88b5]
    #[arg(long, value_name = "NUMBER", value_parser = ethertype)]
    ethertype: Option<u16>,
    /// The first of the UDP ports that nodes have; may be given several times [default: those of
    /// prphosts, and 5230]
    #[arg(long, value_name = "PORT", value_parser = peer_port)]
    udp_port: Vec<u16>,
    /// For habits of tcpdump: nodes and ports are numbers, and lines are written at once, anyway
    #[arg(short, action = ArgAction::Count, hide = true)]
    n: u8,
    #[arg(short = 'l', short_alias = 'U', action = ArgAction::Count, hide = true)]
    lines: u8,
}

/// A number of 16 bits, decimal or after `0x`.
fn ethertype(text: &str) -> Result<u16, &'static str> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    // Smaller ones are lengths.
    let number = number.ok().filter(|number| *number >= 0x600);
    number.ok_or("expected a number such as 0x88b5, from 0x600 to 0xffff")
}

/// Runs `prp dump`.
pub(crate) fn run(args: &DumpArgs) -> Result<(), Failure> {
    let numbers = numbers(args);
    let filter = filter(args)?;
    let sink = Sink::of(args, filter.receiver_port())?;
    match &args.read {
        Some(path) => from_file(path, &numbers, &filter, sink),
        None if is_all_unix() => {
            let text = "by prphosts all packets go by Unix sockets, which cannot be captured";
            Err(Failure::new(Code::Failed, text))
        }
        None => live(args, &numbers, &filter, sink),
    }
}

/// Whether the prphosts in force leads to processes of this machine alone: their packets cross no
/// device.
fn is_all_unix() -> bool {
    let file = hosts::load(&hosts::path_or_default(None)).ok();
    file.is_some_and(|file| {
        let hosts = file.hosts();
        let leads_out = hosts.devices().next().is_some() || !hosts.udp_peers().is_empty();
        hosts.unix_folder().is_some() && !leads_out
    })
}

/// What is to be shown.
fn filter(args: &DumpArgs) -> Result<PacketFilter, Failure> {
    let mut filter = PacketFilter::parse(&args.words)?;
    if let Some(node) = &args.node {
        filter.add(PacketSide::Either, Subject::Node(hosts::number(node)?));
    }
    if let Some(port) = args.port {
        filter.add(PacketSide::Either, Subject::Port(port));
    }
    filter.kinds.clone_from(&args.kind);
    Ok(filter)
}

/// Those of the command line, and else those of the prphosts in force, if there is one.
fn numbers(args: &DumpArgs) -> ProtocolNumbers {
    let file = hosts::load(&hosts::path_or_default(None)).ok();
    let mut numbers = ProtocolNumbers::of(file.as_ref().map(|file| file.hosts()));
    numbers.ethertype = args.ethertype.unwrap_or(numbers.ethertype);
    if !args.udp_port.is_empty() {
        numbers.own_ports.clone_from(&args.udp_port);
    }
    numbers
}

fn from_file(
    path: &Path,
    numbers: &ProtocolNumbers,
    filter: &PacketFilter,
    mut sink: Sink,
) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::reading(path, &e);
    let mut reader = Reader::open(path).map_err(failed)?;
    let mut wants_more = true;
    let mut broken = None;
    while wants_more && broken.is_none() {
        match reader.next() {
            Ok(Next::Frame(packet)) => wants_more = sink.take(&packet, numbers, filter),
            Ok(Next::Wait) => {
                // Standard input may be a capture that goes on.
                sink.write()?;
                broken = reader.refill().err();
            }
            Ok(Next::End) => break,
            Err(e) => broken = Some(e),
        }
        if sink.has_much() {
            sink.write()?;
        }
    }
    sink.end()?;
    sink.counts().report_liveness();
    match reader.others() {
        Some(others) if reader.has_others_only() => {
            return Err(Failure::new(Code::Failed, format!("{}: {others}", printable_path(path))));
        }
        Some(others) => notice(format_args!("{}: {others}", printable_path(path))),
        None => {}
    }
    broken.map_or(Ok(()), |e| Err(failed(e)))
}

fn live(
    args: &DumpArgs,
    numbers: &ProtocolNumbers,
    filter: &PacketFilter,
    sink: Sink,
) -> Result<(), Failure> {
    if is_privileged() {
        let text = "only root reads what others send: `sudo prp dump` (-r reads a file)";
        return Err(Failure::new(Code::NotPermitted, text));
    }
    let refused = |e: io::Error| match e.kind() {
        ErrorKind::PermissionDenied => {
            let text =
                "a socket at all devices needs CAP_NET_RAW: `sudo prp dump` (-r reads a file)";
            Failure::new(Code::NotPermitted, text)
        }
        _ => Failure::network("capturing", &e),
    };
    let signals = Signals::watch().map_err(|e| Failure::local("waiting for signals", &e))?;
    let limit = limit(args, filter);
    let is_any = |name: &String| name == "any";
    let wanted = if args.interface.iter().any(is_any) { &[][..] } else { &args.interface };
    let mut live = Live::open(numbers, wanted, lengths(args, filter), limit).map_err(refused)?;
    let (counts, left_out, began) = (sink.counts(), live.left_out(), Instant::now());
    let summary = move || {
        let left_out = left_out.summary(began.elapsed(), limit);
        notice(format_args!("{}; {left_out}", counts.written()));
        counts.report_liveness();
    };
    let at_end = summary.clone();
    let sink = Arc::new(Mutex::new(sink));
    let ending = sink.clone();
    signals.set_listener(move |signal| {
        // Another signal ends the process at once: nobody may read what is written here.
        signals::let_pass();
        // Not if the other thread waits until its output is read.
        if let Some(mut sink) = ending.try_lock_for(WRITE_TIMEOUT) {
            let _ = sink.end();
            // The other thread writes nothing more.
            mem::forget(sink);
        }
        summary();
        if signal == Signal::SIGINT {
            process::exit(0);
        }
    });
    if args.write.is_none() && !args.follow {
        // A line takes more time than sending the packet did, and no user reads a million of them:
        // rather lose some, which is said, than keep the processes from sending.
        let _ = run_when_idle();
    }
    let mut wants_more = true;
    while wants_more {
        let mut take = |packet: &Packet| {
            wants_more = wants_more && sink.lock().take(packet, numbers, filter);
        };
        live.receive(&mut take).map_err(|e| Failure::network("listening", &e))?;
        sink.lock().write()?;
    }
    signals.clear_listener();
    sink.lock().end()?;
    at_end();
    Ok(())
}

/// How long a signal waits for what is being written.
const WRITE_TIMEOUT: Duration = Duration::from_millis(200);

/// Bytes of a frame that have all that is shown of it: the headers of Ethernet, IPv6 and UDP (62),
/// an address that it came from (18), a packet's header (16) and an acknowledgement with the
/// longest bitmap (152).
const SHOWN: u32 = 256;

/// How much of each frame is captured.
fn lengths(args: &DumpArgs, filter: &PacketFilter) -> CaptureLengths {
    let whole = CaptureSocket::LONGEST;
    if let Some(most) = args.snapshot_length {
        return CaptureLengths { frame: most, datagram: most };
    }
    if args.write.is_some() || args.follow {
        return CaptureLengths { frame: whole, datagram: whole };
    }
    // What a filter takes may be anywhere in a GSO batch.
    CaptureLengths { frame: SHOWN, datagram: if filter.takes_all() { SHOWN } else { whole } }
}

/// Frames a second that are taken for lines: more than a user reads. They take 1 us each, 1 % of a
/// processor (`bench-tools dump`: 5,000 cost a stream 2.4 % of its goodput, 20,000 cost 5.4 %).
const RATE: u32 = 5_000;

/// How many frames a second are taken, if there is a limit.
fn limit(args: &DumpArgs, filter: &PacketFilter) -> Option<NonZeroU32> {
    // A filter chooses among all.
    let takes_all = args.write.is_some() || args.follow || !filter.takes_all();
    NonZeroU32::new(args.rate.unwrap_or(if takes_all { 0 } else { RATE }))
}
