//! A fit as a table and as JSON.

use prp_model::fit::{Break, Estimate, Fit, Model};
use prp_model::unit::with_prefix;
use serde_json::{Map, Value, json};

use super::blind_spots;

/// Everything a fit tells, and `simpler`, the fit of the model it must be better than.
pub(super) fn json(fit: &Fit, simpler: Option<&Fit>, breaks: &[Break]) -> Value {
    let estimates = |all: &[Estimate]| all.iter().map(estimate).collect::<Map<_, _>>();
    let why = fit.not_identified.iter().map(|not| (not.name.to_owned(), json!(not.why)));
    json!({
        "model": fit.model.name(),
        "formula": fit.formula(),
        "points": fit.points,
        "parameters": estimates(&fit.parameters),
        "derived": estimates(&fit.derived),
        "not_identified": fit.not_identified.iter().map(|not| not.name).collect::<Vec<_>>(),
        "why_not_identified": why.collect::<Map<_, _>>(),
        "aic": fit.aic,
        "simpler": simpler.map(|other| json!({"model": other.model.name(), "aic": other.aic})),
        "scatter": fit.scatter(),
        "breaks": breaks.iter().map(one_break).collect::<Vec<_>>(),
        "seed": fit.options.seed,
        "resamples": fit.options.resamples,
        "does_not_see": blind_spots::spots(fit.model),
    })
}

fn estimate(estimate: &Estimate) -> (String, Value) {
    let Estimate { name, value, interval, unit, means } = estimate;
    let mut json = json!({
        "value": value,
        "low": interval.map(|interval| interval.low),
        // JSON has no infinity: the largest number there is stands for no upper end.
        "high": interval.map(|interval| interval.high.min(f64::MAX)),
        "unit": unit,
    });
    if let Some(means) = means {
        json["means"] = json!(means);
    }
    ((*name).to_owned(), json)
}

fn one_break(found: &Break) -> Value {
    let Break { size, low, high, step, before, after } = found;
    json!({
        "bytes": size, "low": low, "high": high,
        "step_seconds": step, "seconds_a_byte_before": before, "seconds_a_byte_after": after,
    })
}

/// The same as lines.
pub(super) fn table(fit: &Fit, simpler: Option<&Fit>, breaks: &[Break]) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", fit.model.name(), fit.formula())];
    lines.extend(fit.parameters.iter().chain(&fit.derived).map(row));
    lines.extend(
        fit.not_identified
            .iter()
            .map(|not| format!("  {:<20}{:>14}   {}", not.name, "not identified", not.why)),
    );
    let points = format!("{} measurements", fit.points);
    let scatter = format!("scatter {:.1} %", fit.scatter() * 100.0);
    lines.push(format!("  {points}, {scatter}, {}", made(fit)));
    lines.push(match simpler {
        Some(other) => format!(
            "  AIC {:.1}; {} with fewer parameters {:.1}: {}",
            fit.aic,
            other.model.name(),
            other.aic,
            verdict(fit, other)
        ),
        None => format!("  AIC {:.1}", fit.aic),
    });
    lines.extend(breaks.iter().map(break_row));
    lines.push(blind_spots::line(&blind_spots::spots(fit.model)));
    lines
}

/// How intervals were made.
fn made(fit: &Fit) -> String {
    match fit.options.resamples {
        0 => "intervals of Student's distribution".to_owned(),
        count => format!("{count} resamples, seed {}", fit.options.seed),
    }
}

/// A difference that says something.
const TELLING: f64 = 2.0;

fn verdict(fit: &Fit, other: &Fit) -> &'static str {
    match other.aic - fit.aic {
        gain if gain > TELLING => "worth them",
        gain if gain < -TELLING => "not worth them",
        _ => "undecided",
    }
}

fn row(estimate: &Estimate) -> String {
    let Estimate { name, value, interval, unit, means } = estimate;
    let value = with_prefix(*value, unit);
    let interval = interval.map_or_else(
        || "no interval: as many measurements as parameters".to_owned(),
        |i| format!("95 %: {}", i.text(unit)),
    );
    let means = means.as_ref().map(|means| format!("   (this is {means})")).unwrap_or_default();
    format!("  {name:<20}{value:>14}   {interval}{means}")
}

fn break_row(found: &Break) -> String {
    let bytes = |size: f64| format!("{size:.0}");
    let rate = |byte: f64| with_prefix(byte, "s/B");
    format!(
        "  a break at {} bytes, 95 %: {} to {}; {} there, {} before it and {} after",
        bytes(found.size),
        bytes(found.low),
        bytes(found.high),
        with_prefix(found.step, "s"),
        rate(found.before),
        rate(found.after),
    )
}

/// One line a model, for several of the same measurements.
pub(super) fn ranking(fits: &[Fit]) -> Vec<String> {
    let head = format!("  {:<14}{:>12}{:>12}  parameters", "model", "AIC", "scatter");
    let best = fits.first().map_or(0.0, |fit| fit.aic);
    let row = |fit: &Fit| {
        let parameter = |p: &Estimate| format!("{} {}", p.name, with_prefix(p.value, p.unit));
        let parameters: Vec<String> = fit.parameters.iter().map(parameter).collect();
        let scatter = format!("{:.1} %", fit.scatter() * 100.0);
        let aic = format!("+{:.1}", fit.aic - best);
        format!("  {:<14}{aic:>12}{scatter:>12}  {}", fit.model.name(), parameters.join(", "))
    };
    std::iter::once(head).chain(fits.iter().map(row)).collect()
}

/// The fit among some of the model that another one must be better than.
pub(super) fn simpler(model: Model, fits: &[Fit]) -> Option<&Fit> {
    let simpler = model.simpler()?;
    fits.iter().find(|fit| fit.model == simpler)
}
