//! `libmpi_abi.so.1`: the C functions of the MPI 5.0 standard ABI, over PRP.
//!
//! Each function of the standard is exported under its name and as `PMPI_*` (`sys/export`, made
//! from the lists in `abi/` at build time) and calls a safe function of the same name in `api`.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]
// The functions of `api` have the parameters of the standard, and take pointers of C by value.
#![allow(clippy::too_many_arguments, reason = "the standard says how many there are")]

mod api;
mod object;
mod sys;

use prp_node::limits::NotingAllocator;

#[global_allocator]
static ALLOCATOR: NotingAllocator = NotingAllocator;
