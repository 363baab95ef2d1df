//! What carries packets between this node and its neighbours.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use prp_proto::addr::LinkAddr;
use prp_proto::device::{Capabilities, PacketRun};

use crate::{KernelDevice, Peek, Received, Sent, UdpDevice};

/// Packets to send, in order: each for a neighbour, and in pieces.
pub type Packets<'i, 'a> = dyn Iterator<Item = (LinkAddr, [&'a [u8]; 4])> + 'i;

/// A function that takes received packets, with the neighbour that sent them.
pub type Take<'t> = dyn FnMut(LinkAddr, PacketRun<'_>) + 't;

/// Packets in and out, in batches.
///
/// What a packet is depends on the underlay: an Ethernet frame with its header, or the payload of a
/// datagram ([`Capabilities::header`]). The protocol takes either one by
/// [`Endpoint::handle_run`](prp_proto::endpoint::Endpoint::handle_run), and makes what
/// [`Self::send`] is given.
///
/// Packets stay in order, may be lost or come twice, and what is known to be lost is said
/// ([`Received`], [`Sent`]).
pub trait Underlay: fmt::Debug + Send {
    /// Hands received packets to `take`, until `max` or more were there.
    ///
    /// # Errors
    /// The device is gone for good.
    fn receive(&mut self, max: usize, take: &mut Take<'_>) -> io::Result<Received>;

    /// As [`Self::receive`], of one packet at a time.
    ///
    /// # Errors
    /// As [`Self::receive`].
    fn receive_packets(
        &mut self,
        max: usize,
        take: &mut dyn FnMut(LinkAddr, &[u8]),
    ) -> io::Result<Received> {
        self.receive(max, &mut |from, run| run.for_each(|packet| take(from, packet)))
    }

    /// Sends packets until the device takes no more.
    fn send(&mut self, packets: &mut Packets<'_, '_>) -> Sent;

    /// Sends a packet alone: a message should not pay for what batches need.
    fn send_one(&mut self, to: LinkAddr, packet: [&[u8]; 4]) -> Sent {
        self.send(&mut std::iter::once((to, packet)))
    }

    /// Returns the descriptor at `place` of those to poll for packets: the same at every call, at
    /// least one, and none behind the last.
    fn fd(&self, place: usize) -> Option<BorrowedFd<'_>>;

    /// Returns which descriptor to poll for room to send, when the device has taken no more.
    fn full(&self) -> usize {
        0
    }

    /// Returns how to find out whether something waits.
    fn peek(&self) -> Peek;

    /// Returns whether something waits that shared memory does not show, by a system call. It may
    /// be received by that call already, for the next [`Self::receive`].
    fn poll_once(&mut self) -> bool {
        let Some(fd) = self.fd(0).filter(|_| matches!(self.peek(), Peek::Unknown)) else {
            return false;
        };
        matches!(poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::ZERO), Ok(1..))
    }

    /// Returns the sizes in which it carries packets.
    fn capabilities(&self) -> Capabilities;

    /// Takes the errors that the kernel keeps for its sockets: they would end every `poll` at once.
    fn take_errors(&mut self) {}

    /// Lets go of what would stay behind: the process exits, and ends no engine before.
    fn leave(&mut self) {}

    /// Returns what only an Ethernet device of the kernel can do; none of others, which pass every
    /// packet.
    fn ethernet(&mut self) -> Option<&mut dyn KernelDevice> {
        None
    }

    /// Returns the UDP sockets, if it is those.
    fn udp(&self) -> Option<&UdpDevice> {
        None
    }

    /// As [`Self::udp`], to change them.
    fn udp_mut(&mut self) -> Option<&mut UdpDevice> {
        None
    }
}

impl<'u> dyn Underlay + 'u {
    /// Returns what to poll for packets: always the same descriptors, at least one.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        (0..).map_while(|place| self.fd(place))
    }
}
