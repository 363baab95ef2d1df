//! How often a small message takes how long.

use std::path::Path;

use plotters::prelude::*;

use super::{Drawn, Runs, SIZE, colour, title};

/// Beyond this part of all messages nothing is drawn: a run has too few of them.
const LAST: f64 = 0.9999;

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
        .caption("64 bytes one way, default waits: how long at most", ("sans-serif", 18))
        .margin(12)
        .margin_right(30)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((1.0..1e4).log_scale(), (bottom * 0.8..top * 1.2).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("part of all messages")
        .y_desc("microseconds")
        .x_label_formatter(&|x| format!("{:.2} %", 100.0 - 100.0 / x))
        .draw()?;
    for (transport, points) in lines.iter().filter(|(_, points)| !points.is_empty()) {
        let colour = colour(transport);
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
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

/// How rare a message is (one in so many takes longer), and its time.
fn points(runs: &Runs, transport: &str) -> Vec<(f64, f64)> {
    let path = format!("results.{transport}.distribution");
    let points = runs.value("latency.adaptive.64", &path).and_then(|points| points.as_array());
    let points = points.into_iter().flatten().filter_map(|pair| {
        let (part, time) = (pair.get(0)?.as_f64()?, pair.get(1)?.as_f64()?);
        Some((1.0 / (1.0 - part), time)).filter(|_| part <= LAST && time > 0.0)
    });
    points.collect()
}
