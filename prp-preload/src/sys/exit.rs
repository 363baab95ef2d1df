//! What is done when the process exits.

use std::sync::Once;

/// Has the counters reported at exit. Called when something of PRP exists: the engine has its own
/// place among what runs at exit by then, and what is registered later runs earlier.
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
