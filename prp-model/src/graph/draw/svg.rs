//! The few shapes of SVG that a graph is made of.

use std::fmt::Write;

/// A drawing that grows.
#[derive(Clone, Debug)]
pub(super) struct Svg {
    width: f64,
    height: f64,
    shapes: String,
}

const LINE: &str = r##"stroke="#33475b" fill="none""##;

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, shapes: String::new() }
    }

    fn push(&mut self, shape: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.shapes, "{shape}");
    }

    pub(super) fn rectangle(&mut self, (x, y): (f64, f64), (w, h): (f64, f64), fill: &str) {
        self.push(format_args!(
            r##"<rect x="{x:.1}" y="{y:.1}" width="{w:.1}" height="{h:.1}" fill="{fill}" stroke="#33475b"/>"##
        ));
    }

    pub(super) fn circle(&mut self, (x, y): (f64, f64), radius: f64) {
        self.push(format_args!(
            r##"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}" fill="#ffffff" stroke="#33475b"/>"##
        ));
    }

    pub(super) fn arrow(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.push(format_args!(
            r##"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" {LINE} marker-end="url(#tip)"/>"##
        ));
    }

    /// Text about a point.
    pub(super) fn text(&mut self, (x, y): (f64, f64), size: f64, text: &str) {
        let text = escaped(text);
        self.push(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{size:.0}" text-anchor="middle">{text}</text>"#
        ));
    }

    /// The whole file.
    pub(super) fn finish(self, title: &str) -> String {
        let Self { width, height, shapes } = self;
        let title = escaped(title);
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="sans-serif">
<title>{title}</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#33475b"/></marker></defs>
<rect width="100%" height="100%" fill="#ffffff"/>
{shapes}</svg>
"##
        )
    }
}

/// Text as XML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
