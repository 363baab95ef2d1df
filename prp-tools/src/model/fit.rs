//! `prp model fit`: parameters from measurements, each with its interval.

use std::path::PathBuf;

use clap::Args;
use prp_model::fit::{Fit, Model, Sample, breaks};
use serde_json::json;

use super::fitting::{Resampling, fitted, named_model, ranked};
use super::input::MeasurementArgs;
use super::{answer, output, plot};
use crate::argument::named_file;
use crate::exit::Failure;

/// Fit models to measurements.
///
/// Without --model all that suit the measurements are fitted, and the one that predicts best (the
/// least AIC) is told. Every number has an interval that holds the truth in 95 of 100 cases; what
/// the measurements cannot tell is named instead.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp model fit sweep.json                         every model, the best first
  prp model fit pings.csv --model linear --json    one model, as JSON
  prp model fit --live beta --svg beta.svg         measure first, and draw
"))]
pub(crate) struct FitArgs {
    #[command(flatten)]
    input: MeasurementArgs,

    /// The model
    #[arg(long, value_parser = named_model(), value_name = "MODEL")]
    model: Option<Model>,

    #[command(flatten)]
    resampling: Resampling,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Draw measurements, curve with its interval, and residuals into this file
    #[arg(long, value_name = "FILE", value_parser = named_file())]
    svg: Option<PathBuf>,
}

/// Runs `prp model fit`.
pub(super) fn run(args: &FitArgs) -> Result<(), Failure> {
    let samples = args.input.samples()?;
    let Some(model) = args.model else { return best(args, &samples) };
    let fit = fitted(model, &samples, args.resampling)?;
    let simpler = fit.model.simpler();
    let simpler = simpler.and_then(|model| fitted(model, &samples, args.resampling).ok());
    let breaks = breaks(&samples, args.resampling.into());
    draw(args, &fit)?;
    let lines = answer::table(&fit, simpler.as_ref(), &breaks);
    output::publish(args.json, &answer::json(&fit, simpler.as_ref(), &breaks), &lines)
}

/// All models, of which the best one is told in full.
fn best(args: &FitArgs, samples: &[Sample]) -> Result<(), Failure> {
    let fits = ranked(samples, args.resampling)?;
    let breaks = breaks(samples, args.resampling.into());
    let mut lines = answer::ranking(&fits);
    let simpler = |fit: &Fit| answer::simpler(fit.model, &fits);
    let models: Vec<_> = fits.iter().map(|fit| answer::json(fit, simpler(fit), &breaks)).collect();
    let best = fits.first();
    if let Some(fit) = best {
        lines.extend(answer::table(fit, simpler(fit), &breaks));
        draw(args, fit)?;
    }
    let json = json!({"best": best.map(|fit| fit.model.name()), "models": models});
    output::publish(args.json, &json, &lines)
}

fn draw(args: &FitArgs, fit: &Fit) -> Result<(), Failure> {
    args.svg.as_ref().map_or(Ok(()), |path| plot::fit(fit, path))
}
