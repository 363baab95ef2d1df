//! System calls that no crate wraps. All `unsafe` of this crate is below.
#![allow(unsafe_code, reason = "this folder is where it lives; each block argues its safety")]

pub(crate) mod descriptor;
pub mod fork;
pub(crate) mod limits;
pub(crate) mod process;
pub(crate) mod socket;
