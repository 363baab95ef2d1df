//! The exchange of a process, locked by a thread, and how that thread wakes others.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::MutexGuard;

use super::Process;
use crate::exchange::Exchange;

/// [`Process::caller`] once several threads have called.
pub(super) const MANY_CALLERS: usize = usize::MAX;

thread_local! {
    /// Its address is the number of the thread.
    static PLACE: u8 = const { 0 };
}

/// The locked exchange. What a thread has completed in it may be what another thread waits for:
/// that is woken when the exchange is unlocked.
#[derive(Debug)]
pub struct ExchangeGuard<'a> {
    process: &'a Process,
    exchange: MutexGuard<'a, Exchange>,
    /// [`Exchange::changes`] that all threads know of.
    announced: u64,
}

impl Process {
    /// The exchange, for a call that does not wait.
    pub fn exchange(&self) -> ExchangeGuard<'_> {
        if !self.is_alone() {
            self.note_caller();
        }
        self.guard(self.exchange.lock())
    }

    /// The exchange, if no thread uses it now, or none does within `patience`.
    pub(super) fn exchange_within(&self, patience: Duration) -> Option<ExchangeGuard<'_>> {
        self.exchange.try_lock_for(patience).map(|exchange| self.guard(exchange))
    }

    fn guard<'a>(&'a self, exchange: MutexGuard<'a, Exchange>) -> ExchangeGuard<'a> {
        let announced = exchange.changes();
        ExchangeGuard { process: self, exchange, announced }
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

    /// Something has happened outside the exchange that a thread may wait for.
    pub fn announce(&self) {
        self.exchange().note_change();
    }
}

impl<'a> ExchangeGuard<'a> {
    /// Wakes the threads that may wait for what has been completed since this was called last.
    fn announce(&mut self) {
        let changes = self.exchange.changes();
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

    /// Lets a thread have the exchange that waits for it.
    pub(super) fn yield_to_others(&mut self) {
        self.announce();
        MutexGuard::bump(&mut self.exchange);
    }

    /// Does something without the exchange.
    pub(super) fn unlocked<T>(&mut self, does: impl FnOnce() -> T) -> T {
        self.announce();
        let done = MutexGuard::unlocked_fair(&mut self.exchange, does);
        self.announced = self.exchange.changes();
        done
    }

    /// Does something without the exchange that waits for the streams, as the only thread of the
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
        mut ready: impl FnMut(&mut Exchange) -> Option<T>,
    ) -> Option<T> {
        self.announce();
        while self.process.is_led.load(Ordering::Relaxed) {
            self.process.following.fetch_add(1, Ordering::Relaxed);
            self.process.followers.wait_for(&mut self.exchange, self.process.longest_sleep);
            self.process.following.fetch_sub(1, Ordering::Relaxed);
            self.announced = self.exchange.changes();
            if let Some(out) = ready(&mut self.exchange) {
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

impl Deref for ExchangeGuard<'_> {
    type Target = Exchange;

    fn deref(&self) -> &Exchange {
        &self.exchange
    }
}

impl DerefMut for ExchangeGuard<'_> {
    fn deref_mut(&mut self) -> &mut Exchange {
        &mut self.exchange
    }
}

impl Drop for ExchangeGuard<'_> {
    fn drop(&mut self) {
        self.announce();
    }
}
