//! What ended a connection, or kept it from being made.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prp_device::Refusal;
use prp_proto::addr::PrpAddr;
use prp_proto::error::ConnError;
use prp_proto::stats::{DropReason, Drops};

/// Why a connection ended or could not be made, inside the `io::Error` that says so.
///
/// `Debug` prints the same sentence as `Display`, so a `main` that returns an `io::Result` shows
/// it. Where TCP has a code of the operating system for this, its source is the `io::Error` with
/// that code.
///
/// ```no_run
/// use std::error::Error;
/// use std::io;
///
/// # use prp_sock::PrpStream;
/// let error = PrpStream::connect("gamma:80").unwrap_err();
/// let source = error.source().and_then(|e| e.downcast_ref::<io::Error>());
/// let code = error.raw_os_error().or_else(|| source?.raw_os_error());
/// ```
pub struct StreamError {
    cause: ConnError,
    peer: Option<PrpAddr>,
    /// The prphosts that does not have the peer's node.
    lacking: Option<PathBuf>,
    /// What the peer's frames say of the cluster key.
    key: Option<&'static str>,
    os: Option<io::Error>,
}

impl StreamError {
    pub(super) fn connecting(cause: ConnError, peer: PrpAddr) -> Self {
        Self { peer: Some(peer), ..Self::from(cause) }
    }

    /// As [`Self::connecting`], with what the dropped frames of the peer say of the cluster key,
    /// where it has not answered.
    pub(super) fn unanswered(cause: ConnError, peer: PrpAddr, drops: &Drops) -> Self {
        let is_silent = matches!(cause, ConnError::TimedOut { .. });
        let key = is_silent.then(|| key_trouble(drops)).flatten();
        Self { key, ..Self::connecting(cause, peer) }
    }

    /// Why the connection ended.
    pub const fn cause(&self) -> ConnError {
        self.cause
    }

    /// The address that could not be connected to; none for a connection that was established.
    pub const fn peer(&self) -> Option<PrpAddr> {
        self.peer
    }

    const fn kind(&self) -> ErrorKind {
        match self.cause {
            ConnError::Refused => ErrorKind::ConnectionRefused,
            ConnError::Reset => ErrorKind::ConnectionReset,
            ConnError::PeerClosed => ErrorKind::BrokenPipe,
            // The bytes that are missing make the rest of the stream meaningless.
            ConnError::Gap { .. } => ErrorKind::InvalidData,
            ConnError::PeerGap | ConnError::Aborted => ErrorKind::ConnectionAborted,
            ConnError::TimedOut { .. }
            | ConnError::TooLarge { .. }
            | ConnError::NotSent { waited: Some(_), .. } => ErrorKind::TimedOut,
            ConnError::NotSent { code: libc::EHOSTUNREACH, .. } => ErrorKind::HostUnreachable,
            ConnError::NotSent { code: libc::EACCES | libc::EPERM, .. } => {
                ErrorKind::PermissionDenied
            }
            // The kernel's answers are of routes and addresses.
            ConnError::NotSent { .. } => ErrorKind::NetworkUnreachable,
            ConnError::NoRoute(_) | ConnError::NoOnwardRoute { .. } => ErrorKind::HostUnreachable,
            ConnError::ClassicPeer | ConnError::NoCommonPolicy => ErrorKind::Unsupported,
            _ => ErrorKind::Other,
        }
    }
}

impl From<ConnError> for StreamError {
    fn from(cause: ConnError) -> Self {
        let code = match cause {
            ConnError::Refused => Some(libc::ECONNREFUSED),
            ConnError::Reset => Some(libc::ECONNRESET),
            ConnError::PeerClosed => Some(libc::EPIPE),
            ConnError::TimedOut { .. }
            | ConnError::TooLarge { .. }
            | ConnError::NotSent { waited: Some(_), .. } => Some(libc::ETIMEDOUT),
            ConnError::NotSent { code, waited: None } => Some(code),
            ConnError::NoRoute(_) | ConnError::NoOnwardRoute { .. } => Some(libc::EHOSTUNREACH),
            ConnError::PeerGap | ConnError::Aborted => Some(libc::ECONNABORTED),
            // Not of a gap, a classic peer or policies: the kernel has no such errors.
            _ => None,
        };
        Self {
            cause,
            peer: None,
            lacking: None,
            key: None,
            os: code.map(io::Error::from_raw_os_error),
        }
    }
}

impl From<StreamError> for io::Error {
    fn from(error: StreamError) -> Self {
        Self::new(error.kind(), error)
    }
}

/// Why a connection ended or could not be made, as the protocol knows it, if that is what `error`
/// tells.
pub fn conn_error(error: &io::Error) -> Option<ConnError> {
    match error.get_ref() {
        Some(inner) => inner.downcast_ref().map(StreamError::cause),
        None => match error.raw_os_error() {
            Some(libc::ECONNRESET) => Some(ConnError::Reset),
            Some(libc::EPIPE) => Some(ConnError::PeerClosed),
            _ => None,
        },
    }
}

/// `error`, which says by its prphosts at `path` whether a node that cannot be reached is in it at
/// all.
pub(crate) fn by_hosts(error: io::Error, path: &Path) -> io::Error {
    match error.downcast::<StreamError>() {
        Ok(error) => StreamError { lacking: Some(path.to_owned()), ..error }.into(),
        Err(error) => error,
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(peer) = self.peer {
            write!(f, "connect to {peer}: ")?;
        }
        match (self.cause, &self.lacking) {
            (ConnError::NoRoute(node), Some(path)) => {
                write!(f, "no node {node} in {}", path.display())
            }
            (ConnError::NotSent { code, waited }, _) => fmt_refusal(code, waited, f),
            (cause, _) => cause.fmt(f),
        }?;
        self.key.map_or(Ok(()), |key| write!(f, "; {key}"))
    }
}

/// What frames of a peer that were dropped say of the cluster key.
fn key_trouble(drops: &Drops) -> Option<&'static str> {
    let told = [
        (DropReason::Unsigned, "it seems to have no cluster key: copy the key file to it"),
        (
            DropReason::UnknownKey,
            "it has a cluster key that this process does not have: copy the key file from it",
        ),
        (DropReason::BadTag, "its cluster key is another one: `prp key list` on both nodes"),
    ];
    told.into_iter().find(|(why, _)| drops[*why] > 0).map(|(_, text)| text)
}

/// Writes what the kernel of this machine says to what is for the peer.
fn fmt_refusal(code: i32, waited: Option<Duration>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(waited) = waited {
        write!(f, "no answer from the peer for {:.1} s: ", waited.as_secs_f64())?;
    }
    write!(f, "this machine refuses to send to it: {}", Refusal::of_frame(code))
}

impl fmt::Debug for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl Error for StreamError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.os.as_ref().map(|os| os as _)
    }
}
