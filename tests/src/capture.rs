//! Capture files: classic pcap, as tcpdump, dumpcap and Wireshark write and read it.

use std::io::{self, ErrorKind};

/// Says that the file is little endian and times are in microseconds.
const MAGIC: u32 = 0xa1b2_c3d4;

/// Bytes before the first frame, and before each frame.
const FILE_HEADER: usize = 24;
const FRAME_HEADER: usize = 16;

/// The longest frame that Wireshark takes.
const SNAP_LEN: u32 = 0x4_0000;

/// Frames begin with an Ethernet header, without FCS.
const LINKTYPE_ETHERNET: u32 = 1;

/// The frames of a capture file.
///
/// # Errors
/// `InvalidData` where it is no such file, or ends within a frame.
pub fn frames(file: &[u8]) -> io::Result<Vec<&[u8]>> {
    if word(file, 0) != Some(MAGIC) || word(file, 20) != Some(LINKTYPE_ETHERNET) {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut frames = Vec::new();
    let mut at = FILE_HEADER;
    while at < file.len() {
        let len = word(file, at + 8).ok_or(ErrorKind::InvalidData)? as usize;
        at += FRAME_HEADER;
        frames.push(file.get(at..at + len).ok_or(ErrorKind::InvalidData)?);
        at += len;
    }
    Ok(frames)
}

/// A capture file of `frames`, a microsecond apart.
pub fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    // Version 2.4, no offset from UTC, no accuracy.
    let header = [MAGIC, 2 | 4 << 16, 0, 0, SNAP_LEN, LINKTYPE_ETHERNET];
    let mut file: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (frame, at) in frames.iter().zip(0u32..) {
        let len = frame.len() as u32;
        [0, at, len, len].iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(frame);
    }
    file
}

fn word(file: &[u8], at: usize) -> Option<u32> {
    file.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}
