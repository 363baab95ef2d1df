//! Bodies of the fuzz targets. Each takes any bytes and panics if a promise is broken.
//!
//! `fuzz/` runs them under libFuzzer; `tests/fuzz_smoke.rs` runs them over the checked-in corpora
//! and over seeded random inputs.

mod endpoint;
mod hosts;
mod keyed;
mod random;
mod wire;

pub use endpoint::endpoint;
pub use hosts::hosts;
pub use keyed::keyed;
pub use random::Inputs;
pub use wire::wire;
