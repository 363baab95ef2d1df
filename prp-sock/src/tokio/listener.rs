//! The asynchronous listener.

use std::fmt;
use std::io;
use std::task::{Context, Poll};

use prp_proto::addr::PrpAddr;
use prp_proto::event::ConnHandle;
use prp_proto::time::Instant;

use super::PrpStream;
use super::waiting::{Waiting, poll_engine};
use crate::addr::ToPrpAddrs;
use crate::builder::Builder;
use crate::engine::{Core, Interest, Task};
use crate::listener::{Inner, accepted};
use crate::sys::baton::Errand;

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

    /// Waits for the next connection. Any number of tasks may.
    ///
    /// # Errors
    /// What makes the devices unusable.
    pub async fn accept(&self) -> io::Result<(PrpStream, PrpAddr)> {
        let inner = self.listener.inner()?;
        let attempt = |core: &mut Core, now: &mut Instant| accepted(core, *now, inner.listener);
        let interest = Interest::Accept(inner.listener);
        let conn = Waiting::new(&inner.engine, interest, attempt).await?;
        hand_out(inner, conn)
    }

    /// The next connection, or a wake-up when there is one. Only the task that polled last is woken.
    ///
    /// # Errors
    /// What makes the devices unusable.
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(PrpStream, PrpAddr)>> {
        let inner = self.listener.inner()?;
        let (interest, task) = (Interest::Accept(inner.listener), Task::LastToPoll);
        let polled = poll_engine(&inner.engine, Errand::Brief, interest, cx, task, |core, now| {
            accepted(core, *now, inner.listener)
        });
        polled.map(|conn| hand_out(inner, conn?))
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn local_addr(&self) -> io::Result<PrpAddr> {
        self.listener.local_addr()
    }
}

fn hand_out(listener: &Inner, conn: ConnHandle) -> io::Result<(PrpStream, PrpAddr)> {
    let (stream, peer) = listener.wrap(conn)?;
    Ok((PrpStream::from_std(stream)?, peer))
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
