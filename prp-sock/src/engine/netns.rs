//! Which network namespace a thread is in.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::stat::{Mode, fstatat};

use prp_node::fork::PerProcess;

/// `/proc`, as it was when this process first asked: after `chroot` there may be none.
static PROC: PerProcess<OnceLock<OwnedFd>> = PerProcess::new(OnceLock::new);

/// Where `/proc` has the namespace of the thread that asks.
const HANDLE: &str = "thread-self/ns/net";

/// A network namespace: device and inode of its handle.
#[derive(Copy, Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct NetworkNamespace(u64, u64);

impl NetworkNamespace {
    /// That of this thread. Without `/proc` there is no telling namespaces apart; then there is most likely
    /// only one.
    pub(super) fn current() -> Self {
        by_directory().or_else(|_| by_path()).unwrap_or_default()
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
    let stat = fstatat(directory, HANDLE, AtFlags::empty())?;
    Ok(NetworkNamespace(stat.st_dev, stat.st_ino))
}

fn by_path() -> io::Result<NetworkNamespace> {
    let meta = std::fs::metadata(format!("/proc/{HANDLE}"))?;
    Ok(NetworkNamespace(meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current__is_the_same_whichever_way_it_is_found() {
        let found = by_directory().unwrap();
        assert_eq!(found, by_path().unwrap());
        assert_eq!(found, NetworkNamespace::current());
        assert_ne!(found, NetworkNamespace::default());
    }
}
