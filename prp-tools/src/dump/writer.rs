//! A capture file (pcapng) that is written.

use std::fs::File;
use std::io::{self, Write};

use super::packet::Packet;

/// Nanoseconds are 10^-9 of a second.
const NANOSECONDS: u8 = 9;

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
        let (addresses, tag, rest) = packet.wire();
        let len = packet.captured + tag.len();
        let padded = len.next_multiple_of(4);
        let block_len = padded as u32 + 32;
        let words = [6, block_len, interface as u32, (nanos >> 32) as u32, nanos as u32];
        let whole = packet.bytes.len() + tag.len();
        for word in words.into_iter().chain([len as u32, whole as u32]) {
            self.piece.extend_from_slice(&word.to_le_bytes());
        }
        for part in [addresses, &tag, rest] {
            self.piece.extend_from_slice(part);
        }
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
