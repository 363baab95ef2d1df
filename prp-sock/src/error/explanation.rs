//! An error of the operating system's that says more than the system does.

use std::error::Error;
use std::fmt;
use std::io;

/// A sentence, and the system's error behind it.
struct ExplainedError {
    text: String,
    os: io::Error,
}

/// The system's error `code`, said as `text`; its own words are the source.
pub(super) fn explained(code: i32, text: String) -> io::Error {
    let os = io::Error::from_raw_os_error(code);
    io::Error::new(os.kind(), ExplainedError { text, os })
}

impl fmt::Display for ExplainedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ExplainedError {
    /// The sentence: that is what a `main` that returns an `io::Result` shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Error for ExplainedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.os)
    }
}
