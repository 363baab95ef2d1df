//! Handles of streams, which are let go without Python's lock.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::ops::Deref;
use std::time::{Duration, Instant};

use prp_sock::PrpStream;
use pyo3::prelude::*;

use crate::error::raised;

/// A handle of a stream, in a thread that has Python's lock. The last one closes the stream, and
/// may wait for the linger time: other Python threads run meanwhile, also where it is the garbage
/// collector that drops it.
pub(crate) struct Handle(Option<PrpStream>);

impl Handle {
    pub(crate) fn new(stream: PrpStream) -> Self {
        Self(Some(stream))
    }

    /// Lets the stream go in a thread that has released Python's lock. The handle is of no use any
    /// more.
    pub(crate) fn let_go(&mut self) {
        self.0 = None;
    }

    /// Closes the stream. A signal interrupts the wait for the linger time, which goes on unless a
    /// handler raises; what was sent is then delivered in the background.
    pub(crate) fn close(self, py: Python<'_>) -> PyResult<()> {
        let linger = self.linger().map_err(|e| raised(&e))?;
        let Some(span) = linger.filter(|span| !span.is_zero()) else { return Ok(()) };
        let result = self.wait_for_peer(py, span);
        // Dropping it would wait once more.
        self.set_linger(None).map_err(|e| raised(&e))?;
        result
    }

    /// Waits until the peer has everything, or there is no hope of that, for at most `span`.
    fn wait_for_peer(&self, py: Python<'_>, span: Duration) -> PyResult<()> {
        let deadline = Instant::now().checked_add(span);
        let is_over = self.set_nonblocking(true).is_err()
            // Data unread make its end a reset.
            || matches!(self.peek(&mut [0]), Ok(1..))
            || self.shutdown(Shutdown::Write).is_err();
        if is_over {
            return Ok(());
        }
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if self.set_write_timeout(left).is_err() {
                // No time is left.
                return Ok(());
            }
            match py.detach(|| self.wait_delivered()) {
                Err(e) if e.kind() == ErrorKind::Interrupted => py.check_signals()?,
                _ => return Ok(()),
            }
        }
    }
}

impl Deref for Handle {
    type Target = PrpStream;

    fn deref(&self) -> &PrpStream {
        self.0.as_ref().expect("a handle is not used after let_go")
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(stream) = self.0.take() {
            // Where there is no interpreter any more, there is no lock: the closure drops it then.
            let _ = Python::try_attach(|py| py.detach(|| drop(stream)));
        }
    }
}
