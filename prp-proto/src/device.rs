//! The devices by which packets leave and come: their addresses and sizes.

use crate::addr::{LinkAddr, MacAddr};
use crate::wire::ETHERNET_LEN;

/// A device of this node, as far as the protocol cares.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Device {
    /// This node's address on it, which says what its underlay is: over UDP with the node's own
    /// port.
    pub addr: LinkAddr,
    /// Bytes after the Ethernet header that it takes, or of a datagram's payload.
    pub mtu: u32,
    /// Frames that this node sends to itself by it come back: the path to this node itself.
    pub loopback: bool,
    /// Frames that it best takes, and passes on, at a time (SPEC PRP-UDP-6): segments are lent, let
    /// go and acknowledged by this number at least.
    pub gso_frames: u16,
    /// Bytes that a peer may send ahead of what is read, if the connection's settings do not say
    /// how many: the device's buffer takes several times as much.
    pub window: usize,
}

impl Device {
    /// The window by which a connection over Ethernet has the most goodput, at every frame size, on
    /// a machine with 1 MiB of second-level cache.
    pub const WINDOW: usize = 512 * 1024;

    /// The largest window of a device: over UDP, where a GSO batch of 64 KiB is one call at either
    /// end, readers sleep for longer with it than with [`Self::WINDOW`].
    pub const MAX_WINDOW: usize = 2 * Self::WINDOW;

    /// Returns the device at `addr` that carries packets in these sizes. Over UDP and by Unix
    /// sockets its packets reach this node itself as well.
    pub const fn new(addr: LinkAddr, capabilities: Capabilities) -> Self {
        let Capabilities { mtu, gso_frames, window, .. } = capabilities;
        Self { addr, mtu, loopback: addr.is_datagram(), gso_frames, window }
    }

    /// An Ethernet device with this hardware address, whose frames have `mtu` bytes at most after
    /// the Ethernet header.
    pub const fn ethernet(mac: MacAddr, mtu: u32) -> Self {
        Self::new(LinkAddr::Ethernet(mac), Capabilities::ethernet(mtu))
    }

    /// The loopback device, which takes `mtu` bytes after the Ethernet header.
    pub const fn loopback(mtu: u32) -> Self {
        Self { loopback: true, ..Self::ethernet(MacAddr::ZERO, mtu) }
    }

    /// UDP sockets, of which `addr` is the node's own address and port, for datagrams of `mtu`
    /// bytes at most that are sent in GSO batches of `gso_frames`. They reach this node itself as
    /// well.
    pub const fn udp(addr: LinkAddr, mtu: u32, gso_frames: u16) -> Self {
        Self::new(addr, Capabilities::datagrams(mtu, gso_frames))
    }

    /// The same with a window of `bytes`.
    #[must_use]
    pub const fn with_window(self, bytes: usize) -> Self {
        Self { window: bytes, ..self }
    }
}

/// The sizes in which an underlay carries packets.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Capabilities {
    /// Bytes after the Ethernet header that it takes, or of a datagram's payload.
    pub mtu: u32,
    /// As [`Device::gso_frames`].
    pub gso_frames: u16,
    /// As [`Device::window`].
    pub window: usize,
    /// Bytes of a packet before its network header: those of the Ethernet header, or none.
    pub header: usize,
}

impl Capabilities {
    /// Returns those of an Ethernet device whose frames have `mtu` bytes at most after the Ethernet
    /// header.
    pub const fn ethernet(mtu: u32) -> Self {
        Self { mtu, gso_frames: 1, window: Device::WINDOW, header: ETHERNET_LEN }
    }

    /// Returns those of a datagram socket, for datagrams of `mtu` bytes at most that are sent in
    /// GSO batches of `gso_frames`.
    pub const fn datagrams(mtu: u32, gso_frames: u16) -> Self {
        Self { mtu, gso_frames, window: Device::WINDOW, header: 0 }
    }

    /// Returns the same with a window of `bytes`.
    #[must_use]
    pub const fn with_window(self, bytes: usize) -> Self {
        Self { window: bytes, ..self }
    }
}

/// Received packets from one neighbour, at equal distances in memory, and of one size but for the
/// last, which may be shorter: a GSO batch, or neighbouring slots of a ring.
#[derive(Clone, Debug, Default)]
pub struct PacketRun<'a> {
    /// From the start of the first packet that is left to the end of the last.
    bytes: &'a [u8],
    size: usize,
    stride: usize,
    len: usize,
}

impl<'a> PacketRun<'a> {
    /// Returns packets of `size` bytes, each `stride` bytes behind the one before. The first one
    /// begins, and the last one ends with `bytes`.
    ///
    /// # Panics
    /// If they have no bytes, or overlap.
    #[must_use]
    pub const fn new(bytes: &'a [u8], size: usize, stride: usize) -> Self {
        assert!(0 < size && size <= stride, "packets have bytes and do not overlap");
        // Most runs have one packet, which needs no division.
        let len = match bytes.len() {
            0 => 0,
            total if total <= stride => 1,
            total => total.div_ceil(stride),
        };
        Self { bytes, size, stride, len }
    }

    /// Returns a packet alone.
    #[must_use]
    pub const fn single(packet: &'a [u8]) -> Self {
        Self { bytes: packet, size: packet.len(), stride: packet.len(), len: 1 }
    }

    /// Returns the bytes of the packets that are left.
    pub fn total_bytes(&self) -> usize {
        self.bytes.len() - self.len.saturating_sub(1) * (self.stride - self.size)
    }

    /// The first packet that is left.
    #[inline]
    pub(crate) fn first(&self) -> Option<&'a [u8]> {
        (self.len > 0).then(|| &self.bytes[..self.size.min(self.bytes.len())])
    }

    /// Removes it.
    #[inline]
    pub(crate) fn drop_first(&mut self) {
        self.bytes = self.bytes.get(self.stride..).unwrap_or_default();
        self.len = self.len.saturating_sub(1);
    }
}

impl<'a> Iterator for PacketRun<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let first = self.first();
        self.drop_first();
        first
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len, Some(self.len))
    }
}

impl ExactSizeIterator for PacketRun<'_> {}
