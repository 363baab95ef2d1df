//! What is kept of a run: a hash of everything that happened, and on request text and a capture
//! file.

use core::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use prp_proto::time::Instant;
use prp_proto::wire::{ETHERTYPE, Pretty};

use crate::link::Fate;
use crate::pcap::PcapWriter;
use crate::topology::VertexIndex;

/// Listens in on a run.
#[derive(Default)]
pub struct Recorder {
    hash: u64,
    text: Option<Box<dyn Write>>,
    pcap: Option<PcapWriter<BufWriter<File>>>,
    failed: Option<io::Error>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("hash", &self.hash).finish_non_exhaustive()
    }
}

/// A frame about to be put on a link, as far as the recorder wants it.
pub(crate) struct FrameSummary {
    sum: u32,
    bytes: Option<Vec<u8>>,
}

impl Recorder {
    /// Also writes a line of text for everything that happens.
    #[must_use]
    pub fn with_text(mut self, out: impl Write + 'static) -> Self {
        self.text = Some(Box::new(out));
        self
    }

    /// Also writes every frame that a node sends to a capture file, those that get lost included.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn with_pcap(mut self, path: &Path) -> io::Result<Self> {
        self.pcap = Some(PcapWriter::new(BufWriter::new(File::create(path)?))?);
        Ok(self)
    }

    /// A number that is the same for two runs in which the same happened.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Ends the files.
    ///
    /// # Errors
    /// The first thing that went wrong with them.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(pcap) = self.pcap.take() {
            pcap.finish()?;
        }
        if let Some(text) = &mut self.text {
            text.flush()?;
        }
        self.failed.map_or(Ok(()), Err)
    }

    /// Summarizes a frame before the link takes it.
    pub(crate) fn summarize(&self, frame: &[u8]) -> FrameSummary {
        let wanted = self.text.is_some() || self.pcap.is_some();
        FrameSummary { sum: crc32fast::hash(frame), bytes: wanted.then(|| frame.to_vec()) }
    }

    /// A frame was put on a link.
    pub(crate) fn frame(
        &mut self,
        now: Instant,
        from: VertexIndex,
        to: VertexIndex,
        seen: FrameSummary,
        fate: Fate,
    ) {
        self.mix(now.as_nanos());
        self.mix(u64::from(seen.sum) << 8 | fate as u64);
        let Some(bytes) = seen.bytes else { return };
        // A switch repeats what a node has sent already.
        let by_node = matches!(from, VertexIndex::Node(_));
        if by_node && let Some(pcap) = &mut self.pcap {
            let written = pcap.frame(now, &bytes);
            self.keep_error(written);
        }
        if by_node || fate != Fate::Sent {
            let mark =
                if fate == Fate::Sent { String::new() } else { format!(" ({})", fate.name()) };
            let pretty = Pretty::new(&bytes, ETHERTYPE).to_string();
            // Nodes and ports say what hardware addresses would.
            let text = pretty.split_once("] ").map_or(pretty.as_str(), |_| after_macs(&pretty));
            self.line(now, format_args!("{from} > {to}: {text}{mark}"));
        }
    }

    /// Something else happened: `what` is for people, `code` for the hash.
    pub(crate) fn note(&mut self, now: Instant, code: u64, what: fmt::Arguments<'_>) {
        self.mix(now.as_nanos());
        self.mix(code);
        self.line(now, what);
    }

    fn line(&mut self, now: Instant, what: fmt::Arguments<'_>) {
        if let Some(text) = &mut self.text {
            let written = writeln!(text, "{now:?} {what}");
            self.keep_error(written);
        }
    }

    fn keep_error(&mut self, result: io::Result<()>) {
        if let Err(e) = result {
            self.failed.get_or_insert(e);
        }
    }

    fn mix(&mut self, value: u64) {
        // FNV-1a's prime and order, by words: fast, and any difference spreads.
        self.hash = (self.hash ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }
}

/// `MAC > MAC node:port > …` without the hardware addresses.
fn after_macs(pretty: &str) -> &str {
    pretty.splitn(4, ' ').nth(3).unwrap_or(pretty)
}
