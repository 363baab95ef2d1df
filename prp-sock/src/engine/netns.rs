//! Which network namespace a thread is in.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use nix::fcntl::{OFlag, open, readlinkat};
use nix::sys::stat::Mode;

use prp_node::fork::PerProcess;

/// `/proc`, as it was when this process first asked: after `chroot` there may be none.
static PROC: PerProcess<OnceLock<OwnedFd>> = PerProcess::new(OnceLock::new);

/// Where `/proc` has the namespace of the thread that asks.
const HANDLE: &str = "thread-self/ns/net";

/// A network namespace: what the kernel writes into the link to it, as in `net:[4026531840]`. The
/// number is the namespace's inode. Every new connection asks; reading the link takes half the time
/// of asking for the inode itself.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct NetworkNamespace(OsString);

impl NetworkNamespace {
    /// That of this thread. Without `/proc` namespaces cannot be told apart; then there is most
    /// likely only one.
    pub(super) fn current() -> Self {
        by_directory().or_else(|_| by_path()).unwrap_or_default()
    }
}

/// As the kernel writes it; nothing where it is not known.
impl fmt::Display for NetworkNamespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

fn by_directory() -> io::Result<NetworkNamespace> {
    let proc = PROC.get();
    if proc.get().is_none() {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        // Another thread may have been faster.
        let _ = proc.set(open("/proc", flags, Mode::empty())?);
    }
    let directory = proc.get().ok_or(io::ErrorKind::NotFound)?;
    Ok(NetworkNamespace(readlinkat(directory, HANDLE)?))
}

fn by_path() -> io::Result<NetworkNamespace> {
    std::fs::read_link(format!("/proc/{HANDLE}")).map(|link| NetworkNamespace(link.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current__is_the_same_however_it_is_found() {
        let found = by_directory().unwrap();
        assert_eq!(found, by_path().unwrap());
        assert_eq!(found, NetworkNamespace::current());
        assert_ne!(found, NetworkNamespace::default());
    }
}
