//! The only unsafe code of this crate: memory that the application lends for the time of a request,
//! and memory that ranks of a node share.
#![allow(unsafe_code, reason = "an application's buffer is an address, in every binding of MPI")]

pub mod descriptors;
pub mod lend;
#[cfg(target_arch = "x86_64")]
pub mod long_double;
pub mod memory;
pub mod protection;
pub mod shared;
mod strided;
