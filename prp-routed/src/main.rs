//! `prp-routed`: the daemon.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]

use std::process::ExitCode;

fn main() -> ExitCode {
    prp_routed::cli::main()
}
