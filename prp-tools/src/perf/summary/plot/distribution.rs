//! How often a small message takes how long.

use std::path::Path;

use super::lines::Lines;
use super::{PlotResult, Runs};

/// Beyond this part of all messages nothing is drawn: a run has too few of them.
const LAST: f64 = 0.9999;

/// Draws it.
pub(super) fn draw(runs: &Runs, path: &Path) -> PlotResult {
    let lines = Lines {
        caption: "64 bytes one way, default waits: how long at most",
        margin_right: 30,
        x: 1.0..1e4,
        x_unit: "part of all messages",
        x_label: Some(|x| format!("{:.2} %", 100.0 - 100.0 / x)),
        point_size: 0,
    };
    lines.draw(path, |transport| points(runs, transport))
}

/// How rare a message is (N, if one in N takes longer), and its time.
fn points(runs: &Runs, transport: &str) -> Vec<(f64, f64)> {
    let path = format!("results.{transport}.distribution");
    let points = runs.value("latency.adaptive.64", &path).and_then(|points| points.as_array());
    let points = points.into_iter().flatten().filter_map(|pair| {
        let (part, time) = (pair.get(0)?.as_f64()?, pair.get(1)?.as_f64()?);
        Some((1.0 / (1.0 - part), time)).filter(|_| part <= LAST && time > 0.0)
    });
    points.collect()
}
