//! Message passing between the ranks of a program, over PRP.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

pub mod api;
mod channel;
pub mod collective;
pub mod control;
pub mod datatype;
pub mod exchange;
pub mod matching;
pub mod operation;
pub mod process;
pub mod request;
pub mod sys;
pub mod wire;

pub use api::{Error, Result, Universe, initialize};
pub use channel::Stream;
pub use operation::Operation;
pub use sys::lend::Scope;
