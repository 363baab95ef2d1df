//! The engine's lock, and the calls that wait until it is free.

use std::cell::Cell;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use parking_lot::lock_api::{Mutex, MutexGuard};

#[cfg(feature = "tracing")]
use super::connection_events::ConnectionEvent;
use super::core::Core;
use super::exit;
use crate::sys::baton::{Baton, LockClass};
use crate::sys::lock::{lock_as, try_lock_soon};

/// What the engine's lock protects, and the lock.
pub(super) type CoreLock = Mutex<Baton, Core>;

/// Wakers to be called or dropped, and events to be told, as soon as the lock is free. All of them
/// run code that is not ours, which may use a stream of this engine; and a thread that is woken
/// wants the lock first of all.
#[derive(Debug, Default)]
pub(super) struct DeferredCalls {
    wake: Vec<Waker>,
    discard: Vec<Waker>,
    #[cfg(feature = "tracing")]
    events: Vec<ConnectionEvent>,
}

impl DeferredCalls {
    const NONE: Self = Self {
        wake: Vec::new(),
        discard: Vec::new(),
        #[cfg(feature = "tracing")]
        events: Vec::new(),
    };

    /// Calls `waker` later.
    pub(super) fn wake(&mut self, waker: Waker) {
        self.wake.push(waker);
    }

    /// As [`Self::wake`], for all of `wakers`; leaves the list empty.
    pub(super) fn wake_all(&mut self, wakers: &mut Vec<Waker>) {
        self.wake.append(wakers);
    }

    /// Drops `waker` later.
    pub(super) fn discard(&mut self, waker: Option<Waker>) {
        self.discard.extend(waker);
    }

    /// Emits `event` later.
    #[cfg(feature = "tracing")]
    pub(super) fn emit_later(&mut self, event: ConnectionEvent) {
        self.events.push(event);
    }

    fn is_empty(&self) -> bool {
        #[cfg(feature = "tracing")]
        if !self.events.is_empty() {
            return false;
        }
        self.wake.is_empty() && self.discard.is_empty()
    }

    fn make(&mut self) {
        self.wake.drain(..).for_each(|waker| contain(|| waker.wake()));
        self.discard.drain(..).for_each(|waker| contain(|| drop(waker)));
        #[cfg(feature = "tracing")]
        self.events.drain(..).for_each(|event| contain(|| event.emit()));
    }
}

/// Calls code that is not ours. If it panics that is told by the panic hook, and is no reason to
/// leave others unwoken, to end a thread of ours, or to have a call on some other stream panic.
fn contain(call: impl FnOnce()) {
    // What it has left behind in disorder is its own: nothing of ours is in use while it runs.
    let _ = catch_unwind(AssertUnwindSafe(call));
}

thread_local! {
    /// This thread's lists, empty between uses: kept, so that waking allocates nothing.
    static SPARE: Cell<DeferredCalls> = const { Cell::new(DeferredCalls::NONE) };
}

/// The engine's state, locked. Makes the calls that have come up when it lets go.
#[derive(Debug)]
pub(crate) struct CoreGuard<'a> {
    lock: &'a CoreLock,
    /// `None` only while it is let go.
    held: Option<MutexGuard<'a, Baton, Core>>,
}

impl<'a> CoreGuard<'a> {
    pub(super) fn new(lock: &'a CoreLock, lock_class: LockClass) -> Self {
        Self { lock, held: Some(lock_as(lock, lock_class)) }.unless_gone()
    }

    /// As [`Self::new`], unless another thread has the lock for longer than a message takes.
    pub(super) fn try_soon(lock: &'a CoreLock) -> Option<Self> {
        try_lock_soon(lock).map(|held| Self { lock, held: Some(held) }.unless_gone())
    }

    /// Lets others have the lock, if any wait for it, and takes it again.
    pub(super) fn bump(&mut self) {
        match &mut self.held {
            Some(core) if core.waiting.calls.is_empty() => MutexGuard::bump(core),
            _ => {
                self.yield_lock();
                self.held = Some(self.lock.lock());
            }
        }
        if self.lifetime.gone {
            exit::hold_back(self);
        }
    }

    /// The lock, if the process is not gone for this thread.
    #[inline]
    fn unless_gone(mut self) -> Self {
        if self.lifetime.gone {
            exit::hold_back(&mut self);
        }
        self
    }

    /// Makes the calls that have come up, and gives the lock to others.
    pub(super) fn yield_lock(&mut self) {
        let Some(mut core) = self.held.take() else { return };
        if core.waiting.calls.is_empty() {
            return;
        }
        // A thread that is being torn down has no spare lists.
        let spare = SPARE.try_with(Cell::take).unwrap_or_default();
        let mut calls = mem::replace(&mut core.waiting.calls, spare);
        drop(core);
        calls.make();
        let _ = SPARE.try_with(|cell| cell.set(calls));
    }
}

impl Deref for CoreGuard<'_> {
    type Target = Core;

    fn deref(&self) -> &Core {
        self.held.as_ref().expect("held until it is dropped")
    }
}

impl DerefMut for CoreGuard<'_> {
    fn deref_mut(&mut self) -> &mut Core {
        self.held.as_mut().expect("held until it is dropped")
    }
}

impl Drop for CoreGuard<'_> {
    fn drop(&mut self) {
        self.yield_lock();
    }
}

#[cfg(test)]
mod tests;
