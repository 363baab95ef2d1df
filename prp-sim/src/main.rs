//! `prp-sim`: whole networks of PRP nodes in virtual time, from the command line.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod command;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Networks of PRP nodes in virtual time: one seed decides all that happens.
///
/// Every run checks that applications get exactly the bytes that were written, or an error with a
/// cause; that everything moves on a healed network; that nothing is left when all is closed.
#[derive(Debug, Parser)]
#[command(
    name = "prp-sim",
    version,
    after_help = "Exit code: 0 all rules held, 1 a rule was broken, 2 wrong usage."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Grid(command::GridArgs),
    Replay(command::ReplayArgs),
    Soak(command::SoakArgs),
    Incast(command::IncastArgs),
    Loss(command::LossArgs),
}

fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Grid(args) => Ok(command::grid(&args)),
        Command::Replay(args) => command::replay(&args),
        Command::Soak(args) => Ok(command::soak(&args)),
        Command::Incast(args) => command::incast(&args),
        Command::Loss(args) => command::loss(&args),
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(what) => {
            let _ = writeln!(io::stderr(), "prp-sim: {what}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn arguments__are_consistent() {
        Arguments::command().debug_assert();
    }
}
