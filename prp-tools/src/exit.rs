//! How the program ends: codes that a script can tell apart, and what went wrong as one line.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

use nix::libc::{EAFNOSUPPORT, EMFILE, ENFILE};
use prp_node::limits::MORE_DESCRIPTORS;
use prp_node::printable_path;
use prp_routed::check;
use prp_sock::{ConnError, conn_error};

use crate::print::notice;

/// What `--help` says about exit codes; [`Code`] is the same as numbers.
pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  failed: connection reset, a mistake in prphosts, standard input or output broken, ...
  2  wrong usage
  3  connection refused: no process listens on the port
  4  timed out: the other node does not answer, or no longer
  5  no such node in prphosts, or no route to it
  6  not permitted: packet sockets need CAP_NET_RAW";

/// What follows the options in `--help`: `examples`, lines of which a continued literal has taken
/// the first one's indentation, and the exit codes.
pub(crate) fn help(examples: &str) -> String {
    format!("Examples:\n  {}\n\n{HELP}", examples.trim())
}

/// Exit codes. Clap reports wrong usage with 2 too.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Code {
    /// Standard output is not read any more, which is no failure.
    Unread = 0,
    /// Anything that has no code of its own.
    Failed = 1,
    /// Arguments that are wrong together, where clap cannot tell.
    Usage = 2,
    /// No program listens on the port.
    Refused = 3,
    /// The peer does not answer.
    TimedOut = 4,
    /// No such node, or no route to it.
    Unreachable = 5,
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
        let not_sent = matches!(conn_error(error), Some(ConnError::NotSent { waited: None, .. }));
        let code = match error.kind() {
            _ if not_sent => Code::Unreachable,
            ErrorKind::ConnectionRefused => Code::Refused,
            ErrorKind::TimedOut => Code::TimedOut,
            ErrorKind::NotFound | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                Code::Unreachable
            }
            ErrorKind::PermissionDenied => Code::NotPermitted,
            _ => Code::Failed,
        };
        Self::new(code, format!("{what}: {}{}", words(error), fix(error)))
    }

    /// What the network said to connecting to `what` by the prphosts at `hosts`. Where no node has
    /// answered there are likely causes: what this machine lacks, or `hint`.
    pub(crate) fn connecting(
        what: impl Display,
        error: &io::Error,
        hosts: &Path,
        hint: &str,
    ) -> Self {
        let mut failure = Self::network(what, error);
        if matches!(failure.code, Code::Refused | Code::NotPermitted) {
            return failure;
        }
        if !failure.add_lacks(hosts) && failure.code == Code::TimedOut {
            failure.text.push_str(hint);
        }
        failure
    }

    /// As `self`, with what this machine lacks of the prphosts at `hosts`: where no node has
    /// answered that is the likely cause.
    pub(crate) fn with_lacks(mut self, hosts: &Path) -> Self {
        if self.code == Code::TimedOut {
            self.add_lacks(hosts);
        }
        self
    }

    /// Adds what this machine lacks of the prphosts at `hosts`, unless that is said already;
    /// whether there was anything.
    fn add_lacks(&mut self, hosts: &Path) -> bool {
        let mut lacks = check::lacks(hosts);
        lacks.retain(|found| !self.text.contains(&found.what));
        self.text.extend(lacks.iter().map(|found| format!("\n{found}")));
        !lacks.is_empty()
    }

    /// Anything else that failed with `what`.
    pub(crate) fn local(what: impl Display, error: &io::Error) -> Self {
        Self::new(Code::Failed, format!("{what}: {error}"))
    }

    /// The file at `path` could not be read.
    pub(crate) fn reading(path: &Path, error: &io::Error) -> Self {
        let fix = match error.kind() {
            ErrorKind::NotFound => "; name one that is there",
            ErrorKind::PermissionDenied => "; let this user read it, or read it as root",
            ErrorKind::IsADirectory => "; name a file",
            ErrorKind::NotADirectory => "; name a folder",
            _ => "",
        };
        Self::new(Code::Failed, format!("{}: {error}{fix}", printable_path(path)))
    }

    /// The file or folder at `path` could not be written.
    pub(crate) fn writing(path: &Path, error: &io::Error) -> Self {
        let fix = match error.kind() {
            ErrorKind::NotFound => "; make its folder first, or name another",
            ErrorKind::PermissionDenied => "; name a place where this user may write",
            ErrorKind::IsADirectory => "; name a file",
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "; name a folder",
            _ => "",
        };
        Self::new(Code::Failed, format!("{}: {error}{fix}", printable_path(path)))
    }

    /// Prints it on standard error.
    pub(crate) fn print(&self) {
        // None, where all has been said.
        self.text.lines().for_each(notice);
    }

    /// What it says.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it exits with `code`.
    pub(crate) fn is(&self, code: Code) -> bool {
        self.code == code
    }

    /// The exit code as a number.
    pub(crate) const fn code(&self) -> u8 {
        self.code as u8
    }
}

/// Reports what this machine lacks of the prphosts at `hosts`, for a program that listens: it may
/// never get a client.
pub(crate) fn report_missing(hosts: &Path) {
    check::lacks(hosts).iter().for_each(notice);
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> Self {
        Self::from(failure.code())
    }
}

/// What `error` says, without the address: the user gave that, and it has been said.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let after_address = text.strip_prefix("connect to ").and_then(|rest| rest.split_once(": "));
    match after_address {
        Some((_, words)) => words.to_owned(),
        None => text,
    }
}

/// What to do about `error`, where its own words do not say so.
fn fix(error: &io::Error) -> String {
    if [Some(EMFILE), Some(ENFILE)].contains(&error.raw_os_error()) {
        return format!("; {MORE_DESCRIPTORS}");
    }
    let text = match conn_error(error) {
        Some(ConnError::NoCommonPolicy) => "; give both ends the same --reliability",
        Some(ConnError::ClassicPeer) => " (--classic)",
        // That of a node's own port says so itself.
        _ if error.kind() == ErrorKind::AddrInUse && !error.to_string().contains("udp:") => {
            "; another program has this port"
        }
        // The netlink socket says so itself.
        _ if error.raw_os_error() == Some(EAFNOSUPPORT) => {
            "; ports are owned by Unix sockets: allow AF_UNIX (RestrictAddressFamilies= of a systemd unit)"
        }
        _ => "",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests;
