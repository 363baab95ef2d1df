//! Common code of this crate's tests. They run real processes on the nodes of a topology of network
//! namespaces (`netns-scripts/topo`). This needs root, or user namespaces. Without them a test
//! prints `SKIPPED: needs ...` and counts as ignored.
//!
//! | module | content |
//! | --- | --- |
//! | [`capture`] | capture files, for programs that read frames |
//! | [`harness`] | runs the tests of one file: skips, deadlines, heavy tests one by one |
//! | [`topology`] | brings a topology up for a test and takes it down after it |
//! | [`limits`] | the resource limits of processes |
//! | [`puppet`] | a process on a node that executes a test's commands one by one |
//! | [`processes`] | many such processes on one node, and streams to them |
//! | [`stream`] | a stream between two puppets, and transfers over it |
//! | [`transcript`] | runs the commands in documents again, and compares their output |
//! | [`loopback`] | nodes on the loopback device, for processes without privileges |
//! | [`pattern`] | reproducible bytes and their digest |
//! | [`gso_filter`] | a program in the kernel that changes GSO batches |
//! | [`wire`] | a wire that loses, repeats, reorders and changes frames |
//! | [`program`] | programs of other crates |
//! | [`server`] | servers that say on standard output what they do |
//! | [`run`] | programs under `prp run` |
//! | [`seed`] | the random seed of a run, with which a failure can be repeated |

#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

pub mod capture;
mod children;
mod cleanup;
pub mod gso_filter;
pub mod harness;
pub mod limits;
pub mod loopback;
pub mod namespace;
pub mod pattern;
pub mod privilege;
pub mod processes;
pub mod program;
pub mod puppet;
pub mod router;
pub mod run;
pub mod scratch;
pub mod seed;
pub mod server;
pub mod stream;
pub mod terminal;
pub mod topology;
pub mod transcript;
pub mod wait;
pub mod wire;
