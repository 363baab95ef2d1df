//! A thread that sleeps, and how to wake it. `tests/waiter_model.rs` runs this file under every
//! interleaving.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Wake, Waker};
use std::time::Duration;

use super::wake_fd::WakeFd;
use crate::sys::futex::{self, Word};

/// Awake, and not notified.
const AWAKE: u32 = 0;
/// Called, and has not noticed yet.
const NOTIFIED: u32 = 1;
/// Asleep on the futex.
const PARKED: u32 = 2;
/// Asleep in `poll`, to be woken by `wake_fd`.
const POLLING: u32 = 3;

/// A thread's place to sleep.
#[derive(Debug)]
pub(super) struct Waiter {
    state: Word,
    wake_fd: Arc<WakeFd>,
}

impl Waiter {
    pub(super) fn new(wake_fd: Arc<WakeFd>) -> Arc<Self> {
        Arc::new(Self { state: Word::new(AWAKE), wake_fd })
    }

    /// As something to put on a list.
    pub(super) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(self.clone())
    }

    /// Whether it was notified since the last time; forgets it.
    pub(super) fn take_call(&self) -> bool {
        // A load is cheaper than an exchange, and most of the time all there is to do.
        self.is_notified() && self.state.swap(AWAKE, Ordering::AcqRel) == NOTIFIED
    }

    /// Whether it was notified.
    pub(super) fn is_notified(&self) -> bool {
        self.state.load(Ordering::Acquire) == NOTIFIED
    }

    /// Sleeps until notified, for at most `timeout`, or for no reason; whether it was notified.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn park(&self, timeout: Option<Duration>) -> io::Result<bool> {
        if self.sleep_as(PARKED) {
            return Ok(true);
        }
        let slept = futex::wait(&self.state, PARKED, timeout);
        let notified = self.state.swap(AWAKE, Ordering::AcqRel) == NOTIFIED;
        slept.map(|()| notified)
    }

    /// What this thread must have among its descriptors when it polls.
    pub(super) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake_fd.as_fd()
    }

    /// Notes that this thread goes into `poll` now; whether it should not, because it was notified.
    pub(super) fn begin_poll(&self) -> bool {
        self.sleep_as(POLLING)
    }

    /// Says that it is back, and whether `wake_fd` was readable. That does not mean that it was
    /// notified: it may become readable late, when its addressee is awake again, or another thread
    /// is in its place.
    pub(super) fn end_poll(&self, woken: bool) {
        self.state.swap(AWAKE, Ordering::AcqRel);
        if woken {
            self.wake_fd.clear();
        }
    }

    /// Goes to sleep as `how` says, unless notified already; whether it was notified.
    fn sleep_as(&self, how: u32) -> bool {
        let begun = self.state.compare_exchange(AWAKE, how, Ordering::AcqRel, Ordering::Acquire);
        if begun.is_err() {
            self.state.store(AWAKE, Ordering::Release);
        }
        begun.is_err()
    }
}

/// A thread's waiter, and what calls it. Each thread has one, which it takes while it waits and
/// leaves for the next time: waiting allocates nothing, and counts no references.
#[derive(Debug)]
pub(crate) struct ThreadParker {
    engine: u64,
    polls: bool,
    pub(super) waiter: Arc<Waiter>,
    pub(super) waker: Waker,
}

thread_local! {
    static PARKER: Cell<Option<ThreadParker>> = const { Cell::new(None) };
    static POLLING_PARKER: Cell<Option<ThreadParker>> = const { Cell::new(None) };
}

impl ThreadParker {
    /// This thread's, for `engine`.
    pub(super) fn take(engine: u64, wake_fd: &Arc<WakeFd>) -> Self {
        // A thread that is being torn down, dropping a stream with a linger time, has none.
        let left = PARKER.try_with(Cell::take).ok().flatten();
        left.filter(|parker| parker.engine == engine).unwrap_or_else(|| {
            let waiter = Waiter::new(wake_fd.clone());
            Self { engine, polls: false, waker: waiter.waker(), waiter }
        })
    }

    /// As [`Self::take`], for a wait that includes another descriptor: its waiter has a descriptor
    /// of its own, by which it can be called in `poll` while another thread leads.
    ///
    /// # Errors
    /// The process has as many descriptors as it may have.
    pub(super) fn take_polling(
        engine: u64,
        wake_fd: impl FnOnce() -> io::Result<Arc<WakeFd>>,
    ) -> io::Result<Self> {
        let left = POLLING_PARKER.try_with(Cell::take).ok().flatten();
        if let Some(parker) = left.filter(|parker| parker.engine == engine) {
            return Ok(parker);
        }
        let waiter = Waiter::new(wake_fd()?);
        Ok(Self { engine, polls: true, waker: waiter.waker(), waiter })
    }

    /// Leaves it for the next time.
    pub(super) fn leave(self) {
        let place = if self.polls { &POLLING_PARKER } else { &PARKER };
        let _ = place.try_with(|parker| parker.set(Some(self)));
    }
}

impl Wake for Waiter {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match self.state.swap(NOTIFIED, Ordering::AcqRel) {
            PARKED => {
                futex::wake(&self.state);
            }
            POLLING => self.wake_fd.wake(),
            _ => {}
        }
    }
}
