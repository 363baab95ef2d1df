//! Checks that look at `prp-proto` from outside, with the real code and nothing modelled.
//!
//! [`fuzz`] holds the bodies of the fuzz targets, so that cargo-fuzz (nightly) and a plain test (stable)
//! run the same code.
#![forbid(unsafe_code)]

pub mod fuzz;
