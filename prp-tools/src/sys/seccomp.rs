//! Calls that the kernel shows to another process (seccomp(2), `seccomp_unotify(2)`).
#![allow(unsafe_code, reason = "system calls that no crate here has")]

use std::ffi::{c_int, c_ulong};
use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::libc;

/// A call that waits for its answer.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Notification {
    pub(crate) id: u64,
    /// The thread that calls.
    pub(crate) tid: i32,
    /// The number of the system call.
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

/// What the kernel is to do with a call.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// To go on as if nobody had been asked.
    Continue,
    /// To return this.
    Return(i64),
    /// To fail with this number of errno.
    Fail(c_int),
}

/// Has the kernel put `filter` before the calls of this thread, and of what it executes or starts
/// from now on. Returns the descriptor by which it shows them.
///
/// # Errors
/// `EINVAL` of a kernel before 5.19, `EBUSY` if the calls are shown to somebody already, and others
/// of seccomp(2).
pub(crate) fn install(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    let program = libc::sock_fprog {
        len: filter.len().try_into().map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: filter.as_ptr().cast_mut(),
    };
    // A call whose answer is being made waits for it, and lets no handler of a signal run before:
    // nothing is done twice.
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let try_it = || {
        // SAFETY: the program lives for as long as the call, which only reads it.
        let fd = unsafe {
            let mode = libc::SECCOMP_SET_MODE_FILTER;
            libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program)
        };
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) }
    };
    let fd = match try_it() {
        // Without the privilege, setuid programs must not be confused by a filter: they get none.
        Err(e) if e.raw_os_error() == Some(libc::EACCES) => {
            // SAFETY: no memory is involved.
            if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
            try_it()?
        }
        tried => tried?,
    };
    // SAFETY: the kernel has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Has the program of `command` let the process `pid` look into it where the kernel lets ancestors
/// alone do so (Yama).
pub(crate) fn admit(command: &mut Command, pid: i32) {
    let admit = move || {
        // SAFETY: no memory is involved. Without Yama it fails, and is not needed.
        let _ = unsafe { libc::prctl(libc::PR_SET_PTRACER, pid as c_ulong, 0, 0, 0) };
        Ok(())
    };
    // SAFETY: a system call is all that it does.
    unsafe { command.pre_exec(admit) };
}

fn ioctl<T>(listener: impl AsFd, request: libc::Ioctl, argument: &mut T) -> io::Result<c_int> {
    // SAFETY: the argument lives for as long as the call, and is what the request is defined for.
    let done = unsafe { libc::ioctl(listener.as_fd().as_raw_fd(), request, &raw mut *argument) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done) }
}

/// Waits for a call.
///
/// # Errors
/// `ENOENT` if its thread has ended meanwhile.
pub(crate) fn receive(listener: impl AsFd) -> io::Result<Notification> {
    // SAFETY: all zeros is a value of this type, and the one that the kernel demands.
    let mut found: libc::seccomp_notif = unsafe { zeroed() };
    ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &mut found)?;
    Ok(Notification {
        id: found.id,
        tid: found.pid.cast_signed(),
        number: found.data.nr.into(),
        arguments: found.data.args,
    })
}

/// Whether the call `id` still waits: then `tid` is still its thread.
pub(crate) fn is_waiting(listener: impl AsFd, mut id: u64) -> bool {
    ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &mut id).is_ok()
}

/// Answers the call `id`.
///
/// # Errors
/// `ENOENT` if its thread has ended.
pub(crate) fn answer(listener: impl AsFd, id: u64, outcome: Outcome) -> io::Result<()> {
    let mut response = libc::seccomp_notif_resp { id, val: 0, error: 0, flags: 0 };
    match outcome {
        Outcome::Continue => response.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        Outcome::Return(value) => response.val = value,
        Outcome::Fail(errno) => response.error = -errno,
    }
    ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &mut response).map(drop)
}

/// Puts `file` in the place of the descriptor `at` of the thread whose call `id` waits.
///
/// # Errors
/// `ENOENT` if the thread has ended; those of dup3(2).
pub(crate) fn put(
    listener: impl AsFd,
    id: u64,
    file: impl AsFd,
    at: c_int,
    flags: c_int,
) -> io::Result<()> {
    let mut added = added(id, file, flags, libc::SECCOMP_ADDFD_FLAG_SETFD);
    added.newfd = at.cast_unsigned();
    ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut added).map(drop)
}

/// Adds `file` to the descriptors of the thread whose call `id` waits, and has the call return its
/// number.
///
/// # Errors
/// `ENOENT` if the thread has ended, `EMFILE` if it may have no more; the call still waits then.
pub(crate) fn hand_over(
    listener: impl AsFd,
    id: u64,
    file: impl AsFd,
    flags: c_int,
) -> io::Result<()> {
    let mut added = added(id, file, flags, libc::SECCOMP_ADDFD_FLAG_SEND);
    ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &mut added).map(drop)
}

fn added(id: u64, file: impl AsFd, flags: c_int, what: c_ulong) -> libc::seccomp_notif_addfd {
    libc::seccomp_notif_addfd {
        id,
        flags: what as u32,
        srcfd: file.as_fd().as_raw_fd().cast_unsigned(),
        newfd: 0,
        newfd_flags: flags.cast_unsigned(),
    }
}
