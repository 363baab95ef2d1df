//! Hooks into the life of the process.

use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What is called at exit: a `fn()`, or null.
static AT_EXIT: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// The handlers of this crate are in the C library's lists.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Run by the loader before `main`. Handlers are called last come, first served: so every handler
/// that the program registers is called before ours, and may still use streams.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn before_main() {
        let _ = register();
    }
    before_main
};

unsafe extern "C" {
    safe fn at_quick_exit(f: extern "C" fn()) -> libc::c_int;
}

fn register() -> io::Result<()> {
    // SAFETY: it is a plain function that lives as long as the program.
    super::cvt(unsafe { libc::atexit(exiting) })?;
    super::cvt(at_quick_exit(exiting))?;
    REGISTERED.store(true, Ordering::Release);
    Ok(())
}

extern "C" fn exiting() {
    let f = AT_EXIT.load(Ordering::Acquire);
    if !f.is_null() {
        // SAFETY: only `at_exit` stores anything there, which is a `fn()`.
        let f = unsafe { std::mem::transmute::<*mut (), fn()>(f) };
        f();
    }
}

/// Calls `f`, the only one there is, when the process exits normally: by returning from `main`, by
/// `exit` or by `quick_exit`. After the program's own handlers, and after another time harmlessly.
pub(crate) fn at_exit(f: fn()) -> io::Result<()> {
    AT_EXIT.store(f as *mut (), Ordering::Release);
    // If the loader has not registered them. Threads that come here at the same time do so twice.
    if REGISTERED.load(Ordering::Acquire) { Ok(()) } else { register() }
}

/// Whether some signal has a handler that does not want interrupted calls restarted.
///
/// `poll` is interrupted by every handler; a blocking `recv` on a kernel socket only by those
/// installed without `SA_RESTART`. Where no such handler exists the interruption must stay
/// invisible.
pub(crate) fn has_interrupting_handler() -> bool {
    // Faults are a thread's own doing, never a reason to come back from a wait; the standard
    // library has handlers for the first two of them.
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
