//! Which users' processes are believed (docs/trust.md).

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{User, geteuid};

use crate::{environment, sys};

/// The user whom `etc/prp-routed.service` makes for the daemon.
pub(crate) const DAEMONS_USER: &str = "prp-routed";

/// The user that the kernel shows for each one without a place in this user namespace
/// (`/proc/sys/kernel/overflowuid`).
const OVERFLOW_USER: u32 = 65_534;

/// Whether this process may believe a process or directory of `user`: of root, of the daemon's
/// user, or of its own user. A program that its caller gave privileges does not believe its
/// caller's user: the kernel keeps both apart, and the program may do what the caller may not.
pub fn is_trusted(user: u32) -> bool {
    let is_own = user == geteuid().as_raw() && !may_be_anybody(user);
    is_always_trusted(user) || (is_own && !environment::is_privileged())
}

/// Whether `user` is root, or the daemon's.
pub(crate) fn is_always_trusted(user: u32) -> bool {
    user == 0 || is_daemons(user)
}

/// The process at the other end of a Unix socket: the one that connected, or listened.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its user.
    pub(crate) user: u32,
    pid: i32,
    /// What is that process for certain, where the kernel has it: its number goes to another one
    /// once it has ended.
    process: Option<OwnedFd>,
}

impl Peer {
    /// That of `socket`.
    ///
    /// # Errors
    /// It has ended; no descriptor left.
    pub(crate) fn of(socket: &impl AsFd) -> io::Result<Self> {
        let socket = socket.as_fd();
        let credentials = getsockopt(&socket, PeerCredentials)?;
        let process = sys::socket::peer_process(socket)?;
        Ok(Self { user: credentials.uid(), pid: credentials.pid(), process })
    }

    /// Whether it may do all that this thread may: a process of the same user that may do less is
    /// not believed by one that may do more.
    pub(crate) fn has_our_capabilities(&self) -> bool {
        let own = capabilities("/proc/thread-self/status", "CapEff:");
        own == Some(0) || own.zip(self.permitted()).is_some_and(|(own, peer)| own & !peer == 0)
    }

    /// Whether it has `capability`, by its number, in the user namespace of this process.
    pub(crate) fn has_capability(&self, capability: u32) -> bool {
        let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/user")).ok();
        let theirs = namespace(&self.pid.to_string());
        theirs.is_some()
            && theirs == namespace("self")
            && self.permitted().is_some_and(|permitted| permitted & 1 << capability != 0)
    }

    /// What it may do; none if it has ended, or that is not known.
    fn permitted(&self) -> Option<u64> {
        let permitted = capabilities(&format!("/proc/{}/status", self.pid), "CapPrm:");
        // Asked after what was read: then it was that of this process, and of no later one.
        permitted.filter(|_| !self.has_ended())
    }

    fn has_ended(&self) -> bool {
        let Some(process) = &self.process else { return false };
        let mut fds = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ended| ended > 0)
    }
}

/// A set of capabilities as the kernel prints it. None if it cannot be read.
pub(crate) fn capabilities(status: &str, set: &str) -> Option<u64> {
    let status = fs::read_to_string(status).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(set))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Whether the kernel shows `user` for every user without a place in this user namespace.
fn may_be_anybody(user: u32) -> bool {
    // In the first namespace, which has a place for each, it is a user as any other.
    let map = || fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    user == OVERFLOW_USER && !map().split_whitespace().eq(["0", "0", "4294967295"])
}

fn is_daemons(user: u32) -> bool {
    let found = User::from_name(DAEMONS_USER);
    found.is_ok_and(|found| found.is_some_and(|found| found.uid.as_raw() == user))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
    use std::process::{Command, Stdio};

    use super::*;

    /// The variable with the name at which a test listens.
    const LISTENS_AT: &str = "PRP_TEST_LISTENS_AT";

    #[test]
    fn is_trusted__root_and_this_user_and_no_other() {
        assert!(is_trusted(0));
        assert!(is_trusted(geteuid().as_raw()));
        assert!(!is_trusted(12_345));
    }

    /// Whether a program without capabilities runs this, which believes every process of its user.
    fn has_none() -> bool {
        capabilities("/proc/thread-self/status", "CapEff:") == Some(0)
    }

    #[test]
    fn has_our_capabilities__this_process_and_no_unknown_one() {
        let (socket, _other) = UnixStream::pair().expect("a pair");
        let this = Peer::of(&socket).expect("this process");
        assert!(this.has_our_capabilities());
        // Expect: a number no process has is not believed by a program with capabilities.
        assert_eq!(Peer { pid: i32::MAX, ..this }.has_our_capabilities(), has_none());
    }

    /// In a process that another test starts: connects to where that listens, and lives until it
    /// is ended.
    #[test]
    fn connects_where_a_test_listens() {
        let Ok(name) = std::env::var(LISTENS_AT) else { return };
        let name = SocketAddr::from_abstract_name(name).expect("a name");
        let _link = UnixStream::connect_addr(&name).expect("it listens");
        let _ = io::stdin().read(&mut [0]);
    }

    /// The process that has the number by now is not the one that had it when it connected.
    #[test]
    fn has_our_capabilities__not_of_a_later_process_with_the_number() {
        let name = format!("prp/test/trust/{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let listener = UnixListener::bind_addr(&address).expect("it is free");
        let mut child = Command::new(std::env::current_exe().expect("this program"));
        child.args(["--exact", "trust::tests::connects_where_a_test_listens"]);
        let child = child.env(LISTENS_AT, name).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = child.spawn().expect("it starts");
        let (link, _) = listener.accept().expect("it connects");
        let peer = Peer::of(&link).expect("it lives");
        child.kill().expect("it lives");
        child.wait().expect("it ends");
        if peer.process.is_none() {
            println!("SKIP: SO_PEERPIDFD needs Linux 6.5");
            return;
        }
        let pid = std::process::id().cast_signed();
        assert_eq!(Peer { pid, ..peer }.has_our_capabilities(), has_none());
    }
}
