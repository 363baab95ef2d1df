//! `bind`, `listen`, `accept`.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use nix::libc;
use nix::poll::PollFlags;
use nix::sys::stat::fstat;
use prp_run::{BELL, Request, RequestKind};
use prp_sock::error_number;
use socket2::{SockRef, Socket};

use super::address;
use super::call::{Call, RESTART};
use super::connecting::TICK;
use super::end::{is_tcp, shown, wait};
use crate::accepting::is_short;
use crate::run::holder::ports::Ringing;
use crate::run::holder::{Holder, spawn};
use crate::sys::seccomp::Outcome;

/// What was accepted.
enum Accepted {
    /// A connection of PRP.
    Prp(Ringing, OwnedFd, SocketAddr),
    /// A connection of PRP that is over.
    Gone,
    /// Any other.
    Other(OwnedFd, SocketAddr),
}

impl Holder {
    /// Binds a socket that is to be bound to an address which stands for what was asked for.
    pub(super) fn bind_shown(&self, call: &Call) -> io::Result<Outcome> {
        let Some(wanted) = call.address()? else { return Ok(Outcome::Continue) };
        let socket = call.socket()?;
        let is_ip6_only = matches!(wanted.ip(), IpAddr::V6(ip) if ip.to_ipv4_mapped().is_none())
            && is_ip6_only(&socket);
        let other = self.settings.stand_in(wanted, is_ip6_only).filter(|_| is_tcp(&socket));
        let Some(other) = other else { return Ok(Outcome::Continue) };
        let socket = SockRef::from(&socket);
        // A socket of IPv6 alone cannot be bound to an address of IPv4.
        if is_ip6_only {
            socket.set_only_v6(false)?;
        }
        let Err(e) = socket.bind(&other.into()) else { return Ok(Outcome::Return(0)) };
        if is_ip6_only {
            socket.set_only_v6(true)?;
        }
        Ok(Outcome::Fail(error_number(&e)))
    }

    pub(super) fn listen_shown(self: &Arc<Self>, mut call: Call) {
        let socket = match call.socket() {
            Ok(socket) if is_tcp(&socket) => socket,
            Ok(_) => return call.answer(Outcome::Continue),
            // A listener of TCP alone would be one past PRP.
            Err(e) if self.settings.is_required && is_short(&e) => {
                return call.answer(Outcome::Fail(error_number(&e)));
            }
            Err(_) => return call.answer(Outcome::Continue),
        };
        let holder = self.clone();
        let local = SockRef::from(&socket).local_addr().ok().and_then(|local| local.as_socket());
        if self.settings.is_required && local.is_some_and(|it| self.settings.serves_prp(it)) {
            call.fail_otherwise(libc::EAGAIN);
        }
        // To open a port of PRP may take a while. Without a thread the kernel goes on otherwise.
        let _ = spawn(move || {
            let outcome = holder.listen_by(&call, &socket);
            call.answer(outcome);
        });
    }

    /// Listens, and at the same port of PRP.
    fn listen_by(self: &Arc<Self>, call: &Call, socket: &OwnedFd) -> Outcome {
        if let Err(e) = SockRef::from(socket).listen(call.int(1)) {
            return Outcome::Fail(error_number(&e));
        }
        let local = SockRef::from(socket).local_addr().ok().and_then(|local| local.as_socket());
        let local = local.filter(|local| self.settings.serves_prp(*local));
        let (Some(local), Ok(stat)) = (local, fstat(socket)) else { return Outcome::Return(0) };
        self.note_caller(call);
        let mut request = Request::new(RequestKind::Listen, self.settings.token);
        request.set_ip(local.ip());
        request.is_ip6_only = local.is_ipv6() && is_ip6_only(socket);
        (request.port, request.number) = (local.port(), stat.st_ino);
        match self.listen(&request).errno {
            errno if errno != 0 && self.settings.is_required => Outcome::Fail(errno),
            _ => Outcome::Return(0),
        }
    }

    pub(super) fn accept_shown(self: &Arc<Self>, mut call: Call) {
        let flags = if call.number() == libc::SYS_accept4 { call.int(3) } else { 0 };
        let is_known = flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) == 0;
        let has_port = call.inode().is_some_and(|inode| self.ports.has(inode));
        if !is_known || !has_port {
            return call.answer(Outcome::Continue);
        }
        let socket = match call.socket() {
            Ok(socket) => socket,
            // The program would have the connection that wakes it, in place of the one of PRP.
            Err(e) if is_short(&e) => return call.answer(Outcome::Fail(error_number(&e))),
            Err(_) => return call.answer(Outcome::Continue),
        };
        if SockRef::from(&socket).nonblocking().unwrap_or(false) {
            return self.accept_by(call, &socket, flags, true);
        }
        let holder = self.clone();
        // As above, without a thread.
        call.fail_otherwise(libc::ENOMEM);
        let _ = spawn(move || holder.accept_by(call, &socket, flags, false));
    }

    /// Accepts a connection, and waits for one if the program would.
    fn accept_by(
        self: &Arc<Self>,
        call: Call,
        listener: &OwnedFd,
        flags: i32,
        is_nonblocking: bool,
    ) {
        let began = Instant::now();
        let timeout = SockRef::from(listener).read_timeout().ok().flatten();
        loop {
            match self.accept_one(listener) {
                Ok(Some((socket, peer))) => match self.of_holder(socket, peer) {
                    Accepted::Gone => continue,
                    accepted => return self.give(call, accepted, flags),
                },
                Ok(None) if is_nonblocking => {
                    return call.answer(Outcome::Fail(libc::EAGAIN));
                }
                Ok(None) => {}
                Err(e) => return call.answer(Outcome::Fail(error_number(&e))),
            }
            let left = timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return call.answer(Outcome::Fail(libc::EAGAIN));
            }
            wait(listener, PollFlags::POLLIN, &call, left.map_or(TICK, |left| left.min(TICK)));
            if call.is_interrupted() {
                return call.answer(Outcome::Fail(RESTART));
            }
        }
    }

    /// Accepts a connection that is there; `None` if there is none.
    fn accept_one(&self, listener: &OwnedFd) -> io::Result<Option<(Socket, SocketAddr)>> {
        let _accepting = self.supervisor.accepting.lock();
        if shown(listener, PollFlags::POLLIN).is_empty() {
            return Ok(None);
        }
        let (socket, peer) = SockRef::from(listener).accept4(libc::SOCK_CLOEXEC)?;
        let peer = peer.as_socket().ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some((socket, peer)))
    }

    /// Returns what a connection from `peer` is.
    fn of_holder(&self, socket: Socket, peer: SocketAddr) -> Accepted {
        let is_bell = peer.ip().to_canonical() == IpAddr::V4(BELL);
        // A listener of IPv6 alone has no second loopback address: the holder knows its ports.
        if !is_bell && peer.ip() != IpAddr::V6(Ipv6Addr::LOCALHOST) {
            return Accepted::Other(socket.into(), peer);
        }
        let Some(ringing) = self.ports.take(!is_bell, peer.port()) else {
            return if is_bell { Accepted::Gone } else { Accepted::Other(socket.into(), peer) };
        };
        self.take_settings(&socket, &ringing.end, ringing.number);
        match (ringing.end.try_clone(), self.name_of(&ringing.end)) {
            (Ok(end), Some(name)) => Accepted::Prp(ringing, end, name.peer),
            _ => {
                self.give_up(ringing);
                Accepted::Gone
            }
        }
    }

    /// Gives the program what was accepted.
    fn give(self: &Arc<Self>, call: Call, accepted: Accepted, flags: i32) {
        let (ringing, file, peer) = match accepted {
            Accepted::Prp(ringing, end, peer) => (Some(ringing), end, peer),
            Accepted::Other(socket, peer) => (None, socket, peer),
            Accepted::Gone => return,
        };
        if call.pointer(1) != 0 {
            let written = call.write_sized(1, 2, &address::to_bytes(peer), false);
            if let Err(e) = written {
                ringing.into_iter().for_each(|ringing| self.give_up(ringing));
                return call.answer(Outcome::Fail(error_number(&e)));
            }
        }
        let is_nonblocking = flags & libc::SOCK_NONBLOCK != 0;
        let _ = SockRef::from(&file).set_nonblocking(is_nonblocking);
        let pid = self.note_caller(&call);
        let given = call.hand_over(&file, flags & libc::SOCK_CLOEXEC != 0);
        match (given, ringing) {
            (Ok(()), Some(ringing)) => self.processes.claim(ringing.number, pid),
            (Ok(()), None) => self.processes.count_tcp(pid, false),
            (Err((call, e)), ringing) => {
                drop(file);
                if let Some(ringing) = ringing {
                    let _ = self.ring_later(ringing);
                }
                call.answer(Outcome::Fail(error_number(&e)));
            }
        }
    }
}

/// Whether a socket takes no connections of IPv4.
fn is_ip6_only(socket: &OwnedFd) -> bool {
    SockRef::from(socket).only_v6().unwrap_or(false)
}
