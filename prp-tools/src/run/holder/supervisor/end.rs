//! The program's end of a pair, looked at by a copy of the program's descriptor.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use prp_run::{PENDING_BUFFER, PairName};
use socket2::{Domain, Protocol, SockRef, Type};

use super::call::Call;
use super::{epoll, task};
use crate::run::holder::Holder;

/// The state of a pair's connection.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// It is still to come.
    Pending,
    /// It has not come, and will not.
    Failed,
    /// It was there, and may be over.
    Connected,
}

/// Returns the state of a pair's connection.
pub(super) fn state(end: &OwnedFd) -> State {
    let size = SockRef::from(end).send_buffer_size();
    if size.is_err() || size.is_ok_and(|size| size >= PENDING_BUFFER) {
        return State::Connected;
    }
    if shown(end, PollFlags::empty()).contains(PollFlags::POLLHUP) {
        State::Failed
    } else {
        State::Pending
    }
}

/// Returns which of `events`, or of `POLLHUP` and `POLLERR`, a descriptor shows.
pub(super) fn shown(file: &OwnedFd, events: PollFlags) -> PollFlags {
    let mut fds = [PollFd::new(file.as_fd(), events)];
    let _ = poll(&mut fds, PollTimeout::ZERO);
    fds[0].revents().unwrap_or(PollFlags::empty())
}

/// Waits until `file` shows one of `events`, the process of `call` ends, or `timeout` is over.
pub(super) fn wait(file: &OwnedFd, events: PollFlags, call: &Call, timeout: Duration) {
    let mut fds = vec![PollFd::new(file.as_fd(), events)];
    if let Ok(process) = call.process() {
        fds.push(PollFd::new(process, PollFlags::POLLIN));
    }
    let _ = poll(&mut fds, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX));
}

/// Whether a descriptor is a socket of TCP.
pub(super) fn is_tcp(socket: &OwnedFd) -> bool {
    let socket = SockRef::from(socket);
    socket.r#type().is_ok_and(|kind| kind == Type::STREAM)
        && socket.protocol().is_ok_and(|protocol| protocol == Some(Protocol::TCP))
}

impl Holder {
    /// Returns the name of the pair of this run whose end `fd` is; `None` if it is none.
    pub(super) fn name_of(&self, fd: &OwnedFd) -> Option<PairName> {
        let socket = SockRef::from(fd);
        socket.domain().ok().filter(|domain| *domain == Domain::UNIX)?;
        let name = socket.local_addr().ok()?;
        let name = PairName::parse(name.as_abstract_namespace()?)?;
        // Another run counts its connections alike, and its programs have a library, or a holder
        // that calls are shown to.
        let is_own = name.session == self.settings.session as u32;
        // Anybody can give a socket such a name.
        let maker = getsockopt(fd, PeerCredentials).ok()?.uid();
        (is_own && (maker == self.settings.user || maker == 0)).then_some(name)
    }

    /// Puts `end` of the connection `number` in the place of the socket that a call is about, with
    /// its flags, options and registrations.
    ///
    /// # Errors
    /// The socket is not the program's any more, or is where it cannot be replaced.
    pub(super) fn place(
        &self,
        call: &Call,
        socket: OwnedFd,
        end: &OwnedFd,
        number: u64,
    ) -> io::Result<()> {
        let is_closed_on_exec = task::is_closed_on_exec(call.tid(), call.fd())?;
        let is_nonblocking = SockRef::from(&socket).nonblocking()?;
        self.take_settings(&socket, end, number);
        SockRef::from(end).set_nonblocking(is_nonblocking)?;
        let mut registered = epoll::Registrations::of(call)?;
        registered.remove(&socket)?;
        // A copy that is open would keep it in sets.
        drop(socket);
        call.put(end, is_closed_on_exec)?;
        registered.renew(end)
    }

    /// Gives `end` of the connection `number` the options of the socket whose place it takes.
    pub(super) fn take_settings(&self, socket: &impl AsFd, end: &OwnedFd, number: u64) {
        let (socket, end) = (SockRef::from(socket), SockRef::from(end));
        // A pair takes all of these, as a socket does.
        if let Ok(Some(time)) = socket.read_timeout() {
            let _ = end.set_read_timeout(Some(time));
        }
        if let Ok(Some(time)) = socket.write_timeout() {
            let _ = end.set_write_timeout(Some(time));
        }
        if let Ok(true) = socket.keepalive() {
            let _ = end.set_keepalive(true);
        }
        if let Ok(Some(time)) = socket.linger() {
            let _ = end.set_linger(Some(time));
            self.processes.reset_on_close(number, time.is_zero());
        }
    }
}
