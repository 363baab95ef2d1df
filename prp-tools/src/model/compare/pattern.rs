//! A graph beside what was measured of all of its messages together.

use std::path::Path;

use prp_model::fit::Sample;
use prp_model::unit::{Bytes, with_prefix};
use serde_json::json;

use super::{CompareArgs, median, summary};
use crate::exit::Failure;
use crate::model::{blind_spots, output, reduce};

pub(super) fn run(args: &CompareArgs, path: &Path) -> Result<(), Failure> {
    let block = reduce::load(path)?.reduce().whole;
    let samples = args.input.samples()?;
    let mut sizes: Vec<f64> = samples.iter().map(|sample| sample.size.number()).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let mut lines =
        vec![format!("{:>12}{:>14}{:>14}{:>10}", "bytes", "measured", "predicted", "error")];
    let (mut errors, mut points) = (Vec::new(), Vec::new());
    for size in sizes {
        let of = |sample: &&Sample| sample.size.number() == size;
        let times: Vec<f64> = samples.iter().filter(of).map(|s| s.time.number()).collect();
        let Some(measured) = median(&times) else { continue };
        let predicted = block.time(Bytes::new(size)).number();
        let error = predicted / measured - 1.0;
        let (real, model) = (with_prefix(measured, "s"), with_prefix(predicted, "s"));
        lines.push(format!("{size:>12}{real:>14}{model:>14}{:>8.1} %", error * 100.0));
        points.push(json!({"bytes": size, "measured": measured, "predicted": predicted}));
        errors.push(error);
    }
    let (median, most) = summary(&errors).unwrap_or_default();
    let (m, l) = (median * 100.0, most * 100.0);
    lines.push(format!("median error {m:.1} %, largest {l:.1} %"));
    lines.push(blind_spots::line(&blind_spots::of_graph()));
    let json = json!({
        "points": points, "median_error": median, "largest_error": most,
        "does_not_see": blind_spots::of_graph(),
    });
    output::publish(args.json, &json, &lines)
}
