//! Graphs and their timelines as SVG.

mod svg;

use super::definition::{Graph, Path};
use super::schedule::Timeline;
use crate::unit::with_prefix;
use svg::Svg;

/// Pixels of a column and of a row of a graph: a block's name, its two times and space around them.
const COLUMN: f64 = 190.0;
const ROW: f64 = 64.0;

/// A block's box and a process's circle.
const BOX: (f64, f64) = (130.0, 44.0);
const RADIUS: f64 = 18.0;

/// Space around the drawing, in pixels.
const MARGIN: f64 = 30.0;

/// A vertex of a drawing.
#[derive(Clone, Debug)]
struct Vertex {
    column: usize,
    row: usize,
    kind: VertexKind,
}

/// The numbers of two vertices, and the messages from the first to the second.
type Edge = (usize, usize, Vec<String>);

#[derive(Clone, Debug, PartialEq)]
enum VertexKind {
    Source(String),
    Block(usize),
    Destination(String),
}

impl Graph {
    /// The graph as the paper draws it: processes are circles, senders on the left and receivers on
    /// the right, and blocks are boxes with their parameters, in the order in which messages pass
    /// them. A block that some messages pass earlier than others, such as a processor that sends
    /// and receives, is drawn once for each, so that every arrow goes to the right.
    #[must_use]
    pub fn svg(&self) -> String {
        let (vertices, edges) = self.vertices();
        let columns = vertices.iter().map(|vertex| vertex.column).max().unwrap_or(0) + 1;
        let rows = vertices.iter().map(|vertex| vertex.row).max().unwrap_or(0) + 1;
        let mut svg =
            Svg::new(columns as f64 * COLUMN + 2.0 * MARGIN, rows as f64 * ROW + 2.0 * MARGIN);
        let height = |column: usize| vertices.iter().filter(|p| p.column == column).count() as f64;
        let centre = |vertex: &Vertex| {
            let offset = (rows as f64 - height(vertex.column)) / 2.0;
            let x = MARGIN + (vertex.column as f64 + 0.5) * COLUMN;
            (x, MARGIN + (vertex.row as f64 + offset + 0.5) * ROW)
        };
        for (from, to, labels) in &edges {
            let ((x1, y1), (x2, y2)) = (centre(&vertices[*from]), centre(&vertices[*to]));
            let half = |vertex: &Vertex| match vertex.kind {
                VertexKind::Block(_) => BOX.0 / 2.0,
                VertexKind::Source(_) | VertexKind::Destination(_) => RADIUS,
            };
            let (x1, x2) = (x1 + half(&vertices[*from]), x2 - half(&vertices[*to]));
            svg.arrow((x1, y1), (x2, y2));
            let (x, y) = (f64::midpoint(x1, x2), f64::midpoint(y1, y2) - 4.0);
            svg.text((x, y), 10.0, &shorten(labels));
        }
        for vertex in &vertices {
            let (x, y) = centre(vertex);
            match &vertex.kind {
                VertexKind::Block(at) => {
                    let node = &self.blocks[*at];
                    svg.rectangle((x - BOX.0 / 2.0, y - BOX.1 / 2.0), BOX, "#eef4fa");
                    svg.text((x, y - 4.0), 13.0, &node.name);
                    let fixed = with_prefix(node.block.fixed.number(), "s");
                    let byte = with_prefix(node.block.byte.number(), "s/B");
                    svg.text((x, y + 14.0), 10.0, &format!("a {fixed}, b {byte}"));
                }
                VertexKind::Source(name) | VertexKind::Destination(name) => {
                    svg.circle((x, y), RADIUS);
                    svg.text((x, y + 4.0), 12.0, name);
                }
            }
        }
        svg.finish("communication graph")
    }

    /// Where everything is, and which messages go from where to where.
    fn vertices(&self) -> (Vec<Vertex>, Vec<Edge>) {
        let ends = self.messages.iter().map(|message| length(&message.via));
        let last = 1 + ends.max().unwrap_or(0);
        let mut vertices: Vec<Vertex> = Vec::new();
        let mut edges: Vec<Edge> = Vec::new();
        let mut find = |column: usize, kind: VertexKind| {
            let is_it = |vertex: &Vertex| vertex.column == column && vertex.kind == kind;
            if let Some(at) = vertices.iter().position(is_it) {
                return at;
            }
            let row = vertices.iter().filter(|vertex| vertex.column == column).count();
            vertices.push(Vertex { column, row, kind });
            vertices.len() - 1
        };
        for message in &self.messages {
            let from = find(0, VertexKind::Source(message.from.clone()));
            let mut links = Vec::new();
            let ends = walk(&message.via, 1, &[from], &mut find, &mut links);
            let to = find(last, VertexKind::Destination(message.to.clone()));
            links.extend(ends.into_iter().map(|end| (end, to)));
            for (from, to) in links {
                match edges.iter_mut().find(|edge| (edge.0, edge.1) == (from, to)) {
                    Some((_, _, names)) => names.push(message.name.clone()),
                    None => edges.push((from, to, vec![message.name.clone()])),
                }
            }
        }
        (vertices, edges)
    }
}

/// Columns that a path takes.
fn length(path: &Path) -> usize {
    match path {
        Path::Block(_) => 1,
        Path::Serial(parts) => parts.iter().map(length).sum(),
        Path::Parallel(parts) => parts.iter().map(length).max().unwrap_or(0),
    }
}

/// Follows a path from some vertices, its first block in `column`; where it ends.
fn walk(
    path: &Path,
    column: usize,
    from: &[usize],
    find: &mut impl FnMut(usize, VertexKind) -> usize,
    links: &mut Vec<(usize, usize)>,
) -> Vec<usize> {
    match path {
        Path::Block(at) => {
            let vertex = find(column, VertexKind::Block(*at));
            links.extend(from.iter().map(|from| (*from, vertex)));
            vec![vertex]
        }
        Path::Serial(parts) => {
            let (mut column, mut ends) = (column, from.to_vec());
            for part in parts {
                ends = walk(part, column, &ends, find, links);
                column += length(part);
            }
            ends
        }
        Path::Parallel(parts) => {
            parts.iter().flat_map(|part| walk(part, column, from, find, links)).collect()
        }
    }
}

/// A list of names that fits over an arrow.
fn shorten(names: &[String]) -> String {
    /// Names that fit.
    const MAX_NAMES: usize = 4;
    match names {
        few if few.len() <= MAX_NAMES => few.join(", "),
        many => format!("{} messages", many.len()),
    }
}

impl Timeline {
    /// The schedule of each process, as figures 10 and 13 draw it: sends are empty bars, receives
    /// are filled.
    #[must_use]
    pub fn svg(&self) -> String {
        /// The width of the whole time.
        const WIDTH: f64 = 900.0;
        /// Of names before it.
        const NAMES: f64 = 60.0;
        /// A process's line.
        const LINE: f64 = 26.0;
        let mut processes: Vec<&str> = Vec::new();
        for bar in &self.bars {
            if !processes.contains(&bar.process.as_str()) {
                processes.push(&bar.process);
            }
        }
        // Processes are numbered, mostly.
        processes.sort_by_key(|name| (name.parse().unwrap_or(u32::MAX), name.to_owned()));
        let height = processes.len() as f64 * LINE;
        let end = self.end().max(f64::MIN_POSITIVE);
        let x = |time: f64| MARGIN + NAMES + time / end * WIDTH;
        let mut svg = Svg::new(WIDTH + NAMES + 2.0 * MARGIN, height + 3.0 * MARGIN);
        for (row, process) in processes.iter().enumerate() {
            let y = MARGIN + row as f64 * LINE;
            svg.text((MARGIN + NAMES / 2.0, y + 17.0), 12.0, process);
            for bar in self.bars.iter().filter(|bar| bar.process == *process) {
                let fill = if bar.is_receive { "#9db8d2" } else { "#ffffff" };
                svg.rectangle((x(bar.from), y + 4.0), (x(bar.to) - x(bar.from), LINE - 8.0), fill);
                let middle = x(f64::midpoint(bar.from, bar.to));
                svg.text((middle, y + 17.0), 9.0, &bar.message);
            }
        }
        let (bottom, label) = (MARGIN + height + 6.0, format!("{} in all", with_prefix(end, "s")));
        svg.arrow((x(0.0), bottom), (x(end), bottom));
        svg.text((x(end / 2.0), bottom + 18.0), 11.0, &format!("time: {label}; filled: receives"));
        svg.finish("small messages: who sends and receives when")
    }
}

#[cfg(test)]
mod tests;
