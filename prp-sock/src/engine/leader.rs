//! The leader, as other threads see it.

use std::mem;
use std::task::Waker;

use super::guard::DeferredCalls;
use super::tuning::HANDOVER_BATCHES;
use super::waiter::ThreadParker;
use super::waiters::Interest;

/// The application thread that leads. It has lent what calls it: that costs nothing, and it becomes
/// leader once for each message it waits for.
#[derive(Debug)]
pub(crate) struct Leader {
    waker: Waker,
    /// What it waits for, while others may do the work. A thread that polls itself need not be
    /// called.
    waits_for: Option<Interest>,
    /// Batches of frames that it has received in which nothing was for itself.
    for_others: u32,
    /// Another thread is to lead in its place.
    resigns: bool,
}

impl Leader {
    pub(super) fn new(parker: &mut ThreadParker) -> Self {
        let waker = mem::replace(&mut parker.waker, Waker::noop().clone());
        Self { waker, waits_for: None, for_others: 0, resigns: false }
    }

    /// Counts a batch of frames with nothing for the leader itself.
    pub(super) const fn count_for_others(&mut self) {
        self.for_others = self.for_others.saturating_add(1);
    }

    /// Asks it to leave its role to the calling thread, if it works for others only: a message to
    /// one of them would pass through two threads each time. Returns whether it was asked.
    pub(super) fn ask_to_resign(&mut self, calls: &mut DeferredCalls) -> bool {
        let asks = self.for_others >= HANDOVER_BATCHES && !self.resigns;
        if asks {
            self.resigns = true;
            self.call(calls);
        }
        asks
    }

    /// Returns whether another thread is to lead in its place.
    pub(super) const fn resigns(&self) -> bool {
        self.resigns
    }

    /// It leads no more.
    pub(super) fn leave(self, parker: &mut ThreadParker) {
        parker.waker = self.waker;
    }

    /// It is to be called when there is news of `interest`, or no more.
    pub(super) fn set_interest(&mut self, interest: Option<Interest>) {
        self.waits_for = interest;
    }

    /// Calls it in any case.
    pub(super) fn call(&mut self, calls: &mut DeferredCalls) {
        self.waits_for = None;
        calls.wake(self.waker.clone());
    }

    /// Calls it if what it waits for is there.
    pub(super) fn wake_if(
        &mut self,
        is_present: impl FnOnce(Interest) -> bool,
        calls: &mut DeferredCalls,
    ) {
        if self.waits_for.is_some_and(is_present) {
            self.call(calls);
        }
    }

    /// Whether it is to be called.
    #[cfg(test)]
    pub(super) const fn waits(&self) -> bool {
        self.waits_for.is_some()
    }

    /// Returns what it is to be called for.
    #[cfg(test)]
    pub(super) const fn interest(&self) -> Option<Interest> {
        self.waits_for
    }
}
