//! Processes that ask the holder.

use std::fs::File;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

/// How long the holder rests that can accept nobody.
const REST: Duration = Duration::from_millis(10);

/// Accepts those that ask. Where descriptors are lacking they are turned away at once: they would
/// wait in the socket's queue until they give up, and the program with them.
pub(super) struct Askers<'a> {
    socket: &'a UnixListener,
    /// A descriptor that is given up for one that is turned away.
    reserve: Option<File>,
}

impl<'a> Askers<'a> {
    /// Returns those that ask at `socket`.
    pub(super) fn new(socket: &'a UnixListener) -> Self {
        Self { socket, reserve: reserve() }
    }

    /// Returns the next one; `None` if there is none to answer.
    pub(super) fn next(&mut self) -> Option<UnixStream> {
        match self.socket.accept() {
            Ok((asking, _)) => {
                if self.reserve.is_none() {
                    self.reserve = reserve();
                }
                if self.reserve.is_some() {
                    return Some(asking);
                }
                drop(asking);
                self.reserve = reserve();
            }
            Err(_) if self.reserve.take().is_some() => {}
            // Other threads have taken what was given up: it passes when connections end.
            Err(_) => thread::sleep(REST),
        }
        None
    }
}

/// Opens what needs a descriptor and nothing else.
fn reserve() -> Option<File> {
    File::open("/dev/null").ok()
}
