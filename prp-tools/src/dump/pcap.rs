//! Capture files: pcap and pcapng are read, pcapng is written.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

use super::packet::Packet;

/// Bytes of a file that are held at once: its longest block has to fit.
const CAPACITY: usize = 1 << 20;

/// Nanoseconds are 10^-9 of a second.
const NANOSECONDS: u8 = 9;

/// The frames of a file.
pub(super) struct Reader {
    reader: Box<dyn PcapReaderIterator + Send>,
    /// Units of a second in the time of each interface, and what is to be added.
    interfaces: Vec<(u64, i64)>,
    /// Of a pcap file.
    legacy_units: u64,
    is_ethernet: bool,
}

impl Reader {
    /// The file at `path`.
    ///
    /// # Errors
    /// It cannot be read, or is no capture.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let reader = create_reader(CAPACITY, file).map_err(|e| invalid(&e))?;
        Ok(Self { reader, interfaces: Vec::new(), legacy_units: 1_000_000, is_ethernet: true })
    }

    /// The next frame that begins with an Ethernet header.
    ///
    /// # Errors
    /// The file ends within a block, or makes no sense.
    pub(super) fn next(&mut self) -> io::Result<Option<Packet>> {
        loop {
            let (offset, packet) = match self.reader.next() {
                Ok((offset, block)) => {
                    let packet = match block {
                        PcapBlockOwned::LegacyHeader(header) => {
                            let is_fine = header.is_nanosecond_precision();
                            self.legacy_units = if is_fine { 1_000_000_000 } else { 1_000_000 };
                            self.is_ethernet = header.network == Linktype::ETHERNET;
                            None
                        }
                        PcapBlockOwned::Legacy(block) => {
                            let fraction = u64::from(block.ts_usec);
                            let units = u64::from(block.ts_sec) * self.legacy_units + fraction;
                            let (bytes, len) = (block.data.to_vec(), block.origlen);
                            Some((time(units, self.legacy_units, 0), bytes, len))
                        }
                        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                            let units = interface.ts_resolution().unwrap_or(1_000_000);
                            self.interfaces.push((units, interface.ts_offset()));
                            self.is_ethernet = interface.linktype == Linktype::ETHERNET;
                            None
                        }
                        PcapBlockOwned::NG(Block::EnhancedPacket(block)) => {
                            let interface = self.interfaces.get(block.if_id as usize);
                            let (units, offset) = *interface.unwrap_or(&(1_000_000, 0));
                            let at = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
                            let (bytes, len) = (block.packet_data().to_vec(), block.origlen);
                            Some((time(at, units, offset), bytes, len))
                        }
                        PcapBlockOwned::NG(_) => None,
                    };
                    (offset, packet)
                }
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::Incomplete(_)) => {
                    self.reader.refill().map_err(|e| invalid(&e))?;
                    continue;
                }
                Err(e) => return Err(invalid(&e)),
            };
            self.reader.consume(offset);
            if let Some((time, bytes, len)) = packet.filter(|_| self.is_ethernet) {
                return Ok(Some(Packet::untagged(time, "", &bytes, len as usize)));
            }
        }
    }
}

/// `at`, of which `units` are a second, `offset` seconds later.
fn time(at: u64, units: u64, offset: i64) -> Duration {
    let units = units.max(1);
    let nanos = u128::from(at % units) * 1_000_000_000 / u128::from(units);
    Duration::new((at / units).saturating_add_signed(offset), nanos as u32)
}

fn invalid(error: &PcapError<&[u8]>) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("expected pcap or pcapng, as `prp dump -w` writes, whole: {error}"),
    )
}

/// A pcapng file that is written, whole after each piece.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    /// Devices, in the order of their descriptions.
    devices: Vec<String>,
    /// Frames that are not in the file yet.
    piece: Vec<u8>,
}

impl Writer {
    /// Begins `file`.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn new(mut file: File) -> io::Result<Self> {
        // Byte order, version 1.0, a section of any length.
        let mut body = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
        body.extend([1, 0, 0, 0]);
        body.extend(u64::MAX.to_le_bytes());
        file.write_all(&block(0x0a0d_0d0a, &body))?;
        Ok(Self { file, devices: Vec::new(), piece: Vec::new() })
    }

    /// Adds a frame to the piece that is written next.
    pub(super) fn put(&mut self, packet: &Packet) {
        let known = self.devices.iter().position(|device| *device == packet.device);
        let interface = known.unwrap_or_else(|| {
            self.piece.extend(block(1, &description(&packet.device)));
            self.devices.push(packet.device.clone());
            self.devices.len() - 1
        });
        let nanos = packet.time.as_nanos() as u64;
        let len = packet.captured;
        let padded = len.next_multiple_of(4);
        let block_len = padded as u32 + 32;
        let words = [6, block_len, interface as u32, (nanos >> 32) as u32, nanos as u32];
        for word in words.into_iter().chain([len as u32, packet.bytes.len() as u32]) {
            self.piece.extend_from_slice(&word.to_le_bytes());
        }
        self.piece.extend_from_slice(&packet.bytes[..len]);
        self.piece.resize(self.piece.len() + padded - len, 0);
        self.piece.extend_from_slice(&block_len.to_le_bytes());
    }

    /// Writes what was added.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&mut self) -> io::Result<()> {
        // By one call: a signal may end the program after it, and not within.
        let written = self.file.write_all(&self.piece);
        self.piece.clear();
        written
    }
}

/// An Ethernet device with its name, and times in nanoseconds.
fn description(device: &str) -> Vec<u8> {
    const NAME: u16 = 2;
    const RESOLUTION: u16 = 9;
    let mut body = vec![1, 0, 0, 0, 0, 0, 0, 0];
    let mut option = |code: u16, value: &[u8]| {
        body.extend(code.to_le_bytes());
        body.extend((value.len() as u16).to_le_bytes());
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    };
    if !device.is_empty() {
        option(NAME, device.as_bytes());
    }
    option(RESOLUTION, &[NANOSECONDS]);
    option(0, &[]);
    body
}

/// A block of this kind: its length comes before and after it.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let len = (padded as u32 + 12).to_le_bytes();
    let mut bytes = [&kind.to_le_bytes()[..], &len, body].concat();
    bytes.resize(8 + padded, 0);
    bytes.extend(len);
    bytes
}

#[cfg(test)]
mod tests {
    use tempfile::NamedTempFile;

    use super::*;

    fn packet(device: &str, nanos: u64, bytes: &[u8]) -> Packet {
        Packet {
            time: Duration::from_nanos(nanos),
            device: device.into(),
            bytes: bytes.into(),
            captured: bytes.len(),
        }
    }

    #[test]
    fn file__has_what_was_written() {
        let file = NamedTempFile::new().expect("a file");
        let mut writer = Writer::new(file.reopen().expect("it is there")).expect("room");
        let cut = Packet { captured: 70, ..packet("eth1", 1, &[[9; 70], [0; 70]].concat()) };
        let packets = [
            cut,
            packet("eth0", 1_700_000_000_123_456_789, &[7; 61]),
            packet("eth1", 1_700_000_001_000_000_000, &[8; 60]),
            packet("eth0", 1_700_000_002_000_000_001, &[9; 1]),
        ];
        packets.iter().for_each(|packet| writer.put(packet));
        writer.write().expect("room");
        let mut reader = Reader::open(file.path()).expect("a capture");
        for expected in &packets {
            let found = reader.next().expect("whole").expect("another one");
            assert_eq!((found.time, &found.bytes), (expected.time, &expected.bytes));
            assert_eq!(found.captured, expected.captured);
        }
        assert!(reader.next().expect("whole").is_none());
    }

    #[test]
    fn file__of_something_else_is_an_error() {
        let file = NamedTempFile::new().expect("a file");
        assert!(Reader::open(file.path()).is_err(), "empty");
        std::fs::write(file.path(), [0x55; 100]).expect("room");
        assert!(Reader::open(file.path()).is_err());
    }
}
