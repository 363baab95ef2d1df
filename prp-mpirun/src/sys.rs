//! The only unsafe code of this crate: what a rank does before it becomes its program, and what is
//! asked before `main`.
#![allow(unsafe_code, reason = "only the new process can set its own signal mask")]

pub(crate) mod standard;

use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};

use crate::agent::Limit;

/// The command's process takes these signals, may have as many descriptors as the limit says, and
/// is killed when the thread that has started it ends.
pub(crate) fn prepare(command: &mut Command, signals: SigSet, limit: Limit) {
    let begin = move || {
        signals.thread_unblock()?;
        limit.restore()?;
        Ok(set_pdeathsig(Signal::SIGKILL)?)
    };
    // SAFETY: between fork and exec the closure makes three system calls; neither it nor they
    // allocate or take a lock, and it owns all that it reads.
    unsafe { command.pre_exec(begin) };
}
