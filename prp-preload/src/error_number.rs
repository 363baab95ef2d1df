//! Errors as `errno` values.

use std::ffi::c_int;
use std::io::{Error, ErrorKind};

/// The `errno` of an error. Errors of PRP have no number of the system: the kind decides.
pub(crate) fn of(error: &Error) -> c_int {
    if let Some(number) = error.raw_os_error() {
        return number;
    }
    match error.kind() {
        ErrorKind::WouldBlock => libc::EAGAIN,
        ErrorKind::Interrupted => libc::EINTR,
        ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
        ErrorKind::ConnectionReset => libc::ECONNRESET,
        ErrorKind::ConnectionAborted => libc::ECONNABORTED,
        ErrorKind::NotConnected => libc::ENOTCONN,
        ErrorKind::BrokenPipe => libc::EPIPE,
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::HostUnreachable => libc::EHOSTUNREACH,
        ErrorKind::NetworkUnreachable => libc::ENETUNREACH,
        ErrorKind::AddrInUse => libc::EADDRINUSE,
        ErrorKind::AddrNotAvailable => libc::EADDRNOTAVAIL,
        ErrorKind::PermissionDenied => libc::EACCES,
        ErrorKind::InvalidInput => libc::EINVAL,
        _ => libc::EIO,
    }
}
