//! A wire inside the process, for tests of the engine that need no privileges.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::atomic::{AtomicU32, Ordering};

use prp_proto::device::{Capabilities, PacketRun};
use prp_proto::wire::{ETHERNET_LEN, ethernet_source};

use crate::sys::mmsg::{RecvVec, SendVec};
use crate::{Packets, Peek, Received, Refusal, Sent, Take, Underlay};

/// One end of a datagram pair, or a socket connected to itself.
#[derive(Debug)]
pub struct PipeDevice {
    socket: UnixDatagram,
    queue: RecvVec,
    sender: SendVec,
    mtu: u32,
}

impl PipeDevice {
    /// Two ends that take frames of up to `mtu` bytes after the Ethernet header.
    pub fn pair(mtu: u32) -> io::Result<(Self, Self)> {
        let (a, b) = UnixDatagram::pair()?;
        Ok((Self::new(a, mtu)?, Self::new(b, mtu)?))
    }

    /// An end whose frames come back to it.
    pub fn looped(mtu: u32) -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("prp-testing/loop/{}/{number}", std::process::id());
        let name = SocketAddr::from_abstract_name(name)?;
        let socket = UnixDatagram::bind_addr(&name)?;
        socket.connect_addr(&name)?;
        Self::new(socket, mtu)
    }

    /// The end behind `socket`, which is connected to the other one.
    pub fn new(socket: UnixDatagram, mtu: u32) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let queue = RecvVec::new(mtu as usize + ETHERNET_LEN, 16)?;
        Ok(Self { socket, queue, sender: SendVec::default(), mtu })
    }
}

impl Underlay for PipeDevice {
    fn receive(&mut self, max: usize, take: &mut Take<'_>) -> io::Result<Received> {
        let n = self.queue.receive(self.socket.as_fd(), max)?;
        for frame in (0..n).map(|i| self.queue.frame(i)) {
            take(ethernet_source(frame), PacketRun::single(frame));
        }
        Ok(Received { frames: n as u32, lost: 0 })
    }

    fn send(&mut self, packets: &mut Packets<'_, '_>) -> Sent {
        let mut sent = Sent::default();
        for (_, frame) in packets {
            match self.sender.send_one(self.socket.as_fd(), frame) {
                Ok(()) => sent.done += 1,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    sent.full = true;
                    break;
                }
                Err(e) => {
                    let errno = e.raw_os_error().unwrap_or(libc::EIO);
                    sent.refused = Some(Refusal::of_frame(errno));
                    break;
                }
            }
        }
        sent
    }

    fn fd(&self, place: usize) -> Option<BorrowedFd<'_>> {
        (place == 0).then(|| self.socket.as_fd())
    }

    fn peek(&self) -> Peek {
        Peek::Unknown
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ethernet(self.mtu)
    }
}
