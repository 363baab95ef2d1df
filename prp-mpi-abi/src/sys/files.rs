//! What the standard library does not do with files.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};

/// Has the system keep room for the first `len` bytes of a file, which is as long then at least.
///
/// # Errors
/// If there is no such room, or the file cannot be written.
pub(crate) fn preallocate(file: &File, len: i64) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open as long as the file is borrowed.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
            0 => return Ok(()),
            libc::EINTR => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// Closes a file, and says what the standard library does not: that some of what was written before
/// is lost, as on a full disk of a server.
///
/// # Errors
/// If something was lost.
pub(crate) fn close(file: File) -> io::Result<()> {
    // SAFETY: the descriptor was the file's own, which is no more.
    let outcome = unsafe { libc::close(file.into_raw_fd()) };
    let error = io::Error::last_os_error();
    // The descriptor is closed also where a signal has come.
    if outcome == 0 || error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}
