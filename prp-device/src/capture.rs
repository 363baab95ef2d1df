//! A socket that sees what all devices of this machine send and receive. Feature `raw`.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use crate::sys::capture_ring::CaptureRing;
use crate::sys::packet;

/// Bytes of a frame that are captured: the largest MTU, and room for headers.
const LONGEST: u32 = 1 << 17;

/// A frame that has passed a device.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct CapturedFrame<'a> {
    /// Since the beginning of 1970, UTC.
    pub time: Duration,
    /// The kernel's number of the device.
    pub device: u32,
    /// It leaves by the device; else it has come in.
    pub is_outgoing: bool,
    /// From the Ethernet header on, without a VLAN's tag that the kernel has taken off.
    pub bytes: &'a [u8],
}

/// A packet socket at all devices, with a ring that the kernel fills in blocks: what the socket
/// costs a frame is a copy, and a call for each block.
#[derive(Debug)]
pub struct CaptureSocket {
    socket: Socket,
    ring: CaptureRing,
}

impl CaptureSocket {
    /// Of frames of `ethertype`.
    ///
    /// # Errors
    /// No CAP_NET_RAW; no memory for the ring.
    pub fn open(ethertype: u16) -> io::Result<Self> {
        // Of no protocol: nothing comes before the filter and the ring are there.
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
        socket.attach_filter(&only(ethertype))?;
        let ring = CaptureRing::new(socket.as_fd())?;
        // Only sockets for all protocols see what is sent as well. No device: all of them.
        packet::bind(socket.as_fd(), 0, libc::ETH_P_ALL as u16)?;
        Ok(Self { socket, ring })
    }

    /// Waits for frames, and hands a block of them to `take`. The kernel fills a block, or lets go
    /// of it some milliseconds after its first frame. A signal ends the wait without a frame.
    ///
    /// # Errors
    /// What `poll` fails with.
    pub fn receive(&mut self, take: &mut dyn FnMut(&CapturedFrame<'_>)) -> io::Result<()> {
        if self.ring.take_block(take) {
            return Ok(());
        }
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        self.ring.take_block(take);
        Ok(())
    }

    /// Frames that were lost since this was last called: the ring was full.
    ///
    /// # Errors
    /// What `getsockopt` fails with.
    pub fn take_dropped(&self) -> io::Result<u32> {
        packet::dropped(self.socket.as_fd())
    }
}

/// A program of the kernel's that lets frames of `ethertype` pass whole, and no others.
fn only(ethertype: u16) -> [SockFilter; 4] {
    const LOAD_HALF_WORD: u16 = 0x28;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    [
        SockFilter::new(LOAD_HALF_WORD, 0, 0, 12),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, ethertype.into()),
        SockFilter::new(RETURN, 0, 0, LONGEST),
        SockFilter::new(RETURN, 0, 0, 0),
    ]
}
