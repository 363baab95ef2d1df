//! How the program ends: codes that a script can tell apart, and what went wrong as one line.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use prp_sock::ConnError;

/// What `--help` says about exit codes; [`Code`] is the same as numbers.
pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  failed: connection reset, a mistake in prphosts, standard input or output broken, ...
  2  wrong usage
  3  connection refused: nobody listens on the port
  4  timed out: the other node does not answer, or no longer
  5  no such node in prphosts, or no way to it
  6  not permitted: packet sockets need CAP_NET_RAW";

/// Exit codes other than success. Clap reports wrong usage with 2 too.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Code {
    /// Anything that has no code of its own.
    Failed = 1,
    /// Arguments that are wrong together, where clap cannot tell.
    Usage = 2,
    /// Nobody listens on the port.
    Refused = 3,
    /// The peer does not answer.
    TimedOut = 4,
    /// No such node, or no way to it.
    NoWay = 5,
    /// A privilege is missing.
    NotPermitted = 6,
}

/// Why a command failed, ready to be printed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Failure {
    code: Code,
    text: String,
}

impl Failure {
    /// A failure that exits with `code` and says `text`.
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// What the network said to `what`, say a connection: the code tells a script why.
    pub(crate) fn network(what: impl Display, error: &io::Error) -> Self {
        let code = match error.kind() {
            ErrorKind::ConnectionRefused => Code::Refused,
            ErrorKind::TimedOut => Code::TimedOut,
            ErrorKind::NotFound | ErrorKind::HostUnreachable => Code::NoWay,
            ErrorKind::PermissionDenied => Code::NotPermitted,
            _ => Code::Failed,
        };
        Self::new(code, format!("{what}: {error}{}", mend(error)))
    }

    /// Anything else that failed with `what`.
    pub(crate) fn local(what: impl Display, error: &io::Error) -> Self {
        Self::new(Code::Failed, format!("{what}: {error}"))
    }

    /// Prints it on standard error.
    pub(crate) fn print(&self) {
        self.text.lines().for_each(say);
    }
}

/// Prints a line on standard error, in the program's name.
pub(crate) fn say(line: impl Display) {
    // Where nobody listens there is nobody to complain to.
    let _ = writeln!(io::stderr(), "prp: {line}");
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> Self {
        Self::from(failure.code as u8)
    }
}

/// What to do about `error`, where its own words do not say so.
fn mend(error: &io::Error) -> &'static str {
    let conn = error.get_ref().and_then(|e| e.downcast_ref::<ConnError>());
    match conn {
        Some(ConnError::TimedOut { .. }) => {
            "; is that node up, and does its prphosts have this machine?"
        }
        Some(ConnError::NoCommonPolicy) => "; give both ends the same --reliability",
        Some(ConnError::ClassicPeer) => " (--classic)",
        _ if error.kind() == ErrorKind::AddrInUse => "; another program has this port",
        _ => "",
    }
}

#[cfg(test)]
mod tests;
