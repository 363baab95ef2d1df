//! `prp model`: what a message costs, by models that are fitted to measurements.
//!
//! The mathematics is `prp_model`'s; here are files, tables, plots and measuring.

mod answer;
mod blind_spots;
mod collective;
mod compare;
mod explain;
mod export;
mod fit;
mod fitting;
mod gain;
mod input;
mod live;
mod output;
mod plot;
mod predict;
mod read;
mod reduce;

use clap::{Args, Subcommand};

use crate::exit::Failure;

const EXAMPLES: &str = "\
  prp model fit sweep.json                         every model, the best first
  prp model fit pings.csv --model linear --json    one model, as JSON
  prp model fit --live beta --svg beta.svg         measure first, and draw
  prp model predict broadcast.toml --size 1024     what a pattern of messages costs
  prp model explain sweep.json --size 64           what dominates, and what would help
  prp model export sweep.json --model hyperbolic --simgrid > platform.xml
  prp model gain --software 5 --hardware 5 --overhead 0.2
";

/// Fit models of communication, predict with them, and explain.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help(EXAMPLES))]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    Fit(fit::FitArgs),
    Predict(predict::PredictArgs),
    Compare(compare::CompareArgs),
    Gain(gain::GainArgs),
    Explain(explain::ExplainArgs),
    Export(export::ExportArgs),
    Reduce(reduce::ReduceArgs),
    Collective(collective::CollectiveArgs),
}

/// Runs `prp model`.
pub(crate) fn run(args: &ModelArgs) -> Result<(), Failure> {
    match &args.command {
        ModelCommand::Fit(args) => fit::run(args),
        ModelCommand::Predict(args) => predict::run(args),
        ModelCommand::Compare(args) => compare::run(args),
        ModelCommand::Gain(args) => gain::run(args),
        ModelCommand::Explain(args) => explain::run(args),
        ModelCommand::Export(args) => export::run(args),
        ModelCommand::Reduce(args) => reduce::run(args),
        ModelCommand::Collective(args) => collective::run(args),
    }
}
