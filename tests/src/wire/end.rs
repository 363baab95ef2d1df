//! An end of a wire: a device, or the place of a node among Unix sockets.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use prp_device::raw::RawSocket;
use prp_device::{Received, Underlay, UnixDevice};
use prp_proto::addr::{LinkAddr, NodeId};

/// Frames of every EtherType.
const ALL: u16 = 0x0003;

/// One of the two.
#[derive(Debug)]
pub(super) enum End {
    Device(RawSocket),
    Unix(UnixEnd),
}

/// A socket of a node that stands for another one in its neighbour's folder.
#[derive(Debug)]
pub(super) struct UnixEnd {
    io: UnixDevice,
    neighbour: LinkAddr,
}

impl End {
    /// Opens the device called `word`, or for `unix:FOLDER:OWN:NEIGHBOUR` a Unix socket in the
    /// folder, for what the node NEIGHBOUR sends to the node OWN.
    pub(super) fn open(word: &str) -> io::Result<Self> {
        let Some(word) = word.strip_prefix("unix:") else {
            return Ok(Self::Device(RawSocket::open(word, ALL)?));
        };
        let mut words = word.rsplitn(3, ':');
        let mut node = || words.next()?.parse::<NodeId>().ok();
        let (neighbour, own) = (node(), node());
        let (Some(neighbour), Some(own), Some(folder)) = (neighbour, own, words.next()) else {
            return Err(io::Error::new(ErrorKind::InvalidInput, format!("unix:{word}")));
        };
        let io = UnixDevice::open(Path::new(folder), own)?;
        Ok(Self::Unix(UnixEnd { io, neighbour: LinkAddr::Unix { node: neighbour, process: 0 } }))
    }

    /// Hands frames that have come to `take`, up to `max`.
    pub(super) fn receive(
        &mut self,
        max: usize,
        take: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Received> {
        match self {
            Self::Device(device) => device.receive(max, take),
            Self::Unix(end) => end.io.receive_packets(max, &mut |_, packet| take(packet)),
        }
    }

    /// Sends `frames`; how many are gone, and how many of those are lost.
    ///
    /// # Errors
    /// The first frame is larger than the other device's MTU.
    pub(super) fn send(&mut self, frames: &[Vec<u8>]) -> io::Result<(usize, usize)> {
        let mut frames = frames.iter().map(|frame| [&frame[..], &[], &[], &[]]);
        match self {
            Self::Device(device) => device.send(&mut frames),
            Self::Unix(UnixEnd { io, neighbour }) => {
                let sent = io.send(&mut frames.map(|frame| (*neighbour, frame)));
                Ok((sent.gone(), sent.lost + usize::from(sent.refused.is_some())))
            }
        }
    }

    /// What to poll.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Device(device) => device.as_fd(),
            Self::Unix(end) => end.io.fd(0).expect("it has one"),
        }
    }
}
