//! Socket addresses of C.

use std::ffi::c_int;
use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddrV4};

use libc::{sockaddr, sockaddr_in, socklen_t};

/// An IPv4 address; `None` for one of another family.
///
/// # Safety
/// `address` is null or has `len` bytes.
pub(super) unsafe fn read(address: *const sockaddr, len: socklen_t) -> Option<SocketAddrV4> {
    if address.is_null() || (len as usize) < size_of::<sockaddr_in>() {
        return None;
    }
    // SAFETY: it has the bytes of the larger of both types; C promises no alignment.
    let address = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
    let is_ip4 = c_int::from(address.sin_family) == libc::AF_INET;
    let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
    is_ip4.then(|| SocketAddrV4::new(ip, u16::from_be(address.sin_port)))
}

/// Writes an address, cut to the caller's length, and its full length. Does nothing if `to` is
/// null.
///
/// # Safety
/// `to` is null or has `*len` bytes.
pub(super) unsafe fn write(address: SocketAddrV4, to: *mut sockaddr, len: *mut socklen_t) {
    if to.is_null() || len.is_null() {
        return;
    }
    // SAFETY: all zeros is a value of this type.
    let mut made: sockaddr_in = unsafe { mem::zeroed() };
    made.sin_family = libc::AF_INET as libc::sa_family_t;
    made.sin_port = address.port().to_be();
    made.sin_addr.s_addr = u32::from(*address.ip()).to_be();
    let size = size_of::<sockaddr_in>();
    // SAFETY: the caller has `*len` bytes there, and no more than those are written.
    unsafe {
        let room = (*len as usize).min(size);
        std::ptr::copy_nonoverlapping((&raw const made).cast::<u8>(), to.cast::<u8>(), room);
        *len = size as socklen_t;
    }
}

/// The IPv4 address that the kernel's stream socket `fd` is bound to; `None` if it is another kind
/// of socket, or none.
pub(super) fn of_kernel_stream(fd: c_int) -> Option<SocketAddrV4> {
    let mut kind: c_int = 0;
    let mut len = size_of::<c_int>() as socklen_t;
    // SAFETY: `kind` has the bytes that `len` says.
    let answer = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &raw mut len)
    };
    if answer != 0 || kind != libc::SOCK_STREAM {
        return None;
    }
    // SAFETY: all zeros is a value of this type.
    let mut address: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let mut len = size_of_val(&address) as socklen_t;
    let at = (&raw mut address).cast();
    // SAFETY: `address` has the bytes that `len` says, and the kernel has written what it read.
    unsafe { if libc::getsockname(fd, at, &raw mut len) == 0 { read(at, len) } else { None } }
}

/// Converts the return value of a system call into a result.
pub(super) fn checked(answer: c_int) -> io::Result<c_int> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}
