//! Frames of a capture, pcap or pcapng, from a file or from standard input.

mod source;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use pcap_parser::pcapng::{InterfaceDescriptionBlock, UnknownBlock};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{
    Block, LegacyPcapBlock, Linktype, PcapBlockOwned, PcapError, PcapHeader, create_reader,
};
use prp_node::counted;

use super::packet::Packet;
use source::{ReadFailure, Source};

/// Bytes of a capture that are held at once: its longest block has to fit.
const CAPACITY: usize = 1 << 20;

/// The kind of a block that older programs write in place of an enhanced packet block.
const PACKET_BLOCK: u32 = 2;

/// Bytes of it before the frame.
const PACKET_BLOCK_HEAD: usize = 20;

/// Standard input in place of a file.
const STANDARD_INPUT: &str = "-";

/// A capture that is read from its beginning to its end.
pub(super) struct Reader {
    reader: Box<dyn PcapReaderIterator + Send>,
    /// Those of a section of pcapng, or the only one of pcap.
    interfaces: Vec<Interface>,
    is_big_endian: bool,
    failure: ReadFailure,
    frames: u64,
    /// Frames that do not begin with an Ethernet header, by what they begin with.
    others: BTreeMap<i32, u64>,
}

/// Where frames of a capture come from.
#[derive(Clone, Debug)]
struct Interface {
    link: Linktype,
    device: String,
    /// Units of a second in its times, and seconds that are to be added.
    units: u64,
    offset: i64,
}

/// What a capture has next.
#[derive(Debug)]
pub(super) enum Next {
    /// A frame that begins with an Ethernet header.
    Frame(Packet),
    /// Nothing until more is read, which may take its time.
    Wait,
    /// Nothing more.
    End,
}

/// A frame in a block of a capture.
struct RawFrame<'a> {
    interface: usize,
    seconds: u64,
    /// What is to be added to them, in units of the interface.
    fraction: u64,
    bytes: &'a [u8],
    /// Bytes of the frame, captured or not.
    len: u32,
}

/// A block of a capture, as far as it matters.
enum CaptureBlock {
    Header(Interface),
    Section {
        is_big_endian: bool,
    },
    Interface(Interface),
    Frame(Packet),
    /// A frame that begins with something else.
    OtherFrame(Linktype),
    /// One that makes no sense.
    Damaged,
    Other,
}

impl Reader {
    /// The capture in the file at `path`, or in standard input if that is `-`.
    ///
    /// # Errors
    /// It cannot be read, or is no capture of Ethernet frames.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == STANDARD_INPUT {
            return Self::of(Source::standard_input()?);
        }
        Self::of(Source::file(path)?)
    }

    fn of(mut source: Source) -> io::Result<Self> {
        let failure = source.failure();
        let beginning = source.fetch_header()?;
        let reader = create_reader(CAPACITY, source).map_err(|_| {
            failure.take().unwrap_or_else(|| io::Error::new(ErrorKind::InvalidData, beginning))
        })?;
        let (interfaces, others) = (Vec::new(), BTreeMap::new());
        Ok(Self { reader, interfaces, is_big_endian: false, failure, frames: 0, others })
    }

    /// What comes next.
    ///
    /// # Errors
    /// The capture ends within a block, or makes no sense from here on.
    pub(super) fn next(&mut self) -> io::Result<Next> {
        loop {
            let at = self.reader.consumed();
            let parsed = match self.reader.next() {
                Ok((len, block)) => {
                    let block = CaptureBlock::of(&block, &self.interfaces, self.is_big_endian);
                    Ok((len, block))
                }
                Err(PcapError::Eof) => return Ok(Next::End),
                Err(PcapError::Incomplete(_)) => return Ok(Next::Wait),
                Err(PcapError::UnexpectedEof) => Err("cut"),
                Err(_) => Err("damaged"),
            };
            let (len, block) = parsed.map_err(|how| self.damage(how, at))?;
            self.reader.consume(len);
            match block {
                CaptureBlock::Header(interface) => {
                    refuse_others(interface.link)?;
                    self.interfaces = vec![interface];
                }
                CaptureBlock::Section { is_big_endian } => {
                    self.is_big_endian = is_big_endian;
                    self.interfaces.clear();
                }
                CaptureBlock::Interface(interface) => self.interfaces.push(interface),
                CaptureBlock::Frame(packet) => {
                    self.frames += 1;
                    return Ok(Next::Frame(packet));
                }
                CaptureBlock::OtherFrame(link) => *self.others.entry(link.0).or_default() += 1,
                CaptureBlock::Damaged => return Err(self.damage("damaged", at)),
                CaptureBlock::Other => {}
            }
        }
    }

    /// Reads on after [`Next::Wait`].
    ///
    /// # Errors
    /// What reading fails with.
    pub(super) fn refill(&mut self) -> io::Result<()> {
        if self.reader.refill().is_ok() {
            return Ok(());
        }
        Err(self.failure.take().unwrap_or_else(|| ErrorKind::Other.into()))
    }

    /// What is to be said of frames that were left out, if there are any.
    pub(super) fn others(&self) -> Option<String> {
        let of_type = |(link, count): (&i32, &u64)| {
            format!("{} of {}", counted(*count, "frame"), LinkName(Linktype(*link)))
        };
        let others: Vec<_> = self.others.iter().map(of_type).collect();
        (!others.is_empty()).then(|| format!("{} left out: {ETHERNET_ONLY}", others.join(", ")))
    }

    /// Whether all frames so far were left out, and there were some.
    pub(super) fn has_others_only(&self) -> bool {
        self.frames == 0 && !self.others.is_empty()
    }

    /// That the capture is `how` at byte `at`.
    fn damage(&self, how: &str, at: usize) -> io::Error {
        let frames = counted(self.frames, "frame");
        let text = format!("the capture is {how} behind {frames}, at byte {at}");
        io::Error::new(ErrorKind::InvalidData, text)
    }
}

/// What to do about frames that begin with anything else.
const ETHERNET_ONLY: &str =
    "only Ethernet frames are read; capture at a device (-i eth0), not at all of them (-i any)";

/// Refuses a capture of frames that do not begin with an Ethernet header.
fn refuse_others(link: Linktype) -> io::Result<()> {
    if link == Linktype::ETHERNET {
        return Ok(());
    }
    let text = format!("a capture of {}: {ETHERNET_ONLY}", LinkName(link));
    Err(io::Error::new(ErrorKind::InvalidData, text))
}

/// A link type as tcpdump calls it.
struct LinkName(Linktype);

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            Linktype::LINUX_SLL => "LINUX_SLL, ",
            Linktype::LINUX_SLL2 => "LINUX_SLL2, ",
            Linktype::RAW => "RAW, ",
            Linktype::NULL => "NULL, ",
            _ => "",
        };
        write!(f, "link type {name}{}", self.0.0)
    }
}

impl Interface {
    fn of_pcap(header: &PcapHeader) -> Self {
        let units = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
        // The upper bits say how long the FCS is.
        let link = Linktype(header.network.0 & 0xffff);
        Self { link, device: String::new(), units, offset: 0 }
    }

    fn of_pcapng(block: &InterfaceDescriptionBlock<'_>) -> Self {
        let exponent = u32::from(block.if_tsresol & 0x7f);
        let base: u64 = if block.if_tsresol & 0x80 == 0 { 10 } else { 2 };
        let units = base.checked_pow(exponent).unwrap_or(1_000_000);
        let device = block.if_name().and_then(Result::ok).unwrap_or_default();
        // It may be padded.
        let device = device.trim_end_matches('\0').to_owned();
        Self { link: block.linktype, device, units, offset: block.ts_offset() }
    }

    /// When something was captured `fraction` units behind `seconds`.
    fn time(&self, seconds: u64, fraction: u64) -> Duration {
        let at = seconds.saturating_mul(self.units).saturating_add(fraction);
        let units = self.units.max(1);
        let nanos = u128::from(at % units) * 1_000_000_000 / u128::from(units);
        Duration::new((at / units).saturating_add_signed(self.offset), nanos as u32)
    }
}

impl CaptureBlock {
    fn of(block: &PcapBlockOwned<'_>, interfaces: &[Interface], is_big_endian: bool) -> Self {
        let frame = match block {
            PcapBlockOwned::LegacyHeader(header) => {
                return Self::Header(Interface::of_pcap(header));
            }
            PcapBlockOwned::NG(Block::SectionHeader(block)) => {
                return Self::Section { is_big_endian: block.big_endian() };
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
                return Self::Interface(Interface::of_pcapng(block));
            }
            PcapBlockOwned::Legacy(block) => RawFrame::of_pcap(block),
            PcapBlockOwned::NG(Block::EnhancedPacket(block)) => Some(RawFrame {
                interface: block.if_id as usize,
                seconds: 0,
                fraction: u64::from(block.ts_high) << 32 | u64::from(block.ts_low),
                bytes: block.packet_data(),
                len: block.origlen,
            }),
            // It has neither a time nor an interface.
            PcapBlockOwned::NG(Block::SimplePacket(block)) => Some(RawFrame {
                interface: 0,
                seconds: 0,
                fraction: 0,
                bytes: block.packet_data(),
                len: block.origlen,
            }),
            // Its kind is read as little endian in any case.
            PcapBlockOwned::NG(Block::Unknown(block))
                if [PACKET_BLOCK, PACKET_BLOCK.swap_bytes()].contains(&block.block_type) =>
            {
                RawFrame::of_packet_block(block, is_big_endian)
            }
            PcapBlockOwned::NG(_) => return Self::Other,
        };
        let Some(frame) = frame else { return Self::Damaged };
        match interfaces.get(frame.interface) {
            Some(interface) if interface.link == Linktype::ETHERNET => {
                Self::Frame(frame.packet(interface))
            }
            Some(interface) => Self::OtherFrame(interface.link),
            None => Self::Damaged,
        }
    }
}

impl<'a> RawFrame<'a> {
    /// None where zeros are in the place of a frame, as after a power failure.
    fn of_pcap(block: &'a LegacyPcapBlock<'a>) -> Option<Self> {
        let LegacyPcapBlock { ts_sec, ts_usec, caplen, origlen, data: bytes } = block;
        let (seconds, fraction) = (u64::from(*ts_sec), u64::from(*ts_usec));
        ([*ts_sec, *ts_usec, *caplen, *origlen] != [0; 4]).then_some(Self {
            interface: 0,
            seconds,
            fraction,
            bytes,
            len: *origlen,
        })
    }

    fn of_packet_block(block: &'a UnknownBlock<'a>, is_big_endian: bool) -> Option<Self> {
        let (head, frame) = block.data.split_first_chunk::<PACKET_BLOCK_HEAD>()?;
        let word = |at: usize| {
            let bytes = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        // The interface is the first half of the first word.
        let interface = if is_big_endian { word(0) >> 16 } else { word(0) & 0xffff };
        Some(Self {
            interface: interface as usize,
            seconds: 0,
            fraction: u64::from(word(4)) << 32 | u64::from(word(8)),
            bytes: frame.get(..word(12) as usize)?,
            len: word(16),
        })
    }

    fn packet(&self, interface: &Interface) -> Packet {
        let time = interface.time(self.seconds, self.fraction);
        Packet::untagged(time, &interface.device, self.bytes, self.len as usize)
    }
}

#[cfg(test)]
mod tests;
