//! Whole networks of PRP nodes in virtual time.
//!
//! A run is a network of real [`prp_proto::endpoint::Endpoint`]s, joined by simulated cables,
//! switches and routers, with applications that talk over it and faults that disturb them. One
//! seed decides all of it: [`scenario::plan`] makes a [`plan::Plan`] of the seed,
//! [`simulation::run`] runs the plan, and two runs of one seed are the same to the last bit. While
//! it runs and when it is over, the rules of `oracle` must hold: what is delivered is what was
//! written, everything moves, everything ends.
//!
//! From the bottom up: [`rng`] and the queue of events; [`link`], switches and routers,
//! [`topology`], [`hosts`] and [`keys`]; nodes and the applications on them; [`recorder`], [`pcap`]
//! and [`tally`], which see what happens; [`scenario`], which thinks up what could.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod content;
mod datagram;
pub mod experiment;
mod flow_log;
pub mod grid;
pub mod hosts;
pub mod keys;
pub mod link;
mod network;
mod node;
mod oracle;
pub mod pcap;
pub mod plan;
mod queue;
pub mod recorder;
pub mod rng;
pub mod scenario;
mod session;
pub mod simulation;
mod switch;
pub mod tally;
pub mod topology;
mod world;
