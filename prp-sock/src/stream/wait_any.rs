//! Waiting for any of several streams.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use prp_proto::event::ConnHandle;
use prp_proto::time::Instant;

use super::PrpStream;
use crate::engine::{Core, Interest, OtherFd, Wait, WaitError};

/// A stream that [`wait_any`] waits for, and what it is waited for.
#[derive(Debug)]
pub struct Awaited<'a> {
    stream: &'a PrpStream,
    reads: bool,
    writes: bool,
    is_ready: bool,
}

impl<'a> Awaited<'a> {
    /// Something to read: bytes, the end, or an error.
    pub const fn read(stream: &'a PrpStream) -> Self {
        Self { stream, reads: true, writes: false, is_ready: false }
    }

    /// Room to write half of the send buffer, or an error.
    pub const fn write(stream: &'a PrpStream) -> Self {
        Self { stream, reads: false, writes: true, is_ready: false }
    }

    /// Either of them.
    pub const fn read_or_write(stream: &'a PrpStream) -> Self {
        Self { stream, reads: true, writes: true, is_ready: false }
    }

    /// Whether the last [`wait_any`] found it there.
    pub const fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn interests(&self, conn: ConnHandle) -> impl Iterator<Item = Interest> {
        let read = self.reads.then_some(Interest::Read(conn));
        read.into_iter().chain(self.writes.then_some(Interest::Write(conn)))
    }
}

/// Waits until any of `streams` has what it is waited for, or `other` is readable, for at most
/// `timeout`; how many streams are ready. A stream's own timeouts do not count here, nor whether it
/// is nonblocking.
///
/// The calling thread does the work of the streams while it waits, as a thread that reads one does:
/// a message comes by no detour through another thread, as it would for `poll` on descriptors. It
/// polls for some time before it sleeps, as reads do, unless there is an `other`.
///
/// ```no_run
/// use std::io::Read;
/// use prp_sock::{Awaited, PrpStream, wait_any};
///
/// let streams = [PrpStream::connect("beta:80")?, PrpStream::connect("gamma:80")?];
/// let mut awaited: Vec<_> = streams.iter().map(Awaited::read).collect();
/// wait_any(&mut awaited, None, None)?;
/// for (mut stream, _) in streams.iter().zip(&awaited).filter(|(_, a)| a.is_ready()) {
///     stream.read(&mut [0; 4096])?;
/// }
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// `InvalidInput` for no streams, and for streams of several nodes of one process; `Interrupted`
/// after a signal handler that wants calls interrupted; what made the node's devices unusable.
pub fn wait_any(
    streams: &mut [Awaited<'_>],
    other: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let Some(first) = streams.first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no streams to wait for"));
    };
    let engine = &first.stream.inner()?.engine.clone();
    if streams.iter().any(|s| !Arc::ptr_eq(&s.stream.inner.engine, engine)) {
        let text = "the streams are of several nodes";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let interests: Vec<_> = streams.iter().flat_map(|s| s.interests(s.stream.inner.conn)).collect();
    let other = other.map(OtherFd::new);
    let deadline = timeout.map(|t| engine.now() + t);
    let mut wait = AnyWait { streams, other: other.as_ref() };
    match engine.wait_many(&interests, other.as_ref(), deadline, &mut wait) {
        Ok(found) => found,
        Err(WaitError::TimedOut) => Ok(0),
        Err(WaitError::Interrupted) => Err(io::ErrorKind::Interrupted.into()),
    }
}

/// Waits for any of the streams.
struct AnyWait<'a, 'b> {
    streams: &'a mut [Awaited<'b>],
    other: Option<&'a OtherFd<'a>>,
}

impl Wait for AnyWait<'_, '_> {
    type Out = io::Result<usize>;

    fn attempt(&mut self, core: &mut Core, _: &mut Instant) -> Option<io::Result<usize>> {
        let mut ready = 0;
        for awaited in &mut *self.streams {
            let conn = awaited.stream.inner.conn;
            awaited.is_ready = awaited.reads && core.endpoint.is_readable(conn)
                || awaited.writes && core.endpoint.is_writable(conn);
            ready += usize::from(awaited.is_ready);
        }
        if ready > 0 || self.other.is_some_and(OtherFd::is_readable) {
            return Some(Ok(ready));
        }
        core.check().err().map(Err)
    }
}

#[cfg(test)]
mod tests;
