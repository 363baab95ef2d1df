//! Which network namespace a thread is in.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::thread::{self, ThreadId};

use nix::fcntl::{OFlag, open, openat, readlinkat};
use nix::sys::stat::Mode;

use prp_node::fork::PerProcess;

/// Folders of `/proc`, as this process had them when it first asked: after `chroot` there may be
/// none.
static FOLDERS: PerProcess<OnceLock<Folders>> = PerProcess::new(OnceLock::new);

/// Where `/proc` has the namespaces of the thread that asks.
const NAMESPACES: &str = "thread-self/ns";

/// Where `/proc` has that of the network.
const HANDLE: &str = "thread-self/ns/net";

/// Folders that are open.
struct Folders {
    proc: OwnedFd,
    /// The first thread that asked, and its namespaces: the way to them takes a third of the time.
    first_thread: (ThreadId, OwnedFd),
}

impl Folders {
    fn open() -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let proc = open("/proc", flags, Mode::empty())?;
        let namespaces = openat(&proc, NAMESPACES, flags, Mode::empty())?;
        Ok(Self { proc, first_thread: (thread::current().id(), namespaces) })
    }

    /// Returns the namespace of this thread.
    fn current(&self) -> io::Result<NetworkNamespace> {
        let (first, namespaces) = &self.first_thread;
        let link = if *first == thread::current().id() {
            readlinkat(namespaces, "net")?
        } else {
            readlinkat(&self.proc, HANDLE)?
        };
        Ok(NetworkNamespace(link))
    }
}

/// A network namespace: what the kernel writes into the link to it, as in `net:[4026531840]`. The
/// number is the namespace's inode. Every new connection asks; reading the link takes half the time
/// of asking for the inode itself.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct NetworkNamespace(OsString);

impl NetworkNamespace {
    /// That of this thread. Without `/proc` namespaces cannot be told apart; then there is most
    /// likely only one.
    pub(super) fn current() -> Self {
        by_folder().or_else(|_| by_path()).unwrap_or_default()
    }
}

/// As the kernel writes it; nothing where it is not known.
impl fmt::Display for NetworkNamespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

fn by_folder() -> io::Result<NetworkNamespace> {
    let folders = FOLDERS.get();
    if folders.get().is_none() {
        // Another thread may have been faster.
        let _ = folders.set(Folders::open()?);
    }
    folders.get().ok_or(io::ErrorKind::NotFound)?.current()
}

fn by_path() -> io::Result<NetworkNamespace> {
    let link = std::fs::read_link(format!("/proc/{HANDLE}"))?;
    Ok(NetworkNamespace(link.into()))
}

#[cfg(test)]
mod tests {
    use nix::sched::{CloneFlags, unshare};

    use super::*;

    #[test]
    fn current__is_the_same_however_it_is_found() {
        let found = by_folder().unwrap();
        assert_eq!(found, by_path().unwrap());
        let by_other_thread = thread::scope(|scope| scope.spawn(by_folder).join()).unwrap();
        assert_eq!(found, by_other_thread.unwrap());
        assert_eq!(found, NetworkNamespace::current());
        assert_ne!(found, NetworkNamespace::default());
    }

    #[test]
    fn current__follows_a_thread_that_moves_and_no_other() {
        let before = by_path().unwrap();
        let moving = || {
            let folders = Folders::open().unwrap();
            assert_eq!(folders.current().unwrap(), before);
            // An ordinary user's process may not.
            if unshare(CloneFlags::CLONE_NEWNET).is_ok() {
                assert_ne!(folders.current().unwrap(), before);
                assert_eq!(folders.current().unwrap(), by_path().unwrap());
            }
            folders
        };
        let folders = thread::scope(|scope| scope.spawn(moving).join()).unwrap();
        assert_eq!(folders.current().unwrap(), before);
    }
}
