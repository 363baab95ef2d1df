//! Socket addresses of C.

use std::ffi::c_int;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use libc::{sockaddr, sockaddr_in, sockaddr_in6, socklen_t};

use super::call;

/// Reads an address of IPv4 or IPv6; `None` for one of another family.
///
/// # Safety
/// `address` is null or has `len` bytes.
pub(super) unsafe fn read(address: *const sockaddr, len: usize) -> Option<SocketAddr> {
    if address.is_null() || len < size_of::<libc::sa_family_t>() {
        return None;
    }
    // SAFETY: it has the bytes of a family; C promises no alignment.
    let family = unsafe { address.cast::<libc::sa_family_t>().read_unaligned() };
    match c_int::from(family) {
        libc::AF_INET if len >= size_of::<sockaddr_in>() => {
            // SAFETY: it has the bytes of that type.
            let address = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
            let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
            Some(SocketAddr::new(ip.into(), u16::from_be(address.sin_port)))
        }
        libc::AF_INET6 if len >= size_of::<sockaddr_in6>() => {
            // SAFETY: it has the bytes of that type.
            let address = unsafe { address.cast::<sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
            Some(SocketAddr::new(ip.into(), u16::from_be(address.sin6_port)))
        }
        _ => None,
    }
}

/// An address in the form of C.
pub(super) struct RawAddress {
    bytes: libc::sockaddr_storage,
    len: usize,
}

impl RawAddress {
    /// Returns `address` in the form of C.
    pub(super) fn new(address: SocketAddr) -> Self {
        // SAFETY: all zeros is a value of this type.
        let mut bytes: libc::sockaddr_storage = unsafe { mem::zeroed() };
        let len = match address.ip() {
            IpAddr::V4(ip) => {
                // SAFETY: all zeros is a value of this type.
                let mut made: sockaddr_in = unsafe { mem::zeroed() };
                made.sin_family = libc::AF_INET as libc::sa_family_t;
                made.sin_port = address.port().to_be();
                made.sin_addr.s_addr = u32::from(ip).to_be();
                // SAFETY: the storage is larger than any address, and aligned for all.
                unsafe { (&raw mut bytes).cast::<sockaddr_in>().write(made) };
                size_of::<sockaddr_in>()
            }
            IpAddr::V6(ip) => {
                // SAFETY: all zeros is a value of this type.
                let mut made: sockaddr_in6 = unsafe { mem::zeroed() };
                made.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                made.sin6_port = address.port().to_be();
                made.sin6_addr.s6_addr = ip.octets();
                // SAFETY: the storage is larger than any address, and aligned for all.
                unsafe { (&raw mut bytes).cast::<sockaddr_in6>().write(made) };
                size_of::<sockaddr_in6>()
            }
        };
        Self { bytes, len }
    }

    /// Returns where it is, for a call.
    pub(super) const fn as_ptr(&self) -> *const sockaddr {
        (&raw const self.bytes).cast()
    }

    /// Returns its length in bytes.
    pub(super) const fn len(&self) -> socklen_t {
        self.len as socklen_t
    }
}

/// Writes an address, cut to the caller's length, and its full length. Does nothing if `to` is
/// null.
///
/// # Safety
/// `to` is null or has `*len` bytes.
pub(super) unsafe fn write(address: SocketAddr, to: *mut sockaddr, len: *mut socklen_t) {
    if to.is_null() || len.is_null() {
        return;
    }
    let made = RawAddress::new(address);
    // SAFETY: the caller has `*len` bytes there, and no more than those are written.
    unsafe {
        let room = (*len as usize).min(made.len);
        std::ptr::copy_nonoverlapping(made.as_ptr().cast::<u8>(), to.cast::<u8>(), room);
        *len = made.len();
    }
}

/// Returns the address that the kernel's socket `fd` is bound to; `None` if it is of neither IPv4
/// nor IPv6.
pub(super) fn local(fd: c_int) -> Option<SocketAddr> {
    // SAFETY: all zeros is a value of this type.
    let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let len = call::local_address(fd, &mut storage).ok()?;
    // SAFETY: the kernel has written that many bytes.
    unsafe { read((&raw const storage).cast(), len) }
}

/// Whether `fd` is a socket of MPTCP.
pub(super) fn is_mptcp(fd: c_int) -> bool {
    call::number_option(fd, libc::SO_PROTOCOL) == Ok(libc::IPPROTO_MPTCP)
}

/// Whether `fd` is a socket of TCP or of MPTCP.
pub(super) fn is_tcp(fd: c_int) -> bool {
    call::number_option(fd, libc::SO_TYPE) == Ok(libc::SOCK_STREAM)
        && call::number_option(fd, libc::SO_PROTOCOL)
            .is_ok_and(|protocol| matches!(protocol, libc::IPPROTO_TCP | libc::IPPROTO_MPTCP))
}
