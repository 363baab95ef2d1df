//! The application thread that drives, as others see it.

use std::mem;
use std::task::Waker;

use super::guard::Calls;
use super::slot::Interest;
use super::waiter::Seat;

/// The application thread that drives. It has lent what calls it: that costs nothing, and it drives once for each message
/// it waits for.
#[derive(Debug)]
pub(crate) struct Driver {
    waker: Waker,
    /// What it waits for, while others may do the work. A thread that takes a turn itself need not
    /// be called.
    waits_for: Option<Interest>,
}

impl Driver {
    pub(super) fn new(seat: &mut Seat) -> Self {
        Self { waker: mem::replace(&mut seat.waker, Waker::noop().clone()), waits_for: None }
    }

    /// It drives no more.
    pub(super) fn leave(self, seat: &mut Seat) {
        seat.waker = self.waker;
    }

    /// It is to be called when there is news of `interest`, or no more.
    pub(super) fn set_interest(&mut self, interest: Option<Interest>) {
        self.waits_for = interest;
    }

    /// Calls it in any case.
    pub(super) fn call(&mut self, calls: &mut Calls) {
        self.waits_for = None;
        calls.wake(self.waker.clone());
    }

    /// Calls it if what it waits for is there.
    pub(super) fn call_if(&mut self, is_there: impl FnOnce(Interest) -> bool, calls: &mut Calls) {
        if self.waits_for.is_some_and(is_there) {
            self.call(calls);
        }
    }

    /// Whether it is to be called.
    #[cfg(test)]
    pub(super) const fn waits(&self) -> bool {
        self.waits_for.is_some()
    }
}
