//! Descriptors of processes, and of others' descriptors.
#![allow(unsafe_code, reason = "system calls that no crate here has")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use nix::libc;

/// `PIDFD_THREAD` of linux/pidfd.h, since Linux 6.9.
const THREAD: c_int = libc::O_EXCL;

/// Returns a descriptor that becomes readable when the process `pid` has ended.
///
/// # Errors
/// `ESRCH` if it has ended; what the kernel lacks.
pub(crate) fn open(pid: i32) -> io::Result<OwnedFd> {
    open_with(pid, 0)
}

/// Returns a descriptor of the thread `tid`.
///
/// # Errors
/// As for [`open`]; `EINVAL` if the kernel has them for first threads only.
pub(crate) fn open_thread(tid: i32) -> io::Result<OwnedFd> {
    open_with(tid, THREAD)
}

fn open_with(pid: i32, flags: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, flags) };
    owned(fd)
}

/// Returns a copy of the descriptor `fd` of another process.
///
/// # Errors
/// `EBADF` if it has none; `EPERM` if it is not this process's to look into.
pub(crate) fn copy(process: impl AsFd, fd: c_int) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_fd().as_raw_fd(), fd, 0) };
    owned(fd)
}

fn owned(fd: libc::c_long) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}
