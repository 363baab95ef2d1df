//! Where captured frames go: lines, JSON, a file, or the bytes of a connection.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prp_node::{counted, printable_path};

use super::DumpArgs;
use super::decode::{self, DecodedPacket, ProtocolNumbers};
use super::filter::PacketFilter;
use super::follow::Follower;
use super::packet::{Packet, PacketKind};
use super::protection::{Protection, ProtectionReader, Unchecked};
use super::writer::Writer;
use crate::exit::{Code, Failure};
use crate::hosts;
use crate::print::{notice, unwritten};

/// Gaps that are reported one by one.
const MOST_GAPS: usize = 20;

/// Bytes of text that are written at once, where frames come from a file.
const TEXT_BATCH_BYTES: usize = 1 << 16;

/// Standard output in place of a file.
const STANDARD_OUTPUT: &str = "-";

/// A capture file at `path`, or in standard output, of what is read from `read` or from devices.
fn writer(path: &Path, read: Option<&Path>) -> Result<Writer, Failure> {
    let failed = |e: io::Error| Failure::writing(path, &e);
    if path.as_os_str() == STANDARD_OUTPUT {
        let out = io::stdout();
        if out.is_terminal() {
            let text = "-w -: standard output is a terminal, which shows no capture; redirect it";
            return Err(Failure::new(Code::Usage, text));
        }
        let file = out.as_fd().try_clone_to_owned().map_err(failed)?;
        return Writer::new(File::from(file)).map_err(|e| unwritten(&e));
    }
    let place = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    if let (Some(read), Some(written)) = (read.and_then(place), place(path))
        && read == written
    {
        let text = format!("{}: it is read; name another file to write to", printable_path(path));
        return Err(Failure::new(Code::Usage, text));
    }
    File::create(path).and_then(Writer::new).map_err(failed)
}

/// What says how packets are protected, with the keys that are named.
fn protections(args: &DumpArgs) -> Result<ProtectionReader, Failure> {
    let reader = ProtectionReader::new(args.key.as_deref())?;
    let Some(path) = &args.node_key else { return Ok(reader) };
    let file = hosts::load(&hosts::path_or_default(None))?;
    reader.with_node(path, file.hosts())
}

/// How many packets or frames there were, for a signal's handler.
#[derive(Debug, Default)]
pub(super) struct CaptureCounts {
    written: AtomicU64,
    /// Liveness probes that are not shown.
    liveness: AtomicU64,
}

impl CaptureCounts {
    /// How many packets were written.
    pub(super) fn written(&self) -> String {
        counted(self.written.load(Ordering::Relaxed), "packet")
    }

    /// Says how many liveness probes are not shown.
    pub(super) fn report_liveness(&self) {
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
pub(super) struct Sink {
    json: bool,
    /// Liveness probes are left out.
    hides_liveness: bool,
    /// So many packets or frames are wanted; all if none.
    wanted: Option<u64>,
    count: u64,
    counts: Arc<CaptureCounts>,
    writer: Option<Writer>,
    follower: Option<Follower>,
    /// What is followed is encrypted.
    is_sealed: bool,
    protections: ProtectionReader,
    unchecked: Unchecked,
    /// For standard output.
    text: Vec<u8>,
}

impl Sink {
    /// What `args` ask for; `port` is the receiver's, if it is known.
    ///
    /// # Errors
    /// The file that is to be written cannot be.
    pub(super) fn of(args: &DumpArgs, port: Option<u16>) -> Result<Self, Failure> {
        let writer = args.write.as_deref().map(|path| writer(path, args.read.as_deref()));
        let follower = args.follow.then(|| Follower::new(port));
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
            is_sealed: false,
            protections: protections(args)?,
            unchecked: Unchecked::default(),
            text: Vec::new(),
        })
    }

    /// How many there were.
    pub(super) fn counts(&self) -> Arc<CaptureCounts> {
        self.counts.clone()
    }

    /// Takes what `frame` carries and passes the filter; whether more are wanted.
    pub(super) fn take(
        &mut self,
        frame: &Packet,
        numbers: &ProtocolNumbers,
        filter: &PacketFilter,
    ) -> bool {
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
        let is_cut = *captured < bytes.len();
        decode::each(bytes, *captured, numbers, &mut |packet| {
            // Those that are not shown say how others are protected.
            let protection =
                packet.packet().and_then(|packet| self.protections.read(packet, is_cut));
            !filter.takes(packet)
                || self.leaves_out(packet)
                || self.take_one(frame, packet, protection.as_ref())
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
    fn take_one(
        &mut self,
        frame: &Packet,
        packet: &DecodedPacket<'_>,
        protection: Option<&Protection>,
    ) -> bool {
        if let Some(follower) = &mut self.follower {
            let is_sealed = protection.is_some_and(Protection::is_sealed);
            self.is_sealed |= is_sealed;
            if let Some(packet) = packet.packet().filter(|_| !is_sealed) {
                self.text.extend(follower.take(packet));
            }
        } else {
            if let Some(protection) = protection {
                self.unchecked.note(protection);
            }
            if self.json {
                self.text.extend_from_slice(frame.json(packet, protection).as_bytes());
            } else {
                // Writing to memory does not fail.
                let _ = frame.add_line(packet, protection, &mut self.text);
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
    pub(super) const fn has_much(&self) -> bool {
        self.text.len() >= TEXT_BATCH_BYTES
    }

    /// Writes what was taken.
    pub(super) fn write(&mut self) -> Result<(), Failure> {
        if let Some(writer) = &mut self.writer {
            writer.write().map_err(|e| match e.kind() {
                ErrorKind::BrokenPipe => unwritten(&e),
                _ => Failure::local("the capture file", &e),
            })?;
        }
        let mut out = io::stdout().lock();
        out.write_all(&self.text).and_then(|()| out.flush()).map_err(|e| unwritten(&e))?;
        self.text.clear();
        self.counts.written.store(self.count, Ordering::Relaxed);
        Ok(())
    }

    /// All frames have been taken: writes what was kept behind a gap, and says what is missing.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        let kept = self.follower.as_mut().map(Follower::end).unwrap_or_default();
        self.text.extend(kept);
        self.write()?;
        self.unchecked.lines().for_each(notice);
        let Some(follower) = &mut self.follower else { return Ok(()) };
        if self.is_sealed {
            let text = "frames of connections in mode seal are left out: no capture opens them";
            return Err(Failure::new(Code::Failed, text));
        }
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
