//! The descriptors of this process that stand for streams and listeners of PRP.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use prp_sock::{PrpAddr, PrpListener, PrpStream};

use crate::report;

/// What a descriptor stands for.
#[derive(Debug)]
pub(crate) enum Descriptor {
    /// A listening port, and the connections that `poll` has accepted. The kernel's socket stays
    /// open, since the kernel allocates the port numbers.
    Listener {
        listener: PrpListener,
        found: Mutex<VecDeque<(PrpStream, PrpAddr)>>,
        _port: OwnedFd,
        flags: Flags,
    },
    /// A connection.
    Stream { stream: PrpStream, flags: Flags },
}

/// The file status flags that `fcntl` reads and sets: `O_NONBLOCK`.
#[derive(Debug, Default)]
pub(crate) struct Flags(AtomicUsize);

impl Flags {
    /// Flags with the value that `fcntl` has.
    pub(crate) fn new(bits: c_int) -> Self {
        let flags = Self::default();
        flags.set(bits);
        flags
    }

    /// The flags.
    pub(crate) fn bits(&self) -> c_int {
        libc::O_RDWR | self.0.load(Ordering::Relaxed) as c_int
    }

    fn set(&self, bits: c_int) {
        self.0.store((bits & libc::O_NONBLOCK) as usize, Ordering::Relaxed);
    }
}

impl Descriptor {
    /// A listener.
    pub(crate) fn listener(listener: PrpListener, port: OwnedFd, bits: c_int) -> Arc<Self> {
        let flags = Flags::new(bits);
        Arc::new(Self::Listener { listener, found: Mutex::default(), _port: port, flags })
    }

    /// A stream.
    ///
    /// # Errors
    /// Those of the stream.
    pub(crate) fn stream(stream: PrpStream, bits: c_int) -> io::Result<Arc<Self>> {
        let made = Self::Stream { stream, flags: Flags::new(bits) };
        made.set_flags(bits)?;
        Ok(Arc::new(made))
    }

    /// The stream, if it is one.
    ///
    /// # Errors
    /// `NotConnected` for a listener.
    pub(crate) fn as_stream(&self) -> io::Result<&PrpStream> {
        match self {
            Self::Stream { stream, .. } => Ok(stream),
            Self::Listener { .. } => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The next connection of a listener.
    ///
    /// # Errors
    /// `WouldBlock` if the listener is nonblocking and there is no connection;
    /// `InvalidInput` for a stream.
    pub(crate) fn accept(&self) -> io::Result<(PrpStream, PrpAddr)> {
        let Self::Listener { listener, found, .. } = self else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if let Some(found) = found.lock().pop_front() {
            return Ok(found);
        }
        if self.is_nonblocking() {
            accept_within(listener, Duration::ZERO)
        } else {
            listener.accept()
        }
    }

    /// Waits for a connection for at most `timeout`; whether `accept` would return one at once.
    /// `false` for a stream.
    ///
    /// The readiness descriptor of the listener would show this as well. But while a thread waits
    /// for that descriptor, the background thread receives all frames.
    pub(crate) fn has_connection(&self, timeout: Duration) -> bool {
        let Self::Listener { listener, found, .. } = self else { return false };
        let mut found = found.lock();
        if found.is_empty() {
            match accept_within(listener, timeout) {
                Ok(connection) => found.push_back(connection),
                // `accept` reports the error.
                Err(e) => return e.kind() != io::ErrorKind::WouldBlock,
            }
        }
        true
    }

    /// The flags of `fcntl`.
    pub(crate) fn flags(&self) -> c_int {
        match self {
            Self::Listener { flags, .. } | Self::Stream { flags, .. } => flags.bits(),
        }
    }

    /// Whether the descriptor is nonblocking.
    pub(crate) fn is_nonblocking(&self) -> bool {
        self.flags() & libc::O_NONBLOCK != 0
    }

    /// Sets the flags of `fcntl`.
    ///
    /// # Errors
    /// Those of the stream or listener.
    pub(crate) fn set_flags(&self, bits: c_int) -> io::Result<()> {
        let nonblocking = bits & libc::O_NONBLOCK != 0;
        match self {
            Self::Listener { flags, .. } => {
                flags.set(bits);
                Ok(())
            }
            Self::Stream { stream, flags } => {
                flags.set(bits);
                stream.set_nonblocking(nonblocking)
            }
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// Those of the stream or listener.
    pub(crate) fn local_addr(&self) -> io::Result<PrpAddr> {
        match self {
            Self::Listener { listener, .. } => listener.local_addr(),
            Self::Stream { stream, .. } => stream.local_addr(),
        }
    }
}

/// Accepts a connection within `timeout`; `WouldBlock` if there is none.
fn accept_within(listener: &PrpListener, timeout: Duration) -> io::Result<(PrpStream, PrpAddr)> {
    listener.accept_timeout(timeout).map_err(|e| match e.kind() {
        io::ErrorKind::TimedOut => io::ErrorKind::WouldBlock.into(),
        _ => e,
    })
}

/// The descriptors by number.
static TABLE: RwLock<Vec<Option<Arc<Descriptor>>>> = RwLock::new(Vec::new());
/// Number of descriptors in the table. Most processes have none, and then no call takes the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The stream or listener with the descriptor `number`, if there is one.
pub(crate) fn find(number: c_int) -> Option<Arc<Descriptor>> {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    TABLE.read().get(usize::try_from(number).ok()?)?.clone()
}

/// Registers `made` as the descriptor `number`.
pub(crate) fn insert(number: c_int, made: Arc<Descriptor>) {
    let Ok(at) = usize::try_from(number) else { return };
    let mut table = TABLE.write();
    if table.len() <= at {
        table.resize(at + 1, None);
    }
    let before = table[at].replace(made);
    if before.is_none() {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
    // Dropping it may call functions that read the table.
    drop(table);
    drop(before);
}

/// Removes the descriptor `number`, and counts its stream.
pub(crate) fn remove(number: c_int) {
    if find(number).is_none() {
        return;
    }
    let taken = TABLE.write()[number as usize].take();
    if let Some(taken) = taken {
        COUNT.fetch_sub(1, Ordering::Relaxed);
        if let Descriptor::Stream { stream, .. } = &*taken {
            report::count(stream);
        }
    }
}

/// Calls `f` with every stream.
pub(crate) fn for_each_stream(f: impl Fn(&PrpStream)) {
    let all: Vec<_> = TABLE.read().iter().flatten().cloned().collect();
    for descriptor in all {
        if let Descriptor::Stream { stream, .. } = &*descriptor {
            f(stream);
        }
    }
}
