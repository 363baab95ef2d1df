//! What a command prints: lines for people, or one JSON object.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use serde_json::Value;

use crate::exit::{Code, Failure};

/// Prints `json` where that is asked for, and the lines otherwise.
pub(super) fn publish(is_json: bool, json: &Value, lines: &[String]) -> Result<(), Failure> {
    if is_json { print(&format!("{json:#}")) } else { print(&lines.join("\n")) }
}

/// Prints lines on standard output; a closed one is no failure.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{text}") {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::local("standard output", &e)),
        _ => Ok(()),
    }
}

/// Writes a text to a file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|e| Failure::writing(path, &e))
}

/// A failure of a file with what is wrong in it.
pub(super) fn wrong(path: &Path, what: impl std::fmt::Display) -> Failure {
    Failure::new(Code::Failed, format!("{}: {what}", path.display()))
}
