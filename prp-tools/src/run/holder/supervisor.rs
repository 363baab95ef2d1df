//! Programs whose calls the kernel shows to the holder: it looks at a call, does what the library
//! would do in the program, or has the kernel go on with the call.
//!
//! Errors of looking, such as a descriptor that is none, have the kernel go on: it finds them too.

mod accepting;
mod address;
mod call;
mod connecting;
mod end;
mod epoll;
mod task;
mod telling;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use nix::libc;
use nix::poll::PollFlags;
use parking_lot::Mutex;

use super::{Holder, spawn};
use crate::sys::seccomp::{self, Outcome};
use call::Call;

/// What is common to all calls.
#[derive(Default)]
pub(super) struct Supervisor {
    /// Descriptors on which calls are shown.
    listeners: Mutex<Vec<Arc<OwnedFd>>>,
    /// Held while a connection is accepted that is there, since another one might take it.
    accepting: Mutex<()>,
}

impl Supervisor {
    /// Whether a process is left whose calls are shown.
    pub(super) fn is_needed(&self) -> bool {
        let mut listeners = self.listeners.lock();
        listeners.retain(|listener| !has_ended(listener));
        !listeners.is_empty()
    }
}

impl Holder {
    /// Answers the calls that are shown on `listener`, on a thread, as long as a process is left
    /// that makes some.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub(super) fn supervise(self: &Arc<Self>, listener: OwnedFd) -> io::Result<()> {
        let (holder, listener) = (self.clone(), Arc::new(listener));
        let answering = listener.clone();
        spawn(move || holder.answer_shown(&answering))?;
        self.supervisor.listeners.lock().push(listener);
        Ok(())
    }

    fn answer_shown(self: &Arc<Self>, listener: &Arc<OwnedFd>) {
        loop {
            // Its thread may end meanwhile. Kernels before 6.11 go on waiting without a process.
            if let Ok(notification) = seccomp::receive(listener) {
                self.consider(Call::new(listener, notification));
            } else if has_ended(listener) {
                return;
            }
        }
    }

    /// Answers a call, here or on a thread of its own if that takes long.
    fn consider(self: &Arc<Self>, call: Call) {
        let looked = match call.number() {
            libc::SYS_connect => return self.connect_shown(call),
            libc::SYS_listen => return self.listen_shown(call),
            libc::SYS_accept | libc::SYS_accept4 => return self.accept_shown(call),
            libc::SYS_bind => self.bind_shown(&call),
            libc::SYS_getsockname => self.tell_local(&call),
            libc::SYS_getpeername => self.tell_peer(&call),
            libc::SYS_getsockopt => self.tell_option(&call),
            libc::SYS_setsockopt => self.set_option(&call),
            _ => Ok(Outcome::Continue),
        };
        call.answer(looked.unwrap_or(Outcome::Continue));
    }

    /// Notes the process that calls. Returns its number; 0 if it has none here.
    fn note_caller(&self, call: &Call) -> i32 {
        let pid = task::Status::of(call.tid()).map_or(0, |status| status.pid);
        // It may have become another program, of which nothing else tells.
        self.processes.note(pid, self.settings.is_reported);
        pid
    }
}

/// Whether no process is left whose calls are shown on `listener`.
fn has_ended(listener: &OwnedFd) -> bool {
    end::shown(listener, PollFlags::POLLIN).contains(PollFlags::POLLHUP)
}
