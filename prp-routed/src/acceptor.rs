//! A listener that strangers cannot keep busy.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use prp_node::ServiceListener;
use prp_node::limits::is_exhausted;
use prp_proto::time::Instant;
use tracing::warn;

/// Connections accepted by one call.
const MAX_ACCEPTS: usize = 16;

/// How long the listener rests after a full batch, or after an error: 16,000 connections a
/// second cost 10 % of a processor, however fast a process connects. The rest wait in the
/// kernel's queue.
const REST: Duration = Duration::from_millis(1);

/// The user that may have all the places of a service.
pub(crate) const ROOT: u32 = 0;

/// A listener, and when it goes on.
#[derive(Debug)]
pub struct Acceptor {
    listener: ServiceListener,
    rests_until: Option<Instant>,
    /// The last connection could not be accepted, which has been logged.
    has_failed: bool,
}

impl Acceptor {
    /// On `listener`.
    pub const fn new(listener: ServiceListener) -> Self {
        Self { listener, rests_until: None, has_failed: false }
    }

    /// What to poll for reading; none while it rests.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.rests_until.is_none().then(|| self.listener.as_fd())
    }

    /// When the rest is over.
    pub const fn next_timeout(&self) -> Option<Instant> {
        self.rests_until
    }

    /// Passes some of the connections that wait, each with its user, to `take`.
    pub fn poll(&mut self, now: Instant, mut take: impl FnMut(UnixStream, u32)) {
        if self.rests_until.is_some_and(|until| until > now) {
            return;
        }
        self.rests_until = None;
        for _ in 0..MAX_ACCEPTS {
            match self.listener.accept() {
                Ok((stream, user)) => {
                    self.has_failed = false;
                    take(stream, user);
                }
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(e) => {
                    if is_exhausted(&e) && !std::mem::replace(&mut self.has_failed, true) {
                        warn!("a program of this node is not served: {e} (RLIMIT_NOFILE)");
                    }
                    break;
                }
            }
        }
        self.rests_until = Some(now + REST);
    }
}
