//! The asynchronous listener.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use prp_proto::addr::PrpAddr;

use super::PrpStream;
use crate::addr::ToPrpAddrs;
use crate::builder::Builder;

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
        Self::from_std(crate::PrpListener::bind(addr)?)
    }

    /// Listens with settings.
    ///
    /// # Errors
    /// As [`Builder::bind`].
    pub fn bind_with(builder: &Builder, addr: impl ToPrpAddrs) -> io::Result<Self> {
        Self::from_std(builder.bind(addr)?)
    }

    /// Takes over a synchronous listener.
    ///
    /// # Errors
    /// `Unsupported` in a forked child.
    pub fn from_std(listener: crate::PrpListener) -> io::Result<Self> {
        listener.attach_task()?;
        Ok(Self { listener })
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// What makes the devices unusable.
    pub async fn accept(&self) -> io::Result<(PrpStream, PrpAddr)> {
        poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// The next connection, or a wake-up when there is one. Only the task that polled last is woken.
    ///
    /// # Errors
    /// What makes the devices unusable.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(PrpStream, PrpAddr)>> {
        self.listener
            .poll_accept(cx.waker())
            .map(|accepted| accepted.and_then(|(s, peer)| Ok((PrpStream::from_std(s)?, peer))))
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn local_addr(&self) -> io::Result<PrpAddr> {
        self.listener.local_addr()
    }
}

impl Drop for PrpListener {
    fn drop(&mut self) {
        self.listener.detach_task();
    }
}

impl fmt::Debug for PrpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.listener.fmt(f)
    }
}
