//! Signals by which a terminal and people control a job. The launcher takes them; its agents, which
//! a terminal sends them to as well, have them blocked; ranks are in process groups of their own.

use std::fs;

use nix::sys::signal::{SigSet, Signal};

/// All of them.
const CONTROL: [Signal; 5] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTSTP];

/// All of them.
pub(crate) fn all() -> SigSet {
    CONTROL.into_iter().collect()
}

/// Those that are not ignored. `nohup` and shells make programs ignore signals, and a signal that
/// is ignored would arrive nevertheless once it is blocked.
pub(crate) fn heeded() -> SigSet {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let ignored = ignored.unwrap_or(0);
    CONTROL.into_iter().filter(|&s| ignored >> (s as u32 - 1) & 1 == 0).collect()
}
