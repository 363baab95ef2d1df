//! What the kernel tells of a thread in its folder of /proc.

use std::fs;
use std::io;

use nix::libc;

/// The state of a thread (`/proc/TID/status`, proc(5)).
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Status {
    /// Its process.
    pub(super) pid: i32,
    /// A signal waits for the thread to leave its call. Of those to the whole process, only in its
    /// first thread, which the kernel prefers: another thread may take it elsewhere.
    pub(super) has_signal: bool,
}

impl Status {
    /// Returns the state of the thread `tid`; `None` if it has ended.
    pub(super) fn of(tid: i32) -> Option<Self> {
        Some(Self::parse(&fs::read_to_string(format!("/proc/{tid}/status")).ok()?, tid))
    }

    fn parse(text: &str, tid: i32) -> Self {
        let mut pid = 0;
        let [mut own, mut shared, mut blocked] = [0; 3];
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let set = || u64::from_str_radix(value.trim(), 16).unwrap_or(0);
            match key {
                "Tgid" => pid = value.trim().parse().unwrap_or(0),
                "SigPnd" => own = set(),
                "ShdPnd" => shared = set(),
                "SigBlk" => blocked = set(),
                _ => {}
            }
        }
        let pending = if pid == tid { own | shared } else { own };
        Self { pid, has_signal: pending & !blocked != 0 }
    }
}

/// Whether the descriptor `fd` is closed when its process executes a program.
///
/// # Errors
/// There is none.
pub(super) fn is_closed_on_exec(tid: i32, fd: i32) -> io::Result<bool> {
    let text = fs::read_to_string(format!("/proc/{tid}/fdinfo/{fd}"))?;
    Ok(flags(&text) & libc::O_CLOEXEC != 0)
}

/// Returns the flags that a descriptor's lines tell.
fn flags(text: &str) -> i32 {
    let word = text.lines().find_map(|line| line.strip_prefix("flags:"));
    word.and_then(|word| i32::from_str_radix(word.trim(), 8).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status__of_a_signal_that_waits() {
        let text = |own, shared, blocked| {
            format!("Name:\tx\nTgid:\t7\nSigPnd:\t{own}\nShdPnd:\t{shared}\nSigBlk:\t{blocked}\n")
        };
        for (tid, own, shared, blocked, has_signal) in [
            (7, "0000000000000000", "0000000000000000", "0000000000000000", false),
            (7, "0000000000004000", "0000000000000000", "0000000000000000", true),
            (7, "0000000000000000", "0000000000004000", "0000000000000000", true),
            (7, "0000000000000000", "0000000000004000", "0000000000004000", false),
            (8, "0000000000000000", "0000000000004000", "0000000000000000", false),
            (8, "0000000000004000", "0000000000000000", "0000000000000000", true),
        ] {
            let found = Status::parse(&text(own, shared, blocked), tid);
            assert_eq!(found, Status { pid: 7, has_signal }, "{tid} {own} {shared} {blocked}");
        }
    }

    #[test]
    fn status__of_this_thread() {
        let tid = nix::unistd::gettid().as_raw();
        let status = Status::of(tid).expect("procfs");
        assert_eq!(status, Status { pid: std::process::id() as i32, has_signal: false });
    }

    #[test]
    fn flags__are_octal() {
        assert_eq!(flags("pos:\t0\nflags:\t02004002\nmnt_id:\t15\n"), 0o2_004_002);
        assert_eq!(flags(""), 0);
    }
}
