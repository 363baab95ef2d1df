//! `prp model export`: a fit for another program.

use clap::Args;
use prp_model::export::{latex, loggopsim, python, simgrid};
use prp_model::fit::Model;

use super::fitting::{Resampling, fitted, named_model, ranked};
use super::input::MeasurementArgs;
use super::{blind_spots, output};
use crate::argument::number;
use crate::exit::Failure;
use crate::print::notice;

/// Write a fitted model in the form of another program.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp model export sweep.json --model hyperbolic --simgrid >platform.xml
"))]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    input: MeasurementArgs,

    /// The model; without it the one with the least AIC
    #[arg(long, value_parser = named_model(), value_name = "MODEL")]
    model: Option<Model>,

    #[command(flatten)]
    resampling: Resampling,

    #[command(flatten)]
    form: Form,

    /// Hosts of the platform, for SimGrid
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = number::<u32>(1..=100_000))]
    nodes: u32,
}

/// What to write.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Form {
    /// A platform with SMPI's options, for SimGrid 3.32 and later
    #[arg(long)]
    simgrid: bool,

    /// A command line for LogGOPSim
    #[arg(long)]
    loggopsim: bool,

    /// A formula and a table
    #[arg(long)]
    latex: bool,

    /// A function
    #[arg(long)]
    python: bool,
}

/// Runs `prp model export`.
pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    let samples = args.input.samples()?;
    let fit = match args.model {
        Some(model) => fitted(model, &samples, args.resampling)?,
        None => ranked(&samples, args.resampling)?.swap_remove(0),
    };
    let text = match args.form {
        Form { simgrid: true, .. } => simgrid(&fit, args.nodes, args.input.processors.unwrap_or(1)),
        Form { loggopsim: true, .. } => loggopsim(&fit),
        Form { latex: true, .. } => latex(&fit),
        Form { python: _, .. } => python(&fit),
    };
    output::print(text.trim_end())?;
    // Beside what another program is to read.
    notice(blind_spots::line(&blind_spots::spots(fit.model)));
    Ok(())
}
