//! Where the daemon's log goes: to standard error, as far as that takes it.
//!
//! A router forwards frames whether its log is read or not. The reader may be gone, the disk full,
//! the pipe full because its reader is stopped: then lines are lost, and the next one that is
//! written says how many.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Lines that were not written, since the last one that was.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Writes lines to a file descriptor without waiting, and without an error. It takes no lock of the
/// standard library, which another thread may hold while it waits.
#[derive(Copy, Clone, Debug)]
pub struct LogWriter<F>(pub F);

impl<F: AsFd> Write for LogWriter<F> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let lost = LOST.swap(0, Ordering::Relaxed);
        let note = format!("{lost} lines of this log were lost\n");
        let note = if lost > 0 { note.as_bytes() } else { &[] };
        if !self.has_room() || !self.write_whole(note) || !self.write_whole(line) {
            LOST.fetch_add(lost + 1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<F: AsFd> LogWriter<F> {
    /// Whether a line is taken at once: a pipe with room has it for 4096 bytes at least.
    fn has_room(&self) -> bool {
        let mut fds = [PollFd::new(self.0.as_fd(), PollFlags::POLLOUT)];
        // An error is for writing to report.
        !matches!(poll(&mut fds, PollTimeout::ZERO), Ok(0))
    }

    /// Writes all of `bytes`; whether that went.
    fn write_whole(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            match nix::unistd::write(&self.0, bytes) {
                Ok(0) => return false,
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::EINTR) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// All that makes a line get lost, and what the next one says.
    #[test]
    fn write__neither_fails_nor_waits_and_says_what_was_lost() {
        let (reader, writer) = io::pipe().expect("a pipe");
        let mut log = LogWriter(&writer);
        // Its reader is stopped.
        let line = [b'x'; 4096];
        (0..100).for_each(|_| log.write_all(&line).expect("it is lost"));
        let lost = LOST.load(Ordering::Relaxed);
        assert!((1..100).contains(&lost), "{lost}");
        // The disk is full; nobody reads.
        let full = File::options().write(true).open("/dev/full").expect("a device");
        LogWriter(&full).write_all(b"a\n").expect("it is lost");
        let (closed, other) = UnixStream::pair().expect("two sockets");
        drop(other);
        LogWriter(&closed).write_all(b"b\n").expect("it is lost");
        assert_eq!(LOST.load(Ordering::Relaxed), lost + 2);
        drop(reader);
        LogWriter(&writer).write_all(b"c\n").expect("it is lost");
        let (reader, writer) = io::pipe().expect("a pipe");
        let mut log = LogWriter(&writer);
        log.write_all(b"d\n").expect("there is room");
        log.write_all(b"e\n").expect("there is room");
        drop(writer);
        let text = io::read_to_string(reader).expect("text");
        assert_eq!(text, format!("{} lines of this log were lost\nd\ne\n", lost + 3));
    }
}
