//! The screen as text, where there is none.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::rates::Sample;
use super::view::{HEADING_ROWS, View, WIDEST, totals};

/// Columns of a block: all that the widest screen has, and room for the process.
const WIDTH: u16 = WIDEST + 10;

/// What a screen that has room for all connections shows, without the line of keys.
pub(super) fn block(sample: &Sample, view: &View) -> String {
    let totals = totals(sample, WIDTH);
    let height = totals.len() + usize::from(HEADING_ROWS) + sample.connections.len();
    let area = Rect::new(0, 0, WIDTH, u16::try_from(height).unwrap_or(u16::MAX));
    let mut buffer = Buffer::empty(area);
    view.draw_without_keys(sample, &totals, area, &mut buffer);
    lines(&buffer).join("\n")
}

/// The lines of a buffer, without the spaces at their ends.
pub(super) fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    let row = |cells: &[ratatui::buffer::Cell]| {
        cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned()
    };
    buffer.content.chunks(width).map(row).collect()
}
