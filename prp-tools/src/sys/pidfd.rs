//! Descriptors of processes.
#![allow(unsafe_code, reason = "a system call that no crate here has")]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use nix::libc;

/// Returns a descriptor that becomes readable when the process `pid` has ended.
///
/// # Errors
/// `ESRCH` if it has ended; what the kernel lacks.
pub(crate) fn open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
