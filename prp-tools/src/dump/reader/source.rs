//! The bytes of a capture.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::sys::standard::Standard;

/// Bytes of pcap's header, and of the beginning of pcapng's first block, which has its length.
const HEADER_LEN: u64 = 24;

/// What pcapng begins with, and what tells the order of its bytes.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BYTE_ORDER: [u8; 4] = [0x1a, 0x2b, 0x3c, 0x4d];

/// Bytes of pcapng's first block, at most: it has a few texts.
const LONGEST_SECTION_HEADER: u64 = 1 << 16;

/// What gzip writes first.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why reading failed, which the parser does not pass on.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadFailure(Arc<Mutex<Option<io::Error>>>);

impl ReadFailure {
    /// The last one.
    pub(super) fn take(&self) -> Option<io::Error> {
        self.0.lock().take()
    }
}

/// A file or a pipe.
#[derive(Debug)]
pub(super) struct Source {
    /// What was read ahead, and how much of it was handed on.
    header: Vec<u8>,
    used: usize,
    file: File,
    failure: ReadFailure,
}

impl Source {
    /// The file at `path`.
    ///
    /// # Errors
    /// It cannot be opened, or is a folder.
    pub(super) fn file(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        Ok(Self::new(file))
    }

    /// Standard input.
    ///
    /// # Errors
    /// It is closed.
    pub(super) fn standard_input() -> io::Result<Self> {
        Standard::Input.check()?;
        Ok(Self::new(File::from(io::stdin().as_fd().try_clone_to_owned()?)))
    }

    fn new(file: File) -> Self {
        Self { header: Vec::new(), used: 0, file, failure: ReadFailure::default() }
    }

    /// Why reading fails, once it does.
    pub(super) fn failure(&self) -> ReadFailure {
        self.failure.clone()
    }

    /// Reads all that the parser wants to see at once, which a pipe may give in pieces. Returns
    /// what is to be said where it is no capture.
    ///
    /// # Errors
    /// What reading fails with.
    pub(super) fn fetch_header(&mut self) -> io::Result<String> {
        self.read_ahead(HEADER_LEN)?;
        if let Some(len) = self.section_header_len() {
            self.read_ahead(len.min(LONGEST_SECTION_HEADER))?;
        }
        let fix = match &*self.header {
            [] => "; it is empty",
            header if header.starts_with(&GZIP) => {
                "; it is compressed: `zcat FILE | prp dump -r -`"
            }
            _ => "",
        };
        Ok(format!("expected pcap or pcapng, as `prp dump -w` writes{fix}"))
    }

    /// Reads until `len` bytes were read, or all there are.
    fn read_ahead(&mut self, len: u64) -> io::Result<()> {
        let missing = len.saturating_sub(self.header.len() as u64);
        (&self.file).take(missing).read_to_end(&mut self.header)?;
        Ok(())
    }

    /// Bytes of pcapng's first block, if it is one.
    fn section_header_len(&self) -> Option<u64> {
        let [kind, len, order] = [0, 4, 8].map(|at| self.header.get(at..)?.first_chunk::<4>());
        let (len, order) = (*len?, *order?);
        let len =
            if order == BYTE_ORDER { u32::from_be_bytes(len) } else { u32::from_le_bytes(len) };
        (*kind? == SECTION).then_some(len.into())
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut left = &self.header[self.used..];
        if !left.is_empty() {
            let count = left.read(buffer)?;
            self.used += count;
            return Ok(count);
        }
        loop {
            match self.file.read(buffer) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    *self.failure.0.lock() = Some(e);
                    return Err(ErrorKind::Other.into());
                }
                read => return read,
            }
        }
    }
}
