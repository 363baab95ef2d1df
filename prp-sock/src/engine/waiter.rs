//! Somebody who sleeps, and how to wake them.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::sys::futex;

/// A descriptor that gets a thread out of `poll`.
#[derive(Debug)]
pub(super) struct Kick(EventFd);

impl Kick {
    pub(super) fn new() -> io::Result<Arc<Self>> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        Ok(Arc::new(Self(EventFd::from_value_and_flags(0, flags)?)))
    }

    pub(super) fn kick(&self) {
        // It can only fail by being readable already.
        let _ = self.0.write(1);
    }

    /// Takes a kick back, so that the next `poll` sleeps.
    pub(super) fn clear(&self) {
        let _ = self.0.read();
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Awake, and nobody has called.
const AWAKE: u32 = 0;
/// Called, and has not noticed yet.
const CALLED: u32 = 1;
/// Asleep on the futex.
const PARKED: u32 = 2;
/// Asleep in `poll`, to be woken by the kick.
const POLLING: u32 = 3;

/// A thread's place to sleep.
#[derive(Debug)]
pub(super) struct Waiter {
    state: AtomicU32,
    kick: Arc<Kick>,
}

impl Waiter {
    pub(super) fn new(kick: Arc<Kick>) -> Arc<Self> {
        Arc::new(Self { state: AtomicU32::new(AWAKE), kick })
    }

    /// This thread's waiter for the engine `id`. Kept, so that waiting allocates nothing.
    pub(super) fn current(id: u64, kick: &Arc<Kick>) -> Arc<Self> {
        thread_local! {
            static CURRENT: RefCell<Option<(u64, Arc<Waiter>)>> = const { RefCell::new(None) };
        }
        let cached = CURRENT.try_with(|current| {
            let mut current = current.borrow_mut();
            match &*current {
                Some((of, waiter)) if *of == id => waiter.clone(),
                _ => current.insert((id, Self::new(kick.clone()))).1.clone(),
            }
        });
        // A thread that is being torn down, dropping a stream with a linger time, has no cache.
        cached.unwrap_or_else(|_| Self::new(kick.clone()))
    }

    /// As something to put on a list.
    pub(super) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    /// Whether somebody has called since the last time; forgets it.
    pub(super) fn take_call(&self) -> bool {
        self.state.swap(AWAKE, Ordering::AcqRel) == CALLED
    }

    /// Whether somebody has called.
    pub(super) fn is_called(&self) -> bool {
        self.state.load(Ordering::Acquire) == CALLED
    }

    /// Sleeps until called, for at most `timeout`, or for no reason.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn park(&self, timeout: Option<Duration>) -> io::Result<()> {
        if self.sleep_as(PARKED) {
            return Ok(());
        }
        let slept = futex::wait(&self.state, PARKED, timeout);
        self.state.swap(AWAKE, Ordering::AcqRel);
        slept
    }

    /// Says that this thread goes into `poll` now, with the kick among its descriptors; whether it
    /// should not, because somebody has called.
    pub(super) fn begin_poll(&self) -> bool {
        self.sleep_as(POLLING)
    }

    /// Says that it is back. The kick of somebody who has called meanwhile may still be on its way.
    pub(super) fn end_poll(&self) {
        self.state.swap(AWAKE, Ordering::AcqRel);
    }

    /// Whether called already; otherwise the state is `how` from now on.
    fn sleep_as(&self, how: u32) -> bool {
        let begun = self.state.compare_exchange(AWAKE, how, Ordering::AcqRel, Ordering::Acquire);
        if begun.is_err() {
            self.state.store(AWAKE, Ordering::Release);
        }
        begun.is_err()
    }
}

impl Wake for Waiter {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match self.state.swap(CALLED, Ordering::AcqRel) {
            PARKED => futex::wake(&self.state),
            POLLING => self.kick.kick(),
            _ => {}
        }
    }
}
