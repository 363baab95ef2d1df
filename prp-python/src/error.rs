//! Errors: `OSError` with errno, whose subclass Python chooses by it.

use std::io;

use pyo3::exceptions::{PyOSError, PyTimeoutError};
use pyo3::prelude::*;

/// EBADF, and the number of a call that would wait.
const EBADF: i32 = 9;

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
    PyTimeoutError::new_err("timed out")
}
