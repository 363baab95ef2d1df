//! What safe Rust has no word for.

pub(crate) mod bpf;
pub(crate) mod capability;
pub(crate) mod detach;
pub(crate) mod inherited;
pub(crate) mod own_table;
pub(crate) mod pair;
pub(crate) mod pidfd;
pub(crate) mod priority;
pub(crate) mod rights;
pub(crate) mod seccomp;
pub(crate) mod signal;
pub(crate) mod standard;
