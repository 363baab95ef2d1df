//! PACKET_FANOUT: packet sockets of a device in a row, of which each frame reaches one that a classic
//! BPF program chooses.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::cvt;
use super::packet::{get, set};

/// Number of a row, chosen by the kernel, for one network namespace.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct FanoutId(u16);

/// Makes a row of which this socket is the first.
///
/// # Errors
/// `EINVAL` if the kernel is older than 4.14 or the socket not bound; `EALREADY` if it is in a row.
pub(crate) fn begin(fd: BorrowedFd<'_>) -> io::Result<FanoutId> {
    const UNIQUE: libc::c_uint = libc::PACKET_FANOUT_CBPF | libc::PACKET_FANOUT_FLAG_UNIQUEID;
    set(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, &(UNIQUE << 16))?;
    // SAFETY: it is an integer.
    let (value, _) = unsafe { get(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, 0 as libc::c_uint) }?;
    Ok(FanoutId(value as u16))
}

/// Puts this socket at the end of a row.
///
/// # Errors
/// `EINVAL` if it is bound to another device or EtherType, `ENOSPC` if the row is full.
pub(crate) fn join(fd: BorrowedFd<'_>, id: FanoutId) -> io::Result<()> {
    let value = (libc::PACKET_FANOUT_CBPF << 16) | libc::c_uint::from(id.0);
    set(fd, libc::SOL_PACKET, libc::PACKET_FANOUT, &value)
}

/// Sets the program of the row this socket is in. It sees each frame from behind the Ethernet header on and
/// returns a place in the row. It holds at once; the call returns when nobody runs the one before it,
/// some 10 ms later.
///
/// # Errors
/// `EINVAL` if the kernel does not like the program.
pub(crate) fn steer(fd: BorrowedFd<'_>, program: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the pointer and the length describe `program`, which points at as many instructions as it
    // says; both outlive the call, which only reads them.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_FANOUT_DATA,
            (&raw const program).cast(),
            size_of_val(&program) as libc::socklen_t,
        )
    };
    cvt(result).map(drop)
}
