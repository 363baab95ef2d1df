//! How a task tries, and how it waits.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use prp_proto::time::Instant;
use tokio::task::coop;

use crate::engine::{Core, Engine, FutureId, Interest, Task};
use crate::error;
use crate::sys::baton::LockClass;

/// Tries `f`; once more after receiving the frames that wait. If it still has nothing, has `task`
/// woken when there is news of `interest`.
///
/// It costs the task some of its budget, as tokio's own sockets do: a task whose streams are always
/// ready would otherwise keep its thread from all others, and from every timer.
pub(super) fn poll_engine<T>(
    engine: &Engine,
    lock_class: LockClass,
    interest: Interest,
    cx: &mut Context<'_>,
    task: Task<'_>,
    mut f: impl FnMut(&mut Core, &mut Instant) -> Option<io::Result<T>>,
) -> Poll<io::Result<T>> {
    let budget = ready!(coop::poll_proceed(cx));
    if !engine.is_ours() {
        return Poll::Ready(Err(error::forked()));
    }
    let mut now = engine.now();
    let mut core = engine.lock_as(lock_class);
    let mut out = f(&mut core, &mut now);
    if out.is_none() && core.poll_once(now, None) > 0 {
        out = f(&mut core, &mut now);
    }
    if out.is_none() {
        // Copying a waker runs code that is not ours, as calling it does.
        drop(core);
        let waker = cx.waker().clone();
        now = engine.now();
        core = engine.lock_as(lock_class);
        out = f(&mut core, &mut now).or_else(|| core.check().err().map(Err));
        if out.is_none() {
            core.register_task(interest, task, waker);
            core.show_for(interest);
            engine.finish(core, now);
            return Poll::Pending;
        }
    }
    if let Task::Future(id) = task
        && let Some(id) = id.take()
    {
        core.forget_future(interest, id);
    }
    core.show_for(interest);
    engine.finish(core, now);
    budget.made_progress();
    out.map_or(Poll::Pending, Poll::Ready)
}

/// A future that waits until `attempt` gives something. Any number of them may wait for one stream
/// or listener: each has its own waker there, until it ends or is dropped.
pub(super) struct WaitFuture<'a, F> {
    engine: &'a Engine,
    interest: Interest,
    id: Option<FutureId>,
    attempt: F,
}

impl<'a, F> WaitFuture<'a, F> {
    pub(super) fn new<T>(engine: &'a Engine, interest: Interest, attempt: F) -> Self
    where
        F: FnMut(&mut Core, &mut Instant) -> Option<io::Result<T>>,
    {
        Self { engine, interest, id: None, attempt }
    }
}

impl<T, F> Future for WaitFuture<'_, F>
where
    F: FnMut(&mut Core, &mut Instant) -> Option<io::Result<T>> + Unpin,
{
    type Output = io::Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { engine, interest, id, attempt } = self.get_mut();
        poll_engine(engine, LockClass::Short, *interest, cx, Task::Future(id), attempt)
    }
}

impl<F> Drop for WaitFuture<'_, F> {
    fn drop(&mut self) {
        if let Some(id) = self.id
            && self.engine.is_ours()
        {
            self.engine.lock().forget_future(self.interest, id);
        }
    }
}

impl<F> fmt::Debug for WaitFuture<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("interest", &self.interest).finish_non_exhaustive()
    }
}
