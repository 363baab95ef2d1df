//! Which signals a process heeds.

use nix::sys::signal::{SigSet, Signal};

/// Those of `signals` that this process does not ignore. `nohup`, and shells for programs in the
/// background of a script, make programs ignore signals; one that is ignored would arrive
/// nevertheless once it is blocked and waited for.
pub fn not_ignored(signals: &[Signal]) -> SigSet {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    not_ignored_by(&status, signals)
}

/// The same of the process with this `/proc/PID/status`.
fn not_ignored_by(status: &str, signals: &[Signal]) -> SigSet {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    signals.iter().copied().filter(|signal| ignored >> (*signal as i32 - 1) & 1 == 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEADLY: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];

    fn names(status: &str) -> Vec<Signal> {
        let set = not_ignored_by(status, &DEADLY);
        DEADLY.into_iter().filter(|s| set.contains(*s)).collect()
    }

    #[test]
    fn not_ignored_by__leaves_ignored_signals_alone() {
        let status = "Name:\tprp\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n";
        assert_eq!(names(status), [Signal::SIGINT, Signal::SIGTERM]);
        let status = "SigIgn:\t0000000000004002\n";
        assert_eq!(names(status), [Signal::SIGHUP]);
    }

    #[test]
    fn not_ignored_by__without_proc_is_all() {
        assert_eq!(names(""), DEADLY);
    }
}
