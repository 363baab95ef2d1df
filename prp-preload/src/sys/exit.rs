//! The handler that runs when the process exits.

use std::sync::Once;

/// Registers the report of counters as an exit handler. It is called after the first stream or
/// listener is made: the engine has registered its exit handler by then, and handlers run in the
/// reverse order of registration.
pub(crate) fn report_at_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn report() {
        crate::report::write();
    }
    ONCE.call_once(|| {
        // SAFETY: a function that takes nothing and does not unwind.
        unsafe { libc::atexit(report) };
    });
}
