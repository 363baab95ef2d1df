//! prp-routed, built for these tests.

use std::process::ExitCode;

use prp_node::limits::NotingAllocator;

#[global_allocator]
static ALLOCATOR: NotingAllocator = NotingAllocator;

fn main() -> ExitCode {
    prp_routed::cli::main()
}
