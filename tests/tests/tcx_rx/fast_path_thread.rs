//! Stops the thread of another process that services its tcx receive path. Meanwhile an open path
//! stays open, with or without a flow.

use std::fs;
use std::path::PathBuf;

use nix::libc;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The current threads of a process, each as a folder of proc(5).
pub(crate) fn threads(process: u32) -> impl Iterator<Item = PathBuf> {
    let folder = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    folder.filter_map(|thread| Some(thread.ok()?.path()))
}

/// A stopped fast-path thread. It runs on when this is dropped, which the same thread must do.
pub(crate) struct HeldThread(Pid);

impl HeldThread {
    /// Stops the fast-path thread of `process`, if there is one and it sleeps. Only then it holds
    /// no lock that others wait for.
    pub(crate) fn of(process: u32) -> Option<Self> {
        let name = |thread: &PathBuf| fs::read_to_string(thread.join("comm")).unwrap_or_default();
        let thread = threads(process).find(|thread| name(thread) == "prp-fastpath\n")?;
        let number = thread.file_name()?.to_str()?.parse().ok()?;
        let pid = Pid::from_raw(number);
        ptrace::seize(pid, ptrace::Options::empty()).ok()?;
        let held = Self(pid);
        ptrace::interrupt(pid).ok()?;
        let stopped = waitpid(pid, Some(WaitPidFlag::__WALL)).ok()?;
        if !matches!(stopped, WaitStatus::PtraceEvent(..) | WaitStatus::Stopped(..)) {
            std::mem::forget(held);
            return None;
        }
        let call = fs::read_to_string(thread.join("syscall")).ok()?;
        let call = call.split(' ').next()?.parse().ok();
        let sleeps = [libc::SYS_clock_nanosleep, libc::SYS_restart_syscall].map(Some);
        sleeps.contains(&call).then_some(held)
    }
}

impl Drop for HeldThread {
    fn drop(&mut self) {
        if ptrace::detach(self.0, None::<Signal>).is_err() {
            // The thread was killed, and its process does not end before the tracing parent has
            // received the event.
            let _ = waitpid(self.0, Some(WaitPidFlag::__WALL));
        }
    }
}
