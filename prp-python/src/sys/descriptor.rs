//! Descriptors that Python names by number.

use std::os::fd::{BorrowedFd, RawFd};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Calls `f` with the descriptor `fd`.
pub(crate) fn borrowed<T>(fd: RawFd, f: impl FnOnce(BorrowedFd<'_>) -> PyResult<T>) -> PyResult<T> {
    if fd < 0 {
        return Err(PyValueError::new_err(format!("{fd}: no descriptor")));
    }
    // SAFETY: it is not -1. The number is only passed to `poll`, which says of one that was closed
    // meanwhile that it is closed.
    f(unsafe { BorrowedFd::borrow_raw(fd) })
}
