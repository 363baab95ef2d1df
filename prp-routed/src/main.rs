//! `prp-routed`: the daemon.

use std::process::ExitCode;

fn main() -> ExitCode {
    prp_routed::cli::main()
}
