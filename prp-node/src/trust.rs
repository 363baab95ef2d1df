//! Which users' processes are believed (docs/trust.md).

use nix::unistd::{User, geteuid};

use crate::environment;

/// The user whom `etc/prp-routed.service` makes for the daemon.
pub(crate) const DAEMONS_USER: &str = "prp-routed";

/// The user that the kernel shows for each one without a place in this user namespace
/// (`/proc/sys/kernel/overflowuid`).
const OVERFLOW_USER: u32 = 65_534;

/// Whether this process may believe a process or directory of `user`: of root, of the daemon's user,
/// or of its own user. A program that its caller gave privileges does not believe its own user.
pub fn is_trusted(user: u32) -> bool {
    let own = geteuid().as_raw();
    // A program that its caller gave privileges must not believe its caller: the kernel keeps both
    // apart, and the program may do what the caller may not.
    let is_own = user == own && !may_be_anybody(user) && !has_privileges_of_its_own();
    user == 0 || is_own || is_daemons(user)
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

/// Whether this program may do more than other programs of its user.
fn has_privileges_of_its_own() -> bool {
    if environment::is_privileged() {
        return true;
    }
    // As in /proc/self/status, which needs no privilege. Root has them all, as any program of root.
    !geteuid().is_root() && effective_capabilities() != 0
}

fn effective_capabilities() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    // What cannot be read is taken for privileged: then nobody but root is believed.
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(u64::MAX)
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
}
