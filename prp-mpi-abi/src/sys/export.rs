//! The exported functions.
#![allow(
    non_snake_case,
    unreachable_pub,
    clippy::needless_pass_by_value,
    clippy::redundant_closure,
    clippy::too_many_arguments,
    reason = "names and parameters are the standard's"
)]

use std::ffi::{c_char, c_int};

use super::callback::{
    Callback, Combiner, CommCopy, CommDelete, Conversion, LargeUserFunction, UserFunction,
};
use super::pointer::{Address, Counts, Ptr, Status};
use crate::api;
use crate::api::error::{call, check_results, refuse};
use crate::object::Handle;

include!(concat!(env!("OUT_DIR"), "/exports.rs"));
