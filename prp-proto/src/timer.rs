//! Deadlines: a small table per connection, a queue over all of them.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use core::hash::{Hash, Hasher};

use crate::event::ConnHandle;
use crate::time::Instant;

/// What a connection waits for.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) enum Timer {
    /// Repeat the request, or give it up.
    Request,
    /// A segment is late: reordering window, tail-loss probe or retransmission timeout.
    Loss,
    /// An acknowledgement may wait no longer.
    AckDelay,
    /// Ask whether the window is still closed.
    Persist,
    /// Ask an idle peer whether it is there, or an unconfirmed one.
    Keepalive,
    /// A size probe went unanswered.
    SizeProbe,
    /// Send more: the pace allows it.
    Pace,
    /// TIME-WAIT after closing is over.
    TimeWait,
}

const TIMERS: usize = Timer::TimeWait as usize + 1;

const ALL: [Timer; TIMERS] = [
    Timer::Request,
    Timer::Loss,
    Timer::AckDelay,
    Timer::Persist,
    Timer::Keepalive,
    Timer::SizeProbe,
    Timer::Pace,
    Timer::TimeWait,
];

/// The deadline of a timer that is not set: in five hundred years.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// The deadlines of one connection.
#[derive(Copy, Clone, Debug)]
pub(crate) struct TimerTable {
    at: [Instant; TIMERS],
    /// None of them is earlier. It is asked for after everything that happens to a connection, and
    /// timers are set and stopped all the time; so what was stopped is forgotten here only when it
    /// would have been due.
    bound: Instant,
}

impl Default for TimerTable {
    fn default() -> Self {
        Self { at: [NEVER; TIMERS], bound: NEVER }
    }
}

/// The bound decides when a connection is checked, not what it then does.
impl Hash for TimerTable {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.at.hash(state);
    }
}

impl TimerTable {
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.at[timer as usize] = at;
        self.bound = self.bound.min(at);
    }

    pub(crate) fn stop(&mut self, timer: Timer) {
        self.at[timer as usize] = NEVER;
    }

    pub(crate) fn stop_all(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.at[timer as usize] != NEVER
    }

    /// When to check the timers: at the earliest deadline, or before it.
    pub(crate) fn next(&self) -> Option<Instant> {
        (self.bound != NEVER).then_some(self.bound)
    }

    /// The earliest deadline.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.at.iter().copied().filter(|at| *at != NEVER).min()
    }

    /// Forgets what was stopped or put off: [`Self::next`] is the earliest deadline afterwards,
    /// which is given.
    pub(crate) fn revise(&mut self) -> Option<Instant> {
        let earliest = self.earliest();
        self.bound = earliest.unwrap_or(NEVER);
        earliest
    }

    /// Takes one timer that is due at `now`.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let is_due = |timer: &Timer| self.is_set(*timer) && self.at[*timer as usize] <= now;
        let due = ALL.into_iter().find(is_due);
        match due {
            Some(timer) => self.stop(timer),
            None => _ = self.revise(),
        }
        due
    }
}

/// Entries of one connection that are told apart. An acknowledgement's deadline is queued before a
/// retransmission's, that before a probe's: three, and one to spare.
const DEPTH: usize = 4;

/// What a connection is queued for, latest first. An earlier deadline is queued on top of later
/// ones, and when it has passed the one below serves again, instead of being queued anew each time.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct QueuedDeadlines {
    at: [Instant; DEPTH],
    len: u8,
}

/// What is queued decides when a connection is checked, not what it then does.
impl Hash for QueuedDeadlines {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl QueuedDeadlines {
    /// Whether `at` must be queued: nothing is, or only later deadlines are. Notes that it now is.
    pub(crate) fn add(&mut self, at: Instant) -> bool {
        let len = usize::from(self.len);
        if len > 0 && self.at[len - 1] <= at {
            return false;
        }
        if len == DEPTH {
            // The latest is forgotten; its entry will come up and do nothing.
            self.at.rotate_left(1);
            self.at[len - 1] = at;
        } else {
            self.at[len] = at;
            self.len += 1;
        }
        true
    }

    /// An entry for `at` has come up.
    pub(crate) fn remove(&mut self, at: Instant) {
        if let Some(top) = usize::from(self.len).checked_sub(1)
            && self.at[top] == at
        {
            self.len -= 1;
        }
    }
}

/// Entries before stale ones are searched for.
const SMALL: usize = 256;

/// All connections' deadlines. A connection is queued for its earliest deadline or sooner, never
/// later; deadlines move back with every acknowledgement, so stale entries are dropped when they
/// come up instead of being searched for.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimerQueue {
    heap: BinaryHeap<Reverse<(Instant, ConnHandle)>>,
    /// Entries the last search left.
    kept: usize,
}

impl TimerQueue {
    pub(crate) fn push(&mut self, at: Instant, conn: ConnHandle) {
        self.heap.push(Reverse((at, conn)));
    }

    /// Drops the entries of connections that `exists` no longer knows, if the queue has doubled
    /// since that was done last: connections that come and go by the thousand leave entries far in
    /// the future.
    pub(crate) fn compact(&mut self, exists: impl Fn(ConnHandle) -> bool) {
        if self.heap.len() <= SMALL.max(2 * self.kept) {
            return;
        }
        self.heap.retain(|Reverse((_, conn))| exists(*conn));
        self.kept = self.heap.len();
        self.heap.shrink_to(SMALL.max(2 * self.kept));
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.heap.capacity() * size_of::<Reverse<(Instant, ConnHandle)>>()
    }

    /// When the earliest entry is due, which may be stale.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.first().map(|(at, _)| at)
    }

    /// The earliest entry.
    pub(crate) fn first(&self) -> Option<(Instant, ConnHandle)> {
        self.heap.peek().map(|Reverse(entry)| *entry)
    }

    /// Takes the earliest entry if it is due at `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Instant, ConnHandle)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}
