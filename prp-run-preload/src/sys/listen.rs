//! Listening and accepting.

use std::ffi::c_int;
use std::mem::zeroed;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{sockaddr, socklen_t};
use prp_run::{Answer, BELL, Request, RequestKind, Settings};

use super::address::{self, RawAddress};
use super::call::{self, fail};
use super::family::Mark;
use super::holder;
use super::pair;
use super::process::{note_tcp, settings, unconfined};
use super::{family, real};

/// The number of the process that has listened, or 0. One that was forked since closes what it does
/// not need, and its parent has that open.
static LISTENING: AtomicU32 = AtomicU32::new(0);

/// Closes a descriptor. Of a listening socket the holder is told: else connections would come to
/// its port for up to a second more.
///
/// # Safety
/// As for `close`.
pub(super) unsafe fn close(fd: c_int) -> c_int {
    let listener = unconfined().filter(|_| is_listener(fd));
    // SAFETY: as the caller says.
    let done = unsafe { real::close(fd) };
    if let Some(settings) = listener.filter(|_| done == 0) {
        let errno = call::errno();
        let _ = holder::ask_soon(settings, &Request::new(RequestKind::Closed, settings.token));
        fail(errno);
    }
    done
}

/// Whether a descriptor is a socket that this process listens at; the error number stays.
fn is_listener(fd: c_int) -> bool {
    let listening = LISTENING.load(Ordering::Relaxed);
    if listening == 0 || listening != std::process::id() {
        return false;
    }
    let errno = call::errno();
    let listens = call::number_option(fd, libc::SO_ACCEPTCONN);
    fail(errno);
    listens.is_ok_and(|listens| listens != 0)
}

/// Notes that this process listens.
pub(super) fn note_listening() {
    LISTENING.store(std::process::id(), Ordering::Relaxed);
}

/// Binds a socket that is to serve PRP only, or that names this node by an address that no device
/// of this machine has, to a loopback address which stands for that.
///
/// # Safety
/// As for `bind`.
pub(super) unsafe fn bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: as the caller says.
    let plain = || unsafe { real::bind(fd, address, len) };
    // SAFETY: as the caller says.
    let wanted = unsafe { address::read(address, len as usize) };
    let Some(settings) = settings() else { return plain() };
    // SAFETY: as the caller says.
    if let Some(done) = unsafe { family::bind(fd, address, len) } {
        return done;
    }
    let Some(wanted) = wanted.filter(|_| settings.is_tcp_carried) else { return plain() };
    let is_ip6_only =
        matches!(wanted.ip(), IpAddr::V6(ip) if ip.to_ipv4_mapped().is_none()) && is_ip6_only(fd);
    let Some(other) = settings.stand_in(wanted, is_ip6_only) else { return plain() };
    if !address::is_tcp(fd) {
        return plain();
    }
    let other = RawAddress::new(other);
    // SAFETY: the address lives for as long as the call.
    let stand = || unsafe { real::bind(fd, other.as_ptr(), other.len()) };
    if !is_ip6_only {
        return stand();
    }
    // A socket of IPv6 alone cannot be bound to an address of IPv4.
    let only = |value: c_int| {
        let _ = call::set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &value);
    };
    only(0);
    let done = stand();
    if done != 0 {
        let errno = call::errno();
        only(1);
        return fail(errno);
    }
    done
}

/// Whether a socket takes no connections of IPv4.
fn is_ip6_only(fd: c_int) -> bool {
    let mut only: c_int = 0;
    call::option(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &mut only).is_ok() && only != 0
}

/// Listens, and has the holder listen on the same port of PRP.
///
/// # Safety
/// As for `listen`.
pub(super) unsafe fn listen(fd: c_int, backlog: c_int) -> c_int {
    if settings().is_some()
        && let Some(done) = family::listen(fd, backlog)
    {
        return done;
    }
    // SAFETY: as the caller says.
    let done = unsafe { real::listen(fd, backlog) };
    let Some(settings) = settings().filter(|settings| settings.is_tcp_carried) else { return done };
    if done != 0 || !address::is_tcp(fd) {
        return done;
    }
    let Some(request) = listening(settings, fd) else { return done };
    // The tables in which the holder looks for listening sockets do not have those of MPTCP.
    if address::is_mptcp(fd) {
        let stands_in = address::local(fd).and_then(|local| settings.shown(local)).is_some();
        let is_needed = settings.is_required || stands_in;
        return if is_needed { fail(libc::EPROTONOSUPPORT) } else { done };
    }
    note_listening();
    let answer = holder::ask_soon(settings, &request);
    let errno = answer.map_or_else(|why| why.errno(libc::ENETUNREACH), |(answer, _)| answer.errno);
    if errno != 0 && settings.is_required { fail(errno) } else { done }
}

/// Returns the request for a listening socket; `None` if it is at an address that stays TCP's.
fn listening(settings: &Settings, fd: c_int) -> Option<Request> {
    let local = address::local(fd).filter(|local| settings.serves_prp(*local))?;
    let mut request = Request::new(RequestKind::Listen, settings.token);
    request.set_ip(local.ip());
    request.is_ip6_only = request.is_ip6 && is_ip6_only(fd);
    request.port = local.port();
    request.number = call::inode(fd)?;
    Some(request)
}

/// Accepts.
///
/// # Safety
/// As for `accept`.
pub(super) unsafe fn accept(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe { accept_by(fd, address, len, |at, len| real::accept(fd, at, len)) }
}

/// Accepts.
///
/// # Safety
/// As for `accept4`.
pub(super) unsafe fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { accept_by(fd, address, len, |at, len| real::accept4(fd, at, len, flags)) }
}

/// Accepts by `plain`. A connection from the holder stands for one of PRP.
///
/// # Safety
/// As for `accept`.
unsafe fn accept_by(
    listener: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    plain: impl Fn(*mut sockaddr, *mut socklen_t) -> c_int,
) -> c_int {
    let Some(settings) = settings() else { return plain(address, len) };
    let mark = Mark::of(listener);
    match mark {
        Some(mark) if !mark.is_listening => return fail(libc::EINVAL),
        None if !settings.is_tcp_carried => return plain(address, len),
        _ => {}
    }
    let is_ready = || call::poll(listener, libc::POLLIN, false).is_ok_and(|shown| shown != 0);
    // A program that has waited by `poll` does not expect to wait here.
    let is_expected = is_ready();
    loop {
        // SAFETY: all zeros is a value of this type.
        let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
        let mut found = size_of_val(&storage) as socklen_t;
        let at = (&raw mut storage).cast();
        let fd = plain(at, &raw mut found);
        if fd < 0 {
            return fd;
        }
        // SAFETY: the kernel has written that many bytes.
        let peer = unsafe { address::read(at, found as usize) };
        // What is no connection of the holder's has nothing to do at a socket of the family.
        let otherwise = if mark.is_some() { Accepted::Gone } else { Accepted::Other };
        match peer.map_or(otherwise, |peer| of_holder(settings, fd, peer, otherwise)) {
            Accepted::Prp(peer) if mark.is_some() => {
                // SAFETY: as the caller says.
                unsafe { family::write(settings, peer, address, len) };
            }
            Accepted::Prp(peer) => {
                // SAFETY: as the caller says.
                unsafe { address::write(peer, address, len) };
            }
            Accepted::Unplaced => {
                call::close(fd);
                // In the place that is free now.
                if let Some(peer) = peer {
                    let request = request(settings, RequestKind::AcceptAgain, peer);
                    let _ = holder::ask_soon(settings, &request);
                }
                return fail(libc::EMFILE);
            }
            Accepted::Gone => {
                call::close(fd);
                if is_expected && !is_ready() && !call::is_nonblocking(listener) {
                    return fail(libc::ECONNABORTED);
                }
                continue;
            }
            Accepted::Other => {
                if peer.is_some() {
                    note_tcp(settings, false);
                }
                // SAFETY: as the caller says; the kernel has written `found` bytes.
                unsafe { copy(at, found, address, len) };
            }
        }
        return fd;
    }
}

/// What was accepted.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Accepted {
    /// A connection of PRP with the peer at this address.
    Prp(SocketAddr),
    /// A connection of PRP that is over.
    Gone,
    /// A connection from the holder, for whose pair this process has no descriptors: it asks on
    /// one, and gets the pair as another one.
    Unplaced,
    /// Any other.
    Other,
}

/// Returns the request for the connection that was accepted from the holder at `peer`.
fn request(settings: &Settings, kind: RequestKind, peer: SocketAddr) -> Request {
    let mut request = Request::new(kind, settings.token);
    request.port = peer.port();
    request.is_ip6 = peer.ip().to_canonical() != IpAddr::V4(BELL);
    request
}

/// Puts the pair in the place of `fd` if the holder is its `peer`; else it is `otherwise`.
fn of_holder(settings: &Settings, fd: c_int, peer: SocketAddr, otherwise: Accepted) -> Accepted {
    let is_bell = peer.ip().to_canonical() == IpAddr::V4(BELL);
    // A listener of IPv6 alone has no second loopback address: the holder knows its ports.
    if !is_bell && peer.ip() != IpAddr::V6(Ipv6Addr::LOCALHOST) {
        return otherwise;
    }
    if is_bell && !call::has_two_more(fd) {
        return Accepted::Unplaced;
    }
    let otherwise = if is_bell { Accepted::Gone } else { otherwise };
    let request = request(settings, RequestKind::Accept, peer);
    let Ok((Answer { errno: 0, .. }, Some(end))) = holder::ask_soon(settings, &request) else {
        return otherwise;
    };
    match pair::place_accepted(fd, &end) {
        Ok(()) => pair::name_of(fd).map_or(Accepted::Gone, |name| Accepted::Prp(name.peer)),
        Err(_) => Accepted::Gone,
    }
}

/// Copies the address that the kernel has written.
///
/// # Safety
/// `from` has `count` bytes; `to` is null or has `*len` bytes.
unsafe fn copy(from: *const sockaddr, count: socklen_t, to: *mut sockaddr, len: *mut socklen_t) {
    if to.is_null() || len.is_null() {
        return;
    }
    // SAFETY: as the caller says.
    unsafe {
        let room = (*len).min(count) as usize;
        std::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), room);
        *len = count;
    }
}
