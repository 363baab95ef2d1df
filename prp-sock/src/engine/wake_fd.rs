//! What gets a thread out of `poll`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use nix::sys::eventfd::{EfdFlags, EventFd};

/// A descriptor that is readable from the first `wake` until `clear`.
#[derive(Debug)]
pub(super) struct WakeFd(EventFd);

impl WakeFd {
    pub(super) fn new() -> io::Result<Arc<Self>> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        Ok(Arc::new(Self(EventFd::from_value_and_flags(0, flags)?)))
    }

    pub(super) fn wake(&self) {
        // It can only fail by being readable already.
        let _ = self.0.write(1);
    }

    /// Undoes `wake`, so that the next `poll` sleeps.
    pub(super) fn clear(&self) {
        let _ = self.0.read();
    }
}

impl AsFd for WakeFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
