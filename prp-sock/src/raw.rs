//! Plain packet sockets, without a protocol: the device below the engine, for programs that measure
//! what the protocol costs. Feature `raw`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prp_proto::addr::{MacAddr, NodeId};
use prp_proto::hosts::Reach;

use crate::device::{FrameIo, PacketDevice, explain_open, list_interfaces};
use crate::hosts::HostsFile;

/// Nodes a way may lead over: as many as a frame can cross.
const MAX_VIA: usize = 15;

/// The first step of the way to a node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FirstHop {
    /// This machine's device.
    pub device: String,
    /// The station that gets the frames there.
    pub mac: MacAddr,
    /// That is the node itself, not a router.
    pub direct: bool,
}

impl FirstHop {
    /// The first step to `node`.
    ///
    /// # Errors
    /// `HostUnreachable` if prphosts has no way there.
    pub fn toward(hosts: &HostsFile, node: NodeId) -> io::Result<Self> {
        let mut at = node;
        for _ in 0..=MAX_VIA {
            let entry = hosts.hosts().entry(at);
            let best = entry.and_then(|entry| entry.hops().min_by_key(|hop| hop.metric));
            match best.map(|hop| hop.reach) {
                Some(Reach::Direct { mac, device }) => {
                    return Ok(Self { device: device.to_owned(), mac, direct: at == node });
                }
                Some(Reach::Via(next)) => at = next,
                None => break,
            }
        }
        let message = format!("{}: no way to node {node}", hosts.path().display());
        Err(io::Error::new(io::ErrorKind::HostUnreachable, message))
    }
}

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
        let found = list_interfaces()?.into_iter().find(|i| i.name == device);
        let found = found.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no device {device}"))
        })?;
        let opened = PacketDevice::open(&found, ethertype);
        let mut socket =
            Self { device: opened.map_err(|e| explain_open(&e, &found))?, mac: found.mac };
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
        let sent = self.device.send(frames);
        if sent.too_big {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a frame beyond the MTU"));
        }
        Ok((sent.done, sent.lost))
    }

    /// Hands up to `max` received frames to `take`, without waiting; how many there were.
    ///
    /// # Errors
    /// The device is gone.
    pub fn receive(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        self.device.receive(max, take)
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

    /// Frames lost since the last call because nobody received them in time.
    pub fn take_overruns(&mut self) -> u64 {
        self.device.take_overruns()
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
    use std::io::Write;

    use super::*;

    /// prphosts with `text`.
    fn hosts(text: &str) -> HostsFile {
        let path = std::env::temp_dir().join(format!("prp-raw-{}", std::process::id()));
        let mut file = std::fs::File::create(&path).expect("a temporary file");
        file.write_all(text.as_bytes()).expect("room");
        let loaded = HostsFile::load(&path).expect("no mistakes");
        std::fs::remove_file(&path).expect("it is there");
        loaded
    }

    #[test]
    fn toward__the_best_way_and_through_routers() {
        let hosts =
            hosts("1 02:00:00:00:00:01 eth0 a\n2 02:00:00:00:00:02 eth1 b\n3 via 2 c\n4 via 3 d\n");
        let toward = |n| FirstHop::toward(&hosts, NodeId::new(n).expect("a node"));
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        let direct = FirstHop { device: "eth1".into(), mac, direct: true };
        assert_eq!(toward(2).expect("a way"), direct);
        assert_eq!(toward(4).expect("a way"), FirstHop { direct: false, ..direct });
        assert_eq!(toward(9).expect_err("no way").kind(), io::ErrorKind::HostUnreachable);
    }

    #[test]
    fn open__names_a_device_that_is_not_there() {
        let error = RawSocket::open("nothing7", 0x88b6).expect_err("no such device");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("nothing7"));
    }
}
