//! The border to C: what C passes, memory that is handed to it, and the exported functions. The
//! only unsafe code of this crate.
//!
//! The header says what a caller owes: a pointer is NULL where that is allowed, or points to what
//! the parameter is for, with the size that is passed beside it. That a handle is one the caller
//! need not guarantee: it is a number that is looked up.
#![allow(unsafe_code, reason = "the interface is that of C")]

pub(crate) mod export;
pub(crate) mod memory;
pub(crate) mod pointer;
