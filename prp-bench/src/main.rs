//! `prp-bench`: what the runs of `netns-scripts/bench` came to, as a table, as JSON, and as a page
//! of the book.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod bar;
mod results;
mod summary;
mod timer;

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Puts the runs of netns-scripts/bench together.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Results(results::ResultsArgs),
    Summary(summary::SummaryArgs),
    /// Measure what it takes to arm a timer here, in us, as JSON
    Timer,
}

/// How a command has ended: why it failed, in a line.
type Done = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Results(args) => results::run(&args),
        Command::Summary(args) => summary::run(&args),
        Command::Timer => timer::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            let _ = writeln!(io::stderr(), "prp-bench: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Prints `text` on standard output.
fn print(text: &str) -> Done {
    Ok(io::stdout().write_all(text.as_bytes())?)
}

/// Returns what is said of `error` at the file or folder `path`.
fn at(path: &Path, error: impl Display) -> String {
    format!("{}: {error}", path.display())
}
