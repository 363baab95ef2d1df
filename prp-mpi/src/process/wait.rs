//! Waiting: a rank polls for a while, yields its processor, and then sleeps until a stream has
//! something. Of several threads that wait one sleeps on the streams, and wakes the others.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{io, thread};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prp_device::waiting::Polling;
use prp_sock::{Awaited, wait_any};

use super::report::Waiting;
use super::{ExchangeGuard, Process};
use crate::channel::Stream;
use crate::exchange::Exchange;
use crate::request::{RequestId, Status};
use crate::sys::shared::Bell;

/// Longest sleep of a thread. Whatever ends a wait wakes it: a guard against a lost wake-up.
pub(super) const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// How long a rank waits before it notes that it does, for reports: long compared to what a message
/// takes.
const REPORT_AFTER: Duration = Duration::from_millis(2);

/// How long the thread that serves windows sleeps while threads of the program move messages
/// themselves: a call to it for each message would cost them more than the message.
const NAP: Duration = Duration::from_millis(1);

/// The same, where one of them has been waiting for long.
const LONGEST_NAP: Duration = Duration::from_millis(16);

/// How long a rank keeps the exchange while it waits: a thread that asks where it is waits for
/// that.
const MAX_EXCHANGE_HOLD: Duration = Duration::from_millis(50);

impl Process {
    /// Waits until `ready` has something. `what` says for what, for reports.
    pub fn wait<T>(
        &self,
        what: &dyn Fn() -> Waiting,
        mut ready: impl FnMut(&mut Exchange) -> Option<T>,
    ) -> T {
        let mut exchange = self.exchange();
        exchange.end_bursts();
        // What was begun may have ended at once, by messages that belong to another call.
        self.check(&mut exchange);
        if let Some(out) = ready(&mut exchange) {
            return out;
        }
        self.begin_waiting();
        combine(&mut exchange);
        let mut noted = None;
        let out = loop {
            if let Some(from) = exchange.only_remote().filter(|_| self.is_alone()) {
                // Reads what is there, too: another poll before would cost as much as the message.
                let patience = if noted.is_none() { REPORT_AFTER } else { MAX_EXCHANGE_HOLD };
                let moved = exchange.progress_patiently(from, patience);
                if !moved && noted.is_none() {
                    noted = Some(self.note(what()));
                }
                combine(&mut exchange);
                self.check(&mut exchange);
                if let Some(out) = ready(&mut exchange) {
                    break out;
                }
                exchange.yield_to_others();
                continue;
            }
            let moved = progress(&mut exchange);
            self.check(&mut exchange);
            if let Some(out) = ready(&mut exchange) {
                break out;
            }
            if moved {
                exchange.yield_to_others();
                continue;
            }
            // The streams' own waiting spins for a while, too, where there is no bell to wait for.
            let is_first = noted.is_none() && !exchange.has_local() && !exchange.is_stalled();
            let is_led = self.is_led.load(Ordering::Relaxed);
            if is_first && !is_led && !self.has_many_callers() {
                if !self.sleep(&mut exchange, false, REPORT_AFTER) {
                    noted = Some(self.note(what()));
                }
                continue;
            }
            if let Some(out) = self.spin(&mut exchange, &mut ready) {
                break out;
            }
            if noted.is_none() {
                noted = Some(self.note(what()));
            }
            // What was held back may be, or be before, what this rank waits for.
            if exchange.admit_one() {
                continue;
            }
            if self.is_led.load(Ordering::Relaxed) {
                let followed = exchange.follow(|exchange| {
                    self.check(exchange);
                    ready(exchange)
                });
                if let Some(out) = followed {
                    break out;
                }
            } else {
                let has_bell = self.has_many_callers();
                self.sleep(&mut exchange, has_bell, self.longest_sleep);
            }
        };
        self.waiters.fetch_sub(1, Ordering::Relaxed);
        self.note_poll();
        exchange.leave();
        if let Some(since) = noted {
            self.waiting.lock().retain(|w| w.since != since);
        }
        out
    }

    /// Has a thread do what other ranks ask for while the program computes, as long as there are
    /// windows. Without it they wait until this rank waits, too.
    ///
    /// # Errors
    /// If there is no such thread and none can be had.
    pub fn serve_windows(self: &Arc<Self>) -> io::Result<()> {
        let others = self.size() - 1 + self.peers.lock().len();
        if others == 0 || !self.exchange().begin_serving() {
            return Ok(());
        }
        let process = self.clone();
        let named = thread::Builder::new().name("prp-mpi-window".into());
        match named.spawn(move || process.serve()) {
            Ok(_) => Ok(()),
            Err(e) => {
                self.exchange().end_serving();
                Err(e)
            }
        }
    }

    /// Serves windows while the program computes, and keeps out of its way while it does not.
    fn serve(&self) {
        let (mut seen, mut nap) = (self.polls(), NAP);
        loop {
            thread::sleep(nap);
            let polls = self.polls();
            let waits = self.waiters.load(Ordering::Relaxed) > 0;
            let computes = !waits && polls == seen;
            nap = if waits && polls == seen { LONGEST_NAP.min(2 * nap) } else { NAP };
            seen = polls;
            // A thread that has the exchange moves messages.
            let Some(mut exchange) = self.exchange_within(Duration::ZERO) else { continue };
            if computes {
                self.serve_until_polled(&mut exchange, polls);
            }
            if !exchange.has_windows() {
                exchange.end_serving();
                return exchange.leave();
            }
            exchange.leave();
        }
    }

    /// Serves windows until a thread of the program has polled since `polls`, or waits.
    fn serve_until_polled(&self, exchange: &mut ExchangeGuard<'_>, polls: u64) {
        let is_left = || self.waiters.load(Ordering::Relaxed) == 0 && self.polls() == polls;
        while exchange.has_windows() && is_left() {
            let moved = exchange.progress();
            self.check(exchange);
            if moved {
                exchange.yield_to_others();
            } else {
                // A thread that begins to wait rings.
                self.sleep(exchange, true, self.longest_sleep);
            }
        }
    }

    /// A thread of the program waits from now on, and moves messages itself. Called with the
    /// exchange locked.
    fn begin_waiting(&self) {
        let others = self.waiters.fetch_add(1, Ordering::Relaxed);
        // The thread that sleeps on the streams is the one that serves windows.
        if others == 0 && self.is_led.load(Ordering::Relaxed) {
            self.bell.ring();
        }
    }

    /// How often threads of the program have polled or waited.
    fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    fn note_poll(&self) {
        self.polls.fetch_add(1, Ordering::Relaxed);
    }

    /// A call that need not wait for what it is asked for: no message waits for another one.
    pub fn end_bursts(&self) {
        self.exchange().end_bursts();
    }

    /// Takes a request that is done by now, without polling any stream.
    pub fn take_done(&self, request: RequestId) -> Option<Status> {
        let mut exchange = self.exchange();
        exchange.end_bursts();
        self.check(&mut exchange);
        exchange.take(request)
    }

    /// As [`Self::take_done`], of several.
    pub fn take_each_done(
        &self,
        requests: impl Iterator<Item = Option<RequestId>>,
    ) -> Vec<Option<Status>> {
        let mut exchange = self.exchange();
        exchange.end_bursts();
        self.check(&mut exchange);
        requests.map(|request| exchange.take(request?)).collect()
    }

    /// Polls once, without waiting; a rank that polls and finds nothing lets others run.
    pub fn try_now<T>(&self, mut ready: impl FnMut(&mut Exchange) -> Option<T>) -> Option<T> {
        let mut exchange = self.exchange();
        exchange.end_bursts();
        self.check(&mut exchange);
        let out = ready(&mut exchange);
        if out.is_some() {
            return out;
        }
        self.note_poll();
        let moved = progress(&mut exchange);
        self.check(&mut exchange);
        let out = ready(&mut exchange);
        if out.is_none() && !moved {
            exchange.admit_one();
            drop(exchange);
            let _ = nix::sched::sched_yield();
        }
        out
    }

    /// Notes that a thread waits; the time tells it from others.
    fn note(&self, what: Waiting) -> Instant {
        let since = what.since;
        self.waiting.lock().push(what);
        since
    }

    /// Polls again and again, for a while.
    fn spin<T>(
        &self,
        exchange: &mut ExchangeGuard<'_>,
        ready: &mut impl FnMut(&mut Exchange) -> Option<T>,
    ) -> Option<T> {
        let begun = Instant::now();
        let mut polling = Polling::new(self.waits);
        loop {
            exchange.unlocked(|| {
                // Also where ranks have a processor each: others may compute there, or be ranks of
                // another node.
                let _ = nix::sched::sched_yield();
            });
            progress(exchange);
            self.check(exchange);
            if let Some(out) = ready(exchange) {
                return Some(out);
            }
            polling.count_yield();
            if polling.is_over(|| begun.elapsed()) {
                return None;
            }
        }
    }

    /// Sleeps until a stream has something, or room, for at most `timeout`; with `has_bell` also
    /// until another thread rings. `false` if the time is over.
    fn sleep(&self, exchange: &mut ExchangeGuard<'_>, has_bell: bool, timeout: Duration) -> bool {
        let streams = exchange.streams();
        exchange.lead(|| sleep_on(&streams, &self.bell, has_bell, timeout))
    }

    /// Ends the job if ranks disagree.
    fn check(&self, exchange: &mut Exchange) {
        if let Some(mismatch) = exchange.mismatch.take() {
            let text = self.explain(&mismatch);
            self.abort(1, &text);
        }
        if let Some(overrun) = exchange.overrun.take() {
            self.abort(1, &overrun.to_string());
        }
        if let Some(from) = exchange.stray.take() {
            self.abort(1, &format!("rank {from} asked for a part of a window that there is not"));
        }
        // What the launcher has started it ends.
        let is_outside = |lost: &usize| self.number_by_launcher(*lost).is_none();
        if let Some(lost) = exchange.lost.take().filter(is_outside) {
            let who = self.describe_process(lost);
            self.abort(1, &format!("{who} has ended without leaving the communicators with it"));
        }
        if let Some((from, error)) = exchange.failure.take() {
            self.abort(1, &format!("nothing goes to rank {from} and back any more: {error}"));
        }
        if let Some((from, byte)) = exchange.garbage.take() {
            self.abort(1, &format!("rank {from} sent a header that begins with {byte}"));
        }
    }
}

/// Moves what can be moved, with what functions of the program have to do. `false` if that was
/// nothing.
fn progress(exchange: &mut ExchangeGuard<'_>) -> bool {
    let moved = exchange.progress();
    combine(exchange) || moved
}

/// Calls the functions of the program by which collective operations go on, without the exchange.
/// `false` if there were none.
fn combine(exchange: &mut ExchangeGuard<'_>) -> bool {
    let mut has_combined = false;
    while let Some(mut combination) = exchange.take_combination() {
        exchange.unlocked(|| combination.run());
        exchange.put_back(combination);
        has_combined = true;
    }
    has_combined
}

/// Sleeps until one of the streams has something, or room, for at most `timeout`; with `has_bell`
/// also until the bell rings. `false` if the time is over.
fn sleep_on(
    streams: &[(Arc<Stream>, bool, bool)],
    bell: &Bell,
    has_bell: bool,
    timeout: Duration,
) -> bool {
    let (mut local, mut remote) = (Vec::new(), Vec::new());
    for (stream, reads, writes) in streams {
        match (&**stream, *reads, *writes) {
            (_, false, false) => {}
            (Stream::Local(end), reads, writes) => local.push((end, reads, writes)),
            (Stream::Remote(stream), true, false) => remote.push(Awaited::read(stream)),
            (Stream::Remote(stream), false, true) => remote.push(Awaited::write(stream)),
            (Stream::Remote(stream), true, true) => remote.push(Awaited::read_or_write(stream)),
        }
    }
    // All are told, whatever one of them says.
    let is_there = local.iter().filter(|(end, reads, writes)| end.begin_sleep(*reads, *writes));
    let found = is_there.count() > 0 || {
        let wakes = has_bell || !local.is_empty() || remote.is_empty();
        sleep(&mut remote, wakes.then_some(bell), timeout)
    };
    for (end, ..) in local {
        end.end_sleep();
    }
    found
}

/// Sleeps until a stream is ready or the bell rings.
fn sleep(streams: &mut [Awaited<'_>], bell: Option<&Bell>, timeout: Duration) -> bool {
    let Some(bell) = bell else {
        return wait_any(streams, None, Some(timeout)).unwrap_or(1) > 0;
    };
    if !streams.is_empty() {
        // What ends a wait with an error shows where the streams are read.
        let ready = wait_any(streams, Some(bell.as_fd()), Some(timeout)).unwrap_or(1);
        return bell.was_rung() || ready > 0;
    }
    let mut fds = [PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
    let polled = poll(&mut fds, timeout);
    bell.was_rung() || polled.is_err()
}

#[cfg(test)]
mod tests;
