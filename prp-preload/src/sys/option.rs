//! Addresses and options of sockets.

use std::ffi::{c_int, c_void};
use std::io;

use libc::{sockaddr, socklen_t};
use prp_sock::PrpAddr;

use super::socket_address;
use crate::{descriptor, network};

/// `getsockname` of a stream or listener.
///
/// # Safety
/// As for `getsockname`.
pub(super) unsafe fn getsockname(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> Option<io::Result<c_int>> {
    let known = descriptor::find(fd)?;
    // SAFETY: as the caller says.
    Some(known.local_addr().and_then(|own| unsafe { write_address(own, address, len) }))
}

/// `getpeername` of a stream.
///
/// # Safety
/// As for `getpeername`.
pub(super) unsafe fn getpeername(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> Option<io::Result<c_int>> {
    let known = descriptor::find(fd)?;
    let peer = known.as_stream().and_then(|stream| stream.peer_addr());
    // SAFETY: as the caller says.
    Some(peer.and_then(|peer| unsafe { write_address(peer, address, len) }))
}

unsafe fn write_address(
    node: PrpAddr,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> io::Result<c_int> {
    let known = network::of_process()?.and_then(|network| network.address(node));
    let known = known.ok_or(io::ErrorKind::AddrNotAvailable)?;
    // SAFETY: as the caller says.
    unsafe { socket_address::write(known, address, len) };
    Ok(0)
}

/// `getsockopt` returns the pending error of a stream, and 1 for the options of TCP, since PRP has
/// no Nagle algorithm. The kernel's descriptor answers all others.
///
/// # Safety
/// As for `getsockopt`.
pub(super) unsafe fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> Option<io::Result<c_int>> {
    let known = descriptor::find(fd)?;
    let answer = match (level, name) {
        (libc::SOL_SOCKET, libc::SO_ERROR) => {
            let error = known.as_stream().and_then(|stream| stream.take_error());
            error.map(|error| error.as_ref().map_or(0, prp_sock::error_number))
        }
        (libc::IPPROTO_TCP, _) => Ok(1),
        _ => return None,
    };
    Some(answer.and_then(|number| {
        // SAFETY: the caller has `*len` bytes at `value`.
        unsafe {
            if (*len as usize) < size_of::<c_int>() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            value.cast::<c_int>().write_unaligned(number);
            *len = size_of::<c_int>() as socklen_t;
        }
        Ok(0)
    }))
}

/// `setsockopt` succeeds and does nothing: no option of the kernel applies to a stream.
///
/// # Safety
/// As for `setsockopt`.
pub(super) unsafe fn setsockopt(
    fd: c_int,
    _level: c_int,
    _name: c_int,
    _value: *const c_void,
    _len: socklen_t,
) -> Option<io::Result<c_int>> {
    descriptor::find(fd).map(|_| Ok(0))
}
