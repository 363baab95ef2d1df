//! Which of standard input, output and error were closed when the process began.
//!
//! Before `main`, the standard library opens /dev/null in the place of those, so that no other file
//! gets their numbers. What is written there would be lost without a word, and a sender be told
//! that all has arrived. So this asks before that.
#![allow(unsafe_code, reason = "a function that the loader calls before main")]

use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

use nix::errno::Errno;
use nix::libc;

/// A bit for each descriptor that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// One of the three.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Standard {
    Input = 0,
    Output = 1,
}

impl Standard {
    /// Whether it was there when the process began.
    ///
    /// # Errors
    /// `EBADF` if not, as from read(2) and write(2).
    pub(crate) fn check(self) -> io::Result<()> {
        match CLOSED.load(Ordering::Relaxed) >> (self as u8) & 1 {
            0 => Ok(()),
            _ => Err(Errno::EBADF.into()),
        }
    }
}

extern "C" fn record_closed() {
    for standard in [Standard::Input, Standard::Output] {
        // SAFETY: F_GETFD takes no pointer, and a number that is no descriptor is an error.
        if unsafe { libc::fcntl(standard as libc::c_int, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << standard as u8, Ordering::Relaxed);
        }
    }
}

// SAFETY: the section is a list of functions that the loader calls with the C ABI, before the
// standard library is set up; `record_closed` uses nothing of that but an atomic.
#[used]
#[unsafe(link_section = ".init_array")]
static RECORD_CLOSED: extern "C" fn() = record_closed;
