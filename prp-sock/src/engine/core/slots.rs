//! Which threads and tasks wait for which connection and listener, and the descriptors that show
//! what those are ready for.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::Waker;

use prp_proto::event::{ConnHandle, ListenHandle};
use prp_proto::state::State;

use super::Core;
#[cfg(test)]
use crate::engine::leader::Leader;
use crate::engine::readiness::{ReadinessFd, ShownReadiness};
use crate::engine::waiters::{Interest, Waiters};

impl Core {
    /// Puts `waker` on the list of those who wait for `interest`.
    pub(crate) fn register(&mut self, interest: Interest, waker: &Waker) {
        if let Some(slot) = self.slot(interest) {
            slot.register(interest, waker);
        }
    }

    /// Takes `waker` off the list.
    pub(crate) fn forget(&mut self, interest: Interest, waker: &Waker) {
        if let Some(slot) = self.slot(interest) {
            slot.forget(waker);
        }
    }

    /// Threads on the lists of those who wait.
    #[cfg(test)]
    pub(crate) fn registered(&self) -> usize {
        let slots = self.waiting.slots.iter().chain(self.waiting.listeners.values());
        let leader = self.waiting.leader.as_ref().is_some_and(Leader::waits);
        slots.map(Waiters::registered).sum::<usize>() + usize::from(leader)
    }

    pub(in crate::engine) fn slot(&mut self, interest: Interest) -> Option<&mut Waiters> {
        match interest {
            Interest::Read(c) | Interest::Write(c) | Interest::Connect(c) | Interest::Flush(c) => {
                if self.waiting.slots.len() <= c.slot() {
                    self.waiting.slots.resize_with(c.slot() + 1, Waiters::default);
                }
                self.waiting.slots.get_mut(c.slot())
            }
            Interest::Accept(l) => Some(self.waiting.listeners.entry(l).or_default()),
            Interest::Any => None,
        }
    }

    /// The application has a new connection: no thread waits for it yet.
    pub(crate) fn open_slot(&mut self, conn: ConnHandle) {
        self.clear_slot(conn);
    }

    /// A connection left an application's hands.
    pub(crate) fn close_slot(&mut self, conn: ConnHandle) {
        if self.clear_slot(conn) {
            self.waiting.async_waiters -= 1;
        }
    }

    /// Makes a slot as new; whether it had a descriptor.
    fn clear_slot(&mut self, conn: ConnHandle) -> bool {
        let Some(slot) = self.waiting.slots.get_mut(conn.slot()) else { return false };
        let slot = std::mem::take(slot);
        let had_fd = slot.fd.is_some();
        slot.discard(&mut self.waiting.calls);
        had_fd
    }

    /// There is a listener: no thread waits for it yet.
    pub(crate) fn open_listener(&mut self, listener: ListenHandle) {
        self.waiting.listeners.insert(listener, Waiters::default());
    }

    /// The listeners there are.
    pub(in crate::engine) fn listening(&self) -> Vec<ListenHandle> {
        self.waiting.listeners.keys().copied().collect()
    }

    /// A listener is gone.
    pub(crate) fn close_listener(&mut self, listener: ListenHandle) {
        let Some(slot) = self.waiting.listeners.remove(&listener) else { return };
        self.waiting.async_waiters -= usize::from(slot.fd.is_some());
        slot.discard(&mut self.waiting.calls);
    }

    /// The descriptor that shows what `interest`'s connection or listener is ready for.
    pub(crate) fn readiness_fd(&mut self, interest: Interest) -> io::Result<Arc<UnixStream>> {
        let Some(slot) = self.slot(interest) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let fd = match &slot.fd {
            Some(fd) => fd.theirs(),
            None => {
                let fd = slot.fd.insert(ReadinessFd::new()?).theirs();
                self.waiting.async_waiters += 1;
                fd
            }
        };
        self.show_for(interest);
        Ok(fd)
    }

    /// Brings the descriptor of `interest`'s connection or listener, if it has one, up to date. To
    /// be done before the lock is let go: whatever happens after that is to be seen as an edge.
    pub(crate) fn show_for(&mut self, interest: Interest) {
        match interest {
            Interest::Any => {}
            Interest::Accept(listener) => self.show_listener(listener),
            Interest::Read(c) | Interest::Write(c) | Interest::Connect(c) | Interest::Flush(c) => {
                self.show(c);
            }
        }
    }

    /// Brings a connection's descriptor, if it has one, up to date.
    pub(crate) fn show(&mut self, conn: ConnHandle) {
        let Some(fd) = self.waiting.slots.get_mut(conn.slot()).and_then(|s| s.fd.as_mut()) else {
            return;
        };
        let failed = self.failed.is_some();
        let state = self.endpoint.state(conn);
        let ended = self.endpoint.has_ended(conn);
        let sends = state == State::ConnWait || state.can_send();
        fd.show(ShownReadiness {
            readable: failed || self.endpoint.is_readable(conn),
            writable: failed || self.endpoint.is_writable(conn),
            ended: failed || ended,
            over: failed || ended && !sends,
            failed: failed || self.endpoint.has_error(conn),
        });
    }

    /// As [`Self::show`], when something has come to read: an edge, as on a kernel socket, though
    /// there was something before.
    pub(super) fn show_arrival(&mut self, conn: ConnHandle) {
        let Some(fd) = self.waiting.slots.get(conn.slot()).and_then(|s| s.fd.as_ref()) else {
            return;
        };
        let was_readable = fd.is_readable();
        self.show(conn);
        if was_readable
            && let Some(fd) = self.waiting.slots.get(conn.slot()).and_then(|s| s.fd.as_ref())
        {
            fd.renew();
        }
    }

    /// As [`Self::show`], when the application has closed a direction.
    pub(crate) fn show_shutdown(&mut self, conn: ConnHandle) {
        self.show(conn);
        if let Some(fd) = self.waiting.slots.get(conn.slot()).and_then(|s| s.fd.as_ref()) {
            fd.note_shutdown();
        }
    }

    /// As [`Self::show`], after a call that found nothing to do.
    pub(crate) fn show_blocked(&mut self, conn: ConnHandle) {
        self.show(conn);
        if let Some(fd) = self.waiting.slots.get(conn.slot()).and_then(|s| s.fd.as_ref()) {
            fd.show_not_writable();
        }
    }

    pub(crate) fn show_listener(&mut self, listener: ListenHandle) {
        let pending = self.failed.is_some() || self.endpoint.pending(listener) > 0;
        if let Some(fd) = self.waiting.listeners.get_mut(&listener).and_then(|s| s.fd.as_mut()) {
            fd.show(ShownReadiness { readable: pending, ..ShownReadiness::default() });
        }
    }

    /// As [`Self::show_listener`], when a connection has come: an edge for it, or of several
    /// threads that wait with `EPOLLEXCLUSIVE` one would be woken for all that come before the
    /// first is accepted.
    pub(super) fn show_incoming(&mut self, listener: ListenHandle) {
        let Some(fd) = self.waiting.listeners.get(&listener).and_then(|s| s.fd.as_ref()) else {
            return;
        };
        let was_readable = fd.is_readable();
        self.show_listener(listener);
        if was_readable
            && let Some(fd) = self.waiting.listeners.get(&listener).and_then(|s| s.fd.as_ref())
        {
            fd.renew();
        }
    }
}
