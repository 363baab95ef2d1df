//! Models fitted to one half of the sizes, which predict the other half.

use prp_model::fit::{Fit, Sample, Setting, fit};
use serde_json::json;

use super::{CompareArgs, summary};
use crate::exit::{Code, Failure};
use crate::model::fitting::suited;
use crate::model::{blind_spots, output};

/// What a model predicts of settings that it was not fitted to.
struct Errors {
    fit: Fit,
    /// Predicted by measured less 1, of each setting's median.
    errors: Vec<f64>,
}

pub(super) fn run(args: &CompareArgs) -> Result<(), Failure> {
    let samples = args.input.samples()?;
    let (shown, kept) = halves(&samples);
    if kept.is_empty() {
        return Err(Failure::new(Code::Failed, "one size alone predicts no other: measure more"));
    }
    let models = if args.model.is_empty() { suited(&samples) } else { args.model.clone() };
    let (mut all, mut lines) = (Vec::new(), Vec::new());
    for model in models {
        match fit(model, &shown, args.resampling.into()) {
            Ok(fit) => all.push(errors(fit, &kept)),
            Err(why) => lines.push(format!("  {}: {why}", model.name())),
        }
    }
    all.sort_by(|l, r| median(l).total_cmp(&median(r)));
    let head = format!("{:<14}{:>14}{:>14}", "model", "median error", "largest");
    let row = |one: &Errors| {
        let (median, most) = summary(&one.errors).unwrap_or_default();
        let (median, most) = (format!("{:.1} %", median * 100.0), format!("{:.1} %", most * 100.0));
        format!("{:<14}{median:>14}{most:>14}", one.fit.model.name())
    };
    let title = format!(
        "fitted to {} measurements at every other size, {} others predicted",
        shown.len(),
        all.first().map_or(0, |one| one.errors.len())
    );
    let mut table = vec![title, head];
    table.extend(all.iter().map(row));
    table.append(&mut lines);
    table.extend(all.first().map(|one| blind_spots::line(&blind_spots::spots(one.fit.model))));
    let model = |one: &Errors| {
        let (median, most) = summary(&one.errors).unwrap_or_default();
        json!({
            "model": one.fit.model.name(), "median_error": median, "largest_error": most,
            "predicted": one.errors.len(),
            "does_not_see": blind_spots::spots(one.fit.model),
        })
    };
    let json = json!({
        "fitted_to": shown.len(),
        "models": all.iter().map(model).collect::<Vec<_>>(),
    });
    output::publish(args.json, &json, &table)
}

fn median(one: &Errors) -> f64 {
    summary(&one.errors).map_or(f64::INFINITY, |(median, _)| median)
}

/// Every other size to fit to, the smallest and the largest among them, and the rest.
fn halves(samples: &[Sample]) -> (Vec<Sample>, Vec<Sample>) {
    let mut sizes: Vec<f64> = samples.iter().map(|sample| sample.size.number()).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let last = sizes.len().saturating_sub(1);
    let is_shown = |sample: &&Sample| {
        let at = sizes.partition_point(|size| *size < sample.size.number());
        at.is_multiple_of(2) || at == last
    };
    samples.iter().partition(is_shown)
}

fn errors(fit: Fit, kept: &[Sample]) -> Errors {
    let mut settings: Vec<Setting> = Vec::new();
    for setting in kept.iter().map(Setting::from) {
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    let mut all = Errors { fit, errors: Vec::new() };
    for setting in settings {
        let of = kept.iter().filter(|sample| Setting::from(*sample) == setting);
        let times: Vec<f64> = of.map(|sample| sample.time.number()).collect();
        let Some(measured) = super::median(&times) else { continue };
        all.errors.push(all.fit.predict(&setting).0.number() / measured - 1.0);
    }
    all
}

#[cfg(test)]
mod tests {
    use prp_model::unit::{Bytes, Seconds};

    use super::*;

    #[test]
    fn halves__every_other_size_with_both_ends() {
        let sample = |n: u32| Sample::one_way(Bytes::new(f64::from(n)), Seconds::new(1e-6));
        let samples: Vec<Sample> = [0, 1, 2, 4, 8, 16, 0, 1].map(sample).into();
        let sizes = |all: &[Sample]| all.iter().map(|s| s.size.number()).collect::<Vec<_>>();
        let (shown, kept) = halves(&samples);
        assert_eq!(sizes(&shown), [0.0, 2.0, 8.0, 16.0, 0.0]);
        assert_eq!(sizes(&kept), [1.0, 4.0, 1.0]);
    }
}
