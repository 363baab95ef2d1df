//! Waiting: the thread that waits does the work, or sleeps while another waiting thread does.

use std::io;
use std::sync::Arc;

use nix::errno::Errno;
use nix::poll::{PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use prp_device::waiting::{Next, WaitSettings};
use prp_proto::time::Instant;

use super::Engine;
use super::core::{Core, Waiting};
use super::guard::CoreGuard;
use super::leader::Leader;
use super::other_fd::OtherFd;
use super::poll_set::PollSet;
use super::rx_handles::take_errors;
use super::tuning::LONGEST_STALL;
use super::waiter::{ThreadParker, Waiter};
use super::waiters::Interest;
use super::wake_fd::WakeFd;
use crate::sys::baton::LockClass;
use crate::sys::process;

/// Something to wait for.
pub(crate) trait Wait {
    /// What it gives.
    type Out;

    /// Checks whether it is there, without waiting; moves `now` on if that takes long.
    fn attempt(&mut self, core: &mut Core, now: &mut Instant) -> Option<Self::Out>;

    /// How long an attempt may hold the lock. Not for a leader, which has the lock for what comes,
    /// for all threads, and attempts in passing.
    fn lock_class(&self) -> LockClass {
        LockClass::Short
    }

    /// Bytes that the peer sends before it waits for an answer, if the caller knows that: the
    /// thread does not sleep longer than these take.
    fn expected_bytes(&self) -> Option<usize> {
        None
    }

    /// Receives and does what follows; how many frames there were. A reader lends its buffer here.
    fn poll_once(&mut self, core: &mut Core, now: Instant) -> usize {
        core.poll_once(now, None)
    }
}

/// Why a wait ended without result.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum WaitError {
    /// The time is over.
    TimedOut,
    /// A signal handler ran that does not want calls restarted.
    Interrupted,
}

/// For what a thread waits, and how.
pub(super) struct WaitParams<'a> {
    /// One or more: of any of them.
    pub(super) interests: &'a [Interest],
    pub(super) other: Option<&'a OtherFd<'a>>,
    pub(super) deadline: Option<Instant>,
    pub(super) settings: WaitSettings,
    /// As [`Wait::expected_bytes`].
    pub(super) expected_bytes: Option<usize>,
}

impl WaitParams<'_> {
    /// What the leader is to be called for.
    const fn leader_interest(&self) -> Interest {
        match self.interests {
            [only] => *only,
            _ => Interest::Any,
        }
    }

    /// Returns whether the thread is to lead when the leader has left. One that only accepts
    /// connections is not: a leader that gets its message mostly comes back in some microseconds,
    /// and frames in between are seldom requests. So a message to a thread that answers wakes no
    /// thread that accepts, and the keeper leads if no thread comes back.
    fn leads_for_others(&self) -> bool {
        !self.interests.iter().all(|i| matches!(i, Interest::Accept(_)))
    }

    /// Sleeps while another thread leads.
    fn park(&self, me: &Waiter, now: Instant) -> io::Result<()> {
        let left = self.deadline.map(|d| d.since(now));
        match self.other {
            Some(other) => other.sleep(me, left),
            None => me.park(left).map(drop),
        }
    }
}

/// How a thread's time as the leader ended.
enum Driven<'a, T> {
    /// Its wait is over.
    Over(Result<T, WaitError>),
    /// Another thread is to lead, and this one waits on.
    Resigned(CoreGuard<'a>, Instant),
}

impl Engine {
    /// Waits for `wait`, at most until `deadline`.
    pub(crate) fn wait<W: Wait>(
        &self,
        interest: Interest,
        deadline: Option<Instant>,
        settings: WaitSettings,
        wait: &mut W,
    ) -> Result<W::Out, WaitError> {
        let mut core = self.lock_as(wait.lock_class());
        let mut now = self.now();
        if let Some(out) = wait.attempt(&mut core, &mut now) {
            core.show_for(interest);
            self.finish(core, now);
            return Ok(out);
        }
        let waiting = WaitParams {
            interests: &[interest],
            other: None,
            deadline,
            settings,
            expected_bytes: wait.expected_bytes(),
        };
        let parker = ThreadParker::take(self.id, &self.leader_wake_fd);
        self.wait_for(parker, core, now, &waiting, wait)
    }

    /// As [`Self::wait`], for any of several things, or a descriptor.
    pub(crate) fn wait_many<W: Wait>(
        &self,
        interests: &[Interest],
        other: Option<(&OtherFd<'_>, ThreadParker)>,
        deadline: Option<Instant>,
        settings: WaitSettings,
        wait: &mut W,
    ) -> Result<W::Out, WaitError> {
        let (other, parker) = other.unzip();
        let mut core = self.lock_as(wait.lock_class());
        let mut now = self.now();
        if let Some(out) = wait.attempt(&mut core, &mut now) {
            self.finish(core, now);
            if let Some(parker) = parker {
                parker.leave();
            }
            return Ok(out);
        }
        let expected_bytes = wait.expected_bytes();
        let waiting = WaitParams { interests, other, deadline, settings, expected_bytes };
        let parker = parker.unwrap_or_else(|| ThreadParker::take(self.id, &self.leader_wake_fd));
        self.wait_for(parker, core, now, &waiting, wait)
    }

    /// Returns the calling thread's parker for [`Self::wait_many`] with a descriptor.
    ///
    /// # Errors
    /// The process has as many descriptors as it may have.
    pub(crate) fn polling_parker(&self) -> io::Result<ThreadParker> {
        ThreadParker::take_polling(self.id, WakeFd::new)
    }

    /// Waits for what is not there yet.
    #[inline(never)]
    fn wait_for<'a, W: Wait>(
        &'a self,
        mut parker: ThreadParker,
        mut core: CoreGuard<'a>,
        mut now: Instant,
        waiting: &WaitParams<'_>,
        wait: &mut W,
    ) -> Result<W::Out, WaitError> {
        let WaitParams { interests, deadline, .. } = *waiting;
        let outcome = loop {
            if core.waiting.leader.is_none() {
                core.waiting.leader = Some(Leader::new(&mut parker));
                self.keeper.stop_leading(&mut core);
                match self.drive(&mut parker, core, now, waiting, wait) {
                    Driven::Over(outcome) => break outcome,
                    Driven::Resigned(guard, at) => (core, now) = (guard, at),
                }
                // Without a thread to lead in its place it goes on.
                if core.waiting.followers.is_empty() {
                    continue;
                }
            }
            let (woken, slept) = self.follow(&parker, core, now, waiting, wait.lock_class());
            core = woken;
            now = self.now();
            let outcome = match wait.attempt(&mut core, &mut now) {
                Some(out) => Ok(out),
                None if deadline.is_some_and(|d| now >= d) => Err(WaitError::TimedOut),
                None if is_interrupted(&slept) => Err(WaitError::Interrupted),
                None => continue,
            };
            interests.iter().for_each(|i| core.show_for(*i));
            self.pass_on(&mut core);
            self.finish(core, now);
            break outcome;
        };
        parker.leave();
        outcome
    }

    /// Sleeps while another thread leads, until called or promoted; locks again for `lock_class`.
    fn follow<'a>(
        &'a self,
        parker: &ThreadParker,
        mut core: CoreGuard<'a>,
        now: Instant,
        waiting: &WaitParams<'_>,
        lock_class: LockClass,
    ) -> (CoreGuard<'a>, io::Result<()>) {
        waiting.interests.iter().for_each(|i| core.register(*i, &parker.waker));
        if waiting.leads_for_others() {
            let Waiting { leader, followers, calls, .. } = &mut core.waiting;
            let is_next = leader.as_mut().is_some_and(|leader| leader.ask_to_resign(calls));
            followers.insert(if is_next { 0 } else { followers.len() }, parker.waiter.clone());
        }
        // What the attempt has taken in concerns other threads, which may sleep, or this thread,
        // which is listed now.
        self.finish(core, now);
        let slept = waiting.park(&parker.waiter, self.now());
        let mut core = self.lock_as(lock_class);
        core.waiting.followers.retain(|f| !Arc::ptr_eq(f, &parker.waiter));
        waiting.interests.iter().for_each(|i| core.forget(*i, &parker.waker));
        (core, slept)
    }

    /// Does the work until `wait` has what it wants.
    fn drive<'a, W: Wait>(
        &'a self,
        parker: &mut ThreadParker,
        mut core: CoreGuard<'a>,
        mut now: Instant,
        waiting: &WaitParams<'_>,
        wait: &mut W,
    ) -> Driven<'a, W::Out> {
        let outcome = loop {
            parker.waiter.take_call();
            let frames = wait.poll_once(&mut core, now);
            if let Some(out) = wait.attempt(&mut core, &mut now) {
                break Some(Ok(out));
            }
            if waiting.deadline.is_some_and(|d| now >= d) {
                break Some(Err(WaitError::TimedOut));
            }
            if let Some(leader) = core.waiting.leader.as_mut().filter(|_| frames > 0) {
                leader.count_for_others();
            }
            if core.waiting.leader.as_ref().is_some_and(Leader::resigns) {
                break None;
            }
            if frames > 0 || core.has_more() {
                core.bump();
                now = self.now();
                continue;
            }
            core.set_leader_interest(Some(waiting.leader_interest()));
            let slept;
            (core, now, slept) = self.idle(&parker.waiter, core, waiting, now);
            core.set_leader_interest(None);
            if is_interrupted(&slept) {
                break Some(Err(WaitError::Interrupted));
            }
        };
        waiting.interests.iter().for_each(|i| core.show_for(*i));
        if let Some(leader) = core.waiting.leader.take() {
            leader.leave(parker);
        }
        core.timing.leader_left_at = now;
        core.timing.next_wakeup = None;
        self.pass_on(&mut core);
        let Some(outcome) = outcome else { return Driven::Resigned(core, now) };
        self.finish_iteration(core, now);
        Driven::Over(outcome)
    }

    /// The role of leader is free: the thread that has waited longest takes it (of those that lead
    /// for others), or else the keeper.
    fn pass_on(&self, core: &mut Core) {
        if core.waiting.leader.is_some() {
            return;
        }
        match core.waiting.followers.first() {
            Some(next) => core.waiting.calls.wake(next.waker()),
            None if core.timing.keeper_parked => core.waiting.calls.wake(self.keeper.waker()),
            None => {}
        }
    }

    /// Waits for a frame, a call or a deadline, as the policy says: lets frames gather, or polls
    /// and then sleeps. What time it is then, and how sleeping ended.
    fn idle<'a>(
        &'a self,
        me: &Waiter,
        mut core: CoreGuard<'a>,
        waiting: &WaitParams<'_>,
        now: Instant,
    ) -> (CoreGuard<'a>, Instant, io::Result<()>) {
        let target = waiting.target(&core);
        match core.wait_policy.next(waiting.settings, target, now, now) {
            Next::Gather { until, asleep: true } => {
                let (core, slept) = self.nap(me, core, waiting, until);
                return (core, self.now(), slept);
            }
            Next::Gather { until, asleep: false } => {
                let due = earliest(waiting.deadline, core.next_timeout());
                let (core, now) = self.hold_off(me, core, until, due);
                return (core, now, Ok(()));
            }
            Next::Poll(polling) => {
                let seen;
                (core, seen) = self.poll(me, core, waiting, polling);
                if let Some(seen) = seen {
                    let now = self.time_of(seen, &core);
                    return (core, now, Ok(()));
                }
            }
            Next::Sleep => {}
        }
        let now = self.now();
        core.endpoint.handle_idle(now);
        core.pump(now);
        if core.has_more() {
            return (core, now, Ok(()));
        }
        let due = core.revised_timeout();
        core.wait_policy.note_sleep(due, now);
        let until = earliest(waiting.deadline, core.leader_deadline(due, now));
        core.timing.next_wakeup = until.or(Some(Instant::from_nanos(u64::MAX)));
        core.timing.leader_sleeps = true;
        let (mut core, slept) = self.sleep(core, me, until, waiting.other);
        core.timing.leader_sleeps = false;
        (core, self.now(), slept)
    }

    /// The time for a thread that found at `seen` that there is something to do: that time, unless
    /// another thread has acted since. What it sent must not have been answered before it was sent.
    pub(super) fn time_of(&self, seen: Instant, core: &Core) -> Instant {
        if core.has_io_after(seen) { self.now() } else { seen }
    }

    /// Sleeps in `poll` until a frame comes, `me` is called, `other` is readable or the time is
    /// over.
    pub(super) fn sleep<'a>(
        &'a self,
        core: CoreGuard<'a>,
        me: &Waiter,
        until: Option<Instant>,
        other: Option<&OtherFd<'_>>,
    ) -> (CoreGuard<'a>, io::Result<()>) {
        let rx_handles = core.rx_handles.clone();
        let mut set = PollSet::new(me.wake_fd(), PollFlags::POLLIN);
        let mut is_stalled = false;
        // A device that is gone would end every sleep at once.
        for (device, place, fd) in rx_handles.fds().filter(|_| core.failed.is_none()) {
            let is_full = core.full_place(device) == Some(place);
            is_stalled |= is_full;
            let room = if is_full { PollFlags::POLLOUT } else { PollFlags::empty() };
            set.push(fd, PollFlags::POLLIN | room);
        }
        let devices = set.fds().len();
        if let Some(other) = other {
            set.push(other.fd(), PollFlags::POLLIN);
        }
        if rx_handles.disable() || me.begin_poll() {
            return (core, Ok(()));
        }
        drop(core);
        let now = self.now();
        let until = if is_stalled { earliest(until, Some(now + LONGEST_STALL)) } else { until };
        let timeout = until.map(|at| TimeSpec::from_duration(at.since(now)));
        let fds = set.fds();
        let polled = ppoll(fds, timeout, None);
        me.end_poll(polled.is_ok() && fds[0].any() == Some(true));
        let mut troubled = false;
        let slept = match polled {
            Err(Errno::EINTR) => Err(io::ErrorKind::Interrupted.into()),
            Err(e) => Err(e.into()),
            Ok(_) => {
                troubled = take_errors(&fds[1..devices]);
                if let (Some(other), Some(fd)) = (other, fds.get(devices)) {
                    other.note(fd.any() == Some(true));
                }
                Ok(())
            }
        };
        let mut core = self.lock();
        if troubled {
            core.take_errors();
        }
        (core, slept)
    }
}

/// Whether a sleep ended by a signal that the application wants to hear of.
fn is_interrupted(slept: &io::Result<()>) -> bool {
    slept.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::Interrupted)
        && process::has_interrupting_handler()
}

pub(super) fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
