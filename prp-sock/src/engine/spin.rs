//! Polling for frames without sleeping.

use std::cell::Cell;

use prp_device::waiting::Polling;
use prp_proto::config::IDLE_AFTER;
use prp_proto::time::Instant;

use super::Engine;
use super::guard::CoreGuard;
use super::other_fd::OtherFd;
use super::rx_handles::RxHandles;
use super::wait::{WaitParams, earliest};
use super::waiter::Waiter;

impl Engine {
    /// Polls without the lock for a frame, a call or another descriptor. If there is something to
    /// do, what time it is.
    pub(super) fn poll<'a>(
        &'a self,
        me: &Waiter,
        mut core: CoreGuard<'a>,
        waiting: &WaitParams<'_>,
        polling: Polling,
    ) -> (CoreGuard<'a>, Option<Instant>) {
        let until = earliest(waiting.deadline, core.next_timeout());
        core.timing.next_wakeup = Some(polling.end());
        let rx_handles = core.rx_handles.clone();
        rx_handles.enable();
        let other = waiting.other;
        let mut polling = polling.by_syscall(rx_handles.needs_syscall() || other.is_some());
        drop(core);
        let seen = self.spin(&rx_handles, me, until, other, &mut polling);
        // They may have been replaced, and to close them takes long.
        drop(rx_handles);
        let mut core = self.lock();
        core.wait_policy.note_poll(&polling, seen.map(|seen| polling.spent(seen)));
        (core, seen)
    }

    /// Polls without sleeping, until `until` at most. If there is something to do, what time it is.
    fn spin(
        &self,
        rx_handles: &RxHandles,
        me: &Waiter,
        until: Option<Instant>,
        other: Option<&OtherFd<'_>>,
        polling: &mut Polling,
    ) -> Option<Instant> {
        let by_syscall = rx_handles.needs_syscall();
        // Where another thread shares the processor, it must run first to have something for this
        // one.
        let polls_other = Cell::new(polling.polls_per_yield() > 0);
        let is_there = || {
            me.is_notified()
                || rx_handles.has_frame()
                || (by_syscall && self.lock().poll_sockets())
                || (polls_other.get() && other.is_some_and(OtherFd::poll))
        };
        let mut acknowledged = false;
        let mut now = polling.start();
        loop {
            if is_there() {
                return Some(now);
            }
            if polling.polls_per_yield() > 0 {
                let again = || {
                    std::hint::spin_loop();
                    is_there()
                };
                if (0..polling.polls_per_yield()).any(|_| again()) {
                    return Some(self.now());
                }
                now = self.now();
            }
            if until.is_some_and(|at| now >= at) {
                return Some(now);
            }
            let spent = polling.spent(now);
            if polling.is_over(|| spent) {
                return None;
            }
            if !acknowledged && spent >= IDLE_AFTER {
                acknowledged = true;
                let mut core = self.lock();
                core.endpoint.handle_idle(now);
                core.pump(now);
                drop(core);
                now = self.now();
            }
            // The peer may need this very processor.
            if polling.is_yield_due(now) {
                std::thread::yield_now();
                let begun = now;
                now = self.now();
                polls_other.set(true);
                if polling.note_yield(begun, now) {
                    return None;
                }
            }
        }
    }
}
