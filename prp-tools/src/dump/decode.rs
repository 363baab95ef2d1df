//! What a captured frame carries of PRP: one packet, or a GSO batch of them in a UDP datagram that
//! has not been cut yet.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use prp_proto::addr::{LinkAddr, MacAddr, UDP_PORTS};
use prp_proto::hosts::Hosts;
use prp_proto::wire::{ETHERNET_LEN, ETHERTYPE, Frame, FrameError, GsoProbe, UDP_PORT};

use super::gso_batch::{datagrams, may_be_more};

/// Bytes before a packet that a node's own port hands on to a process: the IP address and the port
/// that it came from (SPEC PRP-UDP-2).
const HANDED_ON_LEN: usize = 18;

/// By which numbers PRP is known on the wire.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ProtocolNumbers {
    pub(super) ethertype: u16,
    /// The nodes' own UDP ports, of which each has the following ones as well. One at least.
    pub(super) own_ports: Vec<u16>,
}

impl ProtocolNumbers {
    /// Those of `hosts`.
    pub(super) fn of(hosts: Option<&Hosts>) -> Self {
        let ethertype = hosts.map_or(ETHERTYPE, Hosts::ethertype);
        let nodes = hosts.into_iter().flat_map(|hosts| hosts.nodes().map(move |n| (hosts, n)));
        let addrs = nodes.flat_map(|(hosts, node)| hosts.udp_addrs(node));
        let mut own_ports: Vec<_> = addrs.map(|(addr, _)| addr.port()).collect();
        own_ports.push(UDP_PORT);
        own_ports.sort_unstable();
        own_ports.dedup();
        Self { ethertype, own_ports }
    }

    /// All UDP ports of nodes are among these.
    pub(super) fn udp_ports(&self) -> RangeInclusive<u16> {
        let (first, last) = (self.own_ports.iter().min(), self.own_ports.iter().max());
        let [first, last] = [first, last].map(|port| port.copied().unwrap_or(UDP_PORT));
        first..=last.saturating_add(UDP_PORTS - 1)
    }

    fn has(&self, port: u16) -> bool {
        self.own_ports.iter().any(|own| (*own..=own.saturating_add(UDP_PORTS - 1)).contains(&port))
    }
}

/// From where to where something goes.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Ends {
    /// From one hardware address to another.
    Ethernet(MacAddr, MacAddr),
    /// From an IP address and port to another. The packet was handed on by the node's own port if
    /// there is an address that it had come from.
    Udp { from: SocketAddr, to: SocketAddr, came_from: Option<SocketAddr> },
}

impl Ends {
    /// The underlay's name.
    pub(super) const fn underlay(&self) -> &'static str {
        match self {
            Self::Ethernet(..) => "ethernet",
            Self::Udp { .. } => "udp",
        }
    }

    /// Both addresses.
    pub(super) fn addresses(&self) -> [String; 2] {
        match self {
            Self::Ethernet(from, to) => [from.to_string(), to.to_string()],
            Self::Udp { from, to, .. } => [from.to_string(), to.to_string()],
        }
    }
}

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethernet(from, to) => write!(f, "{from} > {to}"),
            Self::Udp { from, to, came_from: None } => write!(f, "{from} > {to}"),
            Self::Udp { from, to, came_from: Some(first) } => {
                write!(f, "{from} > {to} (came from {first})")
            }
        }
    }
}

/// What a frame or a datagram is.
#[derive(Clone, Debug)]
pub(super) enum Content<'a> {
    /// A packet of PRP, or why it is none.
    Packet(Result<Frame<'a>, FrameError>),
    /// A message between two devices.
    GsoProbe(GsoProbe),
}

/// A packet of a captured frame.
#[derive(Clone, Debug)]
pub(super) struct DecodedPacket<'a> {
    pub(super) ends: Ends,
    /// Bytes of the frame that it has, or would have by itself.
    pub(super) bytes: usize,
    /// Datagrams of the GSO batch in the same frame, 1 without a GSO batch. Unknown if only the
    /// first one was captured.
    pub(super) gso_batch: Option<usize>,
    pub(super) content: Content<'a>,
}

impl DecodedPacket<'_> {
    /// The packet, if it is one.
    pub(super) fn packet(&self) -> Option<&Frame<'_>> {
        match &self.content {
            Content::Packet(Ok(frame)) => Some(frame),
            _ => None,
        }
    }
}

/// Whether `frame` is one of Ethernet's that carries a packet, or should.
pub(super) fn is_of_ethernet(frame: &[u8], numbers: &ProtocolNumbers) -> bool {
    frame.get(ETHERNET_LEN - 2..ETHERNET_LEN) == Some(&numbers.ethertype.to_be_bytes())
}

/// Hands what `frame` carries to `take`, in order, until that wants no more; whether it wants more.
/// The first `captured` bytes of it were captured, and the others are zeros.
pub(super) fn each(
    frame: &[u8],
    captured: usize,
    numbers: &ProtocolNumbers,
    take: &mut dyn FnMut(&DecodedPacket<'_>) -> bool,
) -> bool {
    let Some((&header, _)) = frame.split_first_chunk::<ETHERNET_LEN>() else { return true };
    let [a, b, c, d, e, f, g, h, i, j, k, l, high, low] = header;
    if u16::from_be_bytes([high, low]) == numbers.ethertype {
        let ends = Ends::Ethernet(MacAddr([g, h, i, j, k, l]), MacAddr([a, b, c, d, e, f]));
        let content = Content::Packet(Frame::parse(frame, numbers.ethertype));
        return take(&DecodedPacket { ends, bytes: frame.len(), gso_batch: Some(1), content });
    }
    let Some((from, to, payload)) = datagram(frame) else { return true };
    if !numbers.has(from.port()) || !numbers.has(to.port()) {
        return true;
    }
    let headers = frame.len().saturating_sub(payload.len());
    let (came_from, payload) = match handed_on(from, to, payload, numbers) {
        Some((came_from, packet)) => (Some(came_from), packet),
        None => (None, payload),
    };
    let ends = Ends::Udp { from, to, came_from };
    let gso_batch = datagrams(payload);
    let is_cut = captured < frame.len() && gso_batch.len() == 1 && may_be_more(payload);
    let count = (!is_cut).then_some(gso_batch.len());
    gso_batch.into_iter().all(|datagram| {
        let content = match GsoProbe::read(datagram).filter(|_| came_from.is_none()) {
            Some(message) => Content::GsoProbe(message),
            // From where it came decides nothing here.
            None => Content::Packet(Frame::parse_datagram(
                LinkAddr::Ethernet(MacAddr([0; 6])),
                datagram,
            )),
        };
        let before = headers + if came_from.is_some() { HANDED_ON_LEN } else { 0 };
        take(&DecodedPacket { ends, bytes: before + datagram.len(), gso_batch: count, content })
    })
}

/// The UDP datagram in a frame: from where, to where, and what it carries, as far as it was
/// captured.
fn datagram(frame: &[u8]) -> Option<(SocketAddr, SocketAddr, &[u8])> {
    let sliced = LaxSlicedPacket::from_ethernet(frame).ok()?;
    let (from, to): (IpAddr, IpAddr) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            (ip.header().source_addr().into(), ip.header().destination_addr().into())
        }
        _ => return None,
    };
    let Some(TransportSlice::Udp(udp)) = sliced.transport else { return None };
    let (from_port, to_port) = (udp.source_port(), udp.destination_port());
    Some((SocketAddr::new(from, from_port), SocketAddr::new(to, to_port), udp.payload()))
}

/// From where the packet in `payload` came, and the packet, if a node's own port has handed it on:
/// nothing else goes from there to the same machine.
fn handed_on<'a>(
    from: SocketAddr,
    to: SocketAddr,
    payload: &'a [u8],
    numbers: &ProtocolNumbers,
) -> Option<(SocketAddr, &'a [u8])> {
    let is_own = |port: u16| numbers.own_ports.contains(&port);
    if !is_own(from.port()) || is_own(to.port()) || from.ip() != to.ip() {
        return None;
    }
    let (front, packet) = payload.split_first_chunk::<HANDED_ON_LEN>()?;
    let (ip, &[high, low]) =
        front.split_first_chunk::<16>().and_then(|(ip, port)| Some((ip, port.first_chunk()?)))?;
    let ip = Ipv6Addr::from(*ip).to_canonical();
    Some((SocketAddr::new(ip, u16::from_be_bytes([high, low])), packet))
}

#[cfg(test)]
mod tests;
