//! The descriptor by which a program waits for a stream or a listener.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error;

/// An end whose other end is closed: it shows everything that can be waited for, so no program
/// sleeps by it.
static HUNG_UP: OnceLock<UnixStream> = OnceLock::new();

/// Makes the descriptor that stands in for those that cannot be made, once for the process. It is
/// made while descriptors are left.
pub(crate) fn prepare() -> io::Result<()> {
    if HUNG_UP.get().is_none() {
        let (end, other) = UnixStream::pair()?;
        end.set_nonblocking(true)?;
        drop(other);
        // Another thread may have been first.
        let _ = HUNG_UP.set(end);
    }
    Ok(())
}

/// A descriptor that is made when first asked for.
#[derive(Debug, Default)]
pub(crate) struct WaitFd {
    fd: OnceLock<Arc<UnixStream>>,
    /// Number of the error for which there was none; zero once a call has returned it.
    failure: AtomicI32,
}

impl WaitFd {
    /// Returns it, made by `make` if this is the first time.
    pub(crate) fn ask(
        &self,
        make: impl FnOnce() -> io::Result<Arc<UnixStream>>,
    ) -> io::Result<BorrowedFd<'_>> {
        if self.fd.get().is_none() {
            let _ = self.fd.set(make()?);
        }
        self.fd.get().map(AsFd::as_fd).ok_or_else(error::not_connected)
    }

    /// Returns `asked`, or the descriptor that stands in for it; the next call that would block
    /// has the error then.
    pub(crate) fn or_hung_up<'a>(&self, asked: io::Result<BorrowedFd<'a>>) -> BorrowedFd<'a> {
        asked.unwrap_or_else(|error| {
            self.failure.store(error::error_number(&error), Ordering::Relaxed);
            HUNG_UP.get().expect("an engine has made it").as_fd()
        })
    }

    /// Returns what a call says that could only wait: `WouldBlock`, or for want of what the
    /// program could wait for, why there is nothing.
    pub(crate) fn would_block(&self) -> io::Error {
        match self.failure.swap(0, Ordering::Relaxed) {
            0 => error::would_block(),
            number => io::Error::from_raw_os_error(number),
        }
    }

    /// Closes it.
    pub(crate) fn close(&mut self) {
        self.fd.take();
    }
}

#[cfg(test)]
mod tests;
