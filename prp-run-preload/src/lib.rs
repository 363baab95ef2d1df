//! `libprp_run_preload.so`, which `prp run` preloads: it replaces the calls of the C library that
//! make and name connections, so that those to nodes of PRP are made by the holder (docs/run.md).
//! As `libprp_socket.so.0` it serves programs that are linked with it, for sockets of `AF_PRPF`.
//!
//! | functions | replacement |
//! | --- | --- |
//! | `socket` | of `AF_PRPF`: a marked one of TCP |
//! | `connect` | to a node: the holder's pair takes the place of the socket |
//! | `accept`, `accept4` | a connection from the holder: its pair takes the place of the socket |
//! | `bind`, `listen` | the holder listens on the same port of PRP |
//! | `close` | of a listening socket: the holder looks whether it was the last at its port |
//! | `sendto`, `sendmsg` | of a pair: an address is passed over |
//! | `getsockname`, `getpeername`, `getsockopt`, `setsockopt` | of a pair: as of a TCP socket |
//! | `getaddrinfo`, `gethostbyname` and its kin | names of nodes |
//! | `epoll_ctl` | notes which sets there are |
//! | `prctl` | notes that the process may not be allowed every system call any more |
//!
//! Nothing here holds a lock or keeps a descriptor open, and but for what starts a holder nothing
//! allocates. System calls are made directly, but for those that the program itself has asked for:
//! these go to the next library.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod sys;
