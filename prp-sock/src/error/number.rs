//! Numbers of errno.

use std::error::Error;
use std::io::{self, ErrorKind};

use prp_proto::error::ConnError;

use super::conn_error;

/// The number of errno that a call of the C library would set for `error`: its code if it has one,
/// that of its source where a sentence says more than the code, and else one by its kind. For
/// libraries that hand errors on to other languages.
///
/// ```
/// use std::io::{Error, ErrorKind};
///
/// assert_eq!(prp_sock::error_number(&Error::from(ErrorKind::TimedOut)), libc::ETIMEDOUT);
/// ```
pub fn error_number(error: &io::Error) -> i32 {
    if let Some(number) = error.raw_os_error() {
        return number;
    }
    let source = error.get_ref().and_then(Error::source);
    let source = source.and_then(|source| source.downcast_ref::<io::Error>());
    if let Some(number) = source.and_then(io::Error::raw_os_error) {
        return number;
    }
    match conn_error(error) {
        Some(ConnError::NoCommonPolicy | ConnError::ClassicPeer) => libc::EPROTONOSUPPORT,
        _ => of_kind(error.kind()),
    }
}

const fn of_kind(kind: ErrorKind) -> i32 {
    match kind {
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::PermissionDenied => libc::EACCES,
        ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
        ErrorKind::ConnectionReset => libc::ECONNRESET,
        ErrorKind::ConnectionAborted => libc::ECONNABORTED,
        ErrorKind::HostUnreachable => libc::EHOSTUNREACH,
        ErrorKind::NetworkUnreachable => libc::ENETUNREACH,
        ErrorKind::NotConnected => libc::ENOTCONN,
        ErrorKind::AddrInUse => libc::EADDRINUSE,
        ErrorKind::AddrNotAvailable => libc::EADDRNOTAVAIL,
        ErrorKind::BrokenPipe => libc::EPIPE,
        ErrorKind::WouldBlock => libc::EAGAIN,
        ErrorKind::InvalidInput => libc::EINVAL,
        ErrorKind::InvalidData => libc::EBADMSG,
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::Interrupted => libc::EINTR,
        ErrorKind::Unsupported => libc::EOPNOTSUPP,
        ErrorKind::UnexpectedEof => libc::ENODATA,
        ErrorKind::OutOfMemory => libc::ENOMEM,
        _ => libc::EIO,
    }
}
