//! The border to C: pointers and callbacks of the application, and the exported functions. The only
//! unsafe code of this crate.
//!
//! The standard says what a caller owes: pointers are null where that is allowed, or point to what
//! the parameter is for. A value of the types here can only come from such a call, so their methods
//! rely on it.
#![allow(unsafe_code, reason = "the interface is that of C")]

pub(crate) mod callback;
pub(crate) mod early_library;
pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod pointer;
