//! How what a device carries goes in and out.

use std::os::fd::BorrowedFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use prp_proto::addr::LinkAddr;

use crate::{FrameIo, KernelDevice, Outgoing, Peek, Sent, UdpDevice, WaitHandle};

/// A device of either carrier.
#[derive(Debug)]
pub enum DeviceIo {
    /// Ethernet frames.
    Frames(Box<dyn FrameIo>),
    /// Datagrams.
    Udp(Box<UdpDevice>),
}

impl DeviceIo {
    /// What to poll for what is to be received: always the same descriptors, at least one.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let (frames, udp) = match self {
            Self::Frames(io) => (Some(io.wait().fd), None),
            Self::Udp(io) => (None, Some(io.fds())),
        };
        frames.into_iter().chain(udp.into_iter().flatten())
    }

    /// Which of [`Self::fds`] to poll for room to send, when it has taken no more.
    pub fn full(&self) -> usize {
        match self {
            Self::Frames(_) => 0,
            Self::Udp(io) => io.full(),
        }
    }

    /// Sends frames, each for a neighbour and given in pieces. A device for Ethernet frames finds
    /// the neighbour's address in the frame.
    pub fn send<'a>(&mut self, frames: impl Iterator<Item = (LinkAddr, [&'a [u8]; 4])>) -> Sent {
        match self {
            Self::Frames(io) => io.send(Outgoing::Batch(&mut frames.map(|(_, pieces)| pieces))),
            Self::Udp(io) => io.send(frames),
        }
    }

    /// Sends a frame alone, as [`Self::send`].
    pub fn send_one(&mut self, to: LinkAddr, frame: [&[u8]; 4]) -> Sent {
        match self {
            Self::Frames(io) => io.send(Outgoing::one(frame)),
            Self::Udp(io) => io.send_one(to, frame),
        }
    }

    /// How to find out whether something waits.
    pub fn peek(&self) -> Peek {
        match self {
            Self::Frames(io) => io.wait().peek,
            Self::Udp(io) => Peek::Queue(io.peek()),
        }
    }

    /// Whether something waits that shared memory does not show, by a system call. A datagram
    /// is received by it, for the next [`UdpDevice::receive`].
    pub fn poll_once(&mut self) -> bool {
        match self {
            Self::Udp(io) => io.poll_once(),
            Self::Frames(io) => {
                let WaitHandle { fd, peek } = io.wait();
                let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
                matches!(peek, Peek::Unknown)
                    && matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1..))
            }
        }
    }

    /// Bytes that it takes: after the Ethernet header, or of a datagram's payload.
    pub fn mtu(&self) -> u32 {
        match self {
            Self::Frames(io) => io.mtu(),
            Self::Udp(io) => io.mtu(),
        }
    }

    /// What only a device of the kernel's that carries Ethernet frames can do.
    pub fn kernel(&mut self) -> Option<&mut dyn KernelDevice> {
        match self {
            Self::Frames(io) => io.kernel(),
            Self::Udp(_) => None,
        }
    }

    /// The UDP socket, if it is one.
    pub const fn udp(&self) -> Option<&UdpDevice> {
        match self {
            Self::Frames(_) => None,
            Self::Udp(io) => Some(io),
        }
    }

    /// As [`Self::udp`], to change it.
    pub const fn udp_mut(&mut self) -> Option<&mut UdpDevice> {
        match self {
            Self::Frames(_) => None,
            Self::Udp(io) => Some(io),
        }
    }

    /// Takes the errors of datagrams that the kernel keeps: they would end every `poll` at once.
    pub fn take_errors(&mut self) {
        if let Self::Udp(io) = self {
            io.take_errors();
        }
    }
}

impl From<Box<dyn FrameIo>> for DeviceIo {
    fn from(io: Box<dyn FrameIo>) -> Self {
        Self::Frames(io)
    }
}
