//! The PaRma Protocol as a sans-IO core.
//!
//! PRP carries byte streams between the numbered nodes of a cluster straight over Ethernet. This
//! crate is the protocol and nothing else: it reads no clock, opens no socket, starts no thread,
//! draws no random number. A driver feeds frames and time in and takes frames and deadlines out.
//! `SPEC.md` beside this crate is the specification; clauses are cited as `PRP-…`.
//!
//! From the wire up: [`addr`], [`seq`] and [`time`] are the vocabulary, [`wire`] the formats,
//! [`device`] says what carries packets, [`hosts`] and [`route`] are the nodes and the next hops
//! to them, [`forward`] what a router does, [`state`] the four states, and [`endpoint`] all
//! connections of one node in one process. [`config`], [`error`], [`event`] and [`stats`] are what
//! passes between an endpoint and its driver beside packets.
//!
//! ```
//! use prp_proto::hosts::Hosts;
//!
//! let hosts = Hosts::parse(b"1 02:00:00:00:00:01 eth0 alpha\n8 via 1 delta\n").expect("two lines");
//! assert_eq!(hosts.resolve("delta").map(|node| node.number()), Some(8));
//!
//! let wrong = Hosts::parse(b"1 02:00:00:00:00:01 eth0 alpha\n8 via 9 delta\n");
//! assert!(wrong.is_err_and(|mistakes| mistakes.to_string().starts_with("2:7:")));
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

extern crate alloc;
#[cfg(any(test, feature = "testing"))]
extern crate std;

pub mod addr;
mod buffer;
pub mod cluster;
pub mod config;
pub mod congestion;
mod connection;
pub mod device;
pub mod endpoint;
pub mod error;
pub mod event;
mod flight;
pub mod forward;
pub mod hosts;
pub mod liveness;
pub mod plan;
mod reasons;
mod recovery;
pub mod route;
mod rtt;
pub mod seq;
pub mod state;
pub mod stats;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
mod timer;
mod timing;
pub mod token_bucket;
mod transmit;
pub mod wire;

pub use prp_key as key;
pub use transmit::{TransmitBatch, joins_gso_batch};
