//! Latency against size, PRP beside TCP and raw frames: the paper's figure 1.

use std::path::Path;

use plotters::prelude::*;

use super::{Drawn, Runs, SIZE, colour, title};

/// Draws it.
pub(super) fn draw(runs: &Runs, path: &Path) -> Drawn {
    let lines: Vec<_> = ["prp", "tcp", "raw"].map(|t| (t, points(runs, t))).into();
    let all = || lines.iter().flat_map(|(_, points)| points);
    let top = all().map(|p| p.1).fold(0.0, f64::max);
    let bottom = all().map(|p| p.1).fold(f64::MAX, f64::min);
    if top <= 0.0 {
        return Ok(());
    }
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("Time of a message one way, MTU 1500, default waits", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((1.0..1.1e6).log_scale(), (bottom * 0.8..top * 1.2).log_scale())?;
    chart.configure_mesh().x_desc("bytes").y_desc("microseconds").draw()?;
    for (transport, points) in lines.iter().filter(|(_, points)| !points.is_empty()) {
        let colour = colour(transport);
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2)).point_size(3);
        let legend = move |(x, y)| PathElement::new([(x, y), (x + 20, y)], colour.stroke_width(2));
        chart.draw_series(line)?.label(title(transport)).legend(legend);
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(BLACK.mix(0.3))
        .background_style(WHITE)
        .draw()?;
    Ok(area.present()?)
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
