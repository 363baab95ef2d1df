//! Standard input, read in large pieces until it ends or is no longer wanted.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, PipeReader, Read, Seek};
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Bytes read or written at once: half of a stream's buffer, so that one half is filled while the
/// other is sent.
pub(super) const CHUNK: usize = 256 * 1024;

/// Standard input and what was read of it ahead.
#[derive(Debug)]
pub(super) struct Input {
    file: File,
    /// A regular file: reading it never waits for a writer.
    regular: bool,
    buf: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Input {
    /// The standard input, past what `std::io::Stdin` would buffer.
    pub(super) fn stdin() -> io::Result<Self> {
        Self::new(File::from(io::stdin().as_fd().try_clone_to_owned()?))
    }

    /// What `file` gives.
    pub(super) fn new(file: File) -> io::Result<Self> {
        let regular = file.metadata()?.is_file();
        let buf = vec![0; CHUNK].into_boxed_slice();
        Ok(Self { file, regular, buf, start: 0, end: 0 })
    }

    /// Bytes left, if that is known.
    pub(super) fn remaining(&mut self) -> Option<u64> {
        let len = self.file.metadata().ok().filter(|_| self.regular)?.len();
        let ahead = (self.end - self.start) as u64;
        self.file.stream_position().ok().map(|at| len.saturating_sub(at) + ahead)
    }

    /// Whether it is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    /// The next bytes: what was not consumed before, or what one read gives. None at the end, and
    /// once the other end of `stop` is closed.
    pub(super) fn fill(&mut self, stop: &PipeReader) -> io::Result<&[u8]> {
        while self.start == self.end {
            if self.wait(stop)? {
                return Ok(&[]);
            }
            match self.file.read(&mut self.buf) {
                Ok(0) => return Ok(&[]),
                Ok(n) => (self.start, self.end) = (0, n),
                // Another process that shares the descriptor may have made it nonblocking.
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(&self.buf[self.start..self.end])
    }

    /// Takes `n` of the bytes that [`Self::fill`] gave.
    pub(super) fn consume(&mut self, n: usize) {
        self.start = (self.start + n).min(self.end);
    }

    /// Waits until there is something to read; whether instead `stop` was closed.
    fn wait(&self, stop: &PipeReader) -> io::Result<bool> {
        // A regular file is always ready, says `poll`.
        let mut fds = [
            PollFd::new(self.file.as_fd(), PollFlags::POLLIN),
            PollFd::new(stop.as_fd(), PollFlags::POLLIN),
        ];
        loop {
            match poll(&mut fds, PollTimeout::NONE) {
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
                Ok(_) => return Ok(fds[1].any().unwrap_or(true)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
