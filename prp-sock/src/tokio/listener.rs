//! The asynchronous listener.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::task::{Context, Poll};

use prp_proto::addr::PrpAddr;
use prp_proto::event::ConnHandle;
use prp_proto::time::Instant;

use super::PrpStream;
use super::waiting::{WaitFuture, poll_engine};
use crate::addr::ToPrpAddrs;
use crate::builder::Builder;
use crate::engine::{Core, Interest, Task};
use crate::listener::{ListenerInner, accepted};
use crate::sys::baton::LockClass;

/// A listener for `async` programs, in place of `tokio::net::TcpListener`.
pub struct PrpListener {
    listener: crate::PrpListener,
}

impl PrpListener {
    /// Listens on the first of the addresses that can be had.
    ///
    /// # Errors
    /// As [`Builder::bind`].
    #[expect(clippy::unused_async, reason = "async in TcpListener, so that programs can swap it")]
    pub async fn bind(addr: impl ToPrpAddrs) -> io::Result<Self> {
        Self::bind_with(&Builder::new(), addr)
    }

    /// Listens with settings.
    ///
    /// # Errors
    /// As [`Builder::bind`].
    pub fn bind_with(builder: &Builder, addr: impl ToPrpAddrs) -> io::Result<Self> {
        let listener = builder.bind(addr)?;
        listener.set_nonblocking(true)?;
        Self::from_std(listener)
    }

    /// Takes over a synchronous listener.
    ///
    /// # Errors
    /// `Unsupported` in a forked child.
    pub fn from_std(listener: crate::PrpListener) -> io::Result<Self> {
        listener.attach_task()?;
        Ok(Self { listener })
    }

    /// Waits for the next connection. Any number of tasks may.
    ///
    /// # Errors
    /// What makes the devices unusable.
    pub async fn accept(&self) -> io::Result<(PrpStream, PrpAddr)> {
        let inner = self.listener.inner()?;
        let attempt = |core: &mut Core, now: &mut Instant| accepted(core, *now, inner.listener);
        let interest = Interest::Accept(inner.listener);
        let conn = WaitFuture::new(&inner.engine, interest, attempt).await?;
        hand_out(inner, conn)
    }

    /// The next connection, or a wake-up when there is one. Only the task that polled last is
    /// woken.
    ///
    /// # Errors
    /// What makes the devices unusable.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(PrpStream, PrpAddr)>> {
        let inner = self.listener.inner()?;
        let (interest, task) = (Interest::Accept(inner.listener), Task::LastToPoll);
        let polled =
            poll_engine(&inner.engine, LockClass::Short, interest, cx, task, |core, now| {
                accepted(core, *now, inner.listener)
            });
        polled.map(|conn| hand_out(inner, conn?))
    }

    /// Gives the synchronous listener back. As with `TcpListener` it is nonblocking if it was made
    /// here, and not by [`Self::from_std`].
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn into_std(self) -> io::Result<crate::PrpListener> {
        self.listener.try_clone()
    }

    /// The synchronous listener behind it. Do not accept with it unless it is nonblocking: that
    /// would block the task's thread.
    pub fn get_ref(&self) -> &crate::PrpListener {
        &self.listener
    }

    /// What [`Self::set_ttl`] was last told.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn ttl(&self) -> io::Result<u32> {
        self.listener.ttl()
    }

    /// Routers a frame of an accepted connection may cross; see [`crate::PrpListener::set_ttl`].
    ///
    /// # Errors
    /// `InvalidInput` for zero or more than 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.listener.set_ttl(ttl)
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn local_addr(&self) -> io::Result<PrpAddr> {
        self.listener.local_addr()
    }
}

fn hand_out(listener: &ListenerInner, conn: ConnHandle) -> io::Result<(PrpStream, PrpAddr)> {
    let (stream, peer) = listener.wrap(conn)?;
    stream.set_nonblocking(true)?;
    Ok((PrpStream::from_std(stream)?, peer))
}

impl Drop for PrpListener {
    fn drop(&mut self) {
        self.listener.detach_task();
    }
}

impl TryFrom<crate::PrpListener> for PrpListener {
    type Error = io::Error;

    /// As [`Self::from_std`].
    fn try_from(listener: crate::PrpListener) -> io::Result<Self> {
        Self::from_std(listener)
    }
}

impl AsFd for PrpListener {
    /// As that of [`crate::PrpListener`].
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl AsRawFd for PrpListener {
    /// As that of [`crate::PrpListener`].
    fn as_raw_fd(&self) -> RawFd {
        self.listener.as_raw_fd()
    }
}

// As for the synchronous listener.
impl UnwindSafe for PrpListener {}
impl RefUnwindSafe for PrpListener {}

impl fmt::Debug for PrpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listener.fmt(f)
    }
}
