//! System calls that no safe crate offers. The only `unsafe` of this crate is in this folder, each
//! block with the reason why it is sound; everything outside sees slices, descriptors and
//! `io::Result`.
#![allow(unsafe_code, reason = "this folder is where the unsafe code lives")]

pub(crate) mod baton;
pub(crate) mod futex;
pub(crate) mod lock;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod random;

use std::io;

/// The result of a system call that says -1 and sets `errno`.
fn cvt<T: Default + PartialOrd>(result: T) -> io::Result<T> {
    if result < T::default() { Err(io::Error::last_os_error()) } else { Ok(result) }
}
