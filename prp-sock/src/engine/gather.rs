//! Waiting while frames gather: a thread that reads a flow takes in many at once, asleep or without
//! polling in the meantime ([`WaitPolicy`](prp_device::waiting::WaitPolicy) says until when).

use std::io;

use nix::poll::{PollFlags, ppoll};
use nix::sys::prctl::{get_timerslack, set_timerslack};
use nix::sys::time::TimeSpec;
use prp_device::waiting::{TIMER_SLACK, WaitTarget};
use prp_proto::event::ConnHandle;
use prp_proto::time::Instant;

use super::Engine;
use super::core::Core;
use super::guard::CoreGuard;
use super::poll_set::PollSet;
use super::wait::{WaitParams, earliest};
use super::waiter::Waiter;
use super::waiters::Interest;

impl WaitParams<'_> {
    /// What the thread waits for, as far as the policy has to know.
    pub(super) fn target(&self, core: &Core) -> WaitTarget {
        // It polls anyway.
        if !self.settings.may_nap() && self.expected_bytes.is_none() {
            return WaitTarget::Anything;
        }
        let target = match *self.interests {
            [Interest::Write(conn)] => self.room(core, conn),
            [Interest::Read(conn)] => self.frames(core, conn),
            // A thread that serves many, of which one has the flow.
            [Interest::Read(conn), ..] if self.serves_many() => self.frames(core, conn),
            _ => None,
        };
        target.unwrap_or(WaitTarget::Anything)
    }

    /// Room for more of a stream, if nothing else matters meanwhile.
    fn room(&self, core: &Core, conn: ConnHandle) -> Option<WaitTarget> {
        let may_nap = self.is_alone(core, conn) && core.is_unstalled();
        may_nap.then(|| WaitTarget::Room { queueing_delay: core.endpoint.queueing_delay(conn) })
    }

    /// Frames that the peer sends before it waits for an answer. None where a send has stalled, so
    /// that the next frame may make room.
    fn frames(&self, core: &Core, conn: ConnHandle) -> Option<WaitTarget> {
        if !core.is_unstalled() {
            return None;
        }
        let most = self.expected_bytes.map(|bytes| {
            let largest = core.endpoint.terms(conn).map_or(1, |terms| usize::from(terms.mss));
            bytes.div_ceil(largest.max(1)) as u32
        });
        Some(WaitTarget::Frames {
            most: most.unwrap_or(u32::MAX),
            is_known: most.is_some(),
            is_alone: self.is_alone(core, conn),
        })
    }

    /// Whether nobody takes in meanwhile what is for others.
    fn is_alone(&self, core: &Core, conn: ConnHandle) -> bool {
        self.interests.len() == 1 && self.other.is_none() && !core.waiting.has_others(conn)
    }

    /// Whether the thread passes on what comes by streams, and waits for room in none of them.
    fn serves_many(&self) -> bool {
        let reads = |interest: &Interest| matches!(interest, Interest::Read(_));
        self.settings.passes_on() && self.interests.iter().all(reads)
    }
}

impl Engine {
    /// Sleeps until `until` or called, or another descriptor is readable, whatever frames come
    /// meanwhile.
    pub(super) fn nap<'a>(
        &'a self,
        me: &Waiter,
        mut core: CoreGuard<'a>,
        waiting: &WaitParams<'_>,
        until: Instant,
    ) -> (CoreGuard<'a>, io::Result<()>) {
        let now = self.now();
        // Acknowledges what has come: the sender may wait for that.
        core.endpoint.handle_idle(now);
        core.pump(now);
        if core.has_more() || me.begin_poll() {
            return (core, Ok(()));
        }
        core.rx_handles.enable();
        let due = earliest(waiting.deadline, core.revised_timeout());
        let is_reader = matches!(waiting.interests, [Interest::Read(_), ..]);
        let is_whole = is_reader && due.is_none_or(|due| due >= until);
        let until = due.map_or(until, |due| due.min(until));
        core.timing.next_wakeup = Some(until);
        drop(core);
        let mut set = PollSet::new(me.wake_fd(), PollFlags::POLLIN);
        if let Some(other) = waiting.other {
            set.push(other.fd(), PollFlags::POLLIN);
        }
        let timeout = TimeSpec::from_duration(until.since(self.now()));
        let fds = set.fds();
        let polled = with_short_slack(|| ppoll(fds, Some(timeout), None));
        me.end_poll(polled.is_ok() && fds[0].any() == Some(true));
        if let (Some(other), Some(fd)) = (waiting.other, fds.get(1)) {
            other.note(polled.is_ok() && fd.any() == Some(true));
        }
        let mut core = self.lock();
        if is_whole && polled == Ok(0) {
            core.note_gathered();
        }
        (core, polled.map(drop).map_err(io::Error::from))
    }

    /// Leaves the receive rings alone until `end`, `due` or called: while a reader polls, each
    /// frame costs the sender's processor the cache lines that both use. Yields the processor
    /// meanwhile.
    pub(super) fn hold_off<'a>(
        &'a self,
        me: &Waiter,
        mut core: CoreGuard<'a>,
        end: Instant,
        due: Option<Instant>,
    ) -> (CoreGuard<'a>, Instant) {
        core.rx_handles.enable();
        let until = due.map_or(end, |due| due.min(end));
        core.timing.next_wakeup = Some(until);
        drop(core);
        let mut now = self.now();
        while now < until && !me.is_notified() {
            std::thread::yield_now();
            now = self.now();
        }
        let mut core = self.lock();
        if now >= end {
            core.note_gathered();
        }
        let now = self.time_of(now, &core);
        (core, now)
    }
}

/// Has the kernel end the sleep of `sleep` within [`TIMER_SLACK`] of its time. The slack of the
/// thread is the program's: it has it again afterwards.
fn with_short_slack<T>(sleep: impl FnOnce() -> T) -> T {
    let usual = get_timerslack().ok().and_then(|nanos| u64::try_from(nanos).ok());
    let Some(usual) = usual else { return sleep() };
    let _ = set_timerslack(TIMER_SLACK.as_nanos() as u64);
    let slept = sleep();
    let _ = set_timerslack(usual);
    slept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_short_slack__leaves_the_thread_with_its_own() {
        set_timerslack(70_000).expect("threads may set theirs");
        let meanwhile = with_short_slack(get_timerslack);
        assert_eq!(meanwhile, Ok(TIMER_SLACK.as_nanos() as i32));
        assert_eq!(get_timerslack(), Ok(70_000));
    }
}
