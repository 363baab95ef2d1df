//! Names of nodes. For these the next library is asked for the address of the node as text, so that
//! what it returns is its own, and freed by it.

use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use std::net::IpAddr;

use libc::{addrinfo, hostent, size_t};
use prp_run::{NAME_MAX, Request, RequestKind};

use super::call;
use super::holder;
use super::process::settings;
use super::real;

/// The address of a node as a string of C.
struct AddressText([u8; 48]);

impl AddressText {
    fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }
}

/// Returns the address of the node called `host`, of the family if it is one of IP; `None` if there
/// is no such node.
///
/// # Safety
/// `host` is null or a string of C.
unsafe fn address_of(host: *const c_char, family: c_int) -> Option<AddressText> {
    let settings = settings().filter(|settings| settings.is_tcp_carried)?;
    if host.is_null() {
        return None;
    }
    // SAFETY: as the caller says.
    let host = unsafe { CStr::from_ptr(host) }.to_bytes();
    let is_address = std::str::from_utf8(host).is_ok_and(|text| text.parse::<IpAddr>().is_ok());
    if host.is_empty() || host.len() > NAME_MAX || is_address {
        return None;
    }
    let mut request = Request::new(RequestKind::Resolve, settings.token);
    request.name.0[..host.len()].copy_from_slice(host);
    request.name.1 = host.len() as u8;
    let errno = call::errno();
    let answered = holder::ask_soon(settings, &request);
    call::fail(errno);
    let (answer, _) = answered.ok()?;
    if answer.errno != 0 {
        return None;
    }
    let mut text = AddressText([0; 48]);
    let mut room = &mut text.0[..47];
    match family {
        libc::AF_INET6 => write!(room, "{}", settings.mapping.ip6(answer.node)),
        _ => write!(room, "{}", settings.mapping.ip4(answer.node)?),
    }
    .ok()?;
    Some(text)
}

/// Finds the addresses of a host.
///
/// # Safety
/// As for `getaddrinfo`.
pub(super) unsafe fn getaddrinfo(
    host: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    found: *mut *mut addrinfo,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let (flags, family) = hints.as_ref().map_or((0, 0), |h| (h.ai_flags, h.ai_family));
        let known = if flags & libc::AI_NUMERICHOST == 0 { address_of(host, family) } else { None };
        let host = known.as_ref().map_or(host, AddressText::as_ptr);
        real::getaddrinfo(host, service, hints, found)
    }
}

/// Finds the address of a host.
///
/// # Safety
/// As for `gethostbyname`.
pub(super) unsafe fn gethostbyname(host: *const c_char) -> *mut hostent {
    // SAFETY: as the caller says.
    unsafe {
        let known = address_of(host, libc::AF_INET);
        real::gethostbyname(known.as_ref().map_or(host, AddressText::as_ptr))
    }
}

/// Finds the address of a host.
///
/// # Safety
/// As for `gethostbyname2`.
pub(super) unsafe fn gethostbyname2(host: *const c_char, family: c_int) -> *mut hostent {
    // SAFETY: as the caller says.
    unsafe {
        let known = address_of(host, family);
        real::gethostbyname2(known.as_ref().map_or(host, AddressText::as_ptr), family)
    }
}

/// Finds the address of a host.
///
/// # Safety
/// As for `gethostbyname_r`.
pub(super) unsafe fn gethostbyname_r(
    host: *const c_char,
    entry: *mut hostent,
    buffer: *mut c_char,
    len: size_t,
    found: *mut *mut hostent,
    error: *mut c_int,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let known = address_of(host, libc::AF_INET);
        let host = known.as_ref().map_or(host, AddressText::as_ptr);
        real::gethostbyname_r(host, entry, buffer, len, found, error)
    }
}

/// Finds the address of a host.
///
/// # Safety
/// As for `gethostbyname2_r`.
pub(super) unsafe fn gethostbyname2_r(
    host: *const c_char,
    family: c_int,
    entry: *mut hostent,
    buffer: *mut c_char,
    len: size_t,
    found: *mut *mut hostent,
    error: *mut c_int,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let known = address_of(host, family);
        let host = known.as_ref().map_or(host, AddressText::as_ptr);
        real::gethostbyname2_r(host, family, entry, buffer, len, found, error)
    }
}
