//! The addresses of both ends.

use std::ffi::c_int;

use libc::{sockaddr, socklen_t};

use super::call::fail;
use super::pair::State;
use super::process::settings;
use super::{address, family, pair, real};

/// Returns the address of this end.
///
/// # Safety
/// As for `getsockname`.
pub(super) unsafe fn getsockname(fd: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int {
    if let Some(settings) = settings() {
        // SAFETY: as the caller says.
        if let Some(done) = unsafe { family::getsockname(settings, fd, to, len) } {
            return done;
        }
        let known = match pair::name_of(fd) {
            Some(name) => Some(name.local),
            None => address::local(fd).and_then(|local| settings.shown(local)),
        };
        if let Some(known) = known {
            // SAFETY: as the caller says.
            unsafe { address::write(known, to, len) };
            return 0;
        }
    }
    // SAFETY: as the caller says.
    unsafe { real::getsockname(fd, to, len) }
}

/// Returns the address of the peer.
///
/// # Safety
/// As for `getpeername`.
pub(super) unsafe fn getpeername(fd: c_int, to: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let Some(settings) = settings() else {
        // SAFETY: as the caller says.
        return unsafe { real::getpeername(fd, to, len) };
    };
    // SAFETY: as the caller says.
    if let Some(done) = unsafe { family::getpeername(settings, fd, to, len) } {
        return done;
    }
    if let Some(name) = pair::name_of(fd) {
        if pair::state(fd) != State::Connected {
            return fail(libc::ENOTCONN);
        }
        // SAFETY: as the caller says.
        unsafe { address::write(name.peer, to, len) };
        return 0;
    }
    // SAFETY: as the caller says.
    unsafe { real::getpeername(fd, to, len) }
}
