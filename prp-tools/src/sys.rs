//! What safe Rust has no word for.

pub(crate) mod bpf;
pub(crate) mod priority;
pub(crate) mod standard;
