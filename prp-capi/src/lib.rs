//! `libprp.so.0`: streams, listeners and messages of PRP for programs in C.
//!
//! `include/prp.h` says what there is. The exported functions are in `sys/export`. Each turns what
//! C has passed into values, calls a safe function of this crate, and turns its result into -1 and
//! errno. A panic becomes an error there: it never reaches C.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod address;
mod error_number;
mod handle_table;
mod last_error;
mod listener;
mod message;
mod option;
mod settings;
mod stats;
mod stream;
mod sys;
mod wait;
