//! Graphs as TOML (`docs/models.md` has the schema), and what is wrong with a file, where, and how
//! to fix it.

mod check;
mod schema;

use std::fmt;

use super::definition::Graph;
use check::Checker;
use schema::File;

/// A mistake in a graph file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GraphError {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// How to fix it.
    pub fix: String,
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; {}", self.line, self.what, self.fix)
    }
}

impl std::error::Error for GraphError {}

impl Graph {
    /// Reads a graph.
    ///
    /// # Errors
    ///
    /// Where the text is no graph: the first mistake, with its line and its fix.
    ///
    /// ```
    /// use prp_model::graph::Graph;
    ///
    /// let graph = Graph::parse(
    ///     r#"
    ///     [[block]]
    ///     name = "W"
    ///     a = 859.52e-6
    ///     b = 1.42e-6
    ///
    ///     [[message]]
    ///     name = "m"
    ///     from = "1"
    ///     to = "2"
    ///     via = ["W"]
    ///     "#,
    /// )
    /// .expect("a graph");
    /// assert_eq!(graph.processes(), ["1", "2"]);
    /// let wrong = Graph::parse("[[block]]\nname = 'W'\na = -1\nb = 0").expect_err("a negative time");
    /// assert_eq!(wrong.line, 3);
    /// ```
    pub fn parse(text: &str) -> Result<Self, GraphError> {
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let what = error.message().lines().next().unwrap_or("no TOML").to_owned();
            GraphError { line: line_of(text, at), what, fix: "see docs/models.md, graphs".into() }
        })?;
        Checker { text }.graph(&file)
    }
}

/// The line, from 1 on, of a place in a text.
fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests;
