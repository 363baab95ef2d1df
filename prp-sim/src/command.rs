//! The subcommands. Each says whether all rules held, or why it could not begin.

mod experiment;
mod grid;
mod replay;

use core::fmt;
use std::io::{self, Write};

pub(crate) use experiment::{IncastArgs, LossArgs, incast, loss};
pub(crate) use grid::{GridArgs, SoakArgs, grid, soak};
pub(crate) use replay::{ReplayArgs, replay};

/// Prints to standard output. The program that reads it may have seen enough and gone.
fn print_line(text: impl fmt::Display) {
    // Standard output and standard error are both closed.
    let _ = writeln!(io::stdout().lock(), "{text}");
}
