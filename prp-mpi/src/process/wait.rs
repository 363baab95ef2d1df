//! Waiting: a rank looks for a while, offers its processor, and then sleeps until a stream has
//! something.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::MutexGuard;

use super::Process;
use super::report::Waiting;
use crate::engine::Engine;
use crate::link::Stream;

/// How long a rank looks before it sleeps: some times what a message takes from node to node.
const LOOK: Duration = Duration::from_micros(30);

/// How often a crowded rank offers its processor before it sleeps: each offer lets a neighbour run,
/// whose message is what this one waits for.
const OFFERS: u32 = 4;

/// Longest sleep where several threads wait: one may have received what another waits for.
const SHARED_SLEEP: u16 = 1;

/// Longest sleep of a thread alone, in milliseconds: after that it looks whether something was held
/// back.
const SLEEP: u16 = 100;

/// How long a rank waits before it notes that it does, for reports: long compared to what a message
/// takes.
const SOON: Duration = Duration::from_millis(2);

/// How long a rank keeps the engine while it waits: a thread that asks where it is waits for that.
const LONG: Duration = Duration::from_millis(50);

impl Process {
    /// Waits until `ready` has something. `what` says for what, should anybody ask.
    pub fn wait<T>(
        &self,
        what: &dyn Fn() -> Waiting,
        mut ready: impl FnMut(&mut Engine) -> Option<T>,
    ) -> T {
        let mut engine = self.engine();
        // What was begun may have ended at once, by messages that belong to another call.
        self.check(&mut engine);
        if let Some(out) = ready(&mut engine) {
            return out;
        }
        let mut noted = None;
        let out = loop {
            let moved = engine.progress();
            self.check(&mut engine);
            if let Some(out) = ready(&mut engine) {
                break out;
            }
            if moved {
                continue;
            }
            if let Some(from) = engine.only_remote().filter(|_| self.is_alone()) {
                let patience = if noted.is_none() { SOON } else { LONG };
                if !engine.progress_patiently(from, patience) && noted.is_none() {
                    noted = Some(self.note(what()));
                }
                self.check(&mut engine);
                if let Some(out) = ready(&mut engine) {
                    break out;
                }
                MutexGuard::bump(&mut engine);
                continue;
            }
            let (seen, looked) = self.look(engine, &mut ready);
            engine = looked;
            if let Some(out) = seen {
                break out;
            }
            if noted.is_none() {
                noted = Some(self.note(what()));
            }
            engine = self.sleep(engine);
        };
        drop(engine);
        if let Some(since) = noted {
            self.waiting.lock().retain(|w| w.since != since);
        }
        out
    }

    /// Looks once, without waiting; a rank that looks in vain lets others run.
    pub fn try_now<T>(&self, mut ready: impl FnMut(&mut Engine) -> Option<T>) -> Option<T> {
        let mut engine = self.engine();
        self.check(&mut engine);
        let out = ready(&mut engine);
        if out.is_some() {
            return out;
        }
        let moved = engine.progress();
        self.check(&mut engine);
        let out = ready(&mut engine);
        if out.is_none() && !moved {
            engine.admit_one();
            drop(engine);
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

    /// Looks again and again, for a while.
    fn look<'a, T>(
        &'a self,
        mut engine: MutexGuard<'a, Engine>,
        ready: &mut impl FnMut(&mut Engine) -> Option<T>,
    ) -> (Option<T>, MutexGuard<'a, Engine>) {
        let begun = Instant::now();
        let mut offers = 0;
        loop {
            MutexGuard::unlocked_fair(&mut engine, || {
                // Also where ranks have a processor each: others may compute there, or be ranks of
                // another node.
                let _ = nix::sched::sched_yield();
            });
            engine.progress();
            self.check(&mut engine);
            if let Some(out) = ready(&mut engine) {
                return (Some(out), engine);
            }
            offers += 1;
            let enough = if self.is_crowded { offers >= OFFERS } else { begun.elapsed() >= LOOK };
            if enough {
                return (None, engine);
            }
        }
    }

    /// Sleeps until a stream has something, or room.
    fn sleep<'a>(&'a self, mut engine: MutexGuard<'a, Engine>) -> MutexGuard<'a, Engine> {
        let streams = engine.streams();
        let timeout = if self.waiting.lock().len() > 1 { SHARED_SLEEP } else { SLEEP };
        let count = MutexGuard::unlocked(&mut engine, || sleep_on(&streams, timeout));
        if count == 0 {
            engine.admit_one();
        }
        engine
    }

    /// Ends the job if ranks disagree.
    fn check(&self, engine: &mut Engine) {
        if let Some(mismatch) = engine.mismatch.take() {
            let text = self.explain(&mismatch);
            self.abort(1, &text);
        }
        if let Some((from, byte)) = engine.garbage.take() {
            self.abort(1, &format!("rank {from} sent a header that begins with {byte}"));
        }
    }
}

/// How many of the streams have something, or room, within `timeout` milliseconds.
fn sleep_on(streams: &[(Arc<Stream>, bool, bool)], timeout: u16) -> usize {
    let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(streams.len());
    for (stream, reads, writes) in streams {
        let Ok(fd): Result<BorrowedFd<'_>, _> = stream.fd() else { continue };
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::POLLIN, *reads);
        flags.set(PollFlags::POLLOUT, *writes);
        if !flags.is_empty() {
            fds.push(PollFd::new(fd, flags));
        }
    }
    poll(&mut fds, PollTimeout::from(timeout)).unwrap_or(1).unsigned_abs() as usize
}
