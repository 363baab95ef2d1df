//! What was written before the process exits is still delivered, as a kernel socket would.

use std::sync::Once;
use std::time::Duration;

use prp_proto::time::Instant;

use super::Engine;
use super::core::Core;
use super::registry;
use super::slot::Interest;
use super::spin::SpinPolicy;
use super::wait::Wait;
use crate::sys::process;

/// How long an exiting process waits for a peer from which nothing at all comes.
const SILENCE: Duration = Duration::from_secs(2);

/// How long it waits in all, for a peer that is there but does not read.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sees to it that [`deliver_all`] runs when the process exits.
pub(super) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // If it cannot be had, exiting loses what is unacknowledged; nothing else changes.
        let _ = process::at_exit(deliver_all);
    });
}

extern "C" fn deliver_all() {
    for engine in registry::all().into_iter().filter(|e| e.is_ours()) {
        engine.deliver();
    }
}

/// Ends every connection of this process at once, and delivers nothing more: for who is about to die of a signal, of which
/// peers would learn a minute later.
pub fn reset_all() {
    for engine in registry::all().into_iter().filter(|e| e.is_ours()) {
        engine.reset();
    }
}

/// Waits until no connection has anything left to deliver.
struct Delivered {
    give_up: Instant,
    heard: (u64, Instant),
}

impl Wait for Delivered {
    type Out = ();

    fn attempt(&mut self, core: &mut Core, now: &mut Instant) -> Option<()> {
        let frames = core.endpoint.stats().frames_received;
        if frames != self.heard.0 {
            self.heard = (frames, *now);
        }
        let over = *now >= self.give_up || now.since(self.heard.1) >= SILENCE;
        (over || core.endpoint.unflushed() == 0).then_some(())
    }
}

impl Engine {
    fn reset(&self) {
        let now = self.now();
        let mut core = self.lock();
        for conn in core.endpoint.handles() {
            core.endpoint.release(now, conn, true);
        }
        self.finish(core, now);
    }

    fn deliver(&self) {
        let now = self.now();
        let mut core = self.lock();
        // Data that has come unseen counts as unread, which makes the end a reset.
        core.turn(now, None);
        let handles = core.endpoint.handles();
        for conn in &handles {
            core.endpoint.release(now, *conn, false);
        }
        self.finish(core, now);
        let Some(some) = handles.first() else { return };
        let mut wait = Delivered { give_up: now + PATIENCE, heard: (0, now) };
        loop {
            // In slices, so that silence is noticed.
            let slice = Some(self.now() + Duration::from_millis(100));
            let interest = Interest::Flush(*some);
            if self.wait(interest, slice, SpinPolicy::Fixed(Duration::ZERO), &mut wait).is_ok() {
                return;
            }
        }
    }
}
