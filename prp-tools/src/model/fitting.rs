//! What commands that fit have in common.

use clap::{Args, ValueEnum};
use prp_model::fit::{Fit, Model, Options, Sample, fit};

use crate::exit::{Code, Failure};

/// A model's name.
#[derive(Copy, Clone, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Name {
    /// alpha + beta n + gamma h
    Linear,
    /// PRP's two pieces that meet at the smallest frame
    Prp,
    /// a for each packet and m for each byte
    Packet,
    /// a^2/(a + b x) + b x
    Hyperbolic,
    /// Latency, overhead and gap of messages of one size
    Logp,
    /// LogP with a gap for each byte
    Loggp,
    /// Workstation and network as hyperbolic blocks, from pairs that send at the same time
    Blocks,
}

impl From<Name> for Model {
    fn from(name: Name) -> Self {
        match name {
            Name::Linear => Self::Linear,
            Name::Prp => Self::Prp,
            Name::Packet => Self::Packet,
            Name::Hyperbolic => Self::Hyperbolic,
            Name::Logp => Self::LogP,
            Name::Loggp => Self::LogGp,
            Name::Blocks => Self::Blocks,
        }
    }
}

/// How intervals are made.
#[derive(Copy, Clone, Debug, Args)]
pub(super) struct Resampling {
    /// What everything random comes from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Data sets that are made and fitted for the intervals
    #[arg(long, value_name = "N", default_value_t = 999)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100_000))]
    resamples: u32,
}

impl From<Resampling> for Options {
    fn from(resampling: Resampling) -> Self {
        Self { seed: resampling.seed, resamples: resampling.resamples }
    }
}

/// Fits a model; why not is the end of the program.
pub(super) fn fitted(
    model: Model,
    samples: &[Sample],
    resampling: Resampling,
) -> Result<Fit, Failure> {
    fit(model, samples, resampling.into())
        .map_err(|why| Failure::new(Code::Failed, format!("{}: {why}", model.name())))
}

/// The models that measurements may tell something of: of those of pairs only one, and no other of those.
pub(super) fn suited(samples: &[Sample]) -> Vec<Model> {
    if samples.iter().any(|sample| sample.pairs > 1) {
        return vec![Model::Blocks];
    }
    let all = Model::ALL.into_iter().filter(|model| !matches!(model, Model::Blocks | Model::LogP));
    all.collect()
}

/// All of them that can be fitted, the one that predicts best first: that with the least AIC.
pub(super) fn ranked(samples: &[Sample], resampling: Resampling) -> Result<Vec<Fit>, Failure> {
    let (mut fits, mut why) = (Vec::new(), None);
    for model in suited(samples) {
        match fitted(model, samples, resampling) {
            Ok(fit) => fits.push(fit),
            Err(failure) => why = Some(failure),
        }
    }
    fits.sort_by(|l, r| l.aic.total_cmp(&r.aic));
    match why {
        Some(failure) if fits.is_empty() => Err(failure),
        _ => Ok(fits),
    }
}
