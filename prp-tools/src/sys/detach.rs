//! A process that goes on beside the program that this one becomes.
#![allow(unsafe_code, reason = "fork, and descriptors that a parent has left")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::libc;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork, setsid};

/// Where the descriptor is that the new process keeps.
const KEPT: i32 = 3;

/// Makes a process that is nobody's child and has no terminal, no working directory, and no
/// descriptor but `kept` and standard error, until it calls [`close_errors`]. Returns `kept` there,
/// and `None` here. Where the new process lacks something, `fail` tells so there, which ends then.
/// To be called before any thread is started.
///
/// # Errors
/// There is no room for a process.
pub(crate) fn detach(kept: OwnedFd, fail: impl FnOnce(&io::Error)) -> io::Result<Option<OwnedFd>> {
    // SAFETY: this process has one thread, as the caller says, so that the child may go on as any.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            match waitpid(child, None) {
                // Where SIGCHLD is ignored, the kernel keeps nothing of it.
                Ok(WaitStatus::Exited(_, 0)) | Err(Errno::ECHILD) => Ok(None),
                Ok(_) => Err(Errno::EAGAIN.into()),
                Err(e) => Err(e.into()),
            }
        }
        ForkResult::Child => {
            let _ = setsid();
            // SAFETY: as above.
            match unsafe { fork() } {
                Ok(ForkResult::Child) => match alone(kept) {
                    Ok(kept) => Ok(Some(kept)),
                    // To return would have the caller go on here as well as in the parent.
                    Err(e) => {
                        fail(&e);
                        // SAFETY: what runs at exit is the parent's to run.
                        unsafe { libc::_exit(1) }
                    }
                },
                // SAFETY: what runs at exit is the parent's to run.
                Ok(ForkResult::Parent { .. }) => unsafe { libc::_exit(0) },
                // SAFETY: as above.
                Err(_) => unsafe { libc::_exit(1) },
            }
        }
    }
}

/// Leaves standard error.
///
/// # Errors
/// /dev/null cannot be opened.
pub(crate) fn close_errors() -> io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    // SAFETY: both numbers are open, and what writes to the second one goes on with /dev/null.
    Errno::result(unsafe { libc::dup2(null.as_raw_fd(), libc::STDERR_FILENO) })?;
    Ok(())
}

/// Leaves all that was inherited, but for `kept` and standard error.
fn alone(kept: OwnedFd) -> io::Result<OwnedFd> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    // Nothing closes their numbers later, which may be those that are given below.
    let [kept, null] = [kept.into_raw_fd(), OwnedFd::from(null).into_raw_fd()];
    // SAFETY: the numbers are open; none of those that are replaced or closed is used after it.
    unsafe {
        // Above all that are replaced.
        let kept = libc::fcntl(kept, libc::F_DUPFD_CLOEXEC, KEPT + 2);
        let null = libc::fcntl(null, libc::F_DUPFD_CLOEXEC, KEPT + 2);
        if kept < 0 || null < 0 {
            return Err(io::Error::last_os_error());
        }
        for standard in 0..libc::STDERR_FILENO {
            libc::dup2(null, standard);
        }
        libc::dup3(kept, KEPT, libc::O_CLOEXEC);
        // Without the call, kernels before 5.9, they stay open.
        libc::syscall(libc::SYS_close_range, KEPT + 1, u32::MAX, 0);
        let _ = std::env::set_current_dir(Path::new("/"));
        Ok(OwnedFd::from_raw_fd(KEPT))
    }
}
