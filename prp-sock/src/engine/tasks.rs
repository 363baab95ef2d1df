//! Tasks that wait for connections and listeners: wakers that belong to no thread of ours.

use std::task::Waker;

use super::core::Core;
use super::guard::DeferredCalls;
use super::waiters::Interest;

/// The number of a future that waits, unique in its engine.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct FutureId(u64);

/// Which task is to be woken.
#[derive(Debug)]
pub(crate) enum Task<'a> {
    /// The one that called a `poll_*` method last: as with any `AsyncRead`, it takes the place of
    /// the one before.
    LastToPoll,
    /// The one that polled this future last. It has a place of its own, found by this number, until
    /// the future ends.
    Future(&'a mut Option<FutureId>),
}

/// Tasks that wait for one direction of a connection, or for a listener. All of them are woken at
/// once: one that gives up afterwards, or takes less than there is, takes nothing from the others.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    last_to_poll: Option<Waker>,
    futures: Vec<(FutureId, Waker)>,
}

impl Tasks {
    /// Puts `waker` in the place of `id`; the waker that was there.
    fn put(&mut self, id: FutureId, waker: Waker) -> Option<Waker> {
        match self.futures.iter_mut().find(|(other, _)| *other == id) {
            Some((_, place)) => Some(std::mem::replace(place, waker)),
            None => {
                self.futures.push((id, waker));
                None
            }
        }
    }

    /// Takes the waker of `id` away, if it was not called meanwhile.
    fn remove(&mut self, id: FutureId) -> Option<Waker> {
        let at = self.futures.iter().position(|(other, _)| *other == id)?;
        Some(self.futures.swap_remove(at).1)
    }

    pub(super) fn wake(&mut self, calls: &mut DeferredCalls) {
        let futures = self.futures.drain(..).map(|(_, waker)| waker);
        self.last_to_poll.take().into_iter().chain(futures).for_each(|waker| calls.wake(waker));
    }

    pub(super) fn discard(self, calls: &mut DeferredCalls) {
        let futures = self.futures.into_iter().map(|(_, waker)| waker);
        self.last_to_poll.into_iter().chain(futures).for_each(|waker| calls.discard(Some(waker)));
    }
}

impl Core {
    /// Has `waker`, of `task`, called when there is news of `interest`.
    pub(crate) fn register_task(&mut self, interest: Interest, task: Task<'_>, waker: Waker) {
        let id = match task {
            Task::LastToPoll => None,
            Task::Future(id) => {
                let next = &mut self.waiting.next_future;
                Some(*id.get_or_insert_with(|| {
                    *next += 1;
                    FutureId(*next)
                }))
            }
        };
        let Some(slot) = self.slot(interest) else { return };
        let tasks = slot.tasks(interest);
        let before = match id {
            None => tasks.last_to_poll.replace(waker),
            Some(id) => tasks.put(id, waker),
        };
        self.waiting.calls.discard(before);
    }

    /// The future `id`, which waited for `interest`, has ended.
    pub(crate) fn forget_future(&mut self, interest: Interest, id: FutureId) {
        let waker = self.slot(interest).and_then(|slot| slot.tasks(interest).remove(id));
        self.waiting.calls.discard(waker);
    }
}
