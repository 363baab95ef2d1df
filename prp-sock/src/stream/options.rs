//! Options and statistics of a stream.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prp_proto::config::{ConnConfig, Keepalive};
use prp_proto::device::Device;
use prp_proto::endpoint::Terms;
use prp_proto::state::State;
use prp_proto::stats::{ConnStats, EndpointStats};

use super::{NO_LINGER, PrpStream, load_linger, load_timeout};
use crate::error;
use crate::stats::DeviceStats;

impl PrpStream {
    /// Longest time a read waits before it fails with `WouldBlock`; `None` waits for ever.
    ///
    /// # Errors
    /// `InvalidInput` for a timeout of zero.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        store_timeout(&self.inner.read_timeout, timeout)
    }

    /// Longest time a write waits before it fails with `WouldBlock`; `None` waits for ever.
    ///
    /// # Errors
    /// `InvalidInput` for a timeout of zero.
    pub fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        store_timeout(&self.inner.write_timeout, timeout)
    }

    /// The read timeout.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(load_timeout(&self.inner.read_timeout))
    }

    /// The write timeout.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(load_timeout(&self.inner.write_timeout))
    }

    /// Whether reads and writes fail with `WouldBlock` instead of waiting.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.inner.nonblocking.store(nonblocking, Ordering::Relaxed);
        Ok(())
    }

    /// Kept for programs that set it. PRP never holds a small write back, whatever this says: there
    /// is no Nagle algorithm to switch off.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.inner.nodelay.store(nodelay, Ordering::Relaxed);
        Ok(())
    }

    /// What [`Self::set_nodelay`] was last told.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(self.inner.nodelay.load(Ordering::Relaxed))
    }

    /// Routers a frame may cross. PRP knows up to 15; more counts as 15.
    ///
    /// # Errors
    /// `InvalidInput` for zero or more than 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        if ttl == 0 || ttl > 255 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.inner.ttl.store(ttl, Ordering::Relaxed);
        self.configure(|c| c.hop_limit = ttl.min(u32::from(u8::MAX)) as u8)
    }

    /// Routers a frame may cross, as last set.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(self.inner.ttl.load(Ordering::Relaxed))
    }

    /// What dropping the last handle does: `None` delivers in the background, zero resets the
    /// connection, anything else waits that long for the peer to acknowledge everything.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        // Longer times count as the longest that fits, more than five hundred years.
        let nanos = linger.map_or(NO_LINGER, |t| {
            u64::try_from(t.as_nanos()).unwrap_or(u64::MAX).min(NO_LINGER - 1)
        });
        self.inner.linger.store(nanos, Ordering::Relaxed);
        Ok(())
    }

    /// What [`Self::set_linger`] was last told.
    ///
    /// # Errors
    /// None; a `Result` as with `TcpStream`.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(load_linger(&self.inner.linger))
    }

    /// Probing of the peer while the connection is idle; `None` never asks.
    ///
    /// # Errors
    /// `InvalidInput` for a time or a number of probes of zero; `Unsupported` in a forked child.
    pub fn set_keepalive(&self, keepalive: Option<Keepalive>) -> io::Result<()> {
        check_keepalive(keepalive)?;
        self.configure(|c| c.keepalive = keepalive)
    }

    /// Longest wait for the peer to acknowledge data before the connection ends with `TimedOut`.
    ///
    /// # Errors
    /// `InvalidInput` for a timeout of zero; `Unsupported` in a forked child.
    pub fn set_user_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        check_timeout(timeout)?;
        self.configure(|c| c.user_timeout = timeout)
    }

    /// Returns what [`Self::set_keepalive`] or the builder last said.
    ///
    /// # Errors
    /// `NotConnected` once the connection is gone; `Unsupported` in a forked child.
    pub fn keepalive(&self) -> io::Result<Option<Keepalive>> {
        self.setting(|c| c.keepalive)
    }

    /// Returns what [`Self::set_user_timeout`] or the builder last said.
    ///
    /// # Errors
    /// As [`Self::keepalive`].
    pub fn user_timeout(&self) -> io::Result<Option<Duration>> {
        self.setting(|c| c.user_timeout)
    }

    /// Returns the bytes of the send buffer, as the builder set them or by default; it may have
    /// grown ([`Builder::send_buffer_max`](crate::Builder::send_buffer_max)).
    ///
    /// # Errors
    /// As [`Self::keepalive`].
    pub fn send_buffer(&self) -> io::Result<usize> {
        self.setting(|c| c.send_buffer)
    }

    /// Returns the bytes of the receive buffer, as the builder set them or by default.
    ///
    /// # Errors
    /// As [`Self::keepalive`].
    pub fn recv_buffer(&self) -> io::Result<usize> {
        self.setting(|c| c.recv_buffer.unwrap_or(Device::WINDOW))
    }

    /// What both ends agreed on: policy, segment size, CRC.
    ///
    /// # Errors
    /// `NotConnected` before the handshake is done or after the connection is gone.
    pub fn terms(&self) -> io::Result<Terms> {
        let inner = self.inner()?;
        let core = inner.engine.lock();
        match core.endpoint.state(inner.conn) {
            State::ConnWait => Err(error::not_connected()),
            _ => core.endpoint.terms(inner.conn).ok_or_else(error::not_connected),
        }
    }

    /// Counters of this connection.
    ///
    /// # Errors
    /// `NotConnected` once the connection is gone.
    pub fn stats(&self) -> io::Result<ConnStats> {
        let inner = self.inner()?;
        let core = inner.engine.lock();
        let stats = core.endpoint.conn_stats(inner.conn).copied();
        stats.ok_or_else(error::not_connected)
    }

    /// Counters of all connections this process has on this node, with reasons for every drop.
    ///
    /// # Errors
    /// `Unsupported` in a forked child.
    pub fn endpoint_stats(&self) -> io::Result<EndpointStats> {
        Ok(*self.inner()?.engine.lock().endpoint.stats())
    }

    /// Counters of the devices this process uses on this node.
    ///
    /// # Errors
    /// `Unsupported` in a forked child.
    pub fn device_stats(&self) -> io::Result<Vec<DeviceStats>> {
        Ok(DeviceStats::of(&self.inner()?.engine))
    }

    /// Memory this connection holds: a fixed part, and its buffers as far as they have grown.
    ///
    /// # Errors
    /// `NotConnected` once the connection is gone.
    pub fn memory(&self) -> io::Result<(usize, usize)> {
        let inner = self.inner()?;
        let memory = inner.engine.lock().endpoint.memory(inner.conn);
        memory.ok_or_else(error::not_connected)
    }

    fn setting<T>(&self, f: impl FnOnce(&ConnConfig) -> T) -> io::Result<T> {
        let inner = self.inner()?;
        let core = inner.engine.lock();
        core.endpoint.conn_config(inner.conn).map(f).ok_or_else(error::not_connected)
    }

    fn configure(&self, f: impl FnOnce(&mut ConnConfig)) -> io::Result<()> {
        let inner = self.inner()?;
        let now = inner.engine.now();
        let mut core = inner.engine.lock();
        core.endpoint.configure(now, inner.conn, f);
        inner.engine.finish(core, now);
        Ok(())
    }
}

fn store_timeout(cell: &AtomicU64, timeout: Option<Duration>) -> io::Result<()> {
    check_timeout(timeout)?;
    let nanos = timeout.map_or(0, |t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX));
    cell.store(nanos, Ordering::Relaxed);
    Ok(())
}

/// Refuses a timeout of zero.
pub(crate) fn check_timeout(timeout: Option<Duration>) -> io::Result<()> {
    if timeout == Some(Duration::ZERO) { Err(error::zero_timeout()) } else { Ok(()) }
}

/// Refuses zeros, by which a connection would end although its peer answers.
pub(crate) fn check_keepalive(keepalive: Option<Keepalive>) -> io::Result<()> {
    let has_zero = |k: Keepalive| k.idle.is_zero() || k.interval.is_zero() || k.probes == 0;
    if keepalive.is_some_and(has_zero) {
        let text = "cannot set a keepalive with a time of 0 or without probes";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(())
}
