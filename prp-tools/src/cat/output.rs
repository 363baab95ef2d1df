//! Standard output, written at once, and closed when the peer has ended.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::dup2_stdout;

/// Standard output.
#[derive(Debug)]
pub(super) struct Output {
    file: File,
    /// What is not read any more is thrown away.
    reader_may_go: bool,
}

impl Output {
    /// Takes the standard output for itself, so that dropping it is the end for the program that
    /// reads behind a pipe: that program may have something to send back before this process can
    /// exit.
    pub(super) fn stdout() -> io::Result<Self> {
        let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        dup2_stdout(Self::nowhere()?.file)?;
        Ok(Self::new(file))
    }

    /// For output that is not wanted. An empty root has no /dev/null: there it is a pipe without a
    /// reader.
    pub(super) fn nowhere() -> io::Result<Self> {
        match File::options().write(true).open("/dev/null") {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                Ok(Self::of_command(OwnedFd::from(io::pipe()?.1).into()))
            }
            opened => opened.map(Self::new),
        }
    }

    /// An output to `file`.
    pub(super) fn new(file: File) -> Self {
        Self { file, reader_may_go: false }
    }

    /// The standard input of a command, which need not read all of it: what it writes matters.
    pub(super) fn of_command(file: File) -> Self {
        Self { file, reader_may_go: true }
    }

    /// The same once more, for one of several connections.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, ..*self })
    }

    /// Whether it is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    /// Writes all of `bytes`.
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::BrokenPipe && self.reader_may_go => return Ok(()),
                // Another process that shares the descriptor may have made it nonblocking.
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    let mut fds = [PollFd::new(self.file.as_fd(), PollFlags::POLLOUT)];
                    // If it fails, the next write tells why.
                    let _ = poll(&mut fds, PollTimeout::NONE);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
