//! Hooks into the life of the process.

use std::io;

/// Calls `f` when the process exits normally: by returning from `main` or by `exit`.
pub(crate) fn at_exit(f: extern "C" fn()) -> io::Result<()> {
    // SAFETY: `f` is a plain function that lives as long as the program.
    super::cvt(unsafe { libc::atexit(f) }).map(drop)
}

/// Whether some signal has a handler that does not want interrupted calls restarted.
///
/// `poll` is interrupted by every handler; a blocking `recv` on a kernel socket only by those installed
/// without `SA_RESTART`. Where no such handler exists the interruption must stay invisible.
pub(crate) fn has_interrupting_handler() -> bool {
    // Faults are a thread's own doing, never a reason to come back from a wait; the standard library
    // has handlers for the first two of them.
    const FAULTS: [libc::c_int; 5] =
        [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];
    (1..=libc::SIGRTMAX()).filter(|signal| !FAULTS.contains(signal)).any(|signal| {
        // SAFETY: all-zero bytes are a valid `sigaction`: integers, a mask and nullable pointers.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: with a null new action this only writes the current one into `action`.
        let known = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) } == 0;
        known
            && action.sa_sigaction != libc::SIG_DFL
            && action.sa_sigaction != libc::SIG_IGN
            && action.sa_flags & libc::SA_RESTART == 0
    })
}
