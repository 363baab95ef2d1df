//! `parmaprp._native`: what the Python package `parmaprp` has of PRP's.
//!
//! A call that may wait lets other Python threads run meanwhile. One that a signal interrupts runs
//! Python's handlers, and goes on unless one of them raises (PEP 475), so Ctrl-C works.
#![deny(unsafe_op_in_unsafe_fn)]

mod error;
mod handle;
mod listener;
mod message;
mod nodes;
mod settings;
mod stream;
mod sys;
mod wait;

use pyo3::prelude::*;

/// The native part of parmaprp.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::listener::Listener;
    #[pymodule_export]
    use super::nodes::{hosts, openmetrics, resolve};
    #[pymodule_export]
    use super::settings::options;
    #[pymodule_export]
    use super::stream::{Stream, connect};
    #[pymodule_export]
    use super::wait::{WaitSet, select};
}
