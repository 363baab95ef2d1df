//! The IP addresses of a cluster, by number and by address.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use prp_proto::addr::{LinkAddr, UdpPeer};

/// The addresses of the cluster.
#[derive(Debug)]
pub(super) struct Peers {
    /// Each with the number of the own address from which datagrams leave for it.
    by_number: Vec<(IpAddr, u8)>,
    by_address: HashMap<IpAddr, UdpPeer>,
    /// The last one that was found: most datagrams come from where the one before came from.
    last: Option<(IpAddr, UdpPeer)>,
}

impl Peers {
    /// `addresses` in the order of their numbers. Datagrams leave from that address of `own` that
    /// has most leading bits in common with the recipient's, the first of several (as RFC 6724, 5,
    /// rule 8, has it).
    pub(super) fn new(addresses: &[IpAddr], own: &[IpAddr]) -> Self {
        let from = |ip: IpAddr| {
            let best = own.iter().enumerate().rev().max_by_key(|(_, own)| common_bits(**own, ip));
            best.map_or(0, |(at, _)| at as u8)
        };
        let numbered = addresses.iter().enumerate();
        let by_address = numbered.map(|(at, ip)| (*ip, UdpPeer(at as u16))).collect();
        let by_number = addresses.iter().map(|ip| (*ip, from(*ip))).collect();
        Self { by_number, by_address, last: None }
    }

    /// The neighbour whose address `addr` is.
    pub(super) fn link_addr(&mut self, addr: SocketAddr) -> Option<LinkAddr> {
        let (ip, port) = (addr.ip(), addr.port());
        let peer = match self.last {
            Some((last, peer)) if last == ip => peer,
            _ => *self.by_address.get(&ip)?,
        };
        self.last = Some((ip, peer));
        Some(LinkAddr::Udp { peer, port })
    }

    /// The address of the neighbour `to`, and the number of the own address for it.
    pub(super) fn address(&self, to: LinkAddr) -> Option<(SocketAddr, usize)> {
        let LinkAddr::Udp { peer, port } = to else { return None };
        let (ip, own) = *self.by_number.get(usize::from(peer.0))?;
        Some((SocketAddr::new(ip, port), usize::from(own)))
    }
}

/// How many leading bits two addresses have in common, and one more, so that those of one kind
/// have more than those of two.
fn common_bits(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => 1 + (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => 1 + (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips<const N: usize>(all: [&str; N]) -> [IpAddr; N] {
        all.map(|ip| ip.parse().unwrap())
    }

    #[test]
    fn address__leaves_from_the_nearest_of_the_node_s_own() {
        let own = ips(["10.0.0.1", "10.1.0.1", "fd00::1"]);
        let all = ips(["10.0.0.2", "10.1.0.2", "fd00::2", "192.0.2.9", "11.0.0.1", "fd00::1"]);
        let peers = Peers::new(&all, &own);
        let from = (0..7).map(|peer| {
            let addr = peers.address(LinkAddr::Udp { peer: UdpPeer(peer), port: 5 });
            addr.map(|(addr, own)| (addr.ip(), own))
        });
        let expected = all.iter().copied().zip([0, 1, 2, 0, 0, 2]).map(Some).chain([None]);
        assert!(from.eq(expected));
    }

    #[test]
    fn link_addr__knows_each_by_its_number_however_often_it_is_asked() {
        let all = ips(["10.0.0.2", "10.1.0.2"]);
        let mut peers = Peers::new(&all, &[]);
        let mut number = |ip: &str| peers.link_addr(SocketAddr::new(ip.parse().unwrap(), 7));
        let udp = |peer| Some(LinkAddr::Udp { peer: UdpPeer(peer), port: 7 });
        assert_eq!(number("10.0.0.9"), None);
        for _ in 0..2 {
            assert_eq!(number("10.0.0.2"), udp(0));
            assert_eq!(number("10.0.0.2"), udp(0));
            assert_eq!(number("10.1.0.2"), udp(1));
            assert_eq!(number("10.0.0.9"), None);
        }
    }
}
