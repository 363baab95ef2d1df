//! Latency against size, PRP beside TCP and raw frames: the paper's figure 1.

use std::path::Path;

use super::canvas::MARGIN;
use super::lines::Lines;
use super::{PlotResult, Runs};

/// Draws it.
pub(super) fn draw(runs: &Runs, path: &Path) -> PlotResult {
    let lines = Lines {
        caption: "Time of a message one way, MTU 1500, default waits",
        margin_right: MARGIN,
        x: 1.0..1.1e6,
        x_unit: "bytes",
        x_label: None,
        point_size: 3,
    };
    lines.draw(path, |transport| points(runs, transport))
}

/// Size and median of each message that has bytes: a logarithmic axis has no zero.
fn points(runs: &Runs, transport: &str) -> Vec<(f64, f64)> {
    let points = runs.value("sweep.mtu1500", &format!("results.{transport}"));
    let points = points.and_then(|points| points.as_array()).into_iter().flatten();
    points
        .filter_map(|point| {
            let size = point.get("size")?.as_f64().filter(|size| *size > 0.0)?;
            let median = point.get("p50_us")?.get("median")?.as_f64()?;
            Some((size, median)).filter(|_| median > 0.0)
        })
        .collect()
}
