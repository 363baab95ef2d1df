//! `prp-machines`: PRP in virtual machines, with Debian's kernels and emulated network cards.
//! `netns-scripts/check-machines` builds and runs it.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod check;
mod failure;
mod flow;
mod guest;
mod initramfs;
mod kernel;
mod lab;
mod machine;
mod model;
mod output;
mod protocol;
mod report;
mod scenes;
mod system_root;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs PRP in virtual machines.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    Check(check::CheckArgs),
    Flow(flow::FlowArgs),
    /// Runs scripts for the host, within a machine
    Agent,
}

fn main() -> ExitCode {
    // The kernel of a machine starts this program without words.
    if std::process::id() == 1 {
        guest::init();
    }
    let outcome = match Arguments::parse().command {
        Subcommands::Check(args) => check::run(&args),
        Subcommands::Flow(args) => flow::run(&args).map(|()| ExitCode::SUCCESS),
        Subcommands::Agent => guest::agent::run().map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        Ok(status) => status,
        Err(reason) => {
            output::reason(reason);
            ExitCode::FAILURE
        }
    }
}
