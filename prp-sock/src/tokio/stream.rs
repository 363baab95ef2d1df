//! The asynchronous stream.

use std::fmt;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use prp_proto::addr::PrpAddr;
use prp_proto::endpoint::Ending;
use prp_proto::error::ReadError;
use prp_proto::event::ConnHandle;
use prp_proto::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::waiting::{Waiting, poll_engine};
use crate::addr::ToPrpAddrs;
use crate::builder::Builder;
use crate::engine::{Core, Interest, Task};
use crate::error;
use crate::stream::{Inner, connected, errand};
use crate::sys::baton::Errand;

/// A stream for `async` programs, in place of `tokio::net::TcpStream`.
///
/// Everything that does not wait is on the synchronous stream behind it: see [`Self::get_ref`].
pub struct PrpStream {
    stream: crate::PrpStream,
}

impl PrpStream {
    /// Connects to the first of the addresses that answers.
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub async fn connect(addr: impl ToPrpAddrs) -> io::Result<Self> {
        Self::connect_with(&Builder::new(), addr).await
    }

    /// Connects with settings.
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub async fn connect_with(builder: &Builder, addr: impl ToPrpAddrs) -> io::Result<Self> {
        let mut last = None;
        for addr in builder.resolve(addr)? {
            let stream = Self::from_std(builder.connect_nonblocking(addr)?)?;
            match stream.connected().await {
                Ok(()) => return Ok(stream),
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(error::no_address))
    }

    /// Takes over a synchronous stream.
    ///
    /// # Errors
    /// `Unsupported` in a forked child.
    pub fn from_std(stream: crate::PrpStream) -> io::Result<Self> {
        let inner = stream.inner()?;
        let mut core = inner.engine.lock();
        core.detached += 1;
        inner.engine.after_command(core);
        Ok(Self { stream })
    }

    /// Gives the synchronous stream back.
    pub fn into_std(self) -> crate::PrpStream {
        self.stream.clone_handle()
    }

    /// The synchronous stream behind it, for addresses, options and statistics. Do not read, write or
    /// accept with it: that would block the task's thread.
    pub fn get_ref(&self) -> &crate::PrpStream {
        &self.stream
    }

    /// The address of the peer.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn peer_addr(&self) -> io::Result<PrpAddr> {
        self.stream.peer_addr()
    }

    /// The address of this end.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn local_addr(&self) -> io::Result<PrpAddr> {
        self.stream.local_addr()
    }

    /// Copies received bytes without taking them, waiting for some.
    ///
    /// # Errors
    /// As a read.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.wait(Interest::Read, |core, now, inner| {
            blocked(core.endpoint.peek(*now, inner.conn, buf))
        })
        .await
    }

    /// Waits until reading would not wait.
    ///
    /// # Errors
    /// None that reading would not report.
    pub async fn readable(&self) -> io::Result<()> {
        self.wait(Interest::Read, |core, _, inner| {
            core.endpoint.is_readable(inner.conn).then_some(Ok(()))
        })
        .await
    }

    /// Waits until writing would not wait.
    ///
    /// # Errors
    /// None that writing would not report.
    pub async fn writable(&self) -> io::Result<()> {
        self.wait(Interest::Write, |core, _, inner| {
            core.endpoint.is_writable(inner.conn).then_some(Ok(()))
        })
        .await
    }

    /// Borrows the two directions.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        split::borrowed(self)
    }

    /// Takes the two directions apart, for two tasks. Dropping the writing half closes its direction.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::owned(self)
    }

    pub(super) fn poll_read_shared(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let unfilled = buf.initialize_unfilled();
        let n = ready!(self.poll_with(Errand::Brief, cx, Interest::Read, |core, now, inner| {
            blocked(core.endpoint.read(*now, inner.conn, unfilled))
        }))?;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_write_shared(
        &self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let errand = errand(bufs.iter().map(|b| b.len()).sum());
        self.poll_with(errand, cx, Interest::Write, |core, now, inner| {
            inner.write_some(core, now, bufs, Ending::Write)
        })
    }

    pub(super) fn shutdown_write(&self) -> io::Result<()> {
        match self.stream.shutdown(Shutdown::Write) {
            // Closing what the peer has already ended is no error.
            Err(e) if e.kind() == io::ErrorKind::NotConnected => Ok(()),
            other => other,
        }
    }

    async fn connected(&self) -> io::Result<()> {
        self.wait(Interest::Connect, |core, _, inner| connected(core, inner.conn, inner.peer)).await
    }

    /// Waits until `f` gives something. Any number of tasks may.
    async fn wait<T>(
        &self,
        interest: fn(ConnHandle) -> Interest,
        mut f: impl FnMut(&mut Core, &mut Instant, &Inner) -> Option<io::Result<T>> + Unpin,
    ) -> io::Result<T> {
        let inner = self.stream.inner()?;
        Waiting::new(&inner.engine, interest(inner.conn), |core, now| f(core, now, inner)).await
    }

    /// Tries `f`, for the task that polls; of those it is the last one that is woken.
    fn poll_with<T>(
        &self,
        errand: Errand,
        cx: &mut Context<'_>,
        interest: fn(ConnHandle) -> Interest,
        mut f: impl FnMut(&mut Core, &mut Instant, &Inner) -> Option<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let inner = self.stream.inner()?;
        let interest = interest(inner.conn);
        poll_engine(&inner.engine, errand, interest, cx, Task::LastToPoll, |core, now| {
            f(core, now, inner)
        })
    }
}

fn blocked<T>(result: Result<T, ReadError>) -> Option<io::Result<T>> {
    match result {
        Err(ReadError::Blocked) => None,
        other => Some(other.map_err(error::read)),
    }
}

impl AsyncRead for PrpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_read_shared(cx, buf)
    }
}

impl AsyncWrite for PrpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_shared(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_shared(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.shutdown_write())
    }
}

impl Drop for PrpStream {
    fn drop(&mut self) {
        if let Ok(inner) = self.stream.inner() {
            inner.engine.lock().detached -= 1;
        }
    }
}

impl fmt::Debug for PrpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(f)
    }
}
