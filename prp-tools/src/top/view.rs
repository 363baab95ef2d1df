//! What the screen shows of a sample: totals, and a table of connections.

mod columns;
mod numbers;

use clap::ValueEnum;
use prp_node::counted;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Cell, Row, Table, Widget};

use super::rates::{ConnectionRow, Sample};
use crate::hosts::names::Names;
use crate::print::printable;
pub(super) use columns::WIDEST;
use columns::{COLUMNS, Column};
use numbers::{percent, rtt, short, time};

/// What the user wants to see of it.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) sort: Sort,
    /// The connection in the first row of the table.
    pub(super) first_row: usize,
    pub(super) names: Names,
}

/// What the first connections have most of.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum Sort {
    /// Bits a second, both directions together
    #[default]
    Rate,
    /// Round-trip time
    Rtt,
    /// Segments sent again
    Again,
    /// Bytes that wait, both directions together
    Queue,
    /// By process, as they are found
    Process,
}

/// The row of headings.
pub(super) const HEADING_ROWS: u16 = 1;

/// The row of keys.
const KEY_ROWS: u16 = 1;

impl Sort {
    /// The next one, and after the last the first.
    pub(super) fn next(self) -> Self {
        let all = Self::value_variants();
        let at = all.iter().position(|sort| *sort == self).unwrap_or(0);
        all[(at + 1) % all.len()]
    }

    /// Sorts; connections that are equal in it stay in the order of their processes.
    pub(super) fn apply(self, rows: &mut [ConnectionRow]) {
        let most = |row: &ConnectionRow| {
            let sum = |a: Option<f64>, b: Option<f64>| a.unwrap_or(0.0) + b.unwrap_or(0.0);
            match self {
                Self::Rate => sum(row.send_bits_per_second, row.receive_bits_per_second),
                Self::Rtt => row.connection.rtt_seconds.unwrap_or(0.0),
                Self::Again => row.retransmitted_per_second.unwrap_or(0.0),
                Self::Queue => (row.connection.receive_queue + row.connection.send_queue) as f64,
                Self::Process => 0.0,
            }
        };
        rows.sort_by_key(|row| {
            let c = &row.connection;
            (row.pid, c.local_node, c.local_port, c.peer_node, c.peer_port)
        });
        rows.sort_by(|a, b| most(b).total_cmp(&most(a)));
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

impl View {
    /// Draws all of the screen. Returns how many connections there is room for.
    pub(super) fn draw(&self, sample: &Sample, area: Rect, buffer: &mut Buffer) -> usize {
        let parts = Layout::vertical([Constraint::Fill(1), Constraint::Length(KEY_ROWS)]);
        let [above, keys] = parts.areas(area);
        let mut totals = totals(sample, area.width);
        // On a small screen the first of them leave room for connections.
        totals.truncate(usize::from(area.height / 2));
        self.draw_without_keys(sample, &totals, above, buffer);
        let room = usize::from(above.height.saturating_sub(HEADING_ROWS));
        let room = room.saturating_sub(totals.len());
        let shown = room.min(sample.connections.len());
        let text = format!(
            "q quit  s sort: {}  \u{2191}\u{2193} scroll: {}-{} of {}",
            self.sort.name(),
            self.first_row + usize::from(shown > 0),
            (self.first_row + shown).min(sample.connections.len()),
            sample.connections.len()
        );
        Line::styled(text, Style::new().dim()).render(keys, buffer);
        room
    }

    /// Draws what a file has, too: these `totals`, and the connections.
    pub(super) fn draw_without_keys(
        &self,
        sample: &Sample,
        totals: &[String],
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let rows = Constraint::Length(totals.len() as u16);
        let [above, table] = Layout::vertical([rows, Constraint::Fill(1)]).areas(area);
        for (row, text) in above.rows().zip(totals) {
            Line::raw(text).render(row, buffer);
        }
        self.table(sample, table.width).render(table, buffer);
    }

    fn table(&self, sample: &Sample, width: u16) -> Table<'static> {
        let columns: Vec<&Column> = COLUMNS.iter().filter(|c| width >= c.least_width).collect();
        let cell = |column: &Column, text: String| {
            let line = Line::raw(text);
            Cell::from(if column.is_number { line.right_aligned() } else { line })
        };
        let head = columns.iter().map(|column| cell(column, column.name.to_owned()));
        let head = Row::new(head.collect::<Vec<_>>()).style(Style::new().reversed());
        let rows = sample.connections.iter().skip(self.first_row).map(|row| {
            let cells = columns
                .iter()
                .map(|column| cell(column, printable(&(column.of)(row, &self.names))));
            Row::new(cells.collect::<Vec<_>>())
        });
        let widths = columns.iter().map(|column| match column.width {
            // The last one takes what is left.
            0 => Constraint::Fill(1),
            width => Constraint::Length(width),
        });
        let widths: Vec<_> = widths.collect();
        Table::new(rows.collect::<Vec<_>>(), widths).header(head)
    }
}

/// Returns totals, a line of text for each row of a screen of `width` columns. A line that would be
/// cut is continued in the next row.
pub(super) fn totals(sample: &Sample, width: u16) -> Vec<String> {
    let mut rows = Vec::new();
    for line in total_lines(sample) {
        if line.chars().count() <= usize::from(width) {
            rows.push(line);
        } else {
            let parts = line.split_inclusive("; ");
            parts.for_each(|part| wrap(part, usize::from(width), &mut rows));
        }
    }
    rows
}

/// Adds the words of `text` to `rows`, as many to a row as `width` columns have room for.
fn wrap(text: &str, width: usize, rows: &mut Vec<String>) {
    let mut row = String::new();
    for word in text.split_whitespace() {
        if !row.is_empty() && row.chars().count() + 1 + word.chars().count() > width {
            rows.push(std::mem::take(&mut row));
        }
        if !row.is_empty() {
            row.push(' ');
        }
        row.push_str(word);
    }
    rows.push(row);
}

/// Totals, by what they are of.
fn total_lines(sample: &Sample) -> [String; 4] {
    let totals = &sample.totals;
    let states = totals.states.iter().map(|(state, n)| format!("{state} {n}"));
    let states = states.collect::<Vec<_>>().join(", ");
    let count = sample.connections.len();
    let colon = if count == 0 { "" } else { ": " };
    let mut first = format!(
        "prp top {}  {} of {}{colon}{states}",
        time(sample.time),
        counted(count, "connection"),
        counted(sample.processes, "process"),
    );
    match (sample.stale_processes, sample.hidden_processes) {
        (0, 0) => {}
        (0, hidden) => first.push_str(&format!("; {hidden} hidden")),
        (stale, _) => first.push_str(&format!("; {stale} silent")),
    }
    let rates = format!(
        "bit/s: {} sent, {} received; frames/s: {} sent, {} received",
        short(totals.send_bits_per_second),
        short(totals.receive_bits_per_second),
        short(totals.frames_sent_per_second),
        short(totals.frames_received_per_second),
    );
    let connections = format!(
        "RTT ms: {} min, {} median, {} max; connections/s: {} new, {} reset",
        rtt(totals.min_rtt_seconds),
        rtt(totals.median_rtt_seconds),
        rtt(totals.max_rtt_seconds),
        short(totals.new_connections_per_second),
        short(totals.resets_per_second),
    );
    let drops = totals.drops_per_second.iter();
    let drops: Vec<_> = drops.map(|(why, n)| format!("{} {why}", short(Some(*n)))).collect();
    let drops = match (sample.seconds, drops.is_empty()) {
        (None, _) => "-".to_owned(),
        (Some(_), true) => "none".to_owned(),
        (Some(_), false) => drops.join(", "),
    };
    let losses =
        format!("segments sent again: {}; drops/s: {drops}", percent(totals.retransmitted_percent));
    [first, rates, connections, losses].map(|line| printable(&line))
}

#[cfg(test)]
mod tests;
