//! Which users' processes are believed (docs/trust.md).

use nix::unistd::{User, geteuid};

use crate::environment;

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

/// Whether process `pid` may do all that this thread may: a process of the same user that may do
/// less is not believed by one that may do more.
pub(crate) fn has_our_capabilities(pid: i32) -> bool {
    let own = capabilities("/proc/thread-self/status", "CapEff:");
    let peer = capabilities(&format!("/proc/{pid}/status"), "CapPrm:");
    own == Some(0) || own.zip(peer).is_some_and(|(own, peer)| own & !peer == 0)
}

/// A set of capabilities as the kernel prints it. None if it cannot be read.
pub(crate) fn capabilities(status: &str, set: &str) -> Option<u64> {
    let status = std::fs::read_to_string(status).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(set))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Whether the kernel shows `user` for every user without a place in this user namespace.
fn may_be_anybody(user: u32) -> bool {
    // In the first namespace, which has a place for each, it is a user as any other.
    let map = || std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    user == OVERFLOW_USER && !map().split_whitespace().eq(["0", "0", "4294967295"])
}

fn is_daemons(user: u32) -> bool {
    let found = User::from_name(DAEMONS_USER);
    found.is_ok_and(|found| found.is_some_and(|found| found.uid.as_raw() == user))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_trusted__root_and_this_user_and_no_other() {
        assert!(is_trusted(0));
        assert!(is_trusted(geteuid().as_raw()));
        assert!(!is_trusted(12_345));
    }

    #[test]
    fn has_our_capabilities__this_process_and_no_unknown_one() {
        assert!(has_our_capabilities(std::process::id().cast_signed()));
        // Expect: a number no process has is not believed by a program with capabilities.
        let own = capabilities("/proc/thread-self/status", "CapEff:");
        assert_eq!(has_our_capabilities(i32::MAX), own == Some(0));
    }
}
