//! Goodput by MTU.

use std::path::Path;

use plotters::prelude::*;

use super::{Drawn, Runs, SIZE, colour, title};
use crate::perf::summary::keys;

const MTUS: [u32; 3] = [1500, 9000, 65535];
const TRANSPORTS: [&str; 4] = ["prp", "raw", "tcp_no_offload", "tcp"];

/// Of the room a group has, the part its bars take.
const FILLED: f64 = 0.8;

/// Draws it.
pub(super) fn draw(runs: &Runs, path: &Path) -> Drawn {
    let value = |mtu: u32, transport: &str| {
        runs.number(&format!("stream.mtu{mtu}"), &keys::gbps(transport)).unwrap_or(0.0)
    };
    let all = MTUS.iter().flat_map(|mtu| TRANSPORTS.map(|transport| value(*mtu, transport)));
    let top = all.fold(0.0, f64::max);
    if top <= 0.0 {
        return Ok(());
    }
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let groups = MTUS.len() as f64;
    let mut chart = ChartBuilder::on(&area)
        .caption("Goodput of one stream", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..groups, 0.0..top * 1.4)?;
    chart.configure_mesh().disable_x_mesh().disable_y_mesh().x_labels(0).y_desc("Gbit/s").draw()?;
    let width = FILLED / TRANSPORTS.len() as f64;
    for (n, transport) in TRANSPORTS.into_iter().enumerate() {
        let colour = colour(transport);
        let bars = MTUS.into_iter().enumerate().map(|(group, mtu)| {
            let left = group as f64 + (1.0 - FILLED) / 2.0 + n as f64 * width;
            Rectangle::new(
                [(left, 0.0), (left + width * 0.9, value(mtu, transport))],
                colour.filled(),
            )
        });
        let legend = move |(x, y)| Rectangle::new([(x, y - 5), (x + 15, y + 5)], colour.filled());
        chart.draw_series(bars)?.label(title(transport)).legend(legend);
    }
    // As an axis of numbers knows no names, they stand above the bars.
    let names = MTUS.into_iter().enumerate().map(|(group, mtu)| {
        let tallest =
            TRANSPORTS.map(|transport| value(mtu, transport)).into_iter().fold(0.0, f64::max);
        let at = (group as f64 + 0.35, tallest + top * 0.05);
        Text::new(format!("MTU {mtu}"), at, ("sans-serif", 14))
    });
    chart.draw_series(names)?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(BLACK.mix(0.3))
        .background_style(WHITE)
        .draw()?;
    Ok(area.present()?)
}
