//! Sending with an address, which a connected socket of TCP passes over.

use std::ffi::{c_int, c_void};
use std::ptr;

use libc::{msghdr, size_t, sockaddr, socklen_t, ssize_t};

use super::process::settings;
use super::{call, pair, real};

/// Whether the last call has failed since a pair takes no address.
fn is_refused(sent: ssize_t, fd: c_int) -> bool {
    sent < 0
        && call::errno() == libc::EISCONN
        && settings().is_some()
        && pair::name_of(fd).is_some()
}

/// Sends.
///
/// # Safety
/// As for `sendto`.
pub(super) unsafe fn sendto(
    fd: c_int,
    bytes: *const c_void,
    count: size_t,
    flags: c_int,
    to: *const sockaddr,
    len: socklen_t,
) -> ssize_t {
    // SAFETY: as the caller says.
    let sent = unsafe { real::sendto(fd, bytes, count, flags, to, len) };
    if !is_refused(sent, fd) {
        return sent;
    }
    // SAFETY: as the caller says.
    unsafe { real::sendto(fd, bytes, count, flags, ptr::null(), 0) }
}

/// Sends.
///
/// # Safety
/// As for `sendmsg`.
pub(super) unsafe fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: as the caller says.
    let sent = unsafe { real::sendmsg(fd, message, flags) };
    if !is_refused(sent, fd) {
        return sent;
    }
    // SAFETY: the kernel has read it there.
    let message = msghdr { msg_name: ptr::null_mut(), msg_namelen: 0, ..unsafe { *message } };
    // SAFETY: as the caller says.
    unsafe { real::sendmsg(fd, &raw const message, flags) }
}
