//! Waiting while frames gather: a thread that reads a flow takes in many at once, asleep or without
//! polling in the meantime ([`RxCoalescing`](super::rx_coalescing::RxCoalescing) says for how
//! long).

use std::io;
use std::time::Duration;

use nix::poll::{PollFlags, ppoll};
use nix::sys::prctl::{get_timerslack, set_timerslack};
use nix::sys::time::TimeSpec;
use prp_proto::time::Instant;

use super::Engine;
use super::core::Core;
use super::guard::CoreGuard;
use super::poll_set::PollSet;
use super::spin::SpinPolicy;
use super::tuning::{
    LONGEST_NAP, LONGEST_WRITER_NAP, NAP_QUEUE_PART, SHORT_FLOW_NAP, SHORTEST_WRITER_NAP,
    TIMER_SLACK,
};
use super::wait::{WaitParams, earliest};
use super::waiter::Waiter;
use super::waiters::Interest;

impl WaitParams<'_> {
    /// How long to sleep through what comes, if that is the thing to do: a reader that need not
    /// spin, in a flow of data, or a writer whose segments wait in queues.
    pub(super) fn nap(&self, core: &mut Core, now: Instant) -> Option<Duration> {
        if matches!(self.policy, SpinPolicy::Fixed(budget) if !budget.is_zero()) {
            return None;
        }
        let (conn, is_writer) = match *self.interests {
            [Interest::Read(conn)] => (conn, false),
            [Interest::Write(conn)] => (conn, true),
            // A thread that serves many, of which one has the flow.
            [Interest::Read(conn), ..] if self.serves_many() => (conn, false),
            _ => return None,
        };
        // Nobody takes in what is for others meanwhile.
        let is_alone =
            self.interests.len() == 1 && self.other.is_none() && !core.waiting.has_others(conn);
        if is_writer {
            let delay = core.endpoint.queueing_delay(conn);
            let may_nap = is_alone && core.is_unstalled();
            return writer_nap(delay).filter(|_| may_nap && core.timing.note_writer_nap());
        }
        let remaining_frames = self.remaining_frames(core)?;
        let most = if is_alone { LONGEST_NAP } else { SHORT_FLOW_NAP };
        core.rx_coalescing.nap(now, remaining_frames, most)
    }

    /// How long not to poll, if that is the thing to do: a reader that knows how much the peer
    /// sends, in a flow of data.
    pub(super) fn hold_off(&self, core: &mut Core, now: Instant) -> Option<Duration> {
        self.expected_bytes?;
        let remaining_frames = self.remaining_frames(core)?;
        core.rx_coalescing.hold_off(now, remaining_frames)
    }

    /// Whether the thread passes on what comes by streams, and waits for room in none of them.
    fn serves_many(&self) -> bool {
        let reads = |interest: &Interest| matches!(interest, Interest::Read(_));
        self.policy == SpinPolicy::Patient && self.interests.iter().all(reads)
    }

    /// Frames that the peer sends at most before it waits for an answer to a reader. None where the
    /// thread does not only read, or a send has stalled, so that the next frame may make room.
    fn remaining_frames(&self, core: &Core) -> Option<u32> {
        let is_single = matches!(self.interests, [Interest::Read(_)]);
        let [Interest::Read(conn), ..] = *self.interests else { return None };
        if !core.is_unstalled() || !(is_single || self.serves_many()) {
            return None;
        }
        let frames = self.expected_bytes.map(|bytes| {
            let largest = core.endpoint.terms(conn).map_or(1, |terms| usize::from(terms.mss));
            bytes.div_ceil(largest.max(1)) as u32
        });
        Some(frames.unwrap_or(u32::MAX))
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

/// How long a writer naps whose segments wait in queues for `queueing_delay`.
fn writer_nap(queueing_delay: Duration) -> Option<Duration> {
    let nap = (queueing_delay / NAP_QUEUE_PART).min(LONGEST_WRITER_NAP);
    (nap >= SHORTEST_WRITER_NAP).then_some(nap)
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
    fn writer_nap__leaves_the_most_of_what_waits_in_queues() {
        let nap = |micros| writer_nap(Duration::from_micros(micros)).map(|nap| nap.as_micros());
        assert_eq!(nap(399), None);
        assert_eq!(nap(400), Some(100));
        assert_eq!(nap(2_000), Some(500));
        assert_eq!(nap(80_000), Some(1_000));
    }

    #[test]
    fn with_short_slack__leaves_the_thread_with_its_own() {
        set_timerslack(70_000).expect("threads may set theirs");
        let meanwhile = with_short_slack(get_timerslack);
        assert_eq!(meanwhile, Ok(TIMER_SLACK.as_nanos() as i32));
        assert_eq!(get_timerslack(), Ok(70_000));
    }
}
