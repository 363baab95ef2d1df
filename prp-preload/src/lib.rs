//! A library for `LD_PRELOAD`: TCP connections of an unchanged program go over PRP. It is for
//! measurements of what a program gains that is "simply adapted" to PRP, as MPICH in Table 2 of the
//! PRP paper. It covers what such programs call, and no more:
//!
//! | functions | what becomes of them |
//! | --- | --- |
//! | `connect`, `listen`, `accept`, `accept4` | a `PrpStream` or `PrpListener` |
//! | `read`, `readv`, `recv`, `recvfrom`, `recvmsg`, and to send | data of that stream |
//! | `poll` | the calling thread does the work of the streams while it waits |
//! | `epoll_ctl` | the readiness descriptor takes the place of the socket |
//! | `getsockname`, `getpeername`, `getsockopt`, `setsockopt` | as of the socket |
//! | `fcntl`, `ioctl`, `shutdown`, `close` | as of the socket |
//!
//! `PRP_PRELOAD_NETWORK=10.99.0.0/24` says which addresses are nodes: the rest of the address is
//! the node's number, and ports are the same. All else stays with the kernel. Not covered are
//! `select`, `ppoll`, `dup`, `sendfile`, `splice`, `FILE`s on sockets, `SIGPIPE`, and use after
//! `fork`.
//!
//! `PRP_PRELOAD_REPORT=FILE` appends a line of counters when the process exits; `-` is standard
//! error. The counters are those of the connections: they tell what went over PRP.
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod descriptor;
mod error_number;
mod network;
mod report;
mod sys;
