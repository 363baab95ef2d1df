//! A kernel descriptor that shows what a stream is ready for, so that `poll`, `epoll` and whatever
//! is built on them can wait for it.
//!
//! An `eventfd` is always readable or writable; a socket pair can be neither. The application gets
//! one end, and the engine keeps the other. What it shows is what the kernel shows of a Unix socket
//! in that state:
//!
//! | to show | is done |
//! | --- | --- |
//! | readable | a byte from us waits at its end |
//! | not writable | its send buffer is full of what it has itself sent to us |
//! | the end (`EPOLLRDHUP`) | our end is closed for writing |
//! | no connection (`EPOLLHUP`) | our end is closed in both directions |
//! | an error (`EPOLLERR`) | our end is gone, with a byte from it that we never read |
//!
//! Each change is an edge, so edge-triggered `epoll` works. So is each arrival, as on a kernel
//! socket: one byte more comes before another one is taken away ([`ReadinessFd::renew`]).

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use socket2::SockRef;

/// Enough to leave less than 75 % of the smallest send buffer Linux gives (4608 bytes with the
/// kernel's own bookkeeping), which is when a Unix socket stops being writable.
const STUFFING: [u8; 2048] = [0; 2048];

/// Asks for that buffer.
const SMALLEST: usize = 1;

/// The pair behind a stream's descriptor.
#[derive(Debug)]
pub(super) struct ReadinessFd {
    /// The application's end, closed first: no thread is to see the end of `ours`, unless it has a
    /// copy.
    theirs: Arc<UnixStream>,
    /// None while an error is shown, and from then on.
    ours: Option<UnixStream>,
    shown: ShownReadiness,
}

/// What a stream or listener is ready for.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct ShownReadiness {
    /// A read would not wait.
    pub(super) readable: bool,
    /// A write would not wait.
    pub(super) writable: bool,
    /// Nothing more comes: the peer sends no more, or the application here would not read it.
    pub(super) ended: bool,
    /// There is no connection any more: reset, or ended in both directions.
    pub(super) over: bool,
    /// It has ended with an error that the application has not taken yet.
    pub(super) failed: bool,
}

impl ReadinessFd {
    /// A descriptor that shows nothing to read and room to write.
    pub(super) fn new() -> io::Result<Self> {
        let (theirs, ours) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        ours.set_nonblocking(true)?;
        SockRef::from(&theirs).set_send_buffer_size(SMALLEST)?;
        let shown = ShownReadiness { writable: true, ..ShownReadiness::default() };
        Ok(Self { theirs: Arc::new(theirs), ours: Some(ours), shown })
    }

    /// The application's end.
    pub(super) fn theirs(&self) -> Arc<UnixStream> {
        self.theirs.clone()
    }

    /// Shows this from now on.
    pub(super) fn show(&mut self, now: ShownReadiness) {
        let before = std::mem::replace(&mut self.shown, now);
        if now.failed && !before.failed {
            // The write is refused where something unread is there already: stuffing, or what is
            // left when the connection is over.
            push(&self.theirs);
            self.ours = None;
        }
        if let Some(ours) = &self.ours {
            if now.readable && !before.readable {
                push(ours);
            } else if before.readable && !now.readable {
                self.pull();
            }
            if now.writable && !before.writable {
                drain(ours);
            } else if before.writable && !now.writable {
                let _ = (&*self.theirs).write(&STUFFING);
            }
            if now.ended && !before.ended {
                let _ = ours.shutdown(Shutdown::Write);
            }
            if now.over && !before.over {
                // A byte that is unread when the end is closed next: it makes the error, should one
                // come.
                push(&self.theirs);
                let _ = ours.shutdown(Shutdown::Both);
            }
        }
        if before.failed && !now.failed {
            let _ = self.theirs.take_error();
        }
    }

    /// Whether it shows something to read.
    pub(super) const fn is_readable(&self) -> bool {
        self.shown.readable
    }

    /// Something came, and something is still there: shows that as an edge.
    pub(super) fn renew(&self) {
        if let Some(ours) = &self.ours
            && self.shown.readable
            && !self.shown.ended
        {
            push(ours);
            self.pull();
        }
    }

    /// The application has closed a direction: an edge, as on a kernel socket, though little may
    /// have changed.
    pub(super) fn note_shutdown(&self) {
        if let Some(ours) = &self.ours
            && self.shown.writable
            && !self.shown.over
        {
            // Room that is taken and given back makes an edge.
            push(&self.theirs);
            drain(ours);
        }
    }

    /// A write has found no room. Makes sure that this is what is shown: an application may have
    /// made the descriptor's send buffer larger, as one would a socket's.
    pub(super) fn show_not_writable(&self) {
        let socket = SockRef::from(&*self.theirs);
        // The kernel says twice as much as it was asked for, and no less than it has to.
        if !self.shown.writable
            && socket.send_buffer_size().is_ok_and(|size| size > 3 * STUFFING.len())
        {
            let _ = socket.set_send_buffer_size(SMALLEST);
        }
    }

    /// Takes a byte of ours away from the application's end.
    fn pull(&self) {
        let _ = (&*self.theirs).read(&mut [0]);
    }
}

/// A byte for the other end. The write can only be refused by an application that has closed its
/// end for that.
fn push(mut end: &UnixStream) {
    let _ = end.write(&[0]);
}

/// Takes all that the other end has sent.
fn drain(mut end: &UnixStream) {
    let mut scrap = [0; STUFFING.len()];
    while matches!(end.read(&mut scrap), Ok(1..)) {}
}

#[cfg(test)]
mod tests;
