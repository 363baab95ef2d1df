//! Sockets of `AF_PRPF`, the family of the PRP paper (section 2.3; prp.h). The kernel's socket
//! behind such a descriptor is one of TCP at [`FAMILY`], which only the holder connects to, until a
//! pair takes its place. Both have a mark, by which they are told from others wherever the
//! descriptor goes.

use std::ffi::{c_int, c_short};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

use libc::{sockaddr, socklen_t};
use prp_run::{FAMILY, Request, RequestKind, Settings};

use super::address::{self, RawAddress};
use super::call::{self, Errno, fail};
use super::connect::{again, by_holder, request};
use super::listen::note_listening;
use super::pair::{self, State};
use super::process::settings;
use super::{holder, launch, real};

/// The family, as prp.h has it: no number of the kernel's.
pub(super) const AF_PRPF: c_int = 0x5250;

/// The node number that stands for this node, as the address of IPv4 that is all zeros.
const ANY: u16 = 0;

/// What the kernel keeps with a socket, and gives to those that are accepted from it: its port, and
/// whether the program listens. It is the rate at which the kernel is to pace bytes of TCP, of
/// which these sockets send none.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Mark {
    /// 0 if it has none.
    port: u16,
    pub(super) is_listening: bool,
}

impl Mark {
    const OPEN: u32 = 0x5250;
    const LISTENING: u32 = 0x5251;

    /// Returns the mark of `fd`; `None` if that is no socket of the family.
    pub(super) fn of(fd: c_int) -> Option<Self> {
        let value = call::number_option(fd, libc::SO_MAX_PACING_RATE).ok()?.cast_unsigned();
        let is_listening = match value >> 16 {
            Self::OPEN => false,
            Self::LISTENING => true,
            _ => return None,
        };
        Some(Self { port: value as u16, is_listening })
    }

    /// Marks `fd`.
    fn put(self, fd: c_int) -> Result<(), Errno> {
        let kind = if self.is_listening { Self::LISTENING } else { Self::OPEN };
        let value = kind << 16 | u32::from(self.port);
        call::set_option(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &value)
    }
}

/// Marks `end`, which takes the place of `fd`, if that is a socket of the family.
pub(super) fn pass_on(fd: c_int, end: &OwnedFd) -> Result<(), Errno> {
    Mark::of(fd).map_or(Ok(()), |mark| Mark { is_listening: false, ..mark }.put(end.as_raw_fd()))
}

/// `struct sockaddr_prp` of prp.h.
#[repr(C)]
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
struct FamilyAddress {
    family: c_short,
    port: u16,
    node: u16,
}

impl FamilyAddress {
    /// Reads what a program has passed.
    ///
    /// # Safety
    /// `from` is null or has `len` bytes.
    unsafe fn read(from: *const sockaddr, len: socklen_t) -> Result<Self, Errno> {
        if from.is_null() {
            return Err(libc::EFAULT);
        }
        if (len as usize) < size_of::<Self>() {
            return Err(libc::EINVAL);
        }
        // SAFETY: it has the bytes; C promises no alignment.
        let read = unsafe { from.cast::<Self>().read_unaligned() };
        if c_int::from(read.family) == AF_PRPF { Ok(read) } else { Err(libc::EAFNOSUPPORT) }
    }

    /// Writes it, cut to the caller's length, and its full length. Does nothing if `to` is null.
    ///
    /// # Safety
    /// `to` is null or has `*len` bytes.
    unsafe fn write(self, to: *mut sockaddr, len: *mut socklen_t) {
        if to.is_null() || len.is_null() {
            return;
        }
        // SAFETY: the caller has `*len` bytes there, and no more than those are written.
        unsafe {
            let room = (*len as usize).min(size_of::<Self>());
            std::ptr::copy_nonoverlapping((&raw const self).cast::<u8>(), to.cast::<u8>(), room);
            *len = size_of::<Self>() as socklen_t;
        }
    }

    const fn new(node: u16, port: u16) -> Self {
        Self { family: AF_PRPF as c_short, port, node }
    }

    /// Returns the address that the name of a pair has for a node.
    fn of(settings: &Settings, named: SocketAddr) -> Self {
        Self::new(settings.mapping.node(named.ip()).unwrap_or(ANY), named.port())
    }
}

/// Writes the address of a peer, as the name of its pair has it.
///
/// # Safety
/// `to` is null or has `*len` bytes.
pub(super) unsafe fn write(
    settings: &Settings,
    named: SocketAddr,
    to: *mut sockaddr,
    len: *mut socklen_t,
) {
    // SAFETY: as the caller says.
    unsafe { FamilyAddress::of(settings, named).write(to, len) };
}

/// Turns what became of a call into what C expects.
fn answer(done: Result<(), Errno>) -> c_int {
    done.map_or_else(fail, |()| 0)
}

/// Opens a socket.
///
/// # Safety
/// As for `socket`.
pub(super) unsafe fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int {
    if family != AF_PRPF {
        // SAFETY: as the caller says.
        return unsafe { real::socket(family, kind, protocol) };
    }
    open(kind, protocol).map_or_else(fail, IntoRawFd::into_raw_fd)
}

/// Opens a socket of the family.
fn open(kind: c_int, protocol: c_int) -> Result<OwnedFd, Errno> {
    if kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != libc::SOCK_STREAM {
        return Err(libc::EAFNOSUPPORT);
    }
    if protocol != 0 {
        return Err(libc::EPROTONOSUPPORT);
    }
    if settings().is_none() {
        launch::start()?;
    }
    let socket = call::socket(libc::AF_INET, kind)?;
    Mark { port: 0, is_listening: false }.put(socket.as_raw_fd())?;
    Ok(socket)
}

/// Binds `fd`; `None` if it is no socket of the family.
///
/// # Safety
/// As for `bind`.
pub(super) unsafe fn bind(fd: c_int, to: *const sockaddr, len: socklen_t) -> Option<c_int> {
    let mark = Mark::of(fd)?;
    // SAFETY: as the caller says.
    let wanted = unsafe { FamilyAddress::read(to, len) };
    Some(answer(wanted.and_then(|wanted| bind_to(fd, mark, wanted))))
}

fn bind_to(fd: c_int, mark: Mark, wanted: FamilyAddress) -> Result<(), Errno> {
    let settings = settings().ok_or(libc::ENETDOWN)?;
    if mark.port != 0 || pair::name_of(fd).is_some() {
        return Err(libc::EINVAL);
    }
    if wanted.node != ANY && wanted.node != settings.node {
        return Err(libc::EADDRNOTAVAIL);
    }
    take_port(settings, fd, wanted.port)
}

/// Has the holder take `port`, or any, for the socket.
fn take_port(settings: &Settings, fd: c_int, port: u16) -> Result<(), Errno> {
    let bound = || address::local(fd).map_or(0, |local| local.port());
    // It may be bound from a call that has failed.
    if bound() == 0 {
        let place = RawAddress::new(SocketAddr::new(FAMILY.into(), 0));
        call::bind(fd, &place)?;
    }
    // The holder sees by it that the socket is there.
    call::listen(fd, 0)?;
    let mut request = Request::new(RequestKind::Bind, settings.token);
    (request.port, request.local_port) = (port, bound());
    request.number = call::inode(fd).ok_or(libc::EBADF)?;
    let (answer, _) =
        holder::ask_soon(settings, &request).map_err(|why| why.errno(libc::ENETDOWN))?;
    match answer.errno {
        0 => Mark { port: answer.port, is_listening: false }.put(fd),
        errno => Err(errno),
    }
}

/// Connects `fd`; `None` if it is no socket of the family.
///
/// # Safety
/// As for `connect`.
pub(super) unsafe fn connect(fd: c_int, to: *const sockaddr, len: socklen_t) -> Option<c_int> {
    let mark = Mark::of(fd)?;
    // SAFETY: as the caller says.
    let peer = match unsafe { FamilyAddress::read(to, len) } {
        Ok(peer) => peer,
        Err(errno) => return Some(fail(errno)),
    };
    let Some(settings) = settings() else { return Some(fail(libc::ENETDOWN)) };
    if pair::name_of(fd).is_some() {
        return Some(again(settings, fd));
    }
    if mark.is_listening {
        return Some(fail(libc::EISCONN));
    }
    let node = if peer.node == ANY { settings.node } else { peer.node };
    let named = SocketAddr::new(IpAddr::V6(settings.mapping.ip6(node)), peer.port);
    let mut request = request(settings, node, named);
    (request.local_port, request.is_prp_only) = (mark.port, true);
    Some(by_holder(settings, fd, request).unwrap_or_else(|answer| fail(answer.errno)))
}

/// Listens; `None` if `fd` is no socket of the family.
pub(super) fn listen(fd: c_int, backlog: c_int) -> Option<c_int> {
    let mark = Mark::of(fd)?;
    Some(answer(listen_at(fd, mark, backlog)))
}

fn listen_at(fd: c_int, mark: Mark, backlog: c_int) -> Result<(), Errno> {
    let settings = settings().ok_or(libc::ENETDOWN)?;
    if pair::name_of(fd).is_some() {
        return Err(libc::EINVAL);
    }
    if mark.port == 0 {
        take_port(settings, fd, 0)?;
    }
    call::listen(fd, backlog)?;
    note_listening();
    let mark = Mark::of(fd).ok_or(libc::EBADF)?;
    Mark { is_listening: true, ..mark }.put(fd)
}

/// Returns the address of this end; `None` if `fd` is no socket of the family.
///
/// # Safety
/// As for `getsockname`.
pub(super) unsafe fn getsockname(
    settings: &Settings,
    fd: c_int,
    to: *mut sockaddr,
    len: *mut socklen_t,
) -> Option<c_int> {
    let mark = Mark::of(fd)?;
    let own = match pair::name_of(fd) {
        Some(name) => FamilyAddress::of(settings, name.local),
        None if mark.port == 0 => FamilyAddress::new(ANY, 0),
        None => FamilyAddress::new(settings.node, mark.port),
    };
    // SAFETY: as the caller says.
    unsafe { own.write(to, len) };
    Some(0)
}

/// Returns the address of the peer; `None` if `fd` is no socket of the family.
///
/// # Safety
/// As for `getpeername`.
pub(super) unsafe fn getpeername(
    settings: &Settings,
    fd: c_int,
    to: *mut sockaddr,
    len: *mut socklen_t,
) -> Option<c_int> {
    Mark::of(fd)?;
    let connected = pair::name_of(fd).filter(|_| pair::state(fd) == State::Connected);
    let Some(name) = connected else { return Some(fail(libc::ENOTCONN)) };
    // SAFETY: as the caller says.
    unsafe { write(settings, name.peer, to, len) };
    Some(0)
}
