//! Options of a pair, as a socket of TCP would have them.

use std::ffi::{c_int, c_void};

use libc::socklen_t;
use prp_run::{OptionValue, SEND_BUFFER, Settings, is_taken};

use super::call::{errno, fail};
use super::connect::reason;
use super::family::{AF_PRPF, Mark};
use super::pair::{self, State};
use super::process::settings;
use super::{address, linger, real};

/// Reads an option.
///
/// # Safety
/// As for `getsockopt`.
pub(super) unsafe fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: as the caller says.
    let done = unsafe { real::getsockopt(fd, level, name, value, len) };
    let Some(settings) = settings() else { return done };
    if level == libc::SOL_SOCKET {
        if done == 0 && matches!(name, libc::SO_DOMAIN | libc::SO_PROTOCOL | libc::SO_ERROR) {
            // SAFETY: as the caller says, and the call has succeeded.
            unsafe { correct(settings, fd, name, value, len) };
        }
        return done;
    }
    if done == 0 || errno() != libc::EOPNOTSUPP || pair::name_of(fd).is_none() {
        return done;
    }
    let Some(known) = OptionValue::of_pair(level, name) else { return fail(libc::ENOPROTOOPT) };
    // SAFETY: as the caller says.
    unsafe { write(&known, value, len) }
}

/// Sets an option.
///
/// # Safety
/// As for `setsockopt`.
pub(super) unsafe fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    // SAFETY: as the caller says.
    let plain = || unsafe { real::setsockopt(fd, level, name, value, len) };
    let Some(settings) = settings() else { return plain() };
    // It has the mark of the family.
    if (level, name) == (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE) && Mark::of(fd).is_some() {
        return 0;
    }
    if (level, name) == (libc::SOL_SOCKET, libc::SO_LINGER) {
        let before = linger::resets(fd);
        let done = plain();
        if done == 0 {
            linger::tell(settings, fd, before);
        }
        return done;
    }
    // The holder's connection would be kept from the program until bytes come.
    if (level, name) == (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT)
        && (settings.is_tcp_carried || Mark::of(fd).is_some())
        && address::is_tcp(fd)
    {
        return 0;
    }
    if (level, name) == (libc::SOL_SOCKET, libc::SO_SNDBUF)
        && !value.is_null()
        && len as usize >= size_of::<c_int>()
        && pair::name_of(fd).is_some()
    {
        // Its size shows that the connection is still to come, or has failed.
        if pair::state(fd) != State::Connected {
            return 0;
        }
        // SAFETY: it has the bytes of a number.
        let size = unsafe { value.cast::<c_int>().read_unaligned() }.max(SEND_BUFFER as c_int);
        let len = size_of::<c_int>() as socklen_t;
        // SAFETY: the number lives for as long as the call.
        return unsafe { real::setsockopt(fd, level, name, (&raw const size).cast(), len) };
    }
    let done = plain();
    let is_of_pair = done != 0
        && level != libc::SOL_SOCKET
        && errno() == libc::EOPNOTSUPP
        && pair::name_of(fd).is_some();
    match is_of_pair {
        true if is_taken(level, name) => 0,
        true => fail(libc::ENOPROTOOPT),
        false => done,
    }
}

/// Corrects what the kernel says of a pair.
///
/// # Safety
/// `getsockopt` has succeeded with these.
unsafe fn correct(
    settings: &Settings,
    fd: c_int,
    name: c_int,
    value: *mut c_void,
    len: *const socklen_t,
) {
    // SAFETY: the kernel has written that many bytes.
    if unsafe { *len } as usize != size_of::<c_int>() {
        return;
    }
    let value = value.cast::<c_int>();
    // SAFETY: as above.
    let found = unsafe { value.read_unaligned() };
    let shown = match (name, found) {
        (libc::SO_DOMAIN, _) if Mark::of(fd).is_some() => Some(AF_PRPF),
        (libc::SO_PROTOCOL, _) if Mark::of(fd).is_some() => Some(0),
        (libc::SO_DOMAIN, libc::AF_UNIX) => pair::name_of(fd).map(|name| match name.local {
            std::net::SocketAddr::V4(_) => libc::AF_INET,
            std::net::SocketAddr::V6(_) => libc::AF_INET6,
        }),
        (libc::SO_PROTOCOL, 0) => pair::name_of(fd).map(|_| libc::IPPROTO_TCP),
        (libc::SO_ERROR, libc::ECONNRESET) => Some(reason(settings, fd)),
        _ => None,
    };
    if let Some(shown) = shown {
        // SAFETY: as above.
        unsafe { value.write_unaligned(shown) };
    }
}

/// Writes a value, cut to the caller's length, and sets that.
///
/// # Safety
/// As for `getsockopt`.
unsafe fn write(known: &OptionValue, value: *mut c_void, len: *mut socklen_t) -> c_int {
    if value.is_null() || len.is_null() {
        return fail(libc::EFAULT);
    }
    let from = known.bytes();
    // SAFETY: as the caller says; no more is read than there is.
    unsafe {
        let room = (*len as usize).min(from.len());
        std::ptr::copy_nonoverlapping(from.as_ptr(), value.cast::<u8>(), room);
        *len = room as socklen_t;
    }
    0
}
