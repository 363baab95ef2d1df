//! Numbers of errno for the errors of PRP.

use std::error::Error;
use std::ffi::c_int;
use std::fmt;
use std::io::{self, ErrorKind};

use prp_sock::{ConnError, conn_error};

/// A number of errno with a text that says more.
#[derive(Debug)]
struct NumberedError {
    number: c_int,
    text: String,
}

impl fmt::Display for NumberedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for NumberedError {}

/// The error `number`, said as `text`.
pub(crate) fn explained(number: c_int, text: impl Into<String>) -> io::Error {
    let kind = io::Error::from_raw_os_error(number).kind();
    io::Error::new(kind, NumberedError { number, text: text.into() })
}

/// A parameter that makes no sense.
pub(crate) fn invalid(text: impl Into<String>) -> io::Error {
    explained(libc::EINVAL, text)
}

/// The number of `error`.
pub(crate) fn of(error: &io::Error) -> c_int {
    if let Some(number) = error.raw_os_error() {
        return number;
    }
    let inner = error.get_ref();
    if let Some(numbered) = inner.and_then(|inner| inner.downcast_ref::<NumberedError>()) {
        return numbered.number;
    }
    let source = inner.and_then(|inner| inner.source()).and_then(|s| s.downcast_ref::<io::Error>());
    if let Some(number) = source.and_then(io::Error::raw_os_error) {
        return number;
    }
    if let Some(ConnError::NoCommonPolicy | ConnError::ClassicPeer) = conn_error(error) {
        return libc::EPROTONOSUPPORT;
    }
    of_kind(error.kind())
}

const fn of_kind(kind: ErrorKind) -> c_int {
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
        ErrorKind::AlreadyExists => libc::EEXIST,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of__code_text_or_kind() {
        let table = [
            (io::Error::from_raw_os_error(libc::EPIPE), libc::EPIPE),
            (explained(libc::EMSGSIZE, "too long"), libc::EMSGSIZE),
            (ErrorKind::TimedOut.into(), libc::ETIMEDOUT),
            (io::Error::new(ErrorKind::InvalidData, "a mistake"), libc::EBADMSG),
            (io::Error::other("odd"), libc::EIO),
        ];
        for (error, number) in table {
            assert_eq!(of(&error), number, "{error}");
        }
        let source = "1:".parse::<prp_sock::PrpAddr>().unwrap_err();
        assert_eq!(of(&io::Error::new(ErrorKind::InvalidInput, source)), libc::EINVAL);
    }
}
