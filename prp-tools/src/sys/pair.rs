//! Options of Unix sockets.
#![allow(unsafe_code, reason = "system calls that no crate here has")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use nix::libc;

/// `SO_PEEK_OFF` of asm-generic/socket.h.
const PEEK_OFFSET: libc::c_int = 42;

/// Has `MSG_PEEK` begin at byte `offset` of what waits, and follow what is taken (socket(7)).
///
/// # Errors
/// The kernel does not know the option.
pub(crate) fn set_peek_offset(socket: impl AsFd, offset: libc::c_int) -> io::Result<()> {
    // SAFETY: the number lives for as long as the call, and its size goes along.
    let done = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            PEEK_OFFSET,
            (&raw const offset).cast(),
            size_of_val(&offset) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns how many bytes wait in a socket.
pub(crate) fn waiting(socket: impl AsFd) -> usize {
    let mut count: libc::c_int = 0;
    // SAFETY: the number lives for as long as the call.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::FIONREAD, &raw mut count) };
    if done == 0 { usize::try_from(count).unwrap_or(0) } else { 0 }
}
