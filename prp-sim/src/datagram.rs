//! UDP datagrams on simulated links. An Ethernet header in front of each stands for the headers of
//! IP and UDP too, so that links, switches and captures need not know of them.

use std::net::Ipv4Addr;

use prp_proto::addr::{LinkAddr, MacAddr, UdpPeer};
use prp_proto::wire::{ETHERNET_LEN, ETHERTYPE, UDP_PORT};

use crate::topology::{mac, node_id};

/// Least MTU of links that carry datagrams, of which every path takes 1200 bytes (SPEC
/// PRP-SIZE-3). Here they have no headers of IP and UDP in front.
pub(crate) const LEAST_MTU: u32 = 1200;

/// The IP address of the node with this index.
pub(crate) fn ip(node: usize) -> Ipv4Addr {
    let [high, low] = node_id(node).number().to_be_bytes();
    Ipv4Addr::new(10, 0, high, low)
}

/// The node's own address and port. prphosts has the nodes in the order of their numbers, and with
/// them their addresses.
pub(crate) fn own_addr(node: usize) -> LinkAddr {
    LinkAddr::Udp { peer: UdpPeer(node as u16), port: UDP_PORT }
}

/// A datagram on a link: from the node with this index, to an address that prphosts lists.
pub(crate) fn on_link(from: usize, to: LinkAddr, datagram: &[u8]) -> Vec<u8> {
    let to = match to {
        LinkAddr::Udp { peer, .. } => mac(usize::from(peer.0), 0),
        LinkAddr::Ethernet(mac) => mac,
        LinkAddr::Unix { .. } => MacAddr::ZERO,
    };
    [&to.0, &mac(from, 0).0, &ETHERTYPE.to_be_bytes()[..], datagram].concat()
}

/// From where a datagram came to the node with this index, by what its link brought, and the
/// datagram; none of a stranger, and none for another node, which a switch has sent everywhere. A
/// node's process sends at the first port behind the node's own.
pub(crate) fn read(node: usize, frame: &[u8]) -> Option<(LinkAddr, &[u8])> {
    let (header, datagram) = frame.split_first_chunk::<ETHERNET_LEN>()?;
    let rest = header.strip_prefix(&mac(node, 0).0)?;
    let src = *rest.first_chunk::<6>()?;
    let MacAddr([_, _, _, _, high, low]) = MacAddr(src);
    let from = usize::from(u16::from_be_bytes([high, low])).checked_sub(1)?;
    let peer = UdpPeer(from as u16);
    (src == mac(from, 0).0).then_some((LinkAddr::Udp { peer, port: UDP_PORT + 1 }, datagram))
}

#[cfg(test)]
mod tests {
    use prp_proto::hosts::Hosts;

    use super::*;
    use crate::hosts::{self, Style};
    use crate::rng::{Purpose, SimRng};
    use crate::topology::{Shape, Topology};

    #[test]
    fn own_addr__is_what_prphosts_says() {
        let topology = Topology::new(Shape::Star(8));
        let mut rng = SimRng::new(1, Purpose::Plan);
        let text = hosts::text(&topology, 3, Style { mtu: None, udp: true }, &mut rng);
        let hosts = Hosts::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        for node in 0..topology.nodes() {
            let found = hosts.socket_addr(own_addr(node));
            assert_eq!(found, Some((ip(node), UDP_PORT).into()), "{text}");
        }
    }

    #[test]
    fn read__what_was_put_on_the_link() {
        let frame = on_link(258, own_addr(3), b"datagram");
        assert_eq!(frame[..6], mac(3, 0).0);
        let from = LinkAddr::Udp { peer: UdpPeer(258), port: UDP_PORT + 1 };
        assert_eq!(read(3, &frame), Some((from, &b"datagram"[..])));
        for byte in 0..10 {
            let mut other = frame.clone();
            other[byte] ^= 1;
            assert_eq!(read(3, &other), None, "byte {byte}");
        }
        assert_eq!(read(3, &frame[..13]), None);
    }
}
