//! `PrpListener`: what `TcpListener` is, over PRP.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use prp_proto::addr::{Port, PrpAddr};
use prp_proto::event::{ConnHandle, ListenHandle};
use prp_proto::time::Instant;

use crate::addr::ToPrpAddrs;
use crate::builder::{Builder, StreamOptions};
use crate::engine::{Core, Engine, Interest, PortClaimer, Wait, WaitError};
use crate::error;
use crate::stream::PrpStream;
use crate::wait_fd::WaitFd;

/// A port that takes connections, in place of [`std::net::TcpListener`].
///
/// ```no_run
/// use prp_sock::PrpListener;
///
/// let listener = PrpListener::bind("self:80")?;
/// for stream in listener.incoming() {
///     println!("{}", stream?.peer_addr()?);
/// }
/// # std::io::Result::Ok(())
/// ```
pub struct PrpListener {
    pub(crate) inner: Arc<ListenerInner>,
}

/// What the clones of a listener share.
pub(crate) struct ListenerInner {
    pub(crate) engine: Arc<Engine>,
    pub(crate) listener: ListenHandle,
    addr: PrpAddr,
    options: StreamOptions,
    nonblocking: AtomicBool,
    ttl: AtomicU32,
    pub(crate) fd: WaitFd,
}

impl PrpListener {
    /// Listens on the first of the addresses that can be had. The node must be the local one:
    /// `self:80`, its own number or name, or a [`Port`] alone; port 0 stands for any free one.
    ///
    /// # Errors
    /// As [`Builder::bind`].
    pub fn bind(addr: impl ToPrpAddrs) -> io::Result<Self> {
        Builder::new().bind(addr)
    }

    /// Settings for a listener that is to differ from the default.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// `WouldBlock` if nonblocking.
    pub fn accept(&self) -> io::Result<(PrpStream, PrpAddr)> {
        self.accept_until(None)
    }

    /// As [`Self::accept`], waiting for at most `timeout`.
    ///
    /// # Errors
    /// `TimedOut` when the time is over, and as [`Self::accept`].
    pub fn accept_timeout(&self, timeout: Duration) -> io::Result<(PrpStream, PrpAddr)> {
        self.accept_until(Some(self.inner()?.engine.now() + timeout))
    }

    fn accept_until(&self, deadline: Option<Instant>) -> io::Result<(PrpStream, PrpAddr)> {
        let inner = self.inner()?;
        let mut wait = AcceptWait { listener: inner.listener };
        let conn = loop {
            let interest = Interest::Accept(inner.listener);
            if inner.nonblocking.load(Ordering::Relaxed) {
                break inner.try_accept(&mut wait)?;
            }
            match inner.engine.wait(interest, deadline, inner.options.waits, &mut wait) {
                Ok(conn) => break conn?,
                Err(WaitError::TimedOut) => return Err(io::ErrorKind::TimedOut.into()),
                // As with TCP, accepting goes on behind a signal handler's back.
                Err(WaitError::Interrupted) => {}
            }
        };
        inner.wrap(conn)
    }

    /// Connections as they come; never ends.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }

    /// As [`Self::incoming`], keeping the listener.
    pub fn into_incoming(self) -> IntoIncoming {
        IntoIncoming { listener: self }
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn local_addr(&self) -> io::Result<PrpAddr> {
        Ok(self.inner.addr)
    }

    /// Another handle to the same port.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { inner: self.inner.clone() })
    }

    /// Whether accepting fails with `WouldBlock` instead of waiting.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.inner.nonblocking.store(nonblocking, Ordering::Relaxed);
        Ok(())
    }

    /// The error of the listener: it has none.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(None)
    }

    /// Routers a frame of an accepted connection may cross; see [`PrpStream::set_ttl`].
    ///
    /// # Errors
    /// `InvalidInput` for zero or more than 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        if ttl == 0 || ttl > 255 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.inner.ttl.store(ttl, Ordering::Relaxed);
        let hops = ttl.min(u32::from(u8::MAX)) as u8;
        self.inner()?.engine.lock().endpoint.set_hop_limit(self.inner.listener, hops);
        Ok(())
    }

    /// What [`Self::set_ttl`] was last told.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpListener`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.inner.ttl.load(Ordering::Relaxed))
    }

    /// A descriptor that is readable when a connection waits; see [`PrpStream::readiness`].
    ///
    /// # Errors
    /// `EMFILE` and the like.
    pub fn readiness(&self) -> io::Result<BorrowedFd<'_>> {
        let inner = self.inner()?;
        inner.fd.ask(|| {
            let mut core = inner.engine.lock();
            let fd = core.readiness_fd(Interest::Accept(inner.listener))?;
            inner.engine.after_command(core);
            Ok(fd)
        })
    }

    /// A task may wait for connections from now on.
    #[cfg(feature = "tokio")]
    pub(crate) fn attach_task(&self) -> io::Result<()> {
        let inner = self.inner()?;
        let mut core = inner.engine.lock();
        core.waiting.async_waiters += 1;
        inner.engine.after_command(core);
        Ok(())
    }

    /// A task waits for connections no longer.
    #[cfg(feature = "tokio")]
    pub(crate) fn detach_task(&self) {
        if let Ok(inner) = self.inner() {
            inner.engine.lock().waiting.async_waiters -= 1;
        }
    }

    pub(crate) fn open(
        engine: &Arc<Engine>,
        addr: PrpAddr,
        backlog: usize,
        builder: &Builder,
    ) -> io::Result<Self> {
        let node = engine.local_node();
        if addr.node != node {
            return Err(error::not_here(addr, node));
        }
        engine.check_node_ports()?;
        let wanted = (addr.port != Port::CONTROL).then_some(addr.port);
        let mut core = engine.lock_for(wanted)?;
        let port = match wanted {
            Some(port) => port,
            None => {
                let Core { endpoint, node: share, .. } = &mut *core;
                let mut claiming = PortClaimer::new(&mut share.claims);
                let picked = endpoint.pick_port(|port| claiming.claim(port));
                picked.ok_or_else(|| claiming.failure().unwrap_or_else(|| error::no_port(node)))?
            }
        };
        let listener = core
            .endpoint
            .listen(port, backlog, builder.config)
            .map_err(|e| error::listen(e, PrpAddr::new(node, port)))?;
        if let Err(e) = core.refilter(port) {
            core.endpoint.unlisten(engine.now(), listener);
            return Err(e);
        }
        core.open_listener(listener);
        drop(core);
        let inner = ListenerInner {
            engine: engine.clone(),
            listener,
            addr: PrpAddr::new(addr.node, port),
            options: builder.options,
            nonblocking: AtomicBool::new(false),
            ttl: AtomicU32::new(builder.config.hop_limit.into()),
            fd: WaitFd::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The shared part, if this is the process it belongs to.
    pub(crate) fn inner(&self) -> io::Result<&ListenerInner> {
        if self.inner.engine.is_ours() { Ok(&self.inner) } else { Err(error::forked()) }
    }
}

impl ListenerInner {
    /// Accepts what is there.
    fn try_accept(&self, wait: &mut AcceptWait) -> io::Result<ConnHandle> {
        let mut now = self.engine.now();
        let mut core = self.engine.lock();
        let mut conn = wait.attempt(&mut core, &mut now);
        if conn.is_none() {
            core.poll_once(now, None);
            conn = wait.attempt(&mut core, &mut now);
        }
        core.show_listener(self.listener);
        self.engine.finish(core, now);
        conn.unwrap_or_else(|| Err(self.fd.would_block()))
    }

    /// The stream of a connection that was accepted, and its peer.
    pub(crate) fn wrap(&self, conn: ConnHandle) -> io::Result<(PrpStream, PrpAddr)> {
        let mut core = self.engine.lock();
        core.show_listener(self.listener);
        core.open_slot(conn);
        let stream = PrpStream::new(&self.engine, &core, conn, self.options);
        drop(core);
        let peer = stream.peer_addr()?;
        Ok((stream, peer))
    }
}

impl Drop for ListenerInner {
    fn drop(&mut self) {
        if !self.engine.is_ours() {
            return;
        }
        // Before what it shows ends: a closed descriptor wakes no thread.
        self.fd.close();
        let now = self.engine.now();
        let mut core = self.engine.lock();
        core.close_listener(self.listener);
        core.endpoint.unlisten(now, self.listener);
        self.engine.finish(core, now);
    }
}

struct AcceptWait {
    listener: ListenHandle,
}

impl Wait for AcceptWait {
    type Out = io::Result<ConnHandle>;

    fn attempt(&mut self, core: &mut Core, now: &mut Instant) -> Option<io::Result<ConnHandle>> {
        accepted(core, *now, self.listener)
    }
}

/// The next connection, once there is one.
pub(crate) fn accepted(
    core: &mut Core,
    now: Instant,
    listener: ListenHandle,
) -> Option<io::Result<ConnHandle>> {
    match core.endpoint.accept(now, listener) {
        Some(conn) => Some(Ok(conn)),
        None => core.check().err().map(Err),
    }
}

impl AsFd for PrpListener {
    /// Returns what [`PrpListener::readiness`] does. Where that is an error, the descriptor shows a
    /// connection, and the next nonblocking `accept` that has none returns the error.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.fd.or_hung_up(self.readiness())
    }
}

impl AsRawFd for PrpListener {
    /// Returns the descriptor of [`AsFd::as_fd`].
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

// As for a stream.
impl UnwindSafe for PrpListener {}
impl RefUnwindSafe for PrpListener {}

impl fmt::Debug for PrpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrpListener").field("addr", &self.inner.addr).finish_non_exhaustive()
    }
}

/// See [`PrpListener::incoming`].
#[derive(Debug)]
pub struct Incoming<'a> {
    listener: &'a PrpListener,
}

impl Iterator for Incoming<'_> {
    type Item = io::Result<PrpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.listener.accept().map(|(stream, _)| stream))
    }
}

impl std::iter::FusedIterator for Incoming<'_> {}

/// See [`PrpListener::into_incoming`].
#[derive(Debug)]
pub struct IntoIncoming {
    listener: PrpListener,
}

impl Iterator for IntoIncoming {
    type Item = io::Result<PrpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.listener.accept().map(|(stream, _)| stream))
    }
}

impl std::iter::FusedIterator for IntoIncoming {}

#[cfg(test)]
mod tests;
