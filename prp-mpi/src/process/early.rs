//! Receives that end before their message is there, as the threads of the process see them: what a
//! touch waits for, and what has to wait before a message leaves.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::Process;
use super::report::Waiting;
use crate::sys::protection::{self, Hooks};

/// The process whose receives may be released: a signal handler has no argument for it.
static RELEASING: OnceLock<Arc<Process>> = OnceLock::new();

impl Process {
    /// Lets receives be released early from now on, into addresses that `may_close` allows.
    ///
    /// # Errors
    /// Says why that is not possible in this process.
    pub fn release_early(
        self: &Arc<Self>,
        may_close: fn(&Range<usize>) -> bool,
    ) -> Result<(), String> {
        protection::enable(Hooks { touched, about_to_fork, may_close })?;
        let _ = RELEASING.set(self.clone());
        Ok(())
    }

    /// Before a message leaves: waits until all released receives have begun to arrive, and those
    /// into these addresses are whole.
    pub fn settle(&self, addresses: impl FnOnce() -> Range<usize>) {
        if protection::is_idle() {
            return;
        }
        let addresses = addresses();
        self.wait(&|| waiting("a message that may not leave yet"), |exchange| {
            (exchange.has_begun() && !protection::overlaps(&addresses)).then_some(())
        });
    }

    /// Waits until the released receives into these addresses are whole.
    pub fn complete(&self, addresses: impl FnOnce() -> Range<usize>) {
        if protection::is_idle() {
            return;
        }
        let addresses = addresses();
        if protection::overlaps(&addresses) {
            self.wait(&|| waiting("its buffer is used"), |_| {
                (!protection::overlaps(&addresses)).then_some(())
            });
        }
    }

    /// Waits until all released receives are whole.
    pub fn complete_released(&self) {
        self.complete(|| 0..usize::MAX);
    }
}

fn waiting(why: &str) -> Waiting {
    Waiting::new("a receive that was released early", String::new(), why.to_owned())
}

/// Completes what was released into these addresses, if anything was. May be called by any thread
/// that is not inside the exchange.
pub fn complete(addresses: Range<usize>) {
    if let Some(process) = RELEASING.get() {
        process.complete(|| addresses);
    }
}

/// Completes all that was released, as [`complete`] does.
pub fn complete_all() {
    if let Some(process) = RELEASING.get() {
        process.complete_released();
    }
}

fn touched(address: usize) {
    if let Some(process) = RELEASING.get() {
        process.wait(&|| waiting("its data is touched"), |_| {
            (!protection::overlaps(&(address..address + 1))).then_some(())
        });
    }
}

fn about_to_fork() {
    complete_all();
}
