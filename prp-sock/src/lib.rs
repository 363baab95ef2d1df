//! `PrpStream` and `PrpListener`: byte streams between the nodes of a cluster, straight over
//! Ethernet, in place of `TcpStream` and `TcpListener`.
//!
//! ```no_run
//! use std::io::Write;
//! use prp_sock::PrpStream;
//!
//! PrpStream::connect("gamma:80")?.write_all(b"hello")?;
//! # std::io::Result::Ok(())
//! ```
//!
//! The server, on the node that is called gamma:
//!
//! ```no_run
//! use prp_sock::PrpListener;
//!
//! for stream in PrpListener::bind("self:80")?.incoming() {
//!     let stream = stream?;
//!     std::io::copy(&mut &stream, &mut &stream)?;
//! }
//! # std::io::Result::Ok(())
//! ```
//!
//! # Before the first connection
//!
//! - Both nodes need a file `/etc/prphosts`, the same on both: a line for each node with its
//!   number, hardware address, device and names, as in `1 02:00:00:00:00:01 eth0 alpha`. A line
//!   such as `1 udp:10.0.0.1 alpha` has PRP travel in UDP datagrams. [`HostsFile`] reads it, and
//!   `prp hosts check` finds mistakes.
//! - In Ethernet frames a program needs CAP_NET_RAW: `setcap cap_net_raw+ep PROGRAM` (again after
//!   each build), or root. Over UDP it needs no privilege.
//! - `PRP_HOSTS` in the environment names another prphosts, `PRP_NODE` the number of this node
//!   where the file does not tell it. [`Builder`] has both as calls, and all options of
//!   connections.
//!
//! # Beside blocking streams
//!
//! - Messages with ends: [`PrpStream::send_message`], [`PrpStream::recv_message`].
//! - Many streams: `AsFd` gives a descriptor for poll, epoll and mio (`SourceFd`);
//!   [`Builder::connect_nonblocking`], [`wait_any`], [`wait_any_polling`]; the feature `tokio`.
//! - Tests without privileges: the feature `testing` has two nodes in one process.
//!
//! # What differs from TCP
//!
//! | | TCP | PRP |
//! | --- | --- | --- |
//! | address | `10.0.0.3:80`, DNS names | `3:80`, names in prphosts |
//! | needs | nothing | CAP_NET_RAW, or a user namespace |
//! | who moves the data | the kernel | threads of this process: the one that waits, or a background one |
//! | process killed by SIGKILL | peers get a reset at once | so they do with prp-routed on the node; else they time out, or get a reset when they send |
//! | process exits | the kernel delivers what was written | so do `exit` and `quick_exit`, for up to 30 s; other threads are held back meanwhile |
//! | `_exit`, `abort` (so `panic = "abort"`), `exec` | the kernel delivers what was written | what is not acknowledged yet is lost, and peers learn of it as after SIGKILL: call [`PrpStream::wait_delivered`] before |
//! | keepalive | off by default | on by default, after 30 s ([`Builder::keepalive`]) |
//! | `fork` | both processes have the socket | the child's copy is of no use, and keeps no port |
//! | Nagle's algorithm | on by default | there is none |
//! | out-of-band data | yes | no |
//! | messages | no | `send_message`, `recv_message` |
//! | `AsFd` | the socket | a descriptor to wait on; the data does not pass through it |
//! | `IntoRawFd`, `FromRawFd`, `OwnedFd`, `Stdio` | yes | no: the kernel has no descriptor of the stream |
//! | `raw_os_error` | always a code | none where the message says more, such as which address does not answer: then the error's source has it ([`StreamError`]) |
//! | `connect` without an answer | `ETIMEDOUT` after two minutes | `TimedOut` after 15 s ([`Builder::connect_timeout`]) |
//! | both ends write before either reads | some megabytes, as Linux grows its buffers | 4.5 MiB in each direction ([`Builder::send_buffer_max`], [`Builder::recv_buffer`]); a write of more than 1 MiB at once waits 20 ms or more for each doubling |
//! | quick acknowledgements | an option | the protocol's to say |
//! | `TcpSocket` | yes | [`Builder`] |
//!
//! # Features
//!
//! | | |
//! | --- | --- |
//! | `fast-paths` (default) | flows past the packet sockets, where kernel and privileges allow it |
//! | `tokio` | the module `tokio`: the same streams for `async` programs |
//! | `serde` | [`PrpAddr`], [`NodeId`] and [`Port`] in serde's formats |
//! | `testing` | the module `testing`: two nodes in one process, without privileges |
//! | `tracing` | events of the crate `tracing`: connections begin, change their path and end |
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

/// The examples in the user guide compile.
#[cfg(doctest)]
#[doc = include_str!("../../docs/user-guide.md")]
mod user_guide {}

mod addr;
mod builder;
mod clock;
mod engine;
mod error;
mod listener;
mod stats;
mod stream;
mod sys;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod threads;
#[cfg(feature = "tokio")]
pub mod tokio;
mod wait_fd;

pub use addr::{Resolver, ToPrpAddrs};
pub use builder::Builder;
pub use engine::{openmetrics, reset_all};
pub use error::{PartialMessage, StreamError, conn_error, error_number};
pub use listener::{Incoming, IntoIncoming, PrpListener};
pub use prp_node::hosts::{DEFAULT_PATH as DEFAULT_HOSTS, HostsFile};
pub use prp_proto::addr::{AddrParseError, MacAddr, NodeId, Port, PrpAddr};
pub use prp_proto::config::{Classic, Keepalive};
pub use prp_proto::congestion::Controller;
pub use prp_proto::endpoint::{MessagePart, Terms};
pub use prp_proto::error::ConnError;
pub use prp_proto::key::Mode;
pub use prp_proto::stats::{ConnStats, DropReason, Drops, EndpointStats};
pub use prp_proto::wire::{Reliability, ReliabilitySet};
pub use stats::{DeviceStats, NodeStats, RefusalCounts, UdpCounters, process_stats};
pub use stream::{Awaited, PrpStream, wait_any, wait_any_polling};
