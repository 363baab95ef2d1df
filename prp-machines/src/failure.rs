//! Why something did not work, as one text.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;

/// What a step of a scene, or of the program itself, returns.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// The reason in words, of which the first line is shown in a table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Failure(String);

impl Failure {
    /// A failure for a reason.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Failure {}

/// Adds what was being done to an error.
pub(crate) trait Context<T> {
    /// The value, or a failure that begins with `what`.
    fn context(self, what: impl Display) -> Outcome<T>;
}

impl<T, E: Display> Context<T> for Result<T, E> {
    fn context(self, what: impl Display) -> Outcome<T> {
        self.map_err(|e| Failure(format!("{what}: {e}")))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}
