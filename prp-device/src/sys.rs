//! System calls that no safe crate offers. The only `unsafe` of this crate is in this folder, each
//! block with the reason why it is sound; everything outside sees slices, descriptors and
//! `io::Result`. A cast `as _` is to an integer that another C library (musl) declares otherwise.
#![allow(unsafe_code, reason = "this folder is where the unsafe code lives")]

pub(crate) mod bpf;
#[cfg(feature = "raw")]
pub(crate) mod capture_ring;
pub(crate) mod datagram;
pub(crate) mod ethtool;
mod memory;
#[cfg(any(feature = "raw", feature = "fast-paths"))]
pub(crate) mod mirror_ring;
pub(crate) mod mmsg;
pub(crate) mod packet;
mod prefetch;
pub(crate) mod ring;
#[cfg(feature = "fast-paths")]
pub(crate) mod shared_ring;
#[cfg(feature = "fast-paths")]
pub(crate) mod xsk;

use std::io;

/// The result of a system call that says -1 and sets `errno`.
fn cvt<T: Default + PartialOrd>(result: T) -> io::Result<T> {
    if result < T::default() { Err(io::Error::last_os_error()) } else { Ok(result) }
}
