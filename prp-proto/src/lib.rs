//! The PaRma Protocol as a sans-IO core.
//!
//! PRP carries byte streams between the numbered nodes of a cluster straight over Ethernet. This crate
//! is the protocol and nothing else: it reads no clock, opens no socket, starts no thread, draws no
//! random number. A driver feeds frames and time in and takes frames and deadlines out.
//! `SPEC.md` beside this crate is the specification; clauses are cited as `PRP-…`.
//!
//! Layers, from the wire up: [`addr`], [`seq`] and [`time`] are the vocabulary.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

extern crate alloc;
#[cfg(any(test, feature = "testing"))]
extern crate std;

pub mod addr;
pub mod seq;
pub mod time;
pub mod wire;
