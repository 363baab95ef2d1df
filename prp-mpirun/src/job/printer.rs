//! Standard output and standard error of the launcher. A thread of its own writes them: their
//! reader may be slow, and signals and ranks are handled meanwhile.

use std::io::{self, stderr, stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;
use parking_lot::{Condvar, Mutex};
use prp_node::printable;

use crate::sys::standard;
use crate::threads;

/// Bytes that may wait before ranks that write more have to wait, too.
const ROOM: usize = 1 << 20;

/// Writes bytes to one of the two, in order.
#[derive(Debug)]
pub(crate) struct Printer {
    pieces: Sender<(bool, Vec<u8>)>,
    queue: Arc<Queue>,
}

/// How much waits to be written.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    has_no_limit: bool,
    /// Why the output of ranks is not written any more.
    failed: Option<Errno>,
}

impl Printer {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread can be made.
    pub(crate) fn start() -> io::Result<Self> {
        let (pieces, receiver) = channel::<(bool, Vec<u8>)>();
        let queue = Arc::<Queue>::default();
        let written = queue.clone();
        threads::start(move || {
            let (output, errors) = (stdout(), stderr());
            for (is_error, bytes) in receiver {
                let done = match is_error {
                    true => write_all(errors.as_fd(), &bytes),
                    false if standard::was_output_closed() => Err(Errno::EBADF),
                    false => write_all(output.as_fd(), &bytes),
                };
                let mut state = written.state.lock();
                // The user may read no more than the beginning, and needs no word about errors
                // that cannot be printed.
                if let Err(error) = done
                    && error != Errno::EPIPE
                    && !is_error
                {
                    state.failed.get_or_insert(error);
                }
                state.bytes -= bytes.len();
                drop(state);
                written.changed.notify_all();
            }
        })?;
        Ok(Self { pieces, queue })
    }

    /// Writes bytes once those before are written.
    pub(crate) fn put(&self, is_error: bool, bytes: Vec<u8>) {
        self.queue.state.lock().bytes += bytes.len();
        let _ = self.pieces.send((is_error, bytes));
    }

    /// A message of the launcher itself.
    pub(crate) fn report(&self, text: &str) {
        self.put(true, message(text).into_bytes());
    }

    /// What waits.
    pub(crate) fn queue(&self) -> Arc<Queue> {
        self.queue.clone()
    }
}

/// The lines of a message. What ranks have given names does nothing to a terminal.
fn message(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    format!("prp-mpirun: {}\n", lines.join("\n"))
}

impl Queue {
    /// Waits until there is room for more.
    pub(crate) fn wait_for_room(&self) {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |s| s.bytes > ROOM && !s.has_no_limit);
    }

    /// Why output of ranks was not written, unless all was, or its reader is gone.
    pub(crate) fn failed(&self) -> Option<Errno> {
        self.state.lock().failed
    }

    /// A job that ends waits for nothing: all output is taken.
    pub(crate) fn lift_limit(&self) {
        self.state.lock().has_no_limit = true;
        self.changed.notify_all();
    }

    /// Whether nothing waits within this time.
    pub(crate) fn is_empty_within(&self, limit: Duration) -> bool {
        let mut state = self.state.lock();
        !self.changed.wait_while_for(&mut state, |s| s.bytes > 0, limit).timed_out()
    }
}

/// Writes all, unless that fails: it does not end the job.
fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match write(to, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::EINTR) => {}
            // Another process may have made it non-blocking.
            Err(Errno::EAGAIN) => {
                let mut writable = [PollFd::new(to, PollFlags::POLLOUT)];
                let _ = poll(&mut writable, PollTimeout::NONE);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message__keeps_its_lines_and_has_a_terminal_do_nothing() {
        let text = message("rank 1 ended the job: a\u{1b}[2J\r\nb");
        assert_eq!(text, "prp-mpirun: rank 1 ended the job: a\\u{1b}[2J\\r\nb\n");
    }
}
