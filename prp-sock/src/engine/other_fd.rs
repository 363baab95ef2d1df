//! A descriptor of the program's own that a thread waits for together with streams.

use std::cell::Cell;
use std::os::fd::BorrowedFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

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

    /// To poll it together with others.
    pub(super) const fn fd(&self) -> BorrowedFd<'a> {
        self.fd
    }

    /// It was polled together with others.
    pub(super) fn note(&self, is_readable: bool) {
        self.is_readable.set(is_readable);
    }

    /// Polls it.
    pub(super) fn poll(&self) -> bool {
        let mut fds = [PollFd::new(self.fd, PollFlags::POLLIN)];
        let polled = poll(&mut fds, PollTimeout::ZERO);
        self.note(polled.is_ok() && fds[0].any() == Some(true));
        self.is_readable()
    }
}
