//! The one thing here that safe Rust has no word for.

pub(crate) mod standard;
