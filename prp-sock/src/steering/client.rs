//! A process of the node, as the steward knows it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use super::book::Member;
use super::message::{Reply, Request};
use crate::sys::fork::CloseOnFork;
use crate::sys::rights;

/// Bytes taken from one process at a time: one that never ends must not keep the others waiting.
const TURN: usize = 16 * 4096;

/// Bytes of a message that is not all there yet: more than the longest has, of 65,535 ports.
const MAX_WAITING: usize = 192 * 1024;

/// A process of the node.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) member: Member,
    link: CloseOnFork<UnixStream>,
    bytes: Vec<u8>,
    pub(super) fds: Vec<CloseOnFork<OwnedFd>>,
    pub(super) standing: Standing,
    /// Nothing it says is heard, and it is told nothing: it stays by itself.
    deaf: bool,
    /// The process has ended.
    pub(super) over: bool,
}

/// Where a process stands.
#[derive(Debug)]
pub(super) enum Standing {
    /// By itself.
    Apart,
    /// It would join, with these sockets.
    Waiting(Vec<CloseOnFork<OwnedFd>>),
    /// In rows.
    Enlisted,
    /// In rows that were given up.
    Leaving,
}

impl Standing {
    pub(super) const fn counts(&self) -> bool {
        matches!(self, Self::Waiting(_) | Self::Enlisted)
    }
}

impl Client {
    pub(super) fn new(member: Member, link: UnixStream, deaf: bool) -> Self {
        Self {
            member,
            link: CloseOnFork::new(link),
            bytes: Vec::new(),
            fds: Vec::new(),
            standing: Standing::Apart,
            deaf,
            over: false,
        }
    }

    /// What to poll.
    pub(super) const fn link(&self) -> &UnixStream {
        self.link.get_ref()
    }

    /// Descriptors it costs outside of rows.
    pub(super) fn held(&self) -> usize {
        let waiting = if let Standing::Waiting(fds) = &self.standing { fds.len() } else { 0 };
        1 + self.fds.len() + waiting
    }

    /// Takes what has come; of descriptors none if they are `short`.
    pub(super) fn receive(&mut self, short: bool) {
        let mut buffer = [0; 4096];
        let mut taken = 0;
        while taken < TURN {
            match rights::receive(self.link.as_fd(), &mut buffer) {
                Ok((n @ 1.., _)) if self.deaf => taken += n,
                Ok((n @ 1.., fds)) => {
                    taken += n;
                    self.bytes.extend_from_slice(&buffer[..n]);
                    // No message has more; those of somebody who sends them without one are closed.
                    let room = if short { 0 } else { rights::MAX_FDS - self.fds.len() };
                    self.fds.extend(fds.into_iter().take(room).map(CloseOnFork::new));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok((0, _)) | Err(_) => {
                    self.over = true;
                    return;
                }
            }
        }
    }

    /// The next thing it asks for.
    pub(super) fn next_request(&mut self) -> Option<(u32, Request)> {
        let request = Request::take(&mut self.bytes);
        self.over |= request.is_none() && self.bytes.len() > MAX_WAITING;
        request
    }

    pub(super) fn say(&self, number: u32, reply: Reply) -> io::Result<()> {
        rights::send(self.link.as_fd(), &reply.encode(number), &[])
    }
}
