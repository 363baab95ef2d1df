//! Threads of launcher and agents. A limit may keep one from being made, which is no panic.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Runs `body` in a thread.
///
/// # Errors
/// No thread can be made: what it says names the limits.
pub(crate) fn start<T: Send + 'static>(
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().spawn(body).map_err(|e| {
        let text = format!("no thread can be made: {e} (ulimit -u, -v, -d; TasksMax= of systemd)");
        io::Error::new(e.kind(), text)
    })
}
