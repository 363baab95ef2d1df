//! Plain packet sockets, without a protocol: the device below the engine, for programs that measure
//! what the protocol costs. Feature `raw`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prp_proto::addr::MacAddr;
use prp_proto::hosts::Tag;

pub use crate::capture::{CaptureLengths, CaptureSocket, CapturedFrame};
use crate::{Framing, PacketDevice, Received, Refusal, explain_open, list_interfaces};

/// A packet socket that sends and receives whole Ethernet frames of one EtherType.
#[derive(Debug)]
pub struct RawSocket {
    device: PacketDevice,
    mac: MacAddr,
}

impl RawSocket {
    /// Opens one on the device of this name. It receives every frame of `ethertype`.
    ///
    /// # Errors
    /// `NotFound` without such a device, `PermissionDenied` without CAP_NET_RAW, and what the
    /// kernel says.
    pub fn open(device: &str, ethertype: u16) -> io::Result<Self> {
        Self::open_tagged(device, ethertype, Tag::default())
    }

    /// As [`Self::open`], for frames in the VLAN of `tag`: the tag is put in as they are sent, and
    /// is not there any more when they are received.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_tagged(device: &str, ethertype: u16, tag: Tag) -> io::Result<Self> {
        let found = list_interfaces()?.into_iter().find(|i| i.name == device);
        let found = found.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no device {device}"))
        })?;
        let opened = PacketDevice::open_for(&found, &Framing::tagged(ethertype, tag));
        let mut socket =
            Self { device: opened.map_err(|e| explain_open(&e, device))?, mac: found.mac };
        socket.device.accept_all()?;
        Ok(socket)
    }

    /// The hardware address of its device.
    pub fn mac(&self) -> MacAddr {
        self.mac
    }

    /// Bytes after the Ethernet header its device takes.
    pub fn mtu(&self) -> u32 {
        self.device.mtu()
    }

    /// Sends frames, each given in pieces, without waiting: how many are gone, and how many of
    /// those the device is known to have lost.
    ///
    /// # Errors
    /// `InvalidInput` for a frame the device does not take.
    pub fn send(
        &mut self,
        frames: &mut dyn Iterator<Item = [&[u8]; 4]>,
    ) -> io::Result<(usize, usize)> {
        let sent = self.device.send_frames(frames);
        if sent.refused.is_some_and(Refusal::is_too_big) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a frame beyond the MTU"));
        }
        Ok((sent.gone(), sent.lost + usize::from(sent.refused.is_some())))
    }

    /// Hands up to `max` received frames to `take`, without waiting.
    ///
    /// # Errors
    /// The device is gone.
    pub fn receive(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<Received> {
        self.device.receive_frames(max, take)
    }

    /// Sleeps until a frame is there, for at most `timeout`, in whole milliseconds.
    ///
    /// # Errors
    /// As poll(2), but for interruptions, which end the sleep.
    pub fn sleep(&self, timeout: Duration) -> io::Result<()> {
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

/// To poll together with others.
impl AsFd for RawSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open__names_a_device_that_is_not_there() {
        let error = RawSocket::open("nothing7", 0x88b6).expect_err("no such device");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("nothing7"));
    }
}
