//! `prp-routed`: the daemon.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]

use std::process::ExitCode;

use prp_node::limits::NotingAllocator;

#[global_allocator]
static ALLOCATOR: NotingAllocator = NotingAllocator;

fn main() -> ExitCode {
    prp_routed::cli::main()
}
