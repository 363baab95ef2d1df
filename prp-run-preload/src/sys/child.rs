//! System calls that make another program.

use std::ffi::{CStr, c_int};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null;

use super::call::{self, Errno, checked};

/// Bytes of a set of signals, as the kernel has it.
const SET: usize = size_of::<u64>();

unsafe extern "C" {
    /// The environment of this process (environ(7)).
    static environ: *const *const libc::c_char;
}

/// Returns both ends of a pipe: to read, to write.
pub(super) fn pipe() -> Result<[OwnedFd; 2], Errno> {
    let mut ends: [c_int; 2] = [-1; 2];
    // SAFETY: the kernel writes two numbers.
    checked(unsafe { libc::syscall(libc::SYS_pipe2, ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: the kernel has just made these descriptors.
    Ok(ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Moves a file to a descriptor whose number is `least` or above.
pub(super) fn move_above(file: OwnedFd, least: c_int) -> Result<OwnedFd, Errno> {
    let fd = call::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least)?;
    drop(file);
    // SAFETY: the kernel has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Blocks the signals in `mask`, and no others; returns those that were blocked.
pub(super) fn signal_mask(mask: u64) -> Result<u64, Errno> {
    let mut before: u64 = 0;
    // SAFETY: both sets live for as long as the call, and have the bytes that it is told.
    let done = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut before,
            SET,
        )
    };
    checked(done).map(|_| before)
}

/// Makes a process of which the program hears nothing, neither by SIGCHLD nor by a `wait` for any
/// child, unless it executes another one. Returns 0 in that, and its number here.
///
/// # Safety
/// As for `_Fork` (fork(3)).
pub(super) unsafe fn clone() -> Result<c_int, Errno> {
    // SAFETY: memory is copied, so that all is there that was; the caller keeps to what it may use.
    checked(unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) }).map(|pid| pid as c_int)
}

/// Waits for the end of a process that [`clone`] has made.
pub(super) fn wait(pid: c_int) {
    let nothing = null::<c_int>();
    loop {
        // SAFETY: the kernel writes nothing.
        let done = unsafe { libc::syscall(libc::SYS_wait4, pid, nothing, libc::__WCLONE, nothing) };
        if checked(done) != Err(libc::EINTR) {
            return;
        }
    }
}

/// Executes the file at `path` with these words and this environment. Returns if it cannot be.
pub(super) fn execute<const N: usize>(path: &CStr, words: [&CStr; N]) {
    let mut pointers = [null(); 8];
    for (to, word) in pointers.iter_mut().zip(words).take(7) {
        *to = word.as_ptr();
    }
    // SAFETY: strings of C, and two lists of such that end with null.
    let _ = unsafe { libc::syscall(libc::SYS_execve, path.as_ptr(), pointers.as_ptr(), environ) };
}

/// Writes bytes, as far as there is room.
pub(super) fn write(fd: c_int, bytes: &[u8]) {
    // SAFETY: the bytes live for as long as the call.
    let _ = unsafe { libc::syscall(libc::SYS_write, fd, bytes.as_ptr(), bytes.len()) };
}

/// Ends this process, and runs nothing of the program's for it.
pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: it is the end.
    unsafe { libc::_exit(code) }
}
