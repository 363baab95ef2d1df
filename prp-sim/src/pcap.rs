//! Capture files: classic pcap with nanoseconds, as tcpdump and Wireshark read it.

use std::io::{self, Write};

use prp_proto::time::Instant;

/// Says that times are in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;

/// Version 2.4, the only one there is.
const VERSION: (u16, u16) = (2, 4);

/// Longest frame; Wireshark takes files that say up to 256 KiB.
const SNAP_LEN: u32 = 0x4_0000;

/// Frames begin with an Ethernet header, without FCS.
const LINKTYPE_ETHERNET: u32 = 1;

/// Writes frames with their times.
pub struct PcapWriter<W> {
    out: W,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// What `out` says.
    pub fn new(mut out: W) -> io::Result<Self> {
        let mut header = Vec::with_capacity(24);
        header.extend(MAGIC.to_le_bytes());
        header.extend(VERSION.0.to_le_bytes());
        header.extend(VERSION.1.to_le_bytes());
        // Offset from UTC and accuracy of times, both always zero.
        header.extend([0; 8]);
        header.extend(SNAP_LEN.to_le_bytes());
        header.extend(LINKTYPE_ETHERNET.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out })
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// What the output says.
    pub fn frame(&mut self, at: Instant, bytes: &[u8]) -> io::Result<()> {
        let nanos = at.as_nanos();
        let len = bytes.len() as u32;
        let fields = [
            (nanos / 1_000_000_000) as u32,
            (nanos % 1_000_000_000) as u32,
            len.min(SNAP_LEN),
            len,
        ];
        for field in fields {
            self.out.write_all(&field.to_le_bytes())?;
        }
        self.out.write_all(&bytes[..bytes.len().min(SNAP_LEN as usize)])
    }

    /// Ends the file.
    ///
    /// # Errors
    /// What the output says.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame__is_laid_out_as_the_format_says() {
        let mut bytes = Vec::new();
        let mut pcap = PcapWriter::new(&mut bytes).unwrap();
        pcap.frame(Instant::from_nanos(3_000_000_007), b"frame").unwrap();
        pcap.finish().unwrap();
        let header =
            [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
        assert_eq!(bytes[..24], header);
        assert_eq!(bytes[24..40], [3, 0, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(bytes[40..], *b"frame");
    }
}
