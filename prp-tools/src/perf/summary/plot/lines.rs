//! A line for each transport, on logarithmic axes.

use std::ops::Range;
use std::path::Path;

use plotters::prelude::*;

use super::canvas::{self, CAPTION, MARGIN, X_LABELS, Y_LABELS};
use super::{PlotResult, colour, title};

/// How the horizontal axis and the lines are drawn; the vertical axis is of microseconds.
pub(super) struct Lines<'a> {
    pub(super) caption: &'a str,
    pub(super) margin_right: u32,
    pub(super) x: Range<f64>,
    pub(super) x_unit: &'a str,
    /// The text of a place on the axis, if not its number.
    pub(super) x_label: Option<fn(&f64) -> String>,
    pub(super) point_size: u32,
}

impl Lines<'_> {
    /// Draws the points of each transport.
    pub(super) fn draw(self, path: &Path, points: impl Fn(&str) -> Vec<(f64, f64)>) -> PlotResult {
        let lines = ["prp", "tcp", "raw"].map(|transport| (transport, points(transport)));
        let all = || lines.iter().flat_map(|(_, points)| points);
        let top = all().map(|p| p.1).fold(0.0, f64::max);
        let bottom = all().map(|p| p.1).fold(f64::MAX, f64::min);
        if top <= 0.0 {
            return Ok(());
        }
        let sheet = canvas::sheet(path)?;
        let mut chart = ChartBuilder::on(&sheet)
            .caption(self.caption, CAPTION)
            .margin(MARGIN)
            .margin_right(self.margin_right)
            .x_label_area_size(X_LABELS)
            .y_label_area_size(Y_LABELS)
            .build_cartesian_2d(self.x.log_scale(), (bottom * 0.8..top * 1.2).log_scale())?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(self.x_unit).y_desc("microseconds");
        if let Some(label) = &self.x_label {
            mesh.x_label_formatter(label);
        }
        mesh.draw()?;
        for (transport, points) in lines.into_iter().filter(|(_, points)| !points.is_empty()) {
            let style = colour(transport).stroke_width(2);
            let line = LineSeries::new(points, style).point_size(self.point_size);
            let legend = move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style);
            chart.draw_series(line)?.label(title(transport)).legend(legend);
        }
        canvas::legend(&mut chart)?;
        Ok(sheet.present()?)
    }
}
