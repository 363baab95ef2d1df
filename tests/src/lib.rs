//! What the tests of this crate share. They run real processes on the nodes of a topology of
//! network namespaces (`netns-scripts/topo`), so they need the right to make one: root, or user
//! namespaces. Where that is missing they say `SKIPPED: needs ...` and count as ignored.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`capture`] | capture files, for what reads frames that were on a wire |
//! | [`harness`] | runs the tests of one file: skips, deadlines, heavy tests alone |
//! | [`topology`] | brings a topology up for a test and takes it down after it |
//! | [`puppet`] | a process on a node that does what a test tells it, step by step |
//! | [`processes`] | many such processes on one node, and streams to them |
//! | [`stream`] | a stream between two puppets, and what is sent over it |
//! | [`transcript`] | commands in documents with what they print, run again |
//! | [`loopback`] | nodes without a link, for processes without a privilege |
//! | [`pattern`] | reproducible bytes and their digest |
//! | [`train_filter`] | a program in the kernel that changes trains of datagrams |
//! | [`wire`] | a wire that loses, repeats, reorders and changes frames |
//! | [`program`] | programs of other crates |
//! | [`seed`] | where randomness begins, and how a failure is repeated |

#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

pub mod capture;
mod cleanup;
pub mod harness;
pub mod loopback;
pub mod namespace;
pub mod pattern;
pub mod privilege;
pub mod processes;
pub mod program;
pub mod puppet;
pub mod router;
pub mod scratch;
pub mod seed;
pub mod stream;
pub mod terminal;
pub mod topology;
pub mod train_filter;
pub mod transcript;
pub mod wait;
pub mod wire;
