//! A lock that a thread that waits for it gets. `tests/baton_model.rs` runs this file under every
//! interleaving.
//!
//! A thread that moves much takes its lock again some instructions after it let go, long before
//! another one that was woken has come to a processor; and one that yields instead of sleeping gets
//! the processor back when such a thread's time is over. Here no thread yields, and a lock that a
//! thread waits for is handed to that thread: no other can have it in between.
//!
//! A thread that wants it for a moment comes before those that want it for long: eight threads that
//! each write without a break are a millisecond's wait together, for a message of some bytes that
//! takes microseconds.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::futex::{self, ANYBODY, Word, spin_loop};

const FREE: u32 = 0;
/// A thread has it, and none waits.
const HELD: u32 = 1;
/// A thread has it, and others may wait.
const CONTENDED: u32 = 2;
/// It is for a thread that has waited.
const HANDED_OFF: u32 = 3;

/// Polls before sleeping: a few microseconds, as long as holding the lock for a small message
/// takes. Under test there are none: every poll doubles the interleavings.
const SPINS: usize = if cfg!(test) { 0 } else { 64 };

/// Short holds in a row while a thread waits to have it for long. The longest are iterations of a
/// leader: a thread waits for a millisecond by that, mostly for some tens of microseconds.
pub(crate) const MAX_SHORT_HOLDS: u32 = 16;

/// What a thread wants the lock for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum LockClass {
    /// Some frames, or a message: microseconds.
    Short,
    /// As much as there is room for.
    Long,
}

impl LockClass {
    /// What its sleepers are known by.
    const fn bits(self) -> u32 {
        1 << self as u32
    }
}

/// The lock itself, without what it protects.
#[derive(Debug)]
pub(crate) struct Baton {
    state: Word,
    /// The threads that sleep or are about to, by lock class. It may be seen late, and proves
    /// nothing.
    asleep: [Word; 2],
    /// Times it was handed on for a short use while a thread waited for a long one.
    short_holds: Word,
}

impl Baton {
    /// A lock that is free.
    pub(crate) const fn new() -> Self {
        Self {
            state: Word::new(FREE),
            asleep: [Word::new(0), Word::new(0)],
            short_holds: Word::new(0),
        }
    }

    /// Waits until the caller has it.
    #[inline]
    pub(crate) fn lock(&self, lock_class: LockClass) {
        if !self.take(FREE, HELD) {
            self.wait(lock_class);
        }
    }

    /// Takes it if it is free.
    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        self.take(FREE, HELD)
    }

    /// Takes it if it is free, or becomes so before the caller would go to sleep.
    pub(crate) fn try_lock_soon(&self) -> bool {
        self.try_lock() || self.try_lock_spinning()
    }

    /// Whether a thread has it.
    pub(crate) fn is_locked(&self) -> bool {
        matches!(self.state.load(Relaxed), HELD | CONTENDED)
    }

    /// Whether a thread may wait for it, asked by the thread that has it.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.state.load(Relaxed) == CONTENDED
    }

    /// Lets it go; to be called by the thread that has it.
    #[inline]
    pub(crate) fn unlock(&self) {
        if self.state.compare_exchange(HELD, FREE, Release, Relaxed).is_err() {
            self.pass_on();
        }
    }

    fn take(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Acquire, Relaxed).is_ok()
    }

    /// Polls for a while whether it is free; takes it then.
    fn try_lock_spinning(&self) -> bool {
        (0..SPINS).any(|_| {
            spin_loop();
            // Only what seems free is worth taking its line from the thread that has it.
            self.state.load(Relaxed) == FREE && self.take(FREE, HELD)
        })
    }

    #[cold]
    fn wait(&self, lock_class: LockClass) {
        if self.try_lock_spinning() {
            return;
        }
        let asleep = &self.asleep[lock_class as usize];
        asleep.fetch_add(1, Relaxed);
        let mut waited = false;
        loop {
            let seen = match self.state.load(Relaxed) {
                // A thread that has waited does not know whether others do.
                FREE if self.take(FREE, if waited { CONTENDED } else { HELD }) => break,
                HANDED_OFF if waited && self.take(HANDED_OFF, CONTENDED) => break,
                HANDED_OFF if !waited => HANDED_OFF,
                HELD if self.take(HELD, CONTENDED) => CONTENDED,
                CONTENDED => CONTENDED,
                _ => {
                    spin_loop();
                    continue;
                }
            };
            futex::wait_among(&self.state, seen, lock_class.bits());
            waited = true;
        }
        asleep.fetch_sub(1, Relaxed);
    }

    /// Passes it to a waiting thread, if there is one.
    #[cold]
    fn pass_on(&self) {
        let first = self.first_choice();
        self.state.store(HANDED_OFF, Release);
        if futex::wake_among(&self.state, first) || first != ANYBODY && futex::wake(&self.state) {
            return;
        }
        // No thread sleeps; one may be about to, and finds the word changed.
        if self.state.compare_exchange(HANDED_OFF, FREE, Release, Relaxed).is_ok() {
            // Or has just fallen asleep over its being kept.
            futex::wake(&self.state);
        }
    }

    /// Which class of waiters is next, by the threads that seem to sleep; to be asked by the thread
    /// that still has it.
    fn first_choice(&self) -> u32 {
        let asleep = |lock_class| self.asleep[lock_class as usize].load(Relaxed);
        if asleep(LockClass::Long) == 0 {
            self.short_holds.store(0, Relaxed);
            return ANYBODY;
        }
        let short_holds = self.short_holds.load(Relaxed);
        let brief = asleep(LockClass::Short) > 0 && short_holds < MAX_SHORT_HOLDS;
        self.short_holds.store(if brief { short_holds + 1 } else { 0 }, Relaxed);
        if brief { LockClass::Short.bits() } else { LockClass::Long.bits() }
    }
}
