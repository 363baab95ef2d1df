//! Socket options that no crate knows.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `SO_PASSRIGHTS` (Linux 6.16, `asm-generic/socket.h`): whether peers may attach descriptors.
const SO_PASSRIGHTS: libc::c_int = 83;

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
