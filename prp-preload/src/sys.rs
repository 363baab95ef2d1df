//! The functions of the C library that this library replaces. A call for any other descriptor is
//! passed to the C library.
#![allow(unsafe_code, reason = "functions that C calls, with pointers of C")]
#![allow(unreachable_pub, reason = "exported to C")]

mod connection;
mod exit;
mod flags;
mod next;
mod option;
mod socket_address;
mod transfer;
mod wait;

use std::ffi::{c_int, c_ulong, c_void};

use libc::{epoll_event, iovec, msghdr, nfds_t, pollfd, size_t, sockaddr, socklen_t, ssize_t};

pub(crate) use exit::report_at_exit;
use next::interpose;

interpose! {
    connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int = connection::connect;
    listen(fd: c_int, backlog: c_int) -> c_int = connection::listen;
    accept(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int = connection::accept;
    accept4(fd: c_int, address: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int
        = connection::accept4;
    shutdown(fd: c_int, how: c_int) -> c_int = connection::shutdown;
    close(fd: c_int) -> c_int = connection::close;

    getsockname(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int
        = option::getsockname;
    getpeername(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int
        = option::getpeername;
    getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut socklen_t)
        -> c_int = option::getsockopt;
    setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, len: socklen_t)
        -> c_int = option::setsockopt;
    fcntl(fd: c_int, command: c_int, argument: c_ulong) -> c_int = flags::fcntl;
    fcntl64(fd: c_int, command: c_int, argument: c_ulong) -> c_int = flags::fcntl;
    ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int = flags::ioctl;

    read(fd: c_int, to: *mut c_void, len: size_t) -> ssize_t = transfer::read;
    readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t = transfer::readv;
    recv(fd: c_int, to: *mut c_void, len: size_t, flags: c_int) -> ssize_t = transfer::recv;
    recvfrom(
        fd: c_int, to: *mut c_void, len: size_t, flags: c_int, peer: *mut sockaddr,
        peer_len: *mut socklen_t
    ) -> ssize_t = transfer::recvfrom;
    recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t = transfer::recvmsg;
    write(fd: c_int, from: *const c_void, len: size_t) -> ssize_t = transfer::write;
    writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t = transfer::writev;
    send(fd: c_int, from: *const c_void, len: size_t, flags: c_int) -> ssize_t = transfer::send;
    sendto(
        fd: c_int, from: *const c_void, len: size_t, flags: c_int, peer: *const sockaddr,
        peer_len: socklen_t
    ) -> ssize_t = transfer::sendto;
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t = transfer::sendmsg;

    poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int = wait::poll;
    epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int
        = wait::epoll_ctl;
}
