//! Checks that use `prp-proto` from outside, with the real code and nothing modelled.
//!
//! [`explore`] goes through every interleaving of small scenes. [`fuzz`] holds the bodies of the
//! fuzz targets, so that cargo-fuzz (nightly) and a plain test (stable) run the same code.
//! [`mutants`] plants small mistakes and sees that each is caught.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

pub mod explore;
pub mod fuzz;
pub mod mutants;
