//! Listeners.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prp_sock::{Awaited, PrpListener, wait_any};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::{closed, raised, timed_out};
use crate::handle::Handle;
use crate::settings::{builder, max_message, seconds};
use crate::stream::{Stream, pair, waiting};

/// A port at which connections are accepted.
#[pyclass(frozen, weakref, module = "parmaprp")]
pub(crate) struct Listener {
    /// Nonblocking: waits are this module's.
    listener: Mutex<Option<PrpListener>>,
    timeout: Mutex<Option<Duration>>,
    max_message: usize,
}

impl Listener {
    pub(crate) fn listener(&self) -> PyResult<PrpListener> {
        let listener = self.listener.lock();
        let listener = listener.as_ref().ok_or_else(|| closed("listener"))?;
        listener.try_clone().map_err(|e| raised(&e))
    }
}

#[pymethods]
impl Listener {
    /// Listens at `address`: "self:80", or "self:0" for any free port.
    #[new]
    #[pyo3(signature = (address, **options))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = crate::settings::address)] address: String,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let max_message = max_message(options)?;
        let builder = builder(options)?;
        let listener = py.detach(|| {
            let listener = builder.bind(&*address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = Mutex::new(Some(listener.map_err(|e| raised(&e))?));
        Ok(Self { listener, timeout: Mutex::new(None), max_message })
    }

    /// Accepts a connection: the stream, and the peer's node and port.
    fn accept(&self, py: Python<'_>) -> PyResult<(Stream, (u16, u16))> {
        let listener = self.listener()?;
        let timeout = *self.timeout.lock();
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            match py.detach(|| listener.accept()) {
                Ok((stream, peer)) => {
                    return Ok((Stream::new(Handle::new(stream), self.max_message), pair(peer)));
                }
                Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(raised(&e)),
                Err(e) if timeout.is_some_and(|timeout| timeout.is_zero()) => {
                    return Err(raised(&e));
                }
                Err(_) => {}
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(timed_out());
            }
            let wait = || {
                let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
                wait_any(&mut [Awaited::accept(&listener)], None, left)
            };
            waiting(py, wait)?.map_err(|e| raised(&e))?;
        }
    }

    /// The address: node, port.
    fn getsockname(&self) -> PyResult<(u16, u16)> {
        self.listener()?.local_addr().map(pair).map_err(|e| raised(&e))
    }

    /// Longest wait of accept() in seconds; None for ever, 0 not at all.
    fn settimeout(&self, value: Option<f64>) -> PyResult<()> {
        *self.timeout.lock() = value.map(seconds).transpose()?;
        Ok(())
    }

    fn gettimeout(&self) -> Option<f64> {
        self.timeout.lock().map(|timeout| timeout.as_secs_f64())
    }

    #[getter]
    fn timeout(&self) -> Option<f64> {
        self.gettimeout()
    }

    /// Whether accept() waits.
    fn setblocking(&self, flag: bool) {
        *self.timeout.lock() = if flag { None } else { Some(Duration::ZERO) };
    }

    fn getblocking(&self) -> bool {
        self.timeout.lock().is_none_or(|timeout| !timeout.is_zero())
    }

    /// A descriptor that is readable when a connection can be accepted. -1 once it is closed.
    fn fileno(&self) -> PyResult<RawFd> {
        let listener = self.listener.lock();
        let Some(listener) = &*listener else { return Ok(-1) };
        Ok(listener.readiness().map_err(|e| raised(&e))?.as_raw_fd())
    }

    /// Closes the listener; connections that were accepted go on.
    fn close(&self, py: Python<'_>) {
        let listener = self.listener.lock().take();
        py.detach(|| drop(listener));
    }

    /// Whether close() was called.
    #[getter]
    fn closed(&self) -> bool {
        self.listener.lock().is_none()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// Streams, as they are accepted.
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Stream> {
        Ok(self.accept(py)?.0)
    }

    fn __repr__(&self) -> String {
        match self.listener().ok().and_then(|listener| listener.local_addr().ok()) {
            Some(addr) => format!("<parmaprp.Listener at {addr}>"),
            None => "<parmaprp.Listener closed>".to_owned(),
        }
    }
}
