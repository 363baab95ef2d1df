//! Signals that end the program. The program still dies of them, but first it may tell its peers:
//! unlike those of a kernel's sockets, they would go on waiting for a minute.

use std::io;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal, raise};
use prp_node::signals::not_ignored;

/// What users and service managers end programs with.
const DEADLY: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];

/// Time to tell peers: sending a frame takes microseconds, and a thread that is stuck in a write to
/// standard output must not keep the program alive.
const GRACE: Duration = Duration::from_millis(200);

type SignalHandler = Box<dyn FnOnce(Signal) + Send>;

/// Waits for deadly signals in a thread of its own.
#[derive(Clone, Default)]
pub(crate) struct Signals {
    listener: Arc<Mutex<Option<SignalHandler>>>,
}

impl Signals {
    /// Begins to wait. To be called before any other thread is started, since each takes over which
    /// signals it leaves to others.
    pub(crate) fn watch() -> io::Result<Self> {
        let signals = Self::default();
        let set = not_ignored(&DEADLY);
        set.thread_block()?;
        let waiting = signals.clone();
        thread::Builder::new().name("prp-signals".into()).spawn(move || {
            // It fails only for a set that the kernel does not know.
            let Ok(signal) = set.wait() else { return };
            if waiting.deliver(signal) {
                thread::sleep(GRACE);
            }
            die_of(signal);
        })?;
        Ok(signals)
    }

    /// Calls the listener with `signal`; whether there is one.
    pub(crate) fn deliver(&self, signal: Signal) -> bool {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        listener.map(|listener| listener(signal)).is_some()
    }

    /// From now on `listener` is called for a signal, and has a moment to tell its peers.
    pub(crate) fn set_listener(&self, listener: impl FnOnce(Signal) + Send + 'static) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(listener));
    }

    /// From now on none is called.
    pub(crate) fn clear_listener(&self) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// From now on another signal ends the process at once. For the thread that a listener runs in.
pub(crate) fn let_pass() {
    let _ = not_ignored(&DEADLY).thread_unblock();
}

/// Ends the process by `signal`, as if it had not been caught: shells tell that from an exit code.
pub(crate) fn die_of(signal: Signal) -> ! {
    let set: SigSet = [signal].into_iter().collect();
    let _ = set.thread_unblock();
    let _ = raise(signal);
    // Its default action is to end the process; the exit code is what a shell makes of that.
    process::exit(128 + signal as i32)
}

#[cfg(test)]
mod tests;
