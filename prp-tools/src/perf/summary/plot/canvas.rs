//! What the plots share: the sheet, axes for bars, the legend.

use std::path::Path;

use plotters::coord::types::RangedCoordf64;
use plotters::coord::{CoordTranslate, Shift};
use plotters::prelude::*;

use super::PlotResult;

/// Width and height, in pixels of a screen.
const SIZE: (u32, u32) = (800, 500);

/// Of the tallest bar, what there is room for: its name and the legend are above it.
const HEADROOM: f64 = 1.4;

pub(super) const CAPTION: (&str, u32) = ("sans-serif", 18);
pub(super) const MARGIN: u32 = 12;
/// What the labels of an axis take.
pub(super) const X_LABELS: u32 = 40;
pub(super) const Y_LABELS: u32 = 60;

pub(super) type Sheet<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, C> = ChartContext<'a, SVGBackend<'a>, C>;

/// A chart of bars.
type Bars<'a> = Chart<'a, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// An empty sheet, to be written to `path` when it is presented.
pub(super) fn sheet(path: &Path) -> PlotResult<Sheet<'_>> {
    let sheet = SVGBackend::new(path, SIZE).into_drawing_area();
    sheet.fill(&WHITE)?;
    Ok(sheet)
}

/// Axes for bars up to `top`, in `groups` groups each 1.0 wide.
pub(super) fn bars<'a>(
    sheet: &Sheet<'a>,
    caption: &str,
    groups: usize,
    top: f64,
    unit: &str,
) -> PlotResult<Bars<'a>> {
    let mut chart = ChartBuilder::on(sheet)
        .caption(caption, CAPTION)
        .margin(MARGIN)
        .x_label_area_size(X_LABELS)
        .y_label_area_size(Y_LABELS)
        .build_cartesian_2d(0.0..groups as f64, 0.0..top * HEADROOM)?;
    chart.configure_mesh().disable_x_mesh().disable_y_mesh().x_labels(0).y_desc(unit).draw()?;
    Ok(chart)
}

/// The mark of bars of a colour in the legend.
pub(super) fn swatch(at: (i32, i32), colour: RGBColor) -> Rectangle<(i32, i32)> {
    let (x, y) = at;
    Rectangle::new([(x, y - 5), (x + 15, y + 5)], colour.filled())
}

/// A name at a group of bars.
pub(super) fn name<'a, T: std::borrow::Borrow<str> + 'a>(
    at: (f64, f64),
    name: T,
) -> Text<'a, (f64, f64), T> {
    Text::new(name, at, ("sans-serif", 14))
}

/// Draws the legend, the last thing of a chart.
pub(super) fn legend<'a, C: CoordTranslate>(chart: &mut Chart<'a, C>) -> PlotResult<()> {
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(BLACK.mix(0.3))
        .background_style(WHITE)
        .draw()?;
    Ok(())
}
