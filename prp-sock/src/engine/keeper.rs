//! The background thread that keeps connections alive while no application thread waits: timers,
//! acknowledgements, incoming data, and what closed streams have left to deliver.
//!
//! It must not hinder application threads: each frame would wake two threads. So while
//! one of them leads, the keeper only reads the clock now and then, and less and less; when they
//! have been away for a tick it takes over and sleeps in `poll` until one comes back.

use std::io;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use prp_device::waiting::{QUIET_TICKS, SHORTEST_TICK, TICK};
use prp_proto::time::Instant;

use super::Engine;
use super::core::Core;
use super::guard::CoreGuard;
use super::registry;
use super::wait::earliest;
use super::waiter::Waiter;
use super::wake_fd::WakeFd;
use crate::sys::memory;
use crate::threads;

/// Bytes of freed buffers that are worth giving back to the system: a process has as many anyway.
const WORTH_RETURNING: usize = 4 * 1024 * 1024;

/// The keeper as others see it.
#[derive(Debug)]
pub(super) struct Keeper {
    waiter: Arc<Waiter>,
}

impl Keeper {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { waiter: Waiter::new(WakeFd::new()?) })
    }

    /// Has it check the state now.
    pub(super) fn call(&self) {
        self.waiter.waker().wake();
    }

    /// An application thread leads from now on.
    pub(super) fn stop_leading(&self, core: &mut Core) {
        if core.timing.keeper_polls {
            core.waiting.calls.wake(self.waker());
        }
    }

    /// What calls it.
    pub(super) fn waker(&self) -> Waker {
        self.waiter.waker()
    }
}

impl Core {
    /// When the keeper is to read the clock again while an application thread leads.
    pub(super) fn next_check(&mut self, now: Instant) -> Instant {
        let timer_load = self.wait_policy.take_timer_load(self.timing.leader_sleeps);
        let due = if timer_load.has_timers() { self.revised_timeout() } else { None };
        timer_load.next_check(due, now)
    }

    /// When a leader that falls asleep `now` has to read the clock for what is `due`. The keeper
    /// runs some timers: a timer of the leader's own for these would cost more than the system call
    /// it is for.
    pub(super) fn leader_deadline(&self, due: Option<Instant>, now: Instant) -> Option<Instant> {
        // One that is overdue may have been put off.
        let wakeup = self.timing.background_wakeup.filter(|at| *at >= now);
        due.filter(|due| wakeup.is_none_or(|at| at > *due))
    }
}

impl Engine {
    /// Starts the keeper.
    pub(super) fn start_keeper(self: &Arc<Self>) -> io::Result<()> {
        let engine = self.clone();
        threads::start("prp-keeper", move || engine.keep())
    }

    /// After a command: calls the keeper if something is due before any thread would notice.
    pub(crate) fn after_command(&self, core: CoreGuard<'_>) {
        let late = core.missed_deadline(TICK).is_some();
        // A task waits and no thread polls for it.
        let unattended = core.waiting.async_waiters > 0
            && core.waiting.leader.is_none()
            && !core.timing.keeper_polls;
        drop(core);
        if late || unattended {
            self.keeper.call();
        }
    }

    fn keep(self: Arc<Self>) {
        let mut quiet = 0;
        let mut seen = 0;
        let mut core = self.lock();
        loop {
            let now = self.now();
            self.keeper.waiter.take_call();
            let driven = core.waiting.leader.is_some();
            quiet = if driven && core.wait_policy.arrivals() == seen { quiet + 1 } else { 0 };
            seen = core.wait_policy.arrivals();
            let takes_over = core.timing.leader_left_at + TICK;
            if driven || core.waiting.async_waiters == 0 && now < takes_over {
                let latest = (!driven).then_some(takes_over);
                core = self.watch(core, now, quiet > QUIET_TICKS, latest);
                continue;
            }
            if core.should_retire(now) {
                drop(core);
                if registry::retire(&self) {
                    return;
                }
                core = self.lock();
                core.retire_later(now);
                continue;
            }
            core = self.cover(core, now);
        }
    }

    /// An application thread leads, or has until just now: the keeper runs the timers of commands
    /// that came meanwhile, and wakes again at `latest`, or before. When all is `quiet`, the leader
    /// reads the clock itself, unless it would do so too late.
    fn watch<'a>(
        &'a self,
        mut core: CoreGuard<'a>,
        now: Instant,
        quiet: bool,
        latest: Option<Instant>,
    ) -> CoreGuard<'a> {
        if core.next_timeout().is_some_and(|at| at <= now) {
            core.pump(now);
            self.send_rest(&mut core);
        }
        if core.endpoint.take_freed(WORTH_RETURNING) {
            core = self.return_memory(core);
        }
        let until = if quiet {
            core.missed_deadline(TICK)
        } else {
            earliest(latest, Some(core.next_check(now)))
        };
        core.timing.keeper_parked = quiet;
        core.timing.background_wakeup = until;
        drop(core);
        let mut core = self.relock_after(until.map(|at| at.since(self.now())));
        core.timing.keeper_parked = false;
        core.timing.background_wakeup = None;
        core
    }

    /// Sleeps until called, for at most `nap`, and locks again. A thread that has the lock for long
    /// then moves much, and reads the clock whenever it lets the lock go: to have it in between
    /// the keeper would stop that thread for as long as it takes to change threads twice. So it
    /// sleeps on instead, for longer and longer, up to a tick.
    fn relock_after(&self, mut nap: Option<Duration>) -> CoreGuard<'_> {
        let mut next = SHORTEST_TICK;
        loop {
            if self.keeper.waiter.park(nap).unwrap_or(true) {
                return self.lock();
            }
            if let Some(core) = CoreGuard::try_soon(&self.core) {
                return core;
            }
            nap = Some(next);
            next = (2 * next).min(TICK);
        }
    }

    /// Has freed memory given back to the system, by a thread of its own: frames and timers do not
    /// wait for that.
    fn return_memory<'a>(&'a self, core: CoreGuard<'a>) -> CoreGuard<'a> {
        drop(core);
        // Without a thread the next time will do.
        let _ = threads::start("prp-memory", memory::return_freed);
        self.lock()
    }

    /// No application thread leads: polls once, then sleeps until something happens.
    fn cover<'a>(&'a self, mut core: CoreGuard<'a>, now: Instant) -> CoreGuard<'a> {
        if core.poll_once(now, None) > 0 || core.has_more() {
            core.bump();
            return core;
        }
        core.endpoint.handle_idle(now);
        core.pump(now);
        if core.endpoint.take_freed(WORTH_RETURNING) {
            return self.return_memory(core);
        }
        if core.has_more() {
            core.bump();
            return core;
        }
        let until = core.revised_timeout();
        core.timing.next_wakeup = until.or(Some(Instant::from_nanos(u64::MAX)));
        core.timing.keeper_polls = true;
        let (mut core, _) = self.sleep(core, &self.keeper.waiter, until, None);
        core.timing.keeper_polls = false;
        core
    }
}
