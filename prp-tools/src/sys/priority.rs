//! Which threads get a processor first.
#![allow(unsafe_code, reason = "a system call that no crate here has")]

use std::io;

use nix::errno::Errno;
use nix::libc;

/// From now on this thread, and threads that it starts, get what others leave of the processors
/// (sched(7), `SCHED_IDLE`).
///
/// # Errors
/// `EPERM` where a filter of system calls says so.
pub(crate) fn run_when_idle() -> io::Result<()> {
    // The kernel's `sched_param`, which has a priority alone. No function of the C library: musl's
    // answers ENOSYS, whatever the kernel can do.
    let priority: libc::c_int = 0;
    let (thread, policy) = (0 as libc::pid_t, libc::SCHED_IDLE);
    // SAFETY: the priority lives for as long as the call, which takes no other pointer.
    let done =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, &raw const priority) };
    Errno::result(done).map(drop).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    /// The policy of this thread: the 41st field of its line in /proc.
    fn policy() -> String {
        let line = fs::read_to_string("/proc/thread-self/stat").expect("procfs");
        let (_, fields) = line.rsplit_once(')').expect("the name of the program");
        fields.split_whitespace().nth(38).expect("a policy").to_owned()
    }

    #[test]
    fn run_when_idle__of_this_thread_alone() {
        let before = policy();
        let inside = thread::spawn(|| {
            run_when_idle().expect("anybody may");
            policy()
        });
        assert_eq!(inside.join().expect("no panic"), libc::SCHED_IDLE.to_string());
        assert_eq!(policy(), before);
    }
}
