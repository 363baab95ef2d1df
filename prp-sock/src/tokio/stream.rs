//! The asynchronous stream.

mod readiness;
mod transfer;

use std::fmt;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use prp_proto::addr::PrpAddr;
use prp_proto::endpoint::Ending;
use prp_proto::error::ReadError;
use prp_proto::event::ConnHandle;
use prp_proto::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::split::{self, OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::waiting::{WaitFuture, poll_engine};
use crate::addr::ToPrpAddrs;
use crate::builder::Builder;
use crate::engine::{Core, Interest, Task};
use crate::error;
use crate::stream::{StreamInner, connected, lock_class};
use crate::sys::baton::LockClass;

/// A stream for `async` programs, in place of `tokio::net::TcpStream`.
///
/// The synchronous stream behind it has what this one does not: see [`Self::get_ref`].
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
            match Self::connect_to(builder, addr).await {
                Ok(stream) => return Ok(stream),
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(error::no_address))
    }

    async fn connect_to(builder: &Builder, addr: PrpAddr) -> io::Result<Self> {
        let stream = builder.connect_nonblocking(addr)?;
        stream.set_nonblocking(true)?;
        let stream = Self::from_std(stream)?;
        stream.connected().await?;
        Ok(stream)
    }

    /// Takes over a synchronous stream.
    ///
    /// # Errors
    /// `Unsupported` in a forked child.
    pub fn from_std(stream: crate::PrpStream) -> io::Result<Self> {
        let inner = stream.inner()?;
        let mut core = inner.engine.lock();
        core.waiting.async_waiters += 1;
        inner.engine.after_command(core);
        Ok(Self { stream })
    }

    /// Gives the synchronous stream back. As with `TcpStream` it is nonblocking if it was made
    /// here, and not by [`Self::from_std`].
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn into_std(self) -> io::Result<crate::PrpStream> {
        self.stream.try_clone()
    }

    /// The synchronous stream behind it, for addresses, options and statistics. Do not read, write
    /// or accept with it: that would block the task's thread.
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

    /// The error the connection ended with, once.
    ///
    /// # Errors
    /// As [`crate::PrpStream::take_error`].
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.stream.take_error()
    }

    /// What [`Self::set_nodelay`] was last told.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.stream.nodelay()
    }

    /// Kept for programs that set it; see [`crate::PrpStream::set_nodelay`].
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.stream.set_nodelay(nodelay)
    }

    /// What [`Self::set_linger`] was last told.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.stream.linger()
    }

    /// What dropping the stream does; see [`crate::PrpStream::set_linger`]. With a time other than
    /// zero that blocks the thread, as with `TcpStream`.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.stream.set_linger(linger)
    }

    /// Has dropping the stream reset the connection.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.stream.set_linger(Some(Duration::ZERO))
    }

    /// Routers a frame may cross, as last set.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn ttl(&self) -> io::Result<u32> {
        self.stream.ttl()
    }

    /// Routers a frame may cross; see [`crate::PrpStream::set_ttl`].
    ///
    /// # Errors
    /// `InvalidInput` for zero or more than 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.stream.set_ttl(ttl)
    }

    /// Borrows the two directions.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        split::borrowed(self)
    }

    /// Takes the two directions apart, for two tasks. Dropping the writing half closes its
    /// direction.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        split::owned(self)
    }

    pub(super) fn poll_read_shared(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let unfilled = buf.initialize_unfilled();
        let n =
            ready!(self.poll_with(LockClass::Short, cx, Interest::Read, |core, now, inner| {
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
        let lock_class = lock_class(bufs.iter().map(|b| b.len()).sum());
        self.poll_with(lock_class, cx, Interest::Write, |core, now, inner| {
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
        mut f: impl FnMut(&mut Core, &mut Instant, &StreamInner) -> Option<io::Result<T>> + Unpin,
    ) -> io::Result<T> {
        let inner = self.stream.inner()?;
        WaitFuture::new(&inner.engine, interest(inner.conn), |core, now| f(core, now, inner)).await
    }

    /// Tries `f`, for the task that polls; of those it is the last one that is woken.
    fn poll_with<T>(
        &self,
        lock_class: LockClass,
        cx: &mut Context<'_>,
        interest: fn(ConnHandle) -> Interest,
        mut f: impl FnMut(&mut Core, &mut Instant, &StreamInner) -> Option<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let inner = self.stream.inner()?;
        let interest = interest(inner.conn);
        poll_engine(&inner.engine, lock_class, interest, cx, Task::LastToPoll, |core, now| {
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
            inner.engine.lock().waiting.async_waiters -= 1;
        }
    }
}

impl TryFrom<crate::PrpStream> for PrpStream {
    type Error = io::Error;

    /// As [`Self::from_std`].
    fn try_from(stream: crate::PrpStream) -> io::Result<Self> {
        Self::from_std(stream)
    }
}

impl AsRef<Self> for PrpStream {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl AsFd for PrpStream {
    /// As that of [`crate::PrpStream`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl AsRawFd for PrpStream {
    /// As that of [`crate::PrpStream`].
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

// As for the synchronous stream.
impl UnwindSafe for PrpStream {}
impl RefUnwindSafe for PrpStream {}

impl fmt::Debug for PrpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(f)
    }
}
