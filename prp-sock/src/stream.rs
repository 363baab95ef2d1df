//! `PrpStream`: what `TcpStream` is, over PRP.

mod io_calls;
mod options;
mod wait_any;
mod write;

use std::fmt;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use prp_proto::addr::{Port, PrpAddr};
use prp_proto::error::ConnectError;
use prp_proto::event::ConnHandle;
use prp_proto::state::{SendSide, State};
use prp_proto::time::Instant;

use crate::addr::ToPrpAddrs;
use crate::builder::{Builder, StreamOptions};
use crate::engine::{Core, Engine, Interest, PortClaimer, Wait};
use crate::error;
use crate::wait_fd::WaitFd;
pub(crate) use options::{check_keepalive, check_timeout};
pub use wait_any::{Awaited, wait_any, wait_any_polling};
#[cfg(feature = "tokio")]
pub(crate) use {io_calls::ReadWait, write::lock_class};

/// A reliable byte stream to another node of the cluster, in place of [`std::net::TcpStream`].
///
/// Dropping the last clone closes the connection: what was written is still delivered, in the
/// background, even if the process exits. Dropping it with data unread, or with a linger time of
/// zero, resets the connection.
///
/// ```no_run
/// use std::io::{Read, Write};
/// use prp_sock::PrpStream;
///
/// let mut stream = PrpStream::connect("gamma:80")?;
/// stream.write_all(b"hello")?;
/// let mut answer = String::new();
/// stream.read_to_string(&mut answer)?;
/// # std::io::Result::Ok(())
/// ```
pub struct PrpStream {
    inner: Arc<StreamInner>,
}

/// What the clones of a stream share.
pub(crate) struct StreamInner {
    pub(crate) engine: Arc<Engine>,
    pub(crate) conn: ConnHandle,
    local: PrpAddr,
    pub(crate) peer: PrpAddr,
    options: StreamOptions,
    /// Bytes that were taken of the message being received.
    message_taken: AtomicUsize,
    /// In nanoseconds; zero waits for ever.
    read_timeout: AtomicU64,
    write_timeout: AtomicU64,
    nonblocking: AtomicBool,
    nodelay: AtomicBool,
    ttl: AtomicU32,
    /// In nanoseconds; [`NO_LINGER`] for none.
    linger: AtomicU64,
    pub(crate) fd: WaitFd,
}

impl PrpStream {
    /// Connects to the first of the addresses that answers.
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub fn connect(addr: impl ToPrpAddrs) -> io::Result<Self> {
        Builder::new().connect(addr)
    }

    /// Connects to `addr`, waiting for at most `timeout`.
    ///
    /// # Errors
    /// `TimedOut` when the time is over, `InvalidInput` for a timeout of zero, and as
    /// [`Builder::connect`].
    pub fn connect_timeout(addr: &PrpAddr, timeout: Duration) -> io::Result<Self> {
        if timeout.is_zero() {
            return Err(error::zero_timeout());
        }
        Builder::new().connect_timeout(timeout).connect(*addr)
    }

    /// Settings for a stream that is to differ from the default.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The address of the peer.
    ///
    /// # Errors
    /// `NotConnected` while a nonblocking connect waits for its answer.
    pub fn peer_addr(&self) -> io::Result<PrpAddr> {
        let inner = self.inner()?;
        match inner.engine.lock().endpoint.state(inner.conn) {
            State::ConnWait => Err(error::not_connected()),
            _ => Ok(inner.peer),
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn local_addr(&self) -> io::Result<PrpAddr> {
        Ok(self.inner.local)
    }

    /// Closes one direction or both. Data written before is delivered; threads that wait are woken.
    ///
    /// # Errors
    /// `NotConnected` if the connection is over.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let inner = self.inner()?;
        let now = inner.engine.now();
        let mut core = inner.engine.lock();
        // Frames that wait in a socket came before this call: data that comes when both directions
        // are closed resets the connection.
        core.poll_what_waits(now);
        let state = core.endpoint.state(inner.conn);
        if state.is_finished() || !matches!(state, State::Established { .. }) {
            return Err(error::not_connected());
        }
        if how != Shutdown::Write {
            core.endpoint.shutdown_receive(now, inner.conn);
        }
        if how != Shutdown::Read {
            core.endpoint.shutdown_send(now, inner.conn);
        }
        core.show_shutdown(inner.conn);
        inner.engine.finish(core, now);
        Ok(())
    }

    /// Waits until the peer has acknowledged everything written, and the end of it too if the
    /// sending direction was closed. A peer of 1997 acknowledges nothing: there it waits until all
    /// has been sent.
    ///
    /// # Errors
    /// The error the connection ended with; `BrokenPipe` if that was reported before and not
    /// everything was acknowledged; `WouldBlock` after the write timeout.
    pub fn wait_delivered(&self) -> io::Result<()> {
        let inner = self.inner()?;
        let deadline = load_timeout(&inner.write_timeout).map(|t| inner.engine.now() + t);
        let interest = Interest::Flush(inner.conn);
        let mut wait = DeliveredWait { conn: inner.conn };
        inner
            .engine
            .wait(interest, deadline, inner.options.waits, &mut wait)
            .map_err(error::wait)?
    }

    /// Another handle to the same connection, with the same options and timeouts.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { inner: self.inner.clone() })
    }

    /// The error the connection ended with, once.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let inner = self.inner()?;
        let mut core = inner.engine.lock();
        let error = core.endpoint.take_error(inner.conn);
        core.show(inner.conn);
        Ok(error.map(error::conn))
    }

    /// Asks for a connection and waits for the answer.
    pub(crate) fn open(
        engine: &Arc<Engine>,
        peer: PrpAddr,
        local: Option<Port>,
        builder: &Builder,
    ) -> io::Result<Self> {
        let stream = Self::request(engine, peer, local, builder)?;
        stream.finish_connect()?;
        Ok(stream)
    }

    /// Waits until the request is answered.
    pub(crate) fn finish_connect(&self) -> io::Result<()> {
        let inner = &self.inner;
        let mut wait = ConnectWait { conn: inner.conn, peer: inner.peer };
        loop {
            let interest = Interest::Connect(inner.conn);
            // As with TCP, a connect that a signal interrupts goes on.
            if let Ok(answer) = inner.engine.wait(interest, None, inner.options.waits, &mut wait) {
                return answer;
            }
        }
    }

    /// Asks for a connection.
    pub(crate) fn request(
        engine: &Arc<Engine>,
        peer: PrpAddr,
        local: Option<Port>,
        builder: &Builder,
    ) -> io::Result<Self> {
        let now = engine.now();
        let config = builder.config;
        let mut core = engine.lock_for(local)?;
        if let Some((device, is_there)) = core.device_down(peer.node) {
            core.unclaim(local);
            return Err(if is_there {
                error::device_down(peer, engine.device_name(device))
            } else {
                error::connect(ConnectError::NoRoute(peer.node), peer)
            });
        }
        let Core { endpoint, node: share, .. } = &mut *core;
        let mut claiming = PortClaimer::new(&mut share.claims);
        let asked = endpoint.connect(now, peer, local, config, |port| claiming.claim(port));
        let failed = claiming.failure();
        let conn = match (asked, failed) {
            (Ok(conn), _) => conn,
            (Err(e), failed) => {
                core.unclaim(local);
                return Err(failed.unwrap_or_else(|| error::connect(e, peer)));
            }
        };
        core.open_slot(conn);
        let port = core.endpoint.ends(conn).map(|(ours, _)| ours.port);
        if let Some(Err(e)) = port.map(|port| core.refilter(port)) {
            core.endpoint.release(now, conn, true);
            return Err(e);
        }
        let stream = Self::new(engine, &core, conn, builder.options);
        engine.finish(core, now);
        Ok(stream)
    }

    /// The stream of a connection that exists.
    pub(crate) fn new(
        engine: &Arc<Engine>,
        core: &Core,
        conn: ConnHandle,
        options: StreamOptions,
    ) -> Self {
        let node = PrpAddr::new(core.endpoint.local_node(), Port::CONTROL);
        let (local, peer) = core.endpoint.ends(conn).unwrap_or((node, node));
        let ttl = core.endpoint.conn_config(conn).map_or(0, |c| c.hop_limit);
        let inner = StreamInner {
            engine: engine.clone(),
            conn,
            local,
            peer,
            options,
            message_taken: AtomicUsize::new(0),
            read_timeout: AtomicU64::new(0),
            write_timeout: AtomicU64::new(0),
            nonblocking: AtomicBool::new(false),
            nodelay: AtomicBool::new(false),
            ttl: AtomicU32::new(ttl.into()),
            linger: AtomicU64::new(NO_LINGER),
            fd: WaitFd::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The shared part, if this is the process it belongs to.
    pub(crate) fn inner(&self) -> io::Result<&StreamInner> {
        if self.inner.engine.is_ours() { Ok(&self.inner) } else { Err(error::forked()) }
    }

    /// A descriptor for `poll`, `epoll` and what is built on them. It shows in every state what the
    /// descriptor of a `TcpStream` would, edge for edge, errors and hang-ups included.
    ///
    /// It is for waiting only: it is a Unix socket, to which the stream's data never come. Bytes
    /// that are read from it or written to it, and options that are set on it, are not the
    /// stream's.
    ///
    /// # Errors
    /// `EMFILE` and the like: the descriptor is made when first asked for, and takes two
    /// descriptors.
    pub fn readiness(&self) -> io::Result<BorrowedFd<'_>> {
        let inner = self.inner()?;
        inner.fd.ask(|| {
            let mut core = inner.engine.lock();
            let fd = core.readiness_fd(Interest::Read(inner.conn))?;
            inner.engine.after_command(core);
            Ok(fd)
        })
    }
}

impl AsFd for PrpStream {
    /// Returns what [`PrpStream::readiness`] does. Where that is an error, the descriptor shows a
    /// hang-up, and the next nonblocking call that would block returns the error.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.fd.or_hung_up(self.readiness())
    }
}

impl AsRawFd for PrpStream {
    /// Returns the descriptor of [`AsFd::as_fd`].
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

// A panic leaves the stream as it is: its state is in the engine, and no code of the application
// runs while that is changed.
impl UnwindSafe for PrpStream {}
impl RefUnwindSafe for PrpStream {}

impl fmt::Debug for PrpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrpStream")
            .field("addr", &self.inner.local)
            .field("peer", &self.inner.peer)
            .finish_non_exhaustive()
    }
}

impl Drop for StreamInner {
    fn drop(&mut self) {
        // In a forked child the engine's state is a copy that no thread runs: leave it alone.
        if !self.engine.is_ours() {
            return;
        }
        // Before what it shows ends: a closed descriptor wakes no thread.
        self.fd.close();
        let linger = load_linger(&self.linger);
        if let Some(span) = linger.filter(|span| !span.is_zero()) {
            self.linger(span);
        }
        let now = self.engine.now();
        let mut core = self.engine.lock();
        // Data that has come unseen counts as unread, which makes this a reset.
        core.poll_once(now, None);
        core.close_slot(self.conn);
        core.endpoint.release(now, self.conn, linger == Some(Duration::ZERO));
        self.engine.finish(core, now);
    }
}

impl StreamInner {
    /// Waits until the peer has everything, for at most `span`. It must be done before the
    /// connection is released: after that its end is not reported.
    fn linger(&self, span: Duration) {
        let now = self.engine.now();
        let mut core = self.engine.lock();
        if matches!(core.endpoint.peek(now, self.conn, &mut [0]), Ok(1..)) {
            // Dropping it with data unread resets it: nothing will be delivered.
            return;
        }
        core.endpoint.shutdown_send(now, self.conn);
        self.engine.finish(core, now);
        let mut wait = FlushWait { conn: self.conn };
        let interest = Interest::Flush(self.conn);
        let _ = self.engine.wait(interest, Some(now + span), self.options.waits, &mut wait);
    }
}

struct ConnectWait {
    conn: ConnHandle,
    peer: PrpAddr,
}

impl Wait for ConnectWait {
    type Out = io::Result<()>;

    fn attempt(&mut self, core: &mut Core, _: &mut Instant) -> Option<io::Result<()>> {
        connected(core, self.conn, self.peer)
    }
}

/// The answer to a request for a connection to `peer`, once there is one.
pub(crate) fn connected(
    core: &mut Core,
    conn: ConnHandle,
    peer: PrpAddr,
) -> Option<io::Result<()>> {
    match core.endpoint.state(conn) {
        State::ConnWait => core.check().err().map(Err),
        State::Established { .. } => Some(Ok(())),
        State::Close | State::Listen => {
            let error = core.endpoint.take_error(conn);
            let stats = core.endpoint.conn_stats(conn).copied().unwrap_or_default();
            let ended = |e| error::unanswered(e, peer, &stats.drops);
            Some(Err(error.map_or_else(error::not_connected, ended)))
        }
    }
}

struct DeliveredWait {
    conn: ConnHandle,
}

impl Wait for DeliveredWait {
    type Out = io::Result<()>;

    fn attempt(&mut self, core: &mut Core, _: &mut Instant) -> Option<io::Result<()>> {
        delivered(core, self.conn)
    }
}

/// Whether the peer has acknowledged everything, once that is settled.
pub(crate) fn delivered(core: &mut Core, conn: ConnHandle) -> Option<io::Result<()>> {
    let delivered = match core.endpoint.state(conn) {
        State::ConnWait => false,
        State::Established { send, .. } => {
            // The flush is asked for in any case, so that its event comes.
            let flushed = core.endpoint.await_flushed(conn);
            flushed && send != SendSide::Closing
        }
        State::Close | State::Listen => {
            let error = core.endpoint.take_error(conn).map(error::conn);
            let lost = || core.endpoint.has_lost_data(conn).then(error::lost_data);
            return Some(error.or_else(lost).map_or(Ok(()), Err));
        }
    };
    if delivered { Some(Ok(())) } else { core.check().err().map(Err) }
}

struct FlushWait {
    conn: ConnHandle,
}

impl Wait for FlushWait {
    type Out = ();

    fn attempt(&mut self, core: &mut Core, _: &mut Instant) -> Option<()> {
        core.endpoint.await_flushed(self.conn).then_some(())
    }
}

fn load_timeout(cell: &AtomicU64) -> Option<Duration> {
    match cell.load(Ordering::Relaxed) {
        0 => None,
        nanos => Some(Duration::from_nanos(nanos)),
    }
}

/// Dropping the last handle delivers in the background.
const NO_LINGER: u64 = u64::MAX;

fn load_linger(cell: &AtomicU64) -> Option<Duration> {
    match cell.load(Ordering::Relaxed) {
        NO_LINGER => None,
        nanos => Some(Duration::from_nanos(nanos)),
    }
}

#[cfg(test)]
mod tests;
