//! `prp-mpirun`: starts the ranks of a program, and ends them together.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod agent;
mod arguments;
mod job;
mod launch;
mod rank_report;
mod signals;
mod sys;
mod threads;

use std::io::{self, Write, stderr};
use std::process::ExitCode;

use prp_node::limits::{self, NotingAllocator};

#[global_allocator]
static ALLOCATOR: NotingAllocator = NotingAllocator;

fn main() -> ExitCode {
    match run() {
        Ok(status) => ExitCode::from(status),
        Err(e) => {
            // Nothing may read this; the status says it nevertheless.
            let _ = writeln!(stderr(), "prp-mpirun: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<u8> {
    limits::guard("prp-mpirun")?;
    let arguments = arguments::Arguments::read()?;
    if arguments.agent { agent::run() } else { job::run(&arguments) }
}
