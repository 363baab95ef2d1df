//! Waiting for any of several streams and listeners.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use prp_device::waiting::WaitSettings;
use prp_proto::time::Instant;

use super::PrpStream;
use crate::engine::{Core, Engine, Interest, OtherFd, Wait, WaitError};
use crate::listener::PrpListener;

/// A stream or a listener that [`wait_any`] waits for, and what it is waited for.
#[derive(Debug)]
pub struct Awaited<'a> {
    source: Source<'a>,
    is_ready: bool,
}

/// What is waited for.
#[derive(Copy, Clone, Debug)]
enum Source<'a> {
    Stream { stream: &'a PrpStream, reads: bool, writes: bool },
    Listener(&'a PrpListener),
}

impl<'a> Awaited<'a> {
    /// Something to read: bytes, the end, or an error.
    pub const fn read(stream: &'a PrpStream) -> Self {
        Self::of(Source::Stream { stream, reads: true, writes: false })
    }

    /// Room to write half of the send buffer, or an error. Of a stream that waits for the answer to
    /// its request ([`Builder::connect_nonblocking`](crate::Builder::connect_nonblocking)) the
    /// answer.
    pub const fn write(stream: &'a PrpStream) -> Self {
        Self::of(Source::Stream { stream, reads: false, writes: true })
    }

    /// Either of them.
    pub const fn read_or_write(stream: &'a PrpStream) -> Self {
        Self::of(Source::Stream { stream, reads: true, writes: true })
    }

    /// A connection to accept.
    pub const fn accept(listener: &'a PrpListener) -> Self {
        Self::of(Source::Listener(listener))
    }

    /// Whether the last [`wait_any`] found it there.
    pub const fn is_ready(&self) -> bool {
        self.is_ready
    }

    const fn of(source: Source<'a>) -> Self {
        Self { source, is_ready: false }
    }

    fn engine(&self) -> io::Result<&'a Arc<Engine>> {
        match self.source {
            Source::Stream { stream, .. } => Ok(&stream.inner()?.engine),
            Source::Listener(listener) => Ok(&listener.inner()?.engine),
        }
    }

    fn interests(&self) -> impl Iterator<Item = Interest> + use<> {
        let all = match self.source {
            Source::Stream { stream, reads, writes } => {
                let conn = stream.inner.conn;
                let read = reads.then_some(Interest::Read(conn));
                let write = writes.then_some(Interest::Write(conn));
                [read, write, writes.then_some(Interest::Connect(conn))]
            }
            Source::Listener(listener) => {
                [Some(Interest::Accept(listener.inner.listener)), None, None]
            }
        };
        all.into_iter().flatten()
    }

    fn check(&mut self, core: &Core) -> bool {
        self.is_ready = match self.source {
            Source::Stream { stream, reads, writes } => {
                let conn = stream.inner.conn;
                reads && core.endpoint.is_readable(conn)
                    || writes && core.endpoint.is_writable(conn)
            }
            Source::Listener(listener) => core.endpoint.pending(listener.inner.listener) > 0,
        };
        self.is_ready
    }
}

/// Waits until any of `streams` has what it is waited for, or `other` is readable, for at most
/// `timeout`; how many of `streams` are ready. A stream's own timeouts do not count here, nor
/// whether it is nonblocking.
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
/// `InvalidInput` for none of them, and for those of several nodes of one process; `Interrupted`
/// after a signal handler that wants calls interrupted; what made the node's devices unusable; with
/// an `other`, that the process has as many descriptors as it may have.
pub fn wait_any(
    streams: &mut [Awaited<'_>],
    other: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
) -> io::Result<usize> {
    // Nothing would poll the descriptor meanwhile.
    let settings = other.map_or(WaitSettings::ADAPTIVE, |_| WaitSettings::ASLEEP);
    wait_as(streams, other, settings, timeout)
}

/// Waits as [`wait_any`] does, but polls before it sleeps even if there is an `other`, which it
/// polls too then, and for longer: for an event loop, whose peers take their time, and for a thread
/// that passes on to others what comes by either, and whose answers come by the other one.
///
/// # Errors
/// As [`wait_any`].
pub fn wait_any_polling(
    streams: &mut [Awaited<'_>],
    other: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let settings = other.map_or(WaitSettings::ADAPTIVE, |_| WaitSettings::PATIENT);
    wait_as(streams, other, settings, timeout)
}

fn wait_as(
    streams: &mut [Awaited<'_>],
    other: Option<BorrowedFd<'_>>,
    settings: WaitSettings,
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let Some(first) = streams.first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no streams to wait for"));
    };
    let engine = first.engine()?.clone();
    for awaited in &*streams {
        if !Arc::ptr_eq(awaited.engine()?, &engine) {
            let text = "the streams are of several nodes";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
    }
    let interests: Vec<_> = streams.iter().flat_map(Awaited::interests).collect();
    let parker = other.map(|_| engine.polling_parker()).transpose()?;
    let other = other.map(OtherFd::new);
    let deadline = timeout.map(|t| engine.now() + t);
    let mut wait = AnyWait { streams, other: other.as_ref() };
    let other = other.as_ref().zip(parker);
    match engine.wait_many(&interests, other, deadline, settings, &mut wait) {
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
            ready += usize::from(awaited.check(core));
        }
        if ready > 0 || self.other.is_some_and(OtherFd::is_readable) {
            return Some(Ok(ready));
        }
        core.check().err().map(Err)
    }
}

#[cfg(test)]
mod tests;
