//! prp-routed: forwards frames between the segments a node is on, by the static routes of prphosts,
//! and is the node's steady presence on the wire.
//!
//! What becomes of a frame is decided in [`prp_proto::forward`]; this crate brings frames, time,
//! files and signals to that decision. `docs/routing.md` is the manual.
//!
//! | module | noun |
//! | --- | --- |
//! | [`settings`] | what `prp-routed.toml` and the command line say |
//! | [`table`] | a reading of prphosts, and how it differs from another |
//! | [`link`], [`batch`] | a device with its queue, frames in transit to it |
//! | [`router`] | links and decision together: one iteration of work |
//! | [`kernel`] | the part that the kernel forwards by itself |
//! | [`neighbours`] | whom frames are sent to, and whether they live |
//! | [`local_service`], [`acceptor`] | the thread that serves the processes of the node |
//! | [`source_mismatches`] | frames that come from elsewhere than prphosts has their source |
//! | [`registry`] | these processes, and what is left of them when they are dead |
//! | [`daemon`] | the loop: iterations, sleep, signals, reloading |
//! | [`cli`], [`log`] | the command line, and where the log goes |
//! | [`check`] | what is wrong with settings and prphosts, of one node or of all |
//! | [`privilege`], [`seccomp`] | which user it becomes, which capability it keeps, which system calls it gives up |
//! | [`notify`] | what the service manager is told, and its watchdog |
//! | [`control`], [`report`], [`counters`], [`metrics`] | the socket `prp routed` talks to, and what it tells |
//! | [`exporter`] | counters over HTTP |
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

pub mod acceptor;
pub mod batch;
pub mod check;
pub mod cli;
pub mod clock;
pub mod control;
pub mod counters;
pub mod daemon;
pub mod exporter;
pub mod kernel;
pub mod link;
pub mod local_service;
pub mod log;
pub mod metrics;
pub mod neighbours;
pub mod node_port;
pub mod notify;
pub mod privilege;
pub mod registry;
pub mod report;
pub mod router;
pub mod seccomp;
pub mod settings;
pub mod source_mismatches;
pub mod table;
