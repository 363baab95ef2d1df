//! Asking the holder. Each request has a connection of its own, so that no descriptor stays open
//! that the program might close, and none is shared with a child.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use prp_run::{Answer, Request, Settings};

use super::call;

/// How long the holder may take for what it knows itself.
pub(super) const SOON: Duration = Duration::from_secs(5);

/// How long the holder may take for a connection: longer than it waits for the peer.
pub(super) const CONNECTING: Duration = Duration::from_secs(60);

/// Why there is no answer.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Unanswered {
    /// The holder has ended, or is another user's, or is stopped.
    NoHolder,
    /// A signal handler wants calls interrupted.
    Interrupted,
}

/// Asks, and waits for the answer.
pub(super) fn ask(
    settings: &Settings,
    request: &Request,
    wait: Duration,
) -> Result<(Answer, Option<OwnedFd>), Unanswered> {
    let gone = |_| Unanswered::NoHolder;
    let socket =
        call::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC).map_err(gone)?;
    let timeout = libc::timeval { tv_sec: wait.as_secs() as _, tv_usec: 0 };
    call::set_option(socket.as_raw_fd(), libc::SO_RCVTIMEO, &timeout).map_err(gone)?;
    call::set_option(socket.as_raw_fd(), libc::SO_SNDTIMEO, &timeout).map_err(gone)?;
    call::connect_unix(&socket, &settings.socket_name()).map_err(gone)?;
    if !is_of(&socket, settings.user) {
        return Err(Unanswered::NoHolder);
    }
    let bytes = request.to_bytes();
    // They fit into any socket's buffer.
    if call::send(&socket, &bytes).map_err(gone)? != bytes.len() {
        return Err(Unanswered::NoHolder);
    }
    let mut bytes = [0; Answer::SIZE];
    match call::receive(&socket, &mut bytes) {
        Ok((Answer::SIZE, fd)) => {
            let answer = Answer::parse(&bytes).ok_or(Unanswered::NoHolder)?;
            Ok((answer, fd))
        }
        Err(libc::EINTR) => Err(Unanswered::Interrupted),
        _ => Err(Unanswered::NoHolder),
    }
}

/// Asks what the holder knows itself, and does not stop for signals.
pub(super) fn ask_soon(
    settings: &Settings,
    request: &Request,
) -> Option<(Answer, Option<OwnedFd>)> {
    // A signal handler that wants calls interrupted does so every time: not for ever.
    (0..8).find_map(|_| match ask(settings, request, SOON) {
        Ok(answered) => Some(Some(answered)),
        Err(Unanswered::NoHolder) => Some(None),
        Err(Unanswered::Interrupted) => None,
    })?
}

/// Whether the process at the other end is of `user`: once the holder has ended, another user
/// could listen under its name.
fn is_of(socket: &OwnedFd, user: u32) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let fd: c_int = socket.as_raw_fd();
    let asked = call::option(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut peer);
    asked.is_ok() && peer.uid == user
}
