//! The leader, as other threads see it.

use std::mem;
use std::task::Waker;

use super::guard::DeferredCalls;
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
}

impl Leader {
    pub(super) fn new(parker: &mut ThreadParker) -> Self {
        Self { waker: mem::replace(&mut parker.waker, Waker::noop().clone()), waits_for: None }
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
}
