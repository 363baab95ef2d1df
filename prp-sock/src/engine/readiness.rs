//! A kernel descriptor that shows what a stream is ready for, so that `poll`, `epoll` and whatever is
//! built on them can wait for it.
//!
//! An `eventfd` cannot be neither readable nor writable, a socket pair can: the application gets one
//! end, we keep the other. A byte from us makes its end readable; its own send buffer, stuffed through
//! its own end, makes it not writable. Both change with an edge, so edge-triggered `epoll` works.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use socket2::SockRef;

/// Enough to leave less than three quarters of the smallest send buffer Linux gives (4608 bytes with
/// the kernel's own bookkeeping), which is when a Unix socket stops being writable.
const STUFFING: [u8; 2048] = [0; 2048];

/// The pair behind a stream's descriptor.
#[derive(Debug)]
pub(super) struct ReadinessFd {
    theirs: Arc<UnixStream>,
    ours: UnixStream,
    readable: bool,
    writable: bool,
    ended: bool,
    over: bool,
}

/// What a stream or listener is ready for.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Shown {
    /// A read would not wait.
    pub(super) readable: bool,
    /// A write would not wait.
    pub(super) writable: bool,
    /// The peer sends no more.
    pub(super) ended: bool,
    /// There is no connection any more: reset, or closed both ways.
    pub(super) over: bool,
}

impl ReadinessFd {
    /// A descriptor that shows nothing to read and room to write.
    pub(super) fn new() -> io::Result<Self> {
        let (theirs, ours) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        ours.set_nonblocking(true)?;
        SockRef::from(&theirs).set_send_buffer_size(1)?;
        Ok(Self {
            theirs: Arc::new(theirs),
            ours,
            readable: false,
            writable: true,
            ended: false,
            over: false,
        })
    }

    /// The application's end.
    pub(super) fn theirs(&self) -> Arc<UnixStream> {
        self.theirs.clone()
    }

    /// Shows this from now on.
    pub(super) fn show(&mut self, shown: Shown) {
        let Shown { readable, writable, ended, over } = shown;
        if readable != self.readable {
            self.readable = readable;
            if readable {
                let _ = (&self.ours).write(&[0]);
            } else {
                let _ = (&*self.theirs).read(&mut [0; 8]);
            }
        }
        if writable != self.writable {
            self.writable = writable;
            if writable {
                let mut scrap = [0; STUFFING.len()];
                while matches!((&self.ours).read(&mut scrap), Ok(1..)) {}
            } else {
                let _ = (&*self.theirs).write(&STUFFING);
            }
        }
        if ended && !self.ended {
            self.ended = true;
            let _ = self.ours.shutdown(std::net::Shutdown::Write);
        }
        if over && !self.over {
            // The hang-up that a kernel socket shows then.
            self.over = true;
            let _ = self.ours.shutdown(std::net::Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

    use super::*;

    fn shown(fd: &ReadinessFd) -> Shown {
        let epoll = Epoll::new(EpollCreateFlags::empty()).unwrap();
        let asked = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP;
        epoll.add(fd.theirs.as_fd(), EpollEvent::new(asked, 0)).unwrap();
        let mut events = [EpollEvent::empty()];
        let n = epoll.wait(&mut events, EpollTimeout::ZERO).unwrap();
        let got = events[..n].first().map_or(EpollFlags::empty(), EpollEvent::events);
        Shown {
            readable: got.contains(EpollFlags::EPOLLIN),
            writable: got.contains(EpollFlags::EPOLLOUT),
            ended: got.contains(EpollFlags::EPOLLRDHUP),
            over: got.contains(EpollFlags::EPOLLHUP),
        }
    }

    #[test]
    fn show__every_combination_in_every_order() {
        let mut fd = ReadinessFd::new().unwrap();
        for step in 0..200u32 {
            // A walk that takes every transition between the four states.
            let (readable, writable) = (step / 2 % 2 == 0, step / 3 % 2 == 0);
            let want = Shown { readable, writable, ..Shown::default() };
            fd.show(want);
            assert_eq!(shown(&fd), want, "step {step}");
        }
        // Expect: the end of the stream shows as such, and stays readable.
        let ended = Shown { writable: true, ended: true, ..Shown::default() };
        fd.show(ended);
        assert_eq!(shown(&fd), Shown { readable: true, ..ended });
        assert_eq!((&*fd.theirs).read(&mut [0; 8]).unwrap(), 0);
        // Expect: the end of the connection shows as a hang-up besides.
        let over = Shown { readable: true, over: true, ..ended };
        fd.show(over);
        assert_eq!(shown(&fd), over);
    }
}
