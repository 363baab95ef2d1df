//! What was written before the process exits is still delivered, as a kernel socket would.
//!
//! The exiting thread ends all connections and waits. To the other threads the process is gone from
//! then on, as it would be over TCP: whichever call they are in, or make, does not return.
//! Otherwise a reader would see an end that its peer has not sent.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use prp_device::waiting::WaitSettings;
use prp_proto::time::Instant;

use super::Engine;
use super::core::Core;
use super::guard::CoreGuard;
use super::registry;
use super::wait::Wait;
use super::waiters::Interest;
use crate::clock::Clock;
use crate::sys::process;

/// How long an exiting process waits for peers to acknowledge what was written: README's promise. A
/// shorter outage is survived, as it is everywhere else.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long it sleeps between two checks whether all is done. Some of that, such as the end of
/// TIME-WAIT, wakes no thread.
const SLICE: Duration = Duration::from_millis(10);

thread_local! {
    /// This thread goes on while the process exits: it is one of ours, or the one that exits.
    static GOES_ON: Cell<bool> = const { Cell::new(false) };
}

/// Sees to it that everything is delivered when the process exits.
pub(super) fn register() {
    // If it cannot be had, exiting loses what is unacknowledged; nothing else changes.
    let _ = process::at_exit(deliver_all);
}

/// This thread goes on while the process exits.
pub(crate) fn exempt_this_thread() {
    GOES_ON.set(true);
}

fn deliver_all() {
    exempt_this_thread();
    let engines = registry::all();
    let clock = Clock::start();
    let give_up = clock.now() + EXIT_TIMEOUT;
    // All at first: what one of them has to wait for must not keep the others from going ahead.
    for engine in &engines {
        engine.end_all();
    }
    for engine in &engines {
        engine.wait_delivered(give_up.since(clock.now()));
    }
    for engine in &engines {
        engine.lock().leave_devices();
    }
}

/// Ends every connection of this process at once, and delivers nothing more: for a process that is
/// about to die of a signal, of which peers would learn a minute later.
pub fn reset_all() {
    for engine in registry::all() {
        let now = engine.now();
        let mut core = engine.lock();
        core.release_all(now, true);
        engine.finish(core, now);
    }
}

/// Does not come back if this thread is one for which the process is gone.
#[cold]
pub(super) fn hold_back(core: &mut CoreGuard<'_>) {
    if GOES_ON.get() {
        return;
    }
    core.lifetime.held_back += 1;
    core.yield_lock();
    loop {
        thread::park();
    }
}

/// Waits until nothing is left to deliver.
struct Delivered {
    give_up: Instant,
}

impl Wait for Delivered {
    type Out = ();

    fn attempt(&mut self, core: &mut Core, now: &mut Instant) -> Option<()> {
        (*now >= self.give_up || core.endpoint.may_end()).then_some(())
    }
}

impl Core {
    /// Lets every connection and every listener go.
    fn release_all(&mut self, now: Instant, abort: bool) {
        // Data that has come unseen counts as unread, which makes the end a reset.
        self.poll_once(now, None);
        for listener in self.listening() {
            self.endpoint.unlisten(now, listener);
        }
        for conn in self.endpoint.handles() {
            self.endpoint.release(now, conn, abort);
        }
    }
}

impl Engine {
    /// Ends every connection. What was written goes on to be delivered.
    fn end_all(&self) {
        let now = self.now();
        let mut core = self.lock();
        core.lifetime.gone = true;
        // The leader does not come back.
        core.waiting.leader = None;
        core.waiting.followers.clear();
        core.release_all(now, false);
        core.endpoint.leave(now);
        self.finish(core, now);
    }

    /// Waits until all is delivered, for at most `span`.
    fn wait_delivered(&self, span: Duration) {
        let mut wait = Delivered { give_up: self.now() + span };
        loop {
            let slice = Some(self.now() + SLICE);
            if self.wait(Interest::Any, slice, WaitSettings::ASLEEP, &mut wait).is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
