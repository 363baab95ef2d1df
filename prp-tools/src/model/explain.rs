//! `prp model explain`: which part of a message's time is what, and what would make it less.

mod advice;
mod terms;

use clap::Args;
use prp_model::fit::{Fit, Model, Setting};
use prp_model::unit::with_prefix;
use serde_json::json;

use super::fitting::{Resampling, fitted, named_model, ranked, setting};
use super::input::MeasurementArgs;
use super::{blind_spots, output};
use crate::argument::any;
use crate::exit::Failure;
use terms::Term;

/// Explain the time of a message: what dominates it, and what would help.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp model explain sweep.json --size 64    what dominates, and what would help
"))]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    input: MeasurementArgs,

    /// Bytes in the message
    #[arg(short, long, value_name = "BYTES", default_value_t = 64, value_parser = any::<u64>)]
    size: u64,

    /// Routers on its path
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = any::<u32>)]
    over: u32,

    /// The model; without it the one with the least AIC
    #[arg(long, value_parser = named_model(), value_name = "MODEL")]
    model: Option<Model>,

    #[command(flatten)]
    resampling: Resampling,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `prp model explain`.
pub(super) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let samples = args.input.samples()?;
    let fit = match args.model {
        Some(model) => fitted(model, &samples, args.resampling)?,
        None => ranked(&samples, args.resampling)?.swap_remove(0),
    };
    let at = setting(&fit, args.size, args.over)?;
    let terms = terms::of(&fit, &at);
    let total: f64 = terms.iter().map(|term| term.seconds).sum();
    let mut advice = advice::of(&fit, &at, &terms);
    advice.extend(transports(args, &fit, &at)?);
    let share = |term: &Term| term.seconds / total;
    let title = format!("{} bytes by {}: {}", args.size, fit.model.name(), with_prefix(total, "s"));
    let row = |term: &Term| {
        let (time, part) = (with_prefix(term.seconds, "s"), share(term) * 100.0);
        format!("  {:<44}{time:>12}{part:>7.1} %", term.name)
    };
    let mut lines = vec![title];
    lines.extend(terms.iter().map(row));
    let dominant = terms.iter().max_by(|l, r| l.seconds.total_cmp(&r.seconds));
    lines.extend(dominant.map(|term| format!("dominant: {}", term.name)));
    lines.extend(advice.iter().map(|line| format!("  - {line}")));
    lines.push(blind_spots::line(&blind_spots::spots(fit.model)));
    let json = json!({
        "model": fit.model.name(), "bytes": args.size, "hops": args.over, "seconds": total,
        "terms": terms.iter().map(|term| {
            json!({"name": term.name, "seconds": term.seconds, "share": share(term)})
        }).collect::<Vec<_>>(),
        "dominant": dominant.map(|term| term.name),
        "would_help": advice,
        "does_not_see": blind_spots::spots(fit.model),
    });
    output::publish(args.json, &json, &lines)
}

/// What other transports of the same measurement take.
fn transports(args: &ExplainArgs, ours: &Fit, at: &Setting) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    let time = ours.predict(at).0.number();
    for (name, samples) in args.input.others()? {
        // What cannot be fitted to is nothing to compare with.
        let Ok(fit) = fitted(ours.model, &samples, args.resampling) else { continue };
        let other = fit.predict(at).0.number();
        let (quotient, word) =
            if other < time { (time / other, "less") } else { (other / time, "more") };
        lines.push(format!(
            "another transport: {name} takes {}, {quotient:.1} times {word}",
            with_prefix(other, "s")
        ));
    }
    Ok(lines)
}
