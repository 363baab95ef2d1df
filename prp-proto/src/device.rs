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
        Self { loopback: true, ..Self::new(addr, Capabilities::datagrams(mtu, gso_frames)) }
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
