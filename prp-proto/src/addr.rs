//! Addresses: nodes, ports, hardware addresses, devices.

#[cfg(feature = "serde")]
mod serde;

use alloc::format;
use core::fmt;
use core::net::SocketAddr;
use core::num::NonZeroU16;
use core::str::FromStr;

/// A node of the cluster: 1 to 65534 (SPEC PRP-ADDR-1).
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct NodeId(NonZeroU16);

impl NodeId {
    /// The lowest node number.
    pub const MIN: Self = Self(NonZeroU16::MIN);

    /// Node `number`, or `None` for the reserved 0 and 65535.
    pub const fn new(number: u16) -> Option<Self> {
        match NonZeroU16::new(number) {
            Some(n) if number != u16::MAX => Some(Self(n)),
            _ => None,
        }
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0.get()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

impl TryFrom<u16> for NodeId {
    type Error = AddrParseError;

    fn try_from(number: u16) -> Result<Self, AddrParseError> {
        Self::new(number).ok_or(AddrParseError(AddrPart::Node))
    }
}

impl From<NodeId> for u16 {
    fn from(node: NodeId) -> Self {
        node.number()
    }
}

impl FromStr for NodeId {
    type Err = AddrParseError;

    fn from_str(s: &str) -> Result<Self, AddrParseError> {
        decimal(s).and_then(Self::new).ok_or(AddrParseError(AddrPart::Node))
    }
}

/// A port of a node. Port 0 is the node's own control port (SPEC PRP-ADDR-2).
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Default)]
pub struct Port(u16);

impl Port {
    /// The node's control port: echo and refusals.
    pub const CONTROL: Self = Self(0);

    /// The last of the paper's 1024 ports (paper section 2.3).
    pub const LAST_CLASSIC: Self = Self(1024);

    /// The first port that is given to those that name none: where Linux starts its ephemeral
    /// range, and above the ports that people serve on (SPEC PRP-PORT-2).
    pub const FIRST_AUTOMATIC: Self = Self(32768);

    /// Port `number`.
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}", self.0)
    }
}

impl From<u16> for Port {
    fn from(number: u16) -> Self {
        Self::new(number)
    }
}

impl From<Port> for u16 {
    fn from(port: Port) -> Self {
        port.number()
    }
}

impl FromStr for Port {
    type Err = AddrParseError;

    fn from_str(s: &str) -> Result<Self, AddrParseError> {
        decimal(s).map(Self).ok_or(AddrParseError(AddrPart::Port))
    }
}

/// One end of a connection. Prints and parses as `node:port`.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct PrpAddr {
    /// The node.
    pub node: NodeId,
    /// The port on it.
    pub port: Port,
}

impl PrpAddr {
    /// The address of `port` on `node`.
    pub const fn new(node: NodeId, port: Port) -> Self {
        Self { node, port }
    }

    /// The port's number, as [`std::net::SocketAddr::port`] gives it.
    ///
    /// [`std::net::SocketAddr::port`]: https://doc.rust-lang.org/std/net/enum.SocketAddr.html
    pub const fn port(&self) -> u16 {
        self.port.number()
    }

    /// Changes the port, as [`std::net::SocketAddr::set_port`] does.
    ///
    /// [`std::net::SocketAddr::set_port`]: https://doc.rust-lang.org/std/net/enum.SocketAddr.html
    pub const fn set_port(&mut self, port: u16) {
        self.port = Port::new(port);
    }
}

impl fmt::Display for PrpAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.width().is_some() {
            // Padding needs the whole text at once.
            return f.pad(&format!("{}:{}", self.node, self.port));
        }
        write!(f, "{}:{}", self.node, self.port)
    }
}

impl fmt::Debug for PrpAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<(NodeId, Port)> for PrpAddr {
    fn from((node, port): (NodeId, Port)) -> Self {
        Self::new(node, port)
    }
}

impl From<(NodeId, u16)> for PrpAddr {
    fn from((node, port): (NodeId, u16)) -> Self {
        Self::new(node, Port::new(port))
    }
}

impl TryFrom<(u16, u16)> for PrpAddr {
    type Error = AddrParseError;

    fn try_from((node, port): (u16, u16)) -> Result<Self, AddrParseError> {
        Ok(Self::new(node.try_into()?, Port::new(port)))
    }
}

/// `node:port`, both decimal (SPEC PRP-ADDR-3).
impl FromStr for PrpAddr {
    type Err = AddrParseError;

    fn from_str(s: &str) -> Result<Self, AddrParseError> {
        let (node, port) = s.rsplit_once(':').ok_or(AddrParseError(AddrPart::Shape))?;
        Ok(Self { node: node.parse()?, port: port.parse()? })
    }
}

/// A 48-bit hardware address. Prints and parses as `02:00:00:00:00:01`.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// All zeros: the loopback device's.
    pub const ZERO: Self = Self([0; 6]);
    /// All ones.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether this names a single station: neither a group address nor all zeros.
    pub const fn is_station(self) -> bool {
        self.0[0] & 1 == 0 && !matches!(self.0, [0, 0, 0, 0, 0, 0])
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MacAddr {
    type Err = AddrParseError;

    fn from_str(s: &str) -> Result<Self, AddrParseError> {
        let bad = AddrParseError(AddrPart::Mac);
        let mut octets = [0; 6];
        let mut parts = s.split(':');
        for octet in &mut octets {
            let part = parts.next().ok_or(bad)?;
            if part.len() != 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(bad);
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| bad)?;
        }
        if parts.next().is_some() { Err(bad) } else { Ok(Self(octets)) }
    }
}

/// An IP address of the cluster, as an index into what prphosts lists
/// ([`Hosts::udp_peers`](crate::hosts::Hosts::udp_peers)).
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default)]
pub struct UdpPeer(pub u16);

/// Where a neighbour is on the underlay that reaches it.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum LinkAddr {
    /// A station on an Ethernet segment.
    Ethernet(MacAddr),
    /// A UDP port of an IP address (SPEC PRP-UDP-2).
    Udp {
        /// The address.
        peer: UdpPeer,
        /// The port: in routes the node's own, of which other processes have the following ones.
        port: u16,
    },
    /// A process of a node of this machine, by Unix sockets (SPEC PRP-UNIX-1).
    Unix {
        /// The node.
        node: NodeId,
        /// The process's number: 0 in routes, which means all processes of the node.
        process: u16,
    },
}

/// UDP ports of a node, its own one included: a process has one each (SPEC PRP-UDP-2).
pub const UDP_PORTS: u16 = 128;

impl LinkAddr {
    /// The address of no neighbour: what is sent there is dropped.
    pub const NOBODY: Self = Self::Udp { peer: UdpPeer(u16::MAX), port: 0 };

    /// Whether frames from `from` come from the node that has this address in a route: over UDP any
    /// port in the node's range may be one of its processes' (SPEC PRP-UDP-3), and over Unix
    /// sockets any number (SPEC PRP-UNIX-3).
    #[inline]
    pub fn covers(self, from: Self) -> bool {
        match (self, from) {
            (Self::Ethernet(own), Self::Ethernet(mac)) => own == mac,
            (Self::Udp { peer: own, port: first }, Self::Udp { peer, port }) => {
                own == peer && (first..first.saturating_add(UDP_PORTS)).contains(&port)
            }
            (Self::Unix { node: own, .. }, Self::Unix { node, .. }) => own == node,
            _ => false,
        }
    }

    /// Whether both are the same station, UDP ports of the same IP address, or processes of the
    /// same node.
    #[inline]
    pub fn is_same_host(self, other: Self) -> bool {
        match (self, other) {
            (Self::Ethernet(a), Self::Ethernet(b)) => a == b,
            (Self::Udp { peer: a, .. }, Self::Udp { peer: b, .. }) => a == b,
            (Self::Unix { node: a, .. }, Self::Unix { node: b, .. }) => a == b,
            _ => false,
        }
    }

    /// The hardware address, on Ethernet.
    pub const fn mac(self) -> Option<MacAddr> {
        match self {
            Self::Ethernet(mac) => Some(mac),
            Self::Udp { .. } | Self::Unix { .. } => None,
        }
    }

    /// Whether the underlay is UDP.
    pub const fn is_udp(self) -> bool {
        matches!(self, Self::Udp { .. })
    }

    /// Whether packets go by Unix sockets.
    pub const fn is_unix(self) -> bool {
        matches!(self, Self::Unix { .. })
    }

    /// Whether packets go without an Ethernet header, each to one process.
    pub const fn is_datagram(self) -> bool {
        !matches!(self, Self::Ethernet(_))
    }
}

impl fmt::Display for LinkAddr {
    /// A hardware address, the number of an IP address in prphosts and a UDP port, or a node and
    /// the number of a process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethernet(mac) => mac.fmt(f),
            Self::Udp { peer, port } => write!(f, "udp {}:{port}", peer.0),
            Self::Unix { node, process } => write!(f, "unix {node}:{process}"),
        }
    }
}

impl From<MacAddr> for LinkAddr {
    fn from(mac: MacAddr) -> Self {
        Self::Ethernet(mac)
    }
}

/// Where a neighbour is, in terms that no prphosts changes: a [`LinkAddr`] has the number that one
/// reading of the file gives an IP address, and means another host by the next one.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum StationAddr {
    /// A station on an Ethernet segment.
    Ethernet(MacAddr),
    /// A UDP address and port.
    Udp(SocketAddr),
    /// A node of this machine, and the number of one of its processes, or 0.
    Unix {
        /// The node.
        node: NodeId,
        /// As in [`LinkAddr::Unix`].
        process: u16,
    },
}

impl fmt::Display for StationAddr {
    /// As prphosts has it, with the port always.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethernet(mac) => mac.fmt(f),
            Self::Udp(addr) => write!(f, "udp:{addr}"),
            Self::Unix { node, process: 0 } => write!(f, "unix:{node}"),
            Self::Unix { node, process } => write!(f, "unix:{node}:{process}"),
        }
    }
}

impl From<MacAddr> for StationAddr {
    fn from(mac: MacAddr) -> Self {
        Self::Ethernet(mac)
    }
}

/// A network device, as an index into the driver's list of devices.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug, Default)]
pub struct DeviceId(pub u16);

/// Text that is not an address, and which part of it is wrong.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct AddrParseError(AddrPart);

#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum AddrPart {
    Node,
    Port,
    Mac,
    Shape,
}

impl fmt::Display for AddrParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            AddrPart::Node => "expected a node number from 1 to 65534",
            AddrPart::Port => "expected a port number from 0 to 65535",
            AddrPart::Mac => "expected a hardware address such as 02:00:00:00:00:01",
            AddrPart::Shape => "expected node:port, such as 3:80",
        })
    }
}

impl core::error::Error for AddrParseError {}

/// Digits only: `u16::from_str` alone would take a leading plus sign.
fn decimal(s: &str) -> Option<u16> {
    if s.bytes().all(|b| b.is_ascii_digit()) { s.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
