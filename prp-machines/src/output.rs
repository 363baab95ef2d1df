//! What is printed. Nobody may read it, and nothing ends for that.

use std::fmt::Display;
use std::io::{Write, stderr, stdout};

/// Prints a line.
pub(crate) fn line(text: impl Display) {
    let _ = writeln!(stdout(), "{text}");
}

/// Prints text that has line breaks of its own.
pub(crate) fn text(text: impl Display) {
    let _ = write!(stdout(), "{text}");
}

/// Prints why something did not work, to standard error.
pub(crate) fn reason(text: impl Display) {
    let _ = writeln!(stderr(), "check-machines: {text}");
}
