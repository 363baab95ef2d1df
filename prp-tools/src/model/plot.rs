//! Plots, as SVG: axes with their units, measurements as points, curves with their intervals as
//! bands.

use std::path::Path;

use plotters::prelude::*;
use prp_model::fit::{Fit, Setting, TimeKind};
use prp_model::unit::Bytes;
use prp_node::printable_path;

use crate::exit::{Code, Failure};

/// Width and height, in pixels of a screen; the residuals have the lower third.
const SIZE: (u32, u32) = (860, 720);
const UPPER: u32 = 470;

/// Points of a curve: no two are further apart than a line is wide.
const STEPS: u32 = 160;

const BLUE: RGBColor = RGBColor(0x1b, 0x6c, 0xa8);
const RED: RGBColor = RGBColor(0xd1, 0x49, 0x5b);
const CAPTION: (&str, u32) = ("sans-serif", 18);

/// Where messages without bytes are on an axis of logarithms.
const NO_BYTES: f64 = 0.5;

/// Points of a line.
type Points = Vec<(f64, f64)>;

/// What the axis of sizes is.
const SIZES: &str = "bytes in a message (none: at 0.5)";

/// Whatever plotters may say.
type PlotResult = Result<(), Box<dyn std::error::Error>>;

/// Draws a fit: measurements and curve, and below them the residuals.
pub(super) fn fit(fit: &Fit, path: &Path) -> Result<(), Failure> {
    draw(fit, path).map_err(|e| failed(path, &*e))
}

fn failed(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::new(Code::Failed, format!("{}: {error}", printable_path(path)))
}

fn draw(fit: &Fit, path: &Path) -> PlotResult {
    let sheet = SVGBackend::new(path, SIZE).into_drawing_area();
    sheet.fill(&WHITE)?;
    let (upper, lower) = sheet.split_vertically(UPPER);
    let residuals: Vec<(Setting, f64)> = fit.residuals().collect();
    let place = |size: f64| size.max(NO_BYTES);
    let (from, to) = fit.sizes();
    let x = place(from) * 0.8..place(to) * 1.25;
    let micros = |(at, residual): &(Setting, f64)| {
        (place(at.size.number()), fit.predict(at).0.micros() * (1.0 + residual))
    };
    let points: Points = residuals.iter().map(micros).collect();
    let low = points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|p| p.1).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(&upper)
        .caption(format!("{}: {}", fit.model.name(), fit.formula()), CAPTION)
        .margin(12)
        .margin_right(30)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(x.clone().log_scale(), (low * 0.8..high * 1.25).log_scale())?;
    chart.configure_mesh().x_desc(SIZES).y_desc("microseconds one way").draw()?;
    let settings = settings(&residuals);
    let (mut lines, mut bands) = (Vec::new(), Vec::new());
    for setting in &settings {
        let (line, band) = curve(fit, setting, &x);
        lines.push(line);
        bands.push(Polygon::new(band, BLUE.mix(0.25)));
    }
    chart
        .draw_series(bands)?
        .label("95 % interval of the curve")
        .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 15, y + 5)], BLUE.mix(0.25).filled()));
    let name = if settings.len() == 1 {
        "model".to_owned()
    } else {
        format!("model: {}", names(&settings))
    };
    for (at, line) in lines.into_iter().enumerate() {
        let drawn = chart.draw_series(LineSeries::new(line, BLUE.stroke_width(2)))?;
        if at == 0 {
            drawn
                .label(name.clone())
                .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLUE.stroke_width(2)));
        }
    }
    chart
        .draw_series(points.into_iter().map(|point| Circle::new(point, 2, RED.filled())))?
        .label("measured")
        .legend(|(x, y)| Circle::new((x + 8, y), 3, RED.filled()));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(BLACK.mix(0.3))
        .background_style(WHITE)
        .draw()?;
    let parts = residuals.iter().map(|(at, r)| (place(at.size.number()), r * 100.0));
    let parts: Points = parts.collect();
    let most = parts.iter().map(|p| p.1.abs()).fold(1.0, f64::max) * 1.1;
    let mut chart = ChartBuilder::on(&lower)
        .margin(12)
        .margin_right(30)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(x.clone().log_scale(), -most..most)?;
    chart.configure_mesh().x_desc(SIZES).y_desc("residual, % of the model").draw()?;
    let zero = [(x.start, 0.0), (x.end, 0.0)];
    chart.draw_series(LineSeries::new(zero, BLUE.stroke_width(1)))?;
    chart.draw_series(parts.into_iter().map(|point| Circle::new(point, 2, RED.filled())))?;
    Ok(sheet.present()?)
}

/// The settings measured, but for sizes: each is a curve of its own.
fn settings(residuals: &[(Setting, f64)]) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Vec::new();
    for (at, _) in residuals {
        let setting = Setting { size: Bytes::new(0.0), ..*at };
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    settings
}

/// How those differ.
fn names(settings: &[Setting]) -> String {
    let range = |name: &str, of: &dyn Fn(&Setting) -> f64| {
        let (low, high) = settings
            .iter()
            .map(of)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        (low < high).then(|| format!("{low} to {high} {name}"))
    };
    let sends = settings.iter().any(|setting| setting.kind == TimeKind::Send)
        && settings[0].kind != TimeKind::Send;
    let all = [
        range("routers", &|setting| setting.hops.number()),
        range("messages in a row", &|setting| f64::from(setting.messages)),
        range("pairs", &|setting| f64::from(setting.pairs)),
        sends.then(|| "calls to send".to_owned()),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The curve, and the outline of its interval.
fn curve(fit: &Fit, setting: &Setting, x: &std::ops::Range<f64>) -> (Points, Points) {
    let at = |step: u32| {
        let part = f64::from(step) / f64::from(STEPS);
        x.start * (x.end / x.start).powf(part)
    };
    let (mut line, mut upper, mut lower) = (Vec::new(), Vec::new(), Vec::new());
    for size in (0..=STEPS).map(at) {
        let of = if size <= NO_BYTES { 0.0 } else { size };
        let (time, interval) = fit.predict(&Setting { size: Bytes::new(of), ..*setting });
        let (low, high) =
            interval.map_or_else(|| (time.number(), time.number()), |i| (i.low, i.high));
        line.push((size, time.micros()));
        upper.push((size, high * 1e6));
        // An axis of logarithms has no place for 0.
        lower.push((size, (low * 1e6).max(time.micros() * 1e-3)));
    }
    lower.reverse();
    (line, [upper, lower].concat())
}

/// A line of a plot: its name and points.
pub(super) type PlotLine = (&'static str, Points);

/// Draws speed-ups by numbers of processors, and below them the gain.
pub(super) fn gains(
    path: &Path,
    speedups: &[PlotLine],
    gain: &[(f64, f64)],
) -> Result<(), Failure> {
    draw_gains(path, speedups, gain).map_err(|e| failed(path, &*e))
}

fn draw_gains(path: &Path, speedups: &[PlotLine], gain: &[(f64, f64)]) -> PlotResult {
    let sheet = SVGBackend::new(path, SIZE).into_drawing_area();
    sheet.fill(&WHITE)?;
    let (upper, lower) = sheet.split_vertically(UPPER);
    let last = gain.last().map_or(1.0, |point| point.0);
    let top = speedups.iter().flat_map(|(_, points)| points).map(|p| p.1).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(&upper)
        .caption("speed-up with and without latency hiding", CAPTION)
        .margin(12)
        .margin_right(30)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..last, 0.0..top * 1.1)?;
    chart.configure_mesh().x_desc("processors").y_desc("speed-up").draw()?;
    for ((name, points), colour) in speedups.iter().zip([RED, BLUE]) {
        let style = colour.stroke_width(2);
        chart
            .draw_series(LineSeries::new(points.clone(), style))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .border_style(BLACK.mix(0.3))
        .background_style(WHITE)
        .draw()?;
    let most = gain.iter().map(|p| p.1).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&lower)
        .margin(12)
        .margin_right(30)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..last, 0.0..most * 1.1)?;
    chart.configure_mesh().x_desc("processors").y_desc("gain").draw()?;
    chart.draw_series(LineSeries::new(gain.to_vec(), BLUE.stroke_width(2)))?;
    Ok(sheet.present()?)
}
