//! `prp run` as the first process of a container. Processes that have lost their parents become its
//! children, and the holder is one of them: a program that is the first process itself, and waits
//! for all its children, would wait for the holder, which waits for the program.

use std::io;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};

use crate::sys::signal;

/// What is passed on to the program.
const PASSED: [Signal; 8] = [
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGCONT,
];

/// How long the other processes may take to end when the program has: the holder may have bytes
/// that it is still to deliver, and all end with the first process.
const REST: Duration = Duration::from_secs(10);

/// How often it is looked whether they have.
const CHECK: Duration = Duration::from_millis(10);

/// Whether this process is the first one.
pub(super) fn is_first() -> bool {
    getpid() == Pid::from_raw(1)
}

/// Runs the program as a child, passes signals on to it, and reaps whatever ends. Returns the
/// status to end with.
///
/// # Errors
/// The program cannot be started.
pub(super) fn supervise(command: &mut Command) -> io::Result<i32> {
    let child = Pid::from_raw(command.spawn()?.id().cast_signed());
    // After the start, as the program would inherit it. The kernel has nothing end a first process
    // that waits for no signal.
    let mut signals: SigSet = PASSED.into_iter().collect();
    signals.add(Signal::SIGCHLD);
    signals.thread_block()?;
    let status = loop {
        if let Some(status) = reap(child) {
            break status;
        }
        match signal::wait(&signals) {
            Ok((Signal::SIGCHLD, _)) | Err(_) => {}
            // The keys of a terminal send them to the program as well.
            Ok((Signal::SIGINT | Signal::SIGQUIT, true)) => {}
            Ok((signal, _)) => {
                let _ = kill(child, signal);
            }
        }
    };
    let ended = Instant::now();
    let _ = kill(Pid::from_raw(-1), Signal::SIGTERM);
    while ended.elapsed() < REST && has_children() {
        thread::sleep(CHECK);
    }
    Ok(status)
}

/// Reaps all children that have ended; returns the status of `child` if it is among them.
fn reap(child: Pid) -> Option<i32> {
    let mut found = None;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, status)) if pid == child => found = Some(status),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                found = Some(128 + signal as i32);
            }
            Ok(WaitStatus::StillAlive) => return found,
            // There are no children any more.
            Err(Errno::ECHILD) => return Some(found.unwrap_or(1)),
            Ok(_) | Err(_) => {}
        }
    }
}

fn has_children() -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return true,
            Err(Errno::ECHILD) => return false,
            Ok(_) | Err(_) => {}
        }
    }
}
