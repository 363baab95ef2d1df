//! What safe Rust has no word for.

pub(crate) mod bpf;
pub(crate) mod standard;
