//! Processes of this machine that are linked with this one: the kernel ends a socket when the
//! process at its other end ends, which shared memory does not show.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::Mutex;

use crate::sys::shared::Bell;

/// The sockets, each with the number that its process has here.
#[derive(Debug)]
pub(super) struct Watch {
    linked: Mutex<Vec<(usize, Arc<UnixStream>)>>,
    /// Rings when there is another one.
    changed: Bell,
}

impl Watch {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { linked: Mutex::default(), changed: Bell::new()? })
    }

    pub(super) fn add(&self, index: usize, stream: UnixStream) {
        self.linked.lock().push((index, Arc::new(stream)));
        self.changed.ring();
    }

    /// Waits until a process connects to `listener`, or one that is linked ends: whether the
    /// former, and which have ended.
    pub(super) fn wait(&self, listener: &UnixListener) -> (bool, Vec<usize>) {
        // Only the thread that waits here takes any out.
        let streams: Vec<_> = self.linked.lock().iter().map(|(_, s)| s.clone()).collect();
        let mut fds = vec![
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.changed.as_fd(), PollFlags::POLLIN),
        ];
        // Nothing is sent on them any more.
        fds.extend(streams.iter().map(|stream| PollFd::new(stream.as_fd(), PollFlags::POLLIN)));
        let _ = poll(&mut fds, PollTimeout::NONE);
        let is_ready: Vec<bool> = fds.iter().map(|fd| fd.any() == Some(true)).collect();
        self.changed.was_rung();
        let mut ended = Vec::new();
        let mut at = 0;
        self.linked.lock().retain(|(index, _)| {
            let has_ended = is_ready.get(2 + at) == Some(&true);
            at += 1;
            if has_ended {
                ended.push(*index);
            }
            !has_ended
        });
        (is_ready[0], ended)
    }
}
