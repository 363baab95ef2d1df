//! Connecting.

use std::ffi::c_int;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use libc::{sockaddr, socklen_t};
use prp_run::{Answer, Request, RequestKind, Settings, reached};

use super::address::{self, RawAddress};
use super::call::{self, fail};
use super::holder::{self, Unanswered};
use super::pair::{self, State};
use super::process::{note_tcp, settings};
use super::{family, real};

/// Connects to a node over PRP, and to all else as before.
///
/// # Safety
/// As for `connect`.
pub(super) unsafe fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: as the caller says.
    let peer = unsafe { address::read(address, len as usize) }.map(reached);
    // SAFETY: as the caller says.
    let plain = || unsafe { real::connect(fd, address, len) };
    let Some(settings) = settings() else { return plain() };
    // SAFETY: as the caller says.
    if let Some(done) = unsafe { family::connect(fd, address, len) } {
        return done;
    }
    let Some(peer) = peer.filter(|_| settings.is_tcp_carried) else { return plain() };
    if pair::name_of(fd).is_some() {
        return again(settings, fd);
    }
    let Some(node) = settings.mapping.node(peer.ip()) else {
        let done = plain();
        if settings.is_reported && is_in_progress(done) && address::is_tcp(fd) {
            note_tcp(settings, false);
        }
        return done;
    };
    if !address::is_tcp(fd) {
        return plain();
    }
    let mut request = request(settings, node, peer);
    request.local_port = address::local(fd).map_or(0, |local| local.port());
    match by_holder(settings, fd, request) {
        Ok(done) => done,
        Err(answer) => fall_back(settings, fd, peer, &answer, plain),
    }
}

/// Whether `connect` has returned that the connection is there, or is to come.
fn is_in_progress(done: c_int) -> bool {
    done == 0 || call::errno() == libc::EINPROGRESS
}

/// Returns the request for a connection to `node`, which the program knows as `peer`.
pub(super) fn request(settings: &Settings, node: u16, peer: SocketAddr) -> Request {
    let mut request = Request::new(RequestKind::ConnectNonblocking, settings.token);
    (request.node, request.port) = (node, peer.port());
    request.set_ip(peer.ip());
    request
}

/// Connects by the holder. Returns the answer if that has failed, and TCP may do better.
pub(super) fn by_holder(settings: &Settings, fd: c_int, request: Request) -> Result<c_int, Answer> {
    let unanswered = |why: Unanswered| Answer::failed(why.errno(libc::ENETUNREACH));
    let asked = if call::is_nonblocking(fd) {
        Err(libc::EINPROGRESS)
    } else {
        let waiting = Request { kind: RequestKind::Connect, ..request };
        match holder::ask(settings, &waiting, call::send_timeout(fd)) {
            Ok(answered) => Ok(answered),
            // As with TCP the program can wait for the connection by `poll`, or by `connect`.
            Err(Unanswered::Interrupted(errno)) => Err(errno),
            Err(why) => return Err(unanswered(why)),
        }
    };
    let is_to_come = asked.as_ref().err().copied();
    let asked = asked.or_else(|_| holder::ask_soon(settings, &request));
    let (answer, end) = asked.map_err(unanswered)?;
    let Some(end) = end else {
        let errno = if answer.errno == 0 { libc::EMFILE } else { answer.errno };
        return Err(Answer { errno, ..answer });
    };
    match (pair::place(fd, &end), is_to_come) {
        (Ok(()), Some(errno)) => Ok(fail(errno)),
        (Ok(()), None) => Ok(0),
        (Err(errno), _) => Err(Answer::failed(errno)),
    }
}

/// Connects over TCP where that has a route to the node, and may be taken.
fn fall_back(
    settings: &Settings,
    fd: c_int,
    peer: SocketAddr,
    answer: &Answer,
    plain: impl FnOnce() -> c_int,
) -> c_int {
    let errno = answer.errno;
    if settings.is_required {
        return fail(errno);
    }
    let done = if settings.mapping.is_of_tcp_too(peer.ip()) {
        plain()
    } else if answer.ip != [0; 4] {
        let ip = Ipv4Addr::from(answer.ip);
        let ip = if peer.is_ipv4() { IpAddr::V4(ip) } else { ip.to_ipv6_mapped().into() };
        let other = RawAddress::new(SocketAddr::new(ip, peer.port()));
        // SAFETY: the address lives for as long as the call.
        unsafe { real::connect(fd, other.as_ptr(), other.len()) }
    } else {
        return fail(errno);
    };
    if is_in_progress(done) {
        note_tcp(settings, true);
    }
    done
}

/// Answers a program that calls `connect` once more for a connection of PRP.
pub(super) fn again(settings: &Settings, fd: c_int) -> c_int {
    let mut state = pair::state(fd);
    let waits = state == State::Pending;
    if waits {
        if call::is_nonblocking(fd) {
            return fail(libc::EALREADY);
        }
        if let Err(errno) = call::poll(fd, libc::POLLOUT, true) {
            return fail(errno);
        }
        state = pair::state(fd);
    }
    // Reading it takes it away.
    let error = call::number_option(fd, libc::SO_ERROR);
    match state {
        State::Pending => fail(libc::EALREADY),
        State::Failed => fail(kept_reason(settings, fd).unwrap_or(libc::ECONNREFUSED)),
        State::Connected if error == Ok(libc::ECONNRESET) => fail(libc::ECONNRESET),
        State::Connected if waits => 0,
        State::Connected => fail(libc::EISCONN),
    }
}

/// Returns why the kernel says of the pair that it was reset.
pub(super) fn reason(settings: &Settings, fd: c_int) -> c_int {
    kept_reason(settings, fd).unwrap_or(libc::ECONNRESET)
}

/// Returns why the connection of the pair has failed, which the holder tells once.
fn kept_reason(settings: &Settings, fd: c_int) -> Option<c_int> {
    // Another holder counts its connections alike.
    let name = pair::name_of(fd).filter(|name| name.session == settings.session as u32)?;
    let mut request = Request::new(RequestKind::Reason, settings.token);
    request.number = name.number;
    let (Answer { errno, .. }, _) = holder::ask_soon(settings, &request).ok()?;
    Some(errno).filter(|errno| *errno != 0)
}
