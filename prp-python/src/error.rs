//! Errors: `OSError` with errno, whose subclass Python chooses by it.

use std::io;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Numbers of errors that no call of the system has returned.
const EBADF: i32 = 9;
const ENODATA: i32 = 61;
const EMSGSIZE: i32 = 90;
const ETIMEDOUT: i32 = 110;

/// `error` for Python.
pub(crate) fn raised(error: &io::Error) -> PyErr {
    let number = prp_sock::error_number(error);
    let text = error.to_string();
    // The system's own words have the number at their end.
    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((number, text))
}

/// Use of a stream or listener that was closed.
pub(crate) fn closed(what: &str) -> PyErr {
    PyOSError::new_err((EBADF, format!("this {what} was closed")))
}

/// The time that `settimeout` allows is over.
pub(crate) fn timed_out() -> PyErr {
    PyOSError::new_err((ETIMEDOUT, "timed out"))
}

/// A message is longer than `limit`.
pub(crate) fn too_long(limit: usize) -> PyErr {
    PyOSError::new_err((EMSGSIZE, format!("a message of more than {limit} bytes (max_message)")))
}

/// The stream has ended, and a message has not.
pub(crate) fn cut_short() -> PyErr {
    PyOSError::new_err((ENODATA, "the stream ended within a message"))
}
