//! The engine of a process, locked by a thread, and how that thread wakes others.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::MutexGuard;

use super::Process;
use crate::engine::Engine;

/// [`Process::caller`] once several threads have called.
pub(super) const MANY_CALLERS: usize = usize::MAX;

thread_local! {
    /// Its address is the number of the thread.
    static PLACE: u8 = const { 0 };
}

/// The locked engine. What a thread has completed in it may be what another thread waits for: that
/// is woken when the engine is unlocked.
#[derive(Debug)]
pub struct EngineGuard<'a> {
    process: &'a Process,
    engine: MutexGuard<'a, Engine>,
    /// [`Engine::changes`] that all threads know of.
    announced: u64,
}

impl Process {
    /// The engine, for a call that does not wait.
    pub fn engine(&self) -> EngineGuard<'_> {
        if !self.is_alone() {
            self.note_caller();
        }
        self.guard(self.engine.lock())
    }

    /// The engine, if no thread uses it now, or none does within `patience`.
    pub(super) fn engine_within(&self, patience: Duration) -> Option<EngineGuard<'_>> {
        self.engine.try_lock_for(patience).map(|engine| self.guard(engine))
    }

    fn guard<'a>(&'a self, engine: MutexGuard<'a, Engine>) -> EngineGuard<'a> {
        let announced = engine.changes();
        EngineGuard { process: self, engine, announced }
    }

    fn note_caller(&self) {
        let own = PLACE.with(|place| std::ptr::from_ref(place).addr());
        let known = self.caller.load(Ordering::Relaxed);
        if known != own && known != MANY_CALLERS {
            let first = self.caller.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
            if first.is_err() {
                self.caller.store(MANY_CALLERS, Ordering::Relaxed);
            }
        }
    }

    /// Whether several threads have called: then one may take in what another waits for.
    pub(super) fn has_many_callers(&self) -> bool {
        self.caller.load(Ordering::Relaxed) == MANY_CALLERS
    }

    /// Something has happened outside the engine that a thread may wait for.
    pub fn announce(&self) {
        self.engine().note_change();
    }
}

impl<'a> EngineGuard<'a> {
    /// Wakes the threads that may wait for what has been completed since this was called last.
    fn announce(&mut self) {
        let changes = self.engine.changes();
        if changes == self.announced {
            return;
        }
        self.announced = changes;
        if self.process.following.load(Ordering::Relaxed) > 0 {
            self.process.followers.notify_all();
        }
        if self.process.is_led.load(Ordering::Relaxed) {
            self.process.bell.ring();
        }
    }

    /// Lets a thread have the engine that waits for it.
    pub(super) fn yield_to_others(&mut self) {
        self.announce();
        MutexGuard::bump(&mut self.engine);
    }

    /// Does something without the engine.
    pub(super) fn unlocked<T>(&mut self, does: impl FnOnce() -> T) -> T {
        self.announce();
        let done = MutexGuard::unlocked_fair(&mut self.engine, does);
        self.announced = self.engine.changes();
        done
    }

    /// Does something without the engine that waits for the streams, as the only thread of the
    /// process, which others wake by the bell.
    pub(super) fn lead<T>(&mut self, does: impl FnOnce() -> T) -> T {
        self.announce();
        self.process.is_led.store(true, Ordering::Relaxed);
        let done = self.unlocked(does);
        self.process.is_led.store(false, Ordering::Relaxed);
        done
    }

    /// Sleeps while another thread waits for the streams, until `ready` has something; nothing if
    /// no thread waits for the streams any more.
    pub(super) fn follow<T>(
        &mut self,
        mut ready: impl FnMut(&mut Engine) -> Option<T>,
    ) -> Option<T> {
        self.announce();
        while self.process.is_led.load(Ordering::Relaxed) {
            self.process.following.fetch_add(1, Ordering::Relaxed);
            self.process.followers.wait_for(&mut self.engine, self.process.longest_sleep);
            self.process.following.fetch_sub(1, Ordering::Relaxed);
            self.announced = self.engine.changes();
            if let Some(out) = ready(&mut self.engine) {
                return Some(out);
            }
        }
        None
    }

    /// The thread waits no longer: if no other one waits for the streams a follower has to.
    pub(super) fn leave(self) {
        let process = self.process;
        if process.following.load(Ordering::Relaxed) > 0 && !process.is_led.load(Ordering::Relaxed)
        {
            process.followers.notify_one();
        }
    }
}

impl Deref for EngineGuard<'_> {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl DerefMut for EngineGuard<'_> {
    fn deref_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }
}

impl Drop for EngineGuard<'_> {
    fn drop(&mut self) {
        self.announce();
    }
}
