//! Errors with cause, fix and place in fields of their own.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::printable::printable_path;

/// What is wrong, where, and what to do about it. Prints as `FILE:LINE:COLUMN: cause; fix`, with
/// what it has of these.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Explanation {
    /// The file that it is about.
    pub file: Option<PathBuf>,
    /// The line of that, from 1.
    pub line: Option<u32>,
    /// The column of that, from 1.
    pub column: Option<u32>,
    /// What there is.
    pub cause: String,
    /// What to do about it, unless the cause says what is expected.
    pub fix: Option<String>,
}

impl Explanation {
    /// The error that has only this.
    pub fn into_error(self, kind: io::ErrorKind) -> io::Error {
        io::Error::new(kind, ExplainedError(vec![self]))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, cause, fix } = self;
        if let Some(file) = file {
            f.write_str(&printable_path(file))?;
            line.iter().chain(column).try_for_each(|number| write!(f, ":{number}"))?;
            f.write_str(": ")?;
        }
        f.write_str(cause)?;
        fix.iter().try_for_each(|fix| write!(f, "; {fix}"))
    }
}

/// What an [`io::Error`] has within it where it says what to do. Prints as a line for each
/// explanation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ExplainedError(pub(crate) Vec<Explanation>);

impl ExplainedError {
    /// The explanations within `error`; none if it has only a text.
    pub fn within(error: &io::Error) -> &[Explanation] {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>());
        inner.map_or(&[], |explained| &explained.0)
    }
}

impl fmt::Display for ExplainedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, explanation) in self.0.iter().enumerate() {
            write!(f, "{}{explanation}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl Error for ExplainedError {}

#[cfg(test)]
mod tests;
