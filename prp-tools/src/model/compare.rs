//! `prp model compare`: what models predict beside what was measured.

mod collectives;
mod halves;
mod pattern;

use std::path::PathBuf;

use clap::Args;
use prp_model::fit::Model;
use prp_model::rounds::median;

pub(super) use collectives::kind;

use super::fitting::{Resampling, named_model};
use super::input::MeasurementArgs;
use crate::argument::input_file;
use crate::exit::Failure;

/// Compare predicted with measured times.
///
/// Each model is fitted to one half of the sizes, every other one, and predicts the rest. With
/// --graph the graph predicts all of them. With --collectives the measurements are of pairs of
/// processes (the column pairs): workstation and network are fitted to those, and predict the
/// patterns in that file. With --processors the model of processes that share those is fitted too,
/// to all of the measurements, which may be of several patterns.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp model compare sweep.json                  each model against the sizes it has not seen
  prp model compare --graph g.toml sweep.json    a graph against all sizes
"))]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    input: MeasurementArgs,

    /// Only these models; may be given several times
    #[arg(long, value_parser = named_model(), value_name = "MODEL")]
    model: Vec<Model>,

    /// Compare with what this graph predicts for all of its messages together
    #[arg(long, value_name = "GRAPH.toml", conflicts_with = "model", value_parser = input_file())]
    graph: Option<PathBuf>,

    /// Patterns to predict, as CSV: pattern, processes, bytes, seconds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "graph"])]
    #[arg(value_parser = input_file())]
    collectives: Option<PathBuf>,

    #[command(flatten)]
    resampling: Resampling,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `prp model compare`.
pub(super) fn run(args: &CompareArgs) -> Result<(), Failure> {
    if let Some(path) = &args.collectives {
        return collectives::run(args, path);
    }
    match &args.graph {
        Some(path) => pattern::run(args, path),
        None => halves::run(args),
    }
}

/// The median and the largest of errors, whichever their sign.
fn summary(errors: &[f64]) -> Option<(f64, f64)> {
    let sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    Some((median(&sizes)?, sizes.into_iter().fold(0.0, f64::max)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary__of_an_even_number_of_errors() {
        assert_eq!(summary(&[-1.0, 4.0, 2.0, -8.0]), Some((3.0, 8.0)));
        assert_eq!(summary(&[0.5]), Some((0.5, 0.5)));
        assert_eq!(summary(&[]), None);
    }
}
