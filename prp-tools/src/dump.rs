//! `prp dump`: frames on the wire, or in a capture file, in words.

mod decode;
mod filter;
mod follow;
mod live;
mod packet;
mod pcap;
mod train;

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::signal::Signal;
use parking_lot::Mutex;
use prp_device::raw::{CaptureLengths, CaptureSocket};
use prp_node::counted;
use prp_node::environment::is_privileged;

use crate::argument::{any, number, peer_port, port};
use crate::exit::{Code, Failure, help, notice, unwritten};
use crate::hosts;
use crate::signals::{self, Signals};
use crate::sys::priority::run_when_idle;
use decode::{DecodedPacket, ProtocolNumbers};
use filter::PacketFilter;
use follow::Follower;
use live::Live;
use packet::{Packet, PacketKind};
use pcap::{Reader, Writer};

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
  prp dump --node 2 --port 7000 -c 10       ten packets of a port
  prp dump -w trace.pcapng                  to a file, for Wireshark and for prp dump -r
  prp dump -r trace.pcapng --kind reset
  prp dump -r trace.pcap --follow --port 7000 >bytes
"))]
pub(crate) struct DumpArgs {
    /// This device only; may be given several times [default: all]
    #[arg(short, long, value_name = "DEVICE", conflicts_with = "read")]
    interface: Vec<String>,
    /// Read a capture file, pcap or pcapng
    #[arg(short, long, value_name = "FILE")]
    read: Option<PathBuf>,
    /// Write frames to a file as pcapng, and print none
    #[arg(short, long, value_name = "FILE", conflicts_with = "follow")]
    write: Option<PathBuf>,
    /// Capture this number of bytes of a frame: 256 have all that is shown. Of a train of UDP
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
    /// The EtherType in use [default: that of prphosts, else 0x88b5]
    #[arg(long, value_name = "NUMBER", value_parser = ethertype)]
    ethertype: Option<u16>,
    /// The first of the UDP ports that nodes have; may be given several times [default: those of
    /// prphosts, and 5230]
    #[arg(long, value_name = "PORT", value_parser = peer_port)]
    udp_port: Vec<u16>,
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
    let node = args.node.as_deref().map(hosts::number).transpose()?;
    let filter = PacketFilter { node, port: args.port, kinds: args.kind.clone() };
    let sink = Sink::of(args)?;
    match &args.read {
        Some(path) => from_file(path, &numbers, &filter, sink),
        None => live(args, &numbers, &filter, sink),
    }
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
    while let Some(packet) = reader.next().map_err(failed)? {
        if !sink.take(&packet, numbers, filter) {
            break;
        }
        if sink.has_much() {
            sink.write()?;
        }
    }
    sink.end()?;
    sink.counts.report_liveness();
    Ok(())
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
    let mut live =
        Live::open(numbers, &args.interface, lengths(args, filter), limit).map_err(refused)?;
    let (shown, left_out, began) = (sink.counts.clone(), live.left_out(), Instant::now());
    let summary = move || {
        let left_out = left_out.summary(began.elapsed(), limit);
        let written = counted(shown.written.load(Ordering::Relaxed), "packet");
        notice(format_args!("{written}; {left_out}"));
        shown.report_liveness();
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

/// Gaps that are reported one by one.
const MOST_GAPS: usize = 20;

/// How long a signal waits for what is being written.
const WRITE_TIMEOUT: Duration = Duration::from_millis(200);

/// Bytes of text that are written at once, where frames come from a file.
const TEXT_BATCH_BYTES: usize = 1 << 16;

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
    // What a filter takes may be anywhere in a train.
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

/// How many packets or frames there were, for a signal's handler.
#[derive(Debug, Default)]
struct CaptureCounts {
    written: AtomicU64,
    /// Liveness probes that are not shown.
    liveness: AtomicU64,
}

impl CaptureCounts {
    /// Says how many liveness probes are not shown.
    fn report_liveness(&self) {
        let count = self.liveness.load(Ordering::Relaxed);
        if count > 0 {
            notice(format_args!(
                "{} of routers left out (--all)",
                counted(count, "liveness probe")
            ));
        }
    }
}

/// Where frames go.
struct Sink {
    json: bool,
    /// Liveness probes are left out.
    hides_liveness: bool,
    /// So many packets or frames are wanted; all if none.
    wanted: Option<u64>,
    count: u64,
    counts: Arc<CaptureCounts>,
    writer: Option<Writer>,
    follower: Option<Follower>,
    /// For standard output.
    text: Vec<u8>,
}

impl Sink {
    fn of(args: &DumpArgs) -> Result<Self, Failure> {
        let writer = args.write.as_ref().map(|path| {
            let file = File::create(path).and_then(Writer::new);
            file.map_err(|e| Failure::writing(path, &e))
        });
        let follower = args.follow.then(|| Follower::new(args.port));
        let writer = writer.transpose()?;
        let shows_liveness = args.all || args.kind.contains(&PacketKind::Liveness);
        Ok(Self {
            json: args.json,
            hides_liveness: !shows_liveness && !args.follow,
            wanted: args.count,
            count: 0,
            counts: Arc::default(),
            writer,
            follower,
            text: Vec::new(),
        })
    }

    /// Takes what `frame` carries and passes the filter; whether more are wanted.
    fn take(&mut self, frame: &Packet, numbers: &ProtocolNumbers, filter: &PacketFilter) -> bool {
        let Packet { bytes, captured, .. } = frame;
        if let Some(writer) = &mut self.writer {
            // All of it, and once, if one packet passes. A stream over Ethernet has a great many:
            // not to parse them costs the stream less.
            if !(filter.takes_all() && decode::is_of_ethernet(bytes, numbers))
                && decode::each(bytes, *captured, numbers, &mut |packet| !filter.takes(packet))
            {
                return true;
            }
            writer.put(frame);
            return self.count_one();
        }
        decode::each(bytes, *captured, numbers, &mut |packet| {
            !filter.takes(packet) || self.leaves_out(packet) || self.take_one(frame, packet)
        })
    }

    /// Whether `packet`, which passes the filter, is one that is left out.
    fn leaves_out(&self, packet: &DecodedPacket<'_>) -> bool {
        let is_left_out =
            self.hides_liveness && PacketKind::of(&packet.content) == PacketKind::Liveness;
        self.counts.liveness.fetch_add(is_left_out.into(), Ordering::Relaxed);
        is_left_out
    }

    /// Takes what `frame` carries; whether more are wanted.
    fn take_one(&mut self, frame: &Packet, packet: &DecodedPacket<'_>) -> bool {
        if let Some(follower) = &mut self.follower {
            if let Some(packet) = packet.packet() {
                self.text.extend(follower.take(packet));
            }
        } else {
            if self.json {
                self.text.extend_from_slice(frame.json(packet).as_bytes());
            } else {
                // Writing to memory does not fail.
                let _ = frame.add_line(packet, &mut self.text);
            }
            self.text.push(b'\n');
        }
        self.count_one()
    }

    /// One more was taken; whether more are wanted.
    fn count_one(&mut self) -> bool {
        self.count += 1;
        self.wanted.is_none_or(|wanted| self.count < wanted)
    }

    /// Whether there is enough that it should be written.
    const fn has_much(&self) -> bool {
        self.text.len() >= TEXT_BATCH_BYTES
    }

    /// Writes what was taken.
    fn write(&mut self) -> Result<(), Failure> {
        if let Some(writer) = &mut self.writer {
            writer.write().map_err(|e| Failure::local("the capture file", &e))?;
        }
        let mut out = io::stdout().lock();
        out.write_all(&self.text).and_then(|()| out.flush()).map_err(|e| unwritten(&e))?;
        self.text.clear();
        self.counts.written.store(self.count, Ordering::Relaxed);
        Ok(())
    }

    /// All frames have been taken: writes what was kept behind a gap, and says what is missing.
    fn end(&mut self) -> Result<(), Failure> {
        let kept = self.follower.as_mut().map(Follower::end).unwrap_or_default();
        self.text.extend(kept);
        self.write()?;
        let Some(follower) = &mut self.follower else { return Ok(()) };
        let gaps = follower.take_gaps();
        gaps.iter().take(MOST_GAPS).for_each(notice);
        if let Some(more) = gaps.len().checked_sub(MOST_GAPS).filter(|more| *more > 0) {
            let more = counted(more, "gap");
            let missing = counted(follower.missing(), "segment");
            notice(format_args!("{more} more; bytes of {missing} are missing in all"));
        }
        Ok(())
    }
}
