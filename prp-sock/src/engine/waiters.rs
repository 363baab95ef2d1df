//! What the engine keeps for each connection and listener beside the protocol: what waits for it.

use std::task::Waker;

use prp_proto::event::{ConnHandle, ListenHandle, Readiness};

use super::guard::DeferredCalls;
use super::readiness::ReadinessFd;
use super::tasks::Tasks;

/// What a thread or a task waits for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Interest {
    /// Data, the end or an error to read.
    Read(ConnHandle),
    /// Room to write, or an error.
    Write(ConnHandle),
    /// The answer to a request.
    Connect(ConnHandle),
    /// Everything written to be acknowledged.
    Flush(ConnHandle),
    /// A connection to accept.
    Accept(ListenHandle),
    /// Any of several of these: of a leader only, which checks them itself.
    Any,
}

impl Interest {
    /// Whether a thread that waits for this has what it waits for once `conn` is `ready`.
    pub(super) fn is_met_by(self, conn: ConnHandle, ready: Readiness) -> bool {
        match self {
            Self::Read(c) => c == conn && ready.readable,
            Self::Write(c) => c == conn && ready.writable,
            Self::Connect(c) => c == conn && ready.connected,
            Self::Flush(c) => c == conn && concerns_flush(ready),
            Self::Accept(_) => false,
            Self::Any => true,
        }
    }

    /// Whether a thread that waits for this may have what it waits for once `listener` has a
    /// connection to accept.
    pub(super) fn is_met_by_incoming(self, listener: ListenHandle) -> bool {
        matches!(self, Self::Any) || self == Self::Accept(listener)
    }
}

/// Whether a thread that waits until all is acknowledged has something to do: it is, or the
/// connection has just been made, before which there was nothing to ask the endpoint for.
const fn concerns_flush(ready: Readiness) -> bool {
    ready.flushed || ready.connected
}

/// The threads and tasks that wait, and a descriptor to show it if the application asked for one.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    read: Vec<Waker>,
    write: Vec<Waker>,
    connect: Vec<Waker>,
    flush: Vec<Waker>,
    reading: Tasks,
    writing: Tasks,
    pub(super) fd: Option<ReadinessFd>,
}

impl Waiters {
    /// Puts `waker` on the list, once.
    pub(super) fn register(&mut self, interest: Interest, waker: &Waker) {
        let list = match interest {
            Interest::Read(_) | Interest::Accept(_) | Interest::Any => &mut self.read,
            Interest::Write(_) => &mut self.write,
            Interest::Connect(_) => &mut self.connect,
            Interest::Flush(_) => &mut self.flush,
        };
        if !list.iter().any(|w| w.will_wake(waker)) {
            list.push(waker.clone());
        }
    }

    /// The tasks that wait for `interest`, or for others in the same direction.
    pub(super) fn tasks(&mut self, interest: Interest) -> &mut Tasks {
        match interest {
            Interest::Read(_) | Interest::Accept(_) | Interest::Any => &mut self.reading,
            Interest::Write(_) | Interest::Connect(_) | Interest::Flush(_) => &mut self.writing,
        }
    }

    /// Takes `waker` off every list: its owner waits no more.
    pub(super) fn forget(&mut self, waker: &Waker) {
        for list in [&mut self.read, &mut self.write, &mut self.connect, &mut self.flush] {
            list.retain(|w| !w.will_wake(waker));
        }
    }

    /// Threads that wait.
    #[cfg(test)]
    pub(super) fn registered(&self) -> usize {
        [&self.read, &self.write, &self.connect, &self.flush].into_iter().map(Vec::len).sum()
    }

    /// Calls the threads and tasks that wait for what has become ready.
    pub(super) fn wake(&mut self, ready: Readiness, calls: &mut DeferredCalls) {
        let due = [
            (ready.readable, &mut self.read),
            (ready.writable, &mut self.write),
            (ready.connected, &mut self.connect),
            (concerns_flush(ready), &mut self.flush),
        ];
        for (_, list) in due.into_iter().filter(|(due, _)| *due) {
            calls.wake_all(list);
        }
        if ready.readable {
            self.reading.wake(calls);
        }
        if ready.writable || ready.connected || ready.flushed {
            self.writing.wake(calls);
        }
    }

    /// There is nothing to wait for any more.
    pub(super) fn discard(self, calls: &mut DeferredCalls) {
        self.reading.discard(calls);
        self.writing.discard(calls);
    }
}
