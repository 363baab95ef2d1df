//! A wire inside the process, for tests of the engine that need no privileges.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;

use super::{FrameIo, Peek, PortFilter, Sent};
use crate::sys::mmsg::{RecvVec, SendVec};

/// One end of a datagram pair.
#[derive(Debug)]
pub(crate) struct PipeDevice {
    socket: UnixDatagram,
    queue: RecvVec,
    sender: SendVec,
}

impl PipeDevice {
    /// Two ends that take frames of up to `mtu` bytes after the Ethernet header.
    pub(crate) fn pair(mtu: u32) -> io::Result<(Self, Self)> {
        let (a, b) = UnixDatagram::pair()?;
        let end = |socket: UnixDatagram| {
            socket.set_nonblocking(true)?;
            let queue = RecvVec::new(mtu as usize + 14, 16);
            io::Result::Ok(Self { socket, queue, sender: SendVec::default() })
        };
        Ok((end(a)?, end(b)?))
    }
}

impl FrameIo for PipeDevice {
    fn receive(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let n = self.queue.receive(self.socket.as_fd(), max)?;
        (0..n).for_each(|i| take(self.queue.frame(i)));
        Ok(n)
    }

    fn send(&mut self, frames: &mut dyn Iterator<Item = [&[u8]; 4]>) -> Sent {
        let mut sent = Sent::default();
        for frame in frames {
            match self.sender.send(self.socket.as_fd(), std::iter::once(frame)) {
                Ok(_) => sent.done += 1,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    sent.full = true;
                    break;
                }
                Err(_) => {
                    sent.done += 1;
                    sent.lost += 1;
                }
            }
        }
        sent
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn peek(&self) -> Peek {
        Peek::Unknown
    }

    fn set_filter(&mut self, _: &PortFilter) -> io::Result<()> {
        Ok(())
    }

    fn take_overruns(&mut self) -> u64 {
        0
    }
}
