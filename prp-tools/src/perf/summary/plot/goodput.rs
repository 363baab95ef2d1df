//! Goodput by MTU.

use std::path::Path;

use plotters::prelude::*;

use super::{PlotResult, Runs, canvas, colour, title};
use crate::perf::summary::keys;

const MTUS: [u32; 3] = [1500, 9000, 65535];
const TRANSPORTS: [&str; 5] = ["prp", "raw", "tcp_no_offload", "tcp_no_segmentation", "tcp"];

/// Of the room a group has, the part its bars take.
const FILLED: f64 = 0.8;

/// Draws it.
pub(super) fn draw(runs: &Runs, path: &Path) -> PlotResult {
    let value = |mtu: u32, transport: &str| {
        runs.number(&format!("stream.mtu{mtu}"), &keys::gbps(transport)).unwrap_or(0.0)
    };
    let all = MTUS.iter().flat_map(|mtu| TRANSPORTS.map(|transport| value(*mtu, transport)));
    let top = all.fold(0.0, f64::max);
    if top <= 0.0 {
        return Ok(());
    }
    let sheet = canvas::sheet(path)?;
    let mut chart = canvas::bars(&sheet, "Goodput of one stream", MTUS.len(), top, "Gbit/s")?;
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
        chart
            .draw_series(bars)?
            .label(title(transport))
            .legend(move |at| canvas::swatch(at, colour));
    }
    // As an axis of numbers knows no names, they are above the bars.
    let names = MTUS.into_iter().enumerate().map(|(group, mtu)| {
        let tallest =
            TRANSPORTS.map(|transport| value(mtu, transport)).into_iter().fold(0.0, f64::max);
        let at = (group as f64 + 0.35, tallest + top * 0.05);
        canvas::name(at, format!("MTU {mtu}"))
    });
    chart.draw_series(names)?;
    canvas::legend(&mut chart)?;
    Ok(sheet.present()?)
}
