//! A lock that who waits for it gets.
//!
//! A thread that moves much takes its lock again some instructions after it let go, long before another one that was woken
//! has come to a processor; and one that offers its processor instead of sleeping gets it back when such a thread's time is over. Here nobody
//! offers anything, and a lock that somebody waits for is handed to him: nobody else can have it in between.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use parking_lot::lock_api::{RawMutex, RawMutexFair};

use super::futex::{self, Word};

const FREE: u32 = 0;
/// Somebody has it, and nobody waits.
const HELD: u32 = 1;
/// Somebody has it, and others may wait.
const WANTED: u32 = 2;
/// It is for somebody who has waited.
const KEPT: u32 = 3;

/// Looks before sleeping: a few microseconds, as long as holding the lock for a small message takes.
const LOOKS: u32 = 64;

/// The lock itself; `lock_api` puts data and guards around it.
#[derive(Debug)]
pub(crate) struct Baton(Word);

impl Baton {
    fn take(&self, from: u32, to: u32) -> bool {
        self.0.compare_exchange(from, to, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self) {
        for _ in 0..LOOKS {
            std::hint::spin_loop();
            // Only what looks free is worth taking its line from who has it.
            if self.0.load(Relaxed) == FREE && self.take(FREE, HELD) {
                return;
            }
        }
        let mut waited = false;
        loop {
            let seen = match self.0.load(Relaxed) {
                // Who has waited does not know whether others do.
                FREE if self.take(FREE, if waited { WANTED } else { HELD }) => return,
                KEPT if waited && self.take(KEPT, WANTED) => return,
                KEPT if !waited => KEPT,
                HELD if self.take(HELD, WANTED) => WANTED,
                WANTED => WANTED,
                _ => continue,
            };
            // A signal is for whoever waits for more than a lock.
            let _ = futex::wait(&self.0, seen, None);
            waited = true;
        }
    }

    /// Hands it to somebody who waits, if there is one.
    #[cold]
    fn pass_on(&self) {
        self.0.store(KEPT, Release);
        if futex::wake(&self.0) {
            return;
        }
        // Nobody sleeps; somebody may be about to, and see that it is not as he thought.
        if self.0.compare_exchange(KEPT, FREE, Release, Relaxed).is_ok() {
            // Or has just fallen asleep over its being kept.
            futex::wake(&self.0);
        }
    }
}

// SAFETY: the word is FREE or KEPT as long as nobody has the lock. It is only had by changing one of the two into HELD or
// WANTED, in one step, which one thread succeeds in; and only who has it changes those back.
unsafe impl RawMutex for Baton {
    const INIT: Self = Self(Word::new(FREE));

    type Guard = ();

    #[inline]
    fn lock(&self) {
        if !self.take(FREE, HELD) {
            self.wait();
        }
    }

    #[inline]
    fn try_lock(&self) -> Option<()> {
        self.take(FREE, HELD).then_some(())
    }

    #[inline]
    unsafe fn unlock(&self, (): ()) {
        if self.0.compare_exchange(HELD, FREE, Release, Relaxed).is_err() {
            self.pass_on();
        }
    }

    fn is_locked(&self) -> bool {
        matches!(self.0.load(Relaxed), HELD | WANTED)
    }
}

// SAFETY: as above; every unlock is fair.
unsafe impl RawMutexFair for Baton {
    #[inline]
    unsafe fn unlock_fair(&self, (): ()) {
        // SAFETY: the caller has the lock, as this function demands.
        unsafe { self.unlock(()) };
    }

    #[inline]
    unsafe fn bump(&self, (): &mut ()) {
        if self.0.load(Relaxed) == WANTED {
            self.pass_on();
            self.lock();
        }
    }
}

#[cfg(test)]
mod tests;
