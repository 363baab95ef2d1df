//! What commands that fit have in common.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use prp_model::fit::{Fit, Model, Options, Sample, Setting, fit};
use prp_model::unit::{Bytes, Hops};

use crate::argument::any;
use crate::exit::{Code, Failure};

/// Reads a model's name.
pub(super) fn named_model() -> impl TypedValueParser<Value = Model> {
    let names = Model::ALL.map(|model| PossibleValue::new(model.name()).help(about(model)));
    PossibleValuesParser::new(names).try_map(|name| {
        let model = Model::ALL.into_iter().find(|model| model.name() == name);
        model.ok_or("expected a model")
    })
}

/// What the help text says of a model.
const fn about(model: Model) -> &'static str {
    match model {
        Model::Linear => "alpha + beta n + gamma h",
        Model::Prp => "PRP's two pieces that meet at the smallest frame",
        Model::Packet => "a for each packet and m for each byte",
        Model::Hyperbolic => "a^2/(a + b x) + b x",
        Model::LogP => "Latency, overhead and gap of messages of one size",
        Model::LogGp => "LogP with a gap for each byte",
        Model::Blocks => {
            "Workstation and network as hyperbolic blocks, from pairs that send at the same time"
        }
        Model::Shared => "Patterns of processes that share processors",
    }
}

/// How intervals are made.
#[derive(Copy, Clone, Debug, Args)]
pub(super) struct Resampling {
    /// What everything random comes from
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = any::<u64>)]
    seed: u64,

    /// Data sets that are made and fitted for the intervals: 19 or more, or 0 for those of
    /// Student's distribution
    #[arg(long, value_name = "N", default_value_t = 999, value_parser = resamples)]
    resamples: u32,
}

/// Of fewer than 19 made data sets none is beyond 95 %, and an interval has no ends.
fn resamples(text: &str) -> Result<u32, &'static str> {
    let number = text.parse().ok().filter(|n| *n == 0 || (19..=100_000).contains(n));
    number.ok_or("expected 0, or 19 to 100000")
}

impl From<Resampling> for Options {
    fn from(resampling: Resampling) -> Self {
        Self { seed: resampling.seed, resamples: resampling.resamples }
    }
}

/// The setting of a message of `size` over `over` routers, of whose delay the fit has to tell
/// something.
pub(super) fn setting(fit: &Fit, size: u64, over: u32) -> Result<Setting, Failure> {
    let tells = fit.parameters.iter().any(|parameter| parameter.name == "gamma");
    if over > 0 && !tells {
        let text = format!("--over {over}: {} tells no delay of a router", fit.model.name());
        return Err(Failure::new(Code::Usage, text));
    }
    let hops = Hops::new(f64::from(over));
    Ok(Setting { hops, ..Setting::one_way(Bytes::new(size as f64)) })
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

/// The models that measurements may tell something of: of those of pairs and patterns only one,
/// and no other of those.
pub(super) fn suited(samples: &[Sample]) -> Vec<Model> {
    if samples.iter().any(|sample| sample.played.is_some()) {
        return vec![Model::Shared];
    }
    if samples.iter().any(|sample| sample.pairs > 1) {
        return vec![Model::Blocks];
    }
    let is_suited = |model: &Model| match model {
        Model::Linear | Model::Prp | Model::Packet | Model::Hyperbolic | Model::LogGp => true,
        Model::LogP | Model::Blocks | Model::Shared => false,
    };
    Model::ALL.into_iter().filter(is_suited).collect()
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
