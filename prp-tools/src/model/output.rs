//! What a command prints: lines for people, or one JSON object.

use std::fs;
use std::path::Path;

use prp_node::printable_path;
use serde_json::Value;

use crate::exit::{Code, Failure};
use crate::print::{print_json, print_line};

/// Prints `json` where that is asked for, and the lines otherwise.
pub(super) fn publish(is_json: bool, json: &Value, lines: &[String]) -> Result<(), Failure> {
    if is_json { print_json(json, true) } else { print(&lines.join("\n")) }
}

/// Prints lines on standard output.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    print_line(text)
}

/// Writes a text to a file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|e| Failure::writing(path, &e))
}

/// A failure of a file with what is wrong in it.
pub(super) fn wrong(path: &Path, what: impl std::fmt::Display) -> Failure {
    Failure::new(Code::Failed, format!("{}: {what}", printable_path(path)))
}
