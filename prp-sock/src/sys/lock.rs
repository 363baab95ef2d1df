//! [`Baton`] as the lock of a mutex: `lock_api` puts data and guards around it.

use parking_lot::lock_api::{Mutex, MutexGuard, RawMutex, RawMutexFair};

use super::baton::{Baton, LockClass};

/// A mutex that knows of no other: the locks of parking_lot share a table, parts of which may be
/// locked, for ever, in the child of a process that forks.
pub(crate) type Lock<T> = Mutex<Baton, T>;

/// Locks `mutex` for `lock_class`. [`Mutex::lock`] is for what is brief.
#[inline]
pub(crate) fn lock_as<T>(
    mutex: &Mutex<Baton, T>,
    lock_class: LockClass,
) -> MutexGuard<'_, Baton, T> {
    // SAFETY: nothing is unlocked here, and the guard is made by the thread that has just locked
    // it.
    unsafe {
        mutex.raw().lock(lock_class);
        mutex.make_guard_unchecked(())
    }
}

/// Locks `mutex` if that is free, or becomes so before the caller would go to sleep for it.
pub(crate) fn try_lock_soon<T>(mutex: &Mutex<Baton, T>) -> Option<MutexGuard<'_, Baton, T>> {
    // SAFETY: nothing is unlocked here, and the guard is made by the thread that has just locked
    // it.
    unsafe { mutex.raw().try_lock_soon().then(|| mutex.make_guard_unchecked(())) }
}

// SAFETY: the baton's state is FREE or HANDED_OFF as long as no thread has the lock. It is only had
// by changing one of the two into HELD or CONTENDED, in one step, which one thread succeeds in; and
// only the thread that has it changes those back.
unsafe impl RawMutex for Baton {
    const INIT: Self = Self::new();

    type Guard = ();

    #[inline]
    fn lock(&self) {
        self.lock(LockClass::Short);
    }

    #[inline]
    fn try_lock(&self) -> Option<()> {
        self.try_lock().then_some(())
    }

    #[inline]
    unsafe fn unlock(&self, (): ()) {
        self.unlock();
    }

    fn is_locked(&self) -> bool {
        self.is_locked()
    }
}

// SAFETY: as above; every unlock is fair.
unsafe impl RawMutexFair for Baton {
    #[inline]
    unsafe fn unlock_fair(&self, (): ()) {
        self.unlock();
    }

    #[inline]
    unsafe fn bump(&self, (): &mut ()) {
        if self.is_wanted() {
            self.unlock();
            self.lock(LockClass::Short);
        }
    }
}

#[cfg(test)]
mod tests;
