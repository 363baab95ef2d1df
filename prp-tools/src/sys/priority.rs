//! Which threads get a processor first.
#![allow(unsafe_code, reason = "a system call that no crate here has")]

use std::io;
use std::time::Duration;

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

/// Has this thread, and threads that it starts, get a processor for `slice` at a time while others
/// want it, and sooner in return than those that get it for longer (sched_setattr(2); Linux 6.12 or
/// later takes 100 us and more, and older kernels do nothing).
///
/// # Errors
/// `EPERM` where a filter of system calls says so.
pub(crate) fn run_in_slices(slice: Duration) -> io::Result<()> {
    let mut attr = attributes()?;
    if attr.sched_policy != libc::SCHED_OTHER as u32 {
        return Ok(());
    }
    attr.sched_runtime = slice.as_nanos() as u64;
    let (thread, flags) = (0 as libc::pid_t, 0 as libc::c_uint);
    // SAFETY: the attributes live for as long as the call, which takes no other pointer.
    let done = unsafe { libc::syscall(libc::SYS_sched_setattr, thread, &raw const attr, flags) };
    Errno::result(done).map(drop).map_err(Into::into)
}

/// Returns what the kernel knows of how this thread gets a processor.
fn attributes() -> io::Result<libc::sched_attr> {
    let size = size_of::<libc::sched_attr>() as u32;
    let mut attr = libc::sched_attr {
        size,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    let (thread, flags) = (0 as libc::pid_t, 0 as libc::c_uint);
    // SAFETY: the kernel writes `size` bytes, which the structure has.
    let done =
        unsafe { libc::syscall(libc::SYS_sched_getattr, thread, &raw mut attr, size, flags) };
    Errno::result(done)?;
    Ok(attr)
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

    #[test]
    fn run_in_slices__of_this_thread_and_of_those_that_it_starts() {
        const SLICE: Duration = Duration::from_micros(100);
        let before = attributes().expect("anybody may ask");
        let inside = thread::spawn(|| {
            run_in_slices(SLICE).expect("anybody may");
            let started = thread::spawn(|| attributes().expect("anybody may ask"));
            [attributes().expect("anybody may ask"), started.join().expect("no panic")]
        });
        for attr in inside.join().expect("no panic") {
            assert_eq!(
                (attr.sched_policy, attr.sched_nice),
                (before.sched_policy, before.sched_nice)
            );
            // Older kernels show and take no slices.
            if before.sched_runtime > 0 {
                assert_eq!(attr.sched_runtime, SLICE.as_nanos() as u64);
            }
        }
        assert_eq!(attributes().expect("anybody may ask").sched_runtime, before.sched_runtime);
    }
}
