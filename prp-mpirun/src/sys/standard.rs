//! Whether standard output was closed when the process began.
//!
//! Before `main`, the standard library opens /dev/null in the place of it, so that no other file
//! gets its number. What ranks write would be lost without a word. So this asks before that.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether there was no standard output when the process began.
pub(crate) fn was_output_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

extern "C" fn record_closed() {
    // SAFETY: F_GETFD takes no pointer, and a number that is no descriptor is an error.
    if unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1 {
        WAS_CLOSED.store(true, Ordering::Relaxed);
    }
}

// SAFETY: the section is a list of functions that the loader calls with the C ABI, before the
// standard library is set up; `record_closed` uses nothing of that but an atomic.
#[used]
#[unsafe(link_section = ".init_array")]
static RECORD_CLOSED: extern "C" fn() = record_closed;
