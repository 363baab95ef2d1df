//! A library for `LD_PRELOAD` that carries the TCP connections of an unchanged program over PRP. It
//! measures what a program gains that is "simply adapted" to PRP, as MPICH in Table 2 of the PRP
//! paper. It replaces only the functions that such programs call:
//!
//! | functions | replacement |
//! | --- | --- |
//! | `connect`, `listen`, `accept`, `accept4` | a `PrpStream` or `PrpListener` |
//! | `read`, `readv`, `recv`, `recvfrom`, `recvmsg`, `write`, `writev`, `send`, `sendto`, `sendmsg` | data of that stream |
//! | `poll` | the calling thread does the work of the streams while it waits |
//! | `epoll_ctl` | the readiness descriptor takes the place of the socket |
//! | `getsockname`, `getpeername`, `getsockopt`, `setsockopt` | as of the socket |
//! | `fcntl`, `ioctl`, `shutdown`, `close` | as of the socket |
//!
//! `PRP_PRELOAD_NETWORK=10.99.0.0/24` sets the network whose addresses are nodes: the host bits of
//! an address are the node's number, and the port number stays the same. The kernel serves all
//! other addresses. The library does not support `select`, `ppoll`, `dup`, `sendfile`, `splice`,
//! `FILE`s on sockets, `SIGPIPE`, and use after `fork`.
//!
//! With `PRP_PRELOAD_REPORT=FILE` the library appends a line of counters to the file when the
//! process exits; `-` is standard error. They count the bytes and segments of all connections over
//! PRP.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod descriptor;

mod network;
mod report;
mod sys;
