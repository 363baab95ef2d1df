//! A process's status page: what `prp stat` reads of it.
//!
//! A page is a file in memory that its process alone has by a name: a descriptor. Another process
//! finds it in `/proc/PID/fd`, which the kernel opens only to root and to processes of the same
//! user that might read the process's memory as well. So a page tells no user what the kernel would
//! keep from them, nothing is listened to, and nothing of a stranger is received: a request is a
//! byte in a pipe, which is found likewise. Without requests nothing is written.
//!
//! A page is a line `prp-status VERSION SEQUENCE LENGTH CRC` and LENGTH bytes of records, a line
//! each: a kind and fields `name=value`, with tabs between them.

mod openmetrics;
mod read;
mod record;

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use prp_proto::addr::NodeId;

use crate::fork::CloseOnFork;

pub use openmetrics::openmetrics;
pub use read::{Page, pages};
pub use record::{Record, RecordText};

/// What the name of each page begins with.
const NAME: &str = "prp-status";

/// The version of the records.
const VERSION: u32 = 1;

/// Bytes of the first line, padded: a reader finds the records at a place that does not move.
const HEAD: usize = 64;

/// The page of this process, which it writes when another process has asked.
#[derive(Debug)]
pub struct StatusPage {
    file: CloseOnFork<File>,
    requests: CloseOnFork<PipeReader>,
    /// Keeps the pipe from its end while no process asks.
    _open: CloseOnFork<PipeWriter>,
    sequence: u64,
}

impl StatusPage {
    /// An empty one, of a process of `node`.
    ///
    /// # Errors
    /// The process has no descriptor or memory left.
    pub fn new(node: NodeId) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        fcntl(&reader, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        // The name tells an asker which descriptor takes requests.
        let name = format!("{NAME}.{node}.{}", reader.as_raw_fd());
        let file = File::from(memfd_create(name.as_str(), MFdFlags::MFD_CLOEXEC)?);
        Ok(Self {
            file: CloseOnFork::new(file),
            requests: CloseOnFork::new(reader),
            _open: CloseOnFork::new(writer),
            sequence: 0,
        })
    }

    /// Takes the requests that have come; whether there were any.
    pub fn take_requests(&self) -> bool {
        let mut bytes = [0; 64];
        let mut requests = self.requests.get_ref();
        // More than these are one request as well, and taken next time.
        matches!(requests.read(&mut bytes), Ok(n) if n > 0)
    }

    /// Writes `records` to the page.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn write(&mut self, records: &RecordText) -> io::Result<()> {
        self.sequence += 1;
        let bytes = records.as_bytes();
        let crc = crc32fast::hash(bytes);
        let head = format!("{NAME} {VERSION} {} {} {crc}", self.sequence, bytes.len());
        let file = self.file.get_ref();
        // A process that reads meanwhile finds a checksum that does not match, and reads again.
        file.write_all_at(bytes, HEAD as u64)?;
        file.write_all_at(format!("{head:<width$}\n", width = HEAD - 1).as_bytes(), 0)
    }
}

/// Readable when a process has asked.
impl AsFd for StatusPage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.requests.as_fd()
    }
}

#[cfg(test)]
mod tests;
