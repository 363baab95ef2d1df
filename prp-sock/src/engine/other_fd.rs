//! A descriptor of the program's own that a thread waits for together with streams.

use std::cell::Cell;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::waiter::Waiter;

/// A descriptor that ends a wait, too.
#[derive(Debug)]
pub(crate) struct OtherFd<'a> {
    fd: BorrowedFd<'a>,
    is_readable: Cell<bool>,
}

impl<'a> OtherFd<'a> {
    /// Not known to be readable.
    pub(crate) const fn new(fd: BorrowedFd<'a>) -> Self {
        Self { fd, is_readable: Cell::new(false) }
    }

    /// Whether it was readable when it was last polled.
    pub(crate) const fn is_readable(&self) -> bool {
        self.is_readable.get()
    }

    /// Polls it, without waiting; whether it is readable.
    pub(super) fn poll(&self) -> bool {
        let mut fds = [PollFd::new(self.fd, PollFlags::POLLIN)];
        // Whatever is wrong with it shows where it is used.
        let polled = ppoll(&mut fds, Some(TimeSpec::from_duration(Duration::ZERO)), None);
        self.note(polled.is_ok() && fds[0].any() == Some(true));
        self.is_readable()
    }

    /// To poll it together with others.
    pub(super) const fn fd(&self) -> BorrowedFd<'a> {
        self.fd
    }

    /// It was polled together with others.
    pub(super) fn note(&self, is_readable: bool) {
        self.is_readable.set(is_readable);
    }

    /// Sleeps until it is readable, `me` is called or `timeout` is over. The waiter must have a
    /// descriptor of its own, as that of `ThreadParker::take_polling`.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn sleep(&self, me: &Waiter, timeout: Option<Duration>) -> io::Result<()> {
        let mut fds = [me.wake_fd(), self.fd].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let timeout = if me.begin_poll() { Some(Duration::ZERO) } else { timeout };
        let polled = ppoll(&mut fds, timeout.map(TimeSpec::from_duration), None);
        let [called, readable] = fds.map(|fd| polled.is_ok() && fd.any() == Some(true));
        me.end_poll(called);
        self.note(readable);
        polled.map(drop).map_err(io::Error::from)
    }
}
