//! An error of the operating system's that says more than the system does.

use std::error::Error;
use std::fmt;
use std::io;

/// A sentence, and the system's error behind it.
struct WordedError {
    text: String,
    os: io::Error,
}

/// Returns the system's error `code`, said as `text`; its own words are the source.
pub fn worded(code: i32, text: String) -> io::Error {
    let os = io::Error::from_raw_os_error(code);
    io::Error::new(os.kind(), WordedError { text, os })
}

/// Returns `error`, said as `text`. Its number, if it is the system's, is that of the source.
pub fn reworded(error: &io::Error, text: String) -> io::Error {
    match error.raw_os_error() {
        Some(code) => worded(code, text),
        None => io::Error::new(error.kind(), text),
    }
}

impl fmt::Display for WordedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for WordedError {
    /// The sentence: that is what a `main` that returns an `io::Result` shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl Error for WordedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.os)
    }
}
