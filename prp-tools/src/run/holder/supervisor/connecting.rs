//! `connect`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::libc;
use nix::poll::PollFlags;
use prp_run::{Answer, PairName, Request, RequestKind, reached};
use prp_sock::{PrpStream, error_number};
use socket2::SockRef;

use super::call::{Call, RESTART};
use super::end::{State, is_tcp, shown, state, wait};
use crate::accepting::is_short;
use crate::run::holder::connect::{QUICK, settle};
use crate::run::holder::{Holder, spawn};
use crate::sys::seccomp::Outcome;

/// How often it is looked whether a signal wants a call to end that waits.
pub(super) const TICK: Duration = Duration::from_millis(250);

/// A connection that the holder is to make.
struct Wanted {
    socket: OwnedFd,
    peer: SocketAddr,
    node: u16,
}

/// What a program wants.
enum Looked {
    /// Nothing of the holder.
    Other,
    /// To know what has become of the connection whose end this is.
    Again(OwnedFd, PairName),
    New(Wanted),
}

impl Holder {
    pub(super) fn connect_shown(self: &Arc<Self>, mut call: Call) {
        let holder = self.clone();
        match self.look(&call) {
            Ok(Looked::New(wanted)) => {
                // Without a thread the kernel goes on, unless that would be past PRP.
                if self.settings.is_required {
                    call.fail_otherwise(libc::EAGAIN);
                }
                drop(spawn(move || holder.connect_by(call, wanted)));
            }
            Ok(Looked::Again(end, name)) => {
                let _ = spawn(move || holder.connect_again(call, &end, &name));
            }
            Ok(Looked::Other) => call.answer(Outcome::Continue),
            Err(e) if self.settings.is_required && e.kind() == io::ErrorKind::PermissionDenied => {
                call.answer(Outcome::Fail(libc::EACCES));
            }
            Err(e) if self.settings.is_required && is_short(&e) => {
                call.answer(Outcome::Fail(error_number(&e)));
            }
            Err(_) => call.answer(Outcome::Continue),
        }
    }

    /// Looks what a program wants.
    fn look(&self, call: &Call) -> io::Result<Looked> {
        let Some(peer) = call.address()?.map(reached) else { return Ok(Looked::Other) };
        let node = self.settings.mapping.node(peer.ip());
        let socket = match call.socket() {
            Err(_) if node.is_none() => return Ok(Looked::Other),
            socket => socket?,
        };
        if let Some(name) = self.name_of(&socket) {
            return Ok(Looked::Again(socket, name));
        }
        if !is_tcp(&socket) {
            return Ok(Looked::Other);
        }
        let Some(node) = node else {
            if self.settings.is_reported {
                let pid = self.note_caller(call);
                self.processes.count_tcp(pid, false);
            }
            return Ok(Looked::Other);
        };
        Ok(Looked::New(Wanted { socket, peer, node }))
    }

    /// Connects over PRP, or over TCP where that fails and TCP has a route.
    fn connect_by(self: &Arc<Self>, call: Call, wanted: Wanted) {
        let pid = self.note_caller(&call);
        let Wanted { socket, peer, node } = &wanted;
        let is_nonblocking = SockRef::from(socket).nonblocking().unwrap_or(false);
        let kind =
            if is_nonblocking { RequestKind::ConnectNonblocking } else { RequestKind::Connect };
        let mut request = Request::new(kind, self.settings.token);
        (request.node, request.port) = (*node, peer.port());
        request.set_ip(peer.ip());
        let local = SockRef::from(socket).local_addr().ok().and_then(|local| local.as_socket());
        request.local_port = local.map_or(0, |local| local.port());
        let wait = |stream: &PrpStream| {
            if is_nonblocking {
                settle(stream, Some(QUICK))
            } else {
                settle_for(stream, &call, SockRef::from(socket).write_timeout()?)
            }
        };
        let opened = match self.open_connection(&request, wait) {
            Ok(opened) => opened,
            Err(answer) => return self.fall_back(call, &wanted, &answer, pid),
        };
        let placed = match wanted.socket.try_clone() {
            Ok(socket) => self.place(&call, socket, opened.end(), opened.number()),
            Err(e) => Err(e),
        };
        if let Err(e) = placed {
            let answer = Answer::failed(error_number(&e));
            return self.fall_back(call, &wanted, &answer, pid);
        }
        let outcome = if opened.is_settled() {
            Outcome::Return(0)
        } else if !is_nonblocking && call.is_interrupted() {
            // The call that is made anew waits for the connection.
            Outcome::Fail(RESTART)
        } else {
            // As with TCP, after `SO_SNDTIMEO` too.
            Outcome::Fail(libc::EINPROGRESS)
        };
        call.answer(outcome);
        drop(wanted);
        self.serve_connection(opened, pid);
    }

    /// Connects over TCP where that has a route to the node, and may be taken.
    fn fall_back(&self, call: Call, wanted: &Wanted, failed: &Answer, pid: i32) {
        let Wanted { socket, peer, .. } = wanted;
        if self.settings.is_required {
            return call.answer(Outcome::Fail(failed.errno));
        }
        if self.settings.mapping.is_of_tcp_too(peer.ip()) {
            self.processes.count_tcp(pid, true);
            return call.answer(Outcome::Continue);
        }
        if failed.ip == [0; 4] {
            return call.answer(Outcome::Fail(failed.errno));
        }
        let ip = Ipv4Addr::from(failed.ip);
        let ip = if peer.is_ipv4() { IpAddr::V4(ip) } else { ip.to_ipv6_mapped().into() };
        let socket = SockRef::from(socket);
        let is_nonblocking = socket.nonblocking().unwrap_or(false);
        // The kernel then waits by the program's own call, which for a socket that is connecting
        // looks at no address.
        let connected = socket
            .set_nonblocking(true)
            .and_then(|()| socket.connect(&SocketAddr::new(ip, peer.port()).into()));
        let _ = socket.set_nonblocking(is_nonblocking);
        let outcome = match connected {
            Ok(()) => Outcome::Return(0),
            Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => {
                if is_nonblocking {
                    Outcome::Fail(libc::EINPROGRESS)
                } else {
                    Outcome::Continue
                }
            }
            Err(e) => return call.answer(Outcome::Fail(error_number(&e))),
        };
        self.processes.count_tcp(pid, true);
        call.answer(outcome);
    }

    /// Answers a program that calls `connect` once more for a connection of PRP.
    fn connect_again(&self, call: Call, end: &OwnedFd, name: &PairName) {
        let is_nonblocking = SockRef::from(end).nonblocking().unwrap_or(false);
        let mut now = state(end);
        let waits = now == State::Pending;
        if waits && is_nonblocking {
            return call.answer(Outcome::Fail(libc::EALREADY));
        }
        while now == State::Pending && shown(end, PollFlags::POLLOUT).is_empty() {
            wait(end, PollFlags::POLLOUT, &call, TICK);
            if call.is_interrupted() {
                return call.answer(Outcome::Fail(RESTART));
            }
        }
        now = state(end);
        // Reading it takes it away.
        let error = SockRef::from(end).take_error().ok().flatten();
        let is_reset = error.is_some_and(|e| e.raw_os_error() == Some(libc::ECONNRESET));
        call.answer(match now {
            State::Pending => Outcome::Fail(libc::EALREADY),
            State::Failed => {
                let reason = self.take_reason(name.number);
                Outcome::Fail(reason.unwrap_or(libc::ECONNREFUSED))
            }
            State::Connected if is_reset => Outcome::Fail(libc::ECONNRESET),
            State::Connected if waits => Outcome::Return(0),
            State::Connected => Outcome::Fail(libc::EISCONN),
        });
    }
}

/// Waits for the answer to a request for a connection, until `call` is interrupted, and for
/// `timeout` at most; whether it has come.
fn settle_for(stream: &PrpStream, call: &Call, timeout: Option<Duration>) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        let left = timeout.map_or(TICK, |timeout| timeout.saturating_sub(began.elapsed()));
        if settle(stream, Some(left.min(TICK)))? {
            return Ok(true);
        }
        if left.is_zero() || call.is_interrupted() {
            return Ok(false);
        }
    }
}
