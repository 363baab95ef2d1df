//! Socket options that no crate knows.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `SO_PASSRIGHTS` (Linux 6.16, `asm-generic/socket.h`): whether peers may attach descriptors.
const SO_PASSRIGHTS: libc::c_int = 83;

/// `SO_PEERPIDFD` (Linux 6.5, `asm-generic/socket.h`): a descriptor of the process that
/// `SO_PEERCRED` numbers.
const SO_PEERPIDFD: libc::c_int = 77;

/// Has the kernel refuse messages with descriptors to `socket`, and to those accepted from it.
///
/// # Errors
/// `ENOPROTOOPT` before Linux 6.16.
pub(crate) fn refuse_descriptors(socket: BorrowedFd<'_>) -> io::Result<()> {
    let off: libc::c_int = 0;
    let len = size_of_val(&off) as libc::socklen_t;
    // SAFETY: `off` is live and as long as `len` says; the kernel only reads it.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const off).cast(),
            len,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A descriptor of the process at the other end of `socket`, which stays that process's; none
/// before Linux 6.5.
///
/// # Errors
/// That process has ended; no descriptor left.
pub(crate) fn peer_process(socket: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let mut fd: libc::c_int = -1;
    let mut len = size_of_val(&fd) as libc::socklen_t;
    // SAFETY: the pointers describe `fd` and `len`, both live; the kernel writes at most `len`
    // bytes, and any bytes make an integer.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &raw mut len,
        )
    };
    if done == 0 {
        // SAFETY: the kernel has made the descriptor for this call, so nothing else owns it.
        return Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) }));
    }
    match io::Error::last_os_error() {
        e if e.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(None),
        e => Err(e),
    }
}
