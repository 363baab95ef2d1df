//! The functions of the C library that this library replaces.
#![allow(unsafe_code, reason = "functions that C calls, with pointers of C")]
#![allow(unreachable_pub, reason = "exported to C")]

mod address;
mod call;
mod child;
mod connect;
mod epoll;
mod family;
mod holder;
mod launch;
mod linger;
mod listen;
mod name;
mod next;
mod option;
mod pair;
mod process;
mod resolve;
mod send;

use std::ffi::{c_char, c_int, c_ulong, c_void};

use libc::{addrinfo, epoll_event, hostent, msghdr, size_t, sockaddr, socklen_t, ssize_t};

use next::interpose;

interpose! {
    socket(family: c_int, kind: c_int, protocol: c_int) -> c_int = family::socket;
    connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int = connect::connect;
    bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int = listen::bind;
    listen(fd: c_int, backlog: c_int) -> c_int = listen::listen;
    close(fd: c_int) -> c_int = listen::close;
    accept(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int = listen::accept;
    accept4(fd: c_int, address: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int
        = listen::accept4;

    sendto(
        fd: c_int, bytes: *const c_void, count: size_t, flags: c_int,
        address: *const sockaddr, len: socklen_t
    ) -> ssize_t = send::sendto;
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t = send::sendmsg;

    getsockname(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int
        = name::getsockname;
    getpeername(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int
        = name::getpeername;
    getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut socklen_t)
        -> c_int = option::getsockopt;
    setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t)
        -> c_int = option::setsockopt;

    prctl(option: c_int, second: c_ulong, third: c_ulong, fourth: c_ulong, fifth: c_ulong)
        -> c_int = process::prctl;

    epoll_ctl(set: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int
        = epoll::epoll_ctl;

    getaddrinfo(
        host: *const c_char, service: *const c_char, hints: *const addrinfo,
        found: *mut *mut addrinfo
    ) -> c_int = resolve::getaddrinfo;
    gethostbyname(host: *const c_char) -> *mut hostent = resolve::gethostbyname;
    gethostbyname2(host: *const c_char, family: c_int) -> *mut hostent = resolve::gethostbyname2;
    gethostbyname_r(
        host: *const c_char, entry: *mut hostent, buffer: *mut c_char, len: size_t,
        found: *mut *mut hostent, error: *mut c_int
    ) -> c_int = resolve::gethostbyname_r;
    gethostbyname2_r(
        host: *const c_char, family: c_int, entry: *mut hostent, buffer: *mut c_char, len: size_t,
        found: *mut *mut hostent, error: *mut c_int
    ) -> c_int = resolve::gethostbyname2_r;
}
