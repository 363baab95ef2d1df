//! Whether calls block.

use std::ffi::{c_int, c_ulong, c_void};
use std::io;

use crate::descriptor;

/// `fcntl` reads and sets the status flags of a stream or listener. The kernel serves all other
/// commands on its own descriptor.
///
/// # Safety
/// As for `fcntl`.
pub(super) unsafe fn fcntl(
    fd: c_int,
    command: c_int,
    argument: c_ulong,
) -> Option<io::Result<c_int>> {
    let known = descriptor::find(fd)?;
    match command {
        libc::F_GETFL => Some(Ok(known.flags())),
        libc::F_SETFL => Some(known.set_flags(argument as c_int).map(|()| 0)),
        _ => None,
    }
}

/// `ioctl` with `FIONBIO`, which sets whether calls block.
///
/// # Safety
/// As for `ioctl`.
pub(super) unsafe fn ioctl(
    fd: c_int,
    request: c_ulong,
    argument: *mut c_void,
) -> Option<io::Result<c_int>> {
    let known = descriptor::find(fd)?;
    if request != libc::FIONBIO {
        return None;
    }
    // SAFETY: the argument of this request is a number.
    let wanted = unsafe { argument.cast::<c_int>().read() } != 0;
    let bits = if wanted { libc::O_NONBLOCK } else { 0 };
    Some(known.set_flags(bits).map(|()| 0))
}
