//! What a program inherits from this process, which has changed some of it for itself.
#![allow(unsafe_code, reason = "functions that run before main, and between fork and exec")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::libc::{self, c_int};
use prp_node::limits;

/// Signals that this process handles or ignores for itself: the standard library does so before
/// `main` with the first.
const CHANGED: [c_int; 3] = [libc::SIGPIPE, libc::SIGXCPU, libc::SIGABRT];

/// A bit for each of them, by its number, that was ignored when this process began.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// Has `command` start its program with the signals and limits that this process was started with.
pub(crate) fn hand_down(command: &mut Command) {
    // SAFETY: `restore` makes system calls, and nothing else.
    unsafe { command.pre_exec(restore) };
}

fn restore() -> io::Result<()> {
    let ignored = IGNORED.load(Ordering::Relaxed);
    for signal in CHANGED.into_iter().filter(|signal| ignored >> signal & 1 == 1) {
        // SAFETY: no handler is called.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    limits::unguard()
}

extern "C" fn record_ignored() {
    for signal in CHANGED {
        // SAFETY: all zeros is a value of this type.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: nothing is changed, and the action lives for as long as the call.
        let done = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
        if done == 0 && action.sa_sigaction == libc::SIG_IGN {
            IGNORED.fetch_or(1 << signal, Ordering::Relaxed);
        }
    }
}

// SAFETY: the section is a list of functions that the loader calls with the C ABI, before the
// standard library is set up; `record_ignored` uses nothing of that but an atomic.
#[used]
#[unsafe(link_section = ".init_array")]
static RECORD_IGNORED: extern "C" fn() = record_ignored;
