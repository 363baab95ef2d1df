//! What was written before the process exits is still delivered, as a kernel socket would.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prp_proto::event::ConnHandle;
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
    // Twice does no harm. To wait for a thread that is at it would, in the child of a fork.
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.load(Ordering::Acquire) {
        // If it cannot be had, exiting loses what is unacknowledged; nothing else changes.
        let _ = process::at_exit(deliver_all);
        REGISTERED.store(true, Ordering::Release);
    }
}

extern "C" fn deliver_all() {
    registry::all().iter().for_each(|engine| engine.deliver());
}

/// Ends every connection of this process at once, and delivers nothing more: for who is about to die of a signal, of which
/// peers would learn a minute later.
pub fn reset_all() {
    registry::all().iter().for_each(|engine| drop(engine.release_all(true)));
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
    /// Lets every connection go; which they were.
    fn release_all(&self, abort: bool) -> Vec<ConnHandle> {
        let now = self.now();
        let mut core = self.lock();
        // Data that has come unseen counts as unread, which makes the end a reset.
        core.turn(now, None);
        let handles = core.endpoint.handles();
        for conn in &handles {
            core.endpoint.release(now, *conn, abort);
        }
        self.finish(core, now);
        handles
    }

    fn deliver(&self) {
        let now = self.now();
        let handles = self.release_all(false);
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
