//! Listeners.

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Instant;

use parking_lot::Mutex;
use prp_node::fork::PerProcess;
use prp_sock::{Awaited, PrpAddr, PrpListener, wait_any};

use crate::handle_table::{HandleKind, HandleTable};
use crate::option;
use crate::settings::{Settings, StreamSettings};
use crate::stream::Stream;
use crate::sys::export as names;

/// All listeners of this process that have a handle.
pub(crate) static LISTENERS: PerProcess<HandleTable<Listener>> =
    PerProcess::new(|| HandleTable::new(HandleKind::Listener));

/// What `prp_listener` stands for.
#[derive(Debug)]
pub(crate) struct Listener {
    /// Nonblocking: waits are this module's.
    pub(crate) listener: PrpListener,
    /// What accepted streams begin with.
    settings: Mutex<StreamSettings>,
}

impl Listener {
    /// Listens at `address`.
    pub(crate) fn bind(address: &str, settings: &Settings) -> io::Result<Self> {
        let listener = settings.builder().bind(address)?;
        listener.set_nonblocking(true)?;
        settings.streams.ttl.map_or(Ok(()), |ttl| listener.set_ttl(ttl))?;
        Ok(Self { listener, settings: Mutex::new(settings.streams) })
    }

    /// Accepts a connection.
    pub(crate) fn accept(&self) -> io::Result<(Stream, PrpAddr)> {
        let settings = *self.settings.lock();
        let deadline = settings.read_timeout.and_then(|t| Instant::now().checked_add(t));
        loop {
            match self.listener.accept() {
                Err(e) if e.kind() == ErrorKind::WouldBlock && !settings.nonblocking => {}
                Err(e) => return Err(e),
                Ok((stream, peer)) => return Ok((Stream::new(stream, settings)?, peer)),
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let ready = wait_any(&mut [Awaited::accept(&self.listener)], None, left)?;
            if ready == 0 && left.is_some_and(|left| left.is_zero()) {
                return Err(io::Error::from_raw_os_error(libc::EAGAIN));
            }
        }
    }

    /// Sets an option.
    pub(crate) fn set(&self, name: i32, value: i64) -> io::Result<()> {
        let mut settings = self.settings.lock();
        let mut changed = *settings;
        if !StreamSettings::applies(name) || !changed.set(name, value)? {
            return Err(option::unknown(name, "not of a listener that is there already"));
        }
        if name == names::PRP_OPT_TTL
            && let Some(ttl) = changed.ttl
        {
            self.listener.set_ttl(ttl)?;
        }
        *settings = changed;
        Ok(())
    }

    /// The value of an option.
    pub(crate) fn value(&self, name: i32) -> io::Result<i64> {
        if name == names::PRP_OPT_TTL {
            return Ok(self.listener.ttl()?.into());
        }
        let has = StreamSettings::applies(name);
        let value = has.then(|| self.settings.lock().value(name)).flatten();
        value.ok_or_else(|| option::unknown(name, "not of a listener"))
    }

    /// The descriptor that shows whether a connection waits.
    pub(crate) fn fd(&self) -> io::Result<RawFd> {
        Ok(self.listener.readiness()?.as_raw_fd())
    }
}
