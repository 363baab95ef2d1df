//! prp-routed, built for these tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    prp_routed::cli::main()
}
