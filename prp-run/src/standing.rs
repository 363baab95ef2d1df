//! Addresses that stand for others: what programs name, and what their sockets have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::mapping::{OWN_ONLY, OWN_ONLY_IP6, PRP_ONLY, PRP_ONLY_IP6};
use crate::settings::{Protocols, Settings};

/// Returns the address that the kernel connects to for `peer`: this machine's for none.
pub fn reached(mut peer: SocketAddr) -> SocketAddr {
    match peer.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => peer.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => peer.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    peer
}

impl Settings {
    /// Returns the loopback address to bind a socket to in place of `wanted`: one that is to serve
    /// PRP only, or that names this node by an address that no device of this machine has. `None`
    /// if it is bound as it says.
    pub fn stand_in(&self, wanted: SocketAddr, is_ip6_only: bool) -> Option<SocketAddr> {
        let ip = self.stand_in_ip(wanted, is_ip6_only)?;
        let ip = if wanted.is_ipv4() { IpAddr::V4(ip) } else { ip.to_ipv6_mapped().into() };
        Some(SocketAddr::new(ip, wanted.port()))
    }

    fn stand_in_ip(&self, wanted: SocketAddr, is_ip6_only: bool) -> Option<Ipv4Addr> {
        let ip = wanted.ip();
        if ip.is_unspecified() {
            // Clients are bound to any address and port before they connect.
            let is_for_prp = self.listen == Protocols::Prp && wanted.port() != 0;
            return is_for_prp.then_some(if is_ip6_only { PRP_ONLY_IP6 } else { PRP_ONLY });
        }
        let is_own = self.mapping.node(ip) == Some(self.node);
        let own = if is_ip6_only { OWN_ONLY_IP6 } else { OWN_ONLY };
        (is_own && !self.mapping.is_of_tcp_too(ip)).then_some(own)
    }

    /// Returns the address that a program knows for a socket that is bound to one which stands for
    /// it; `None` if `bound` stands for none.
    pub fn shown(&self, bound: SocketAddr) -> Option<SocketAddr> {
        let ip = match bound.ip().to_canonical() {
            IpAddr::V4(PRP_ONLY) if bound.is_ipv4() => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V4(PRP_ONLY | PRP_ONLY_IP6) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            IpAddr::V4(OWN_ONLY) => self.mapping.ip_like(self.node, bound.ip()),
            IpAddr::V4(OWN_ONLY_IP6) => self.mapping.ip6(self.node).into(),
            _ => return None,
        };
        Some(SocketAddr::new(ip, bound.port()))
    }

    /// Whether a socket that listens at `bound` has connections of PRP.
    pub fn serves_prp(&self, bound: SocketAddr) -> bool {
        self.listen != Protocols::Tcp
            && (bound.ip().is_unspecified()
                || self.shown(bound).is_some()
                || self.mapping.node(bound.ip()) == Some(self.node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(listen: &str) -> Settings {
        let text =
            format!("1,1,00000000000000000000000000000007,0,3,198.18.0.0/16,0,{listen},0,0,1");
        text.parse().expect("settings")
    }

    #[test]
    fn stand_in__is_shown_as_what_was_wanted() {
        let settings = settings("prp");
        for (wanted, is_ip6_only) in [
            ("0.0.0.0:80", false),
            ("[::]:80", false),
            ("[::]:80", true),
            ("198.18.0.3:80", false),
            ("[fd50:5250::3]:80", true),
        ] {
            let wanted = wanted.parse().expect("an address");
            let bound = settings.stand_in(wanted, is_ip6_only).expect("one that stands for it");
            assert!(bound.ip().to_canonical().is_loopback(), "{bound}");
            assert_eq!(settings.shown(bound), Some(wanted), "{bound}");
        }
    }

    #[test]
    fn stand_in__is_not_for_what_tcp_has() {
        let (both, prp) = (settings("both"), settings("prp"));
        for (settings, wanted) in
            [(&both, "0.0.0.0:80"), (&prp, "0.0.0.0:0"), (&prp, "10.0.0.1:80"), (&both, "[::1]:0")]
        {
            assert_eq!(settings.stand_in(wanted.parse().expect("one"), false), None, "{wanted}");
        }
    }

    #[test]
    fn serves_prp__at_all_addresses_and_at_this_nodes() {
        let at = |listen: &str, bound: &str| {
            settings(listen).serves_prp(bound.parse().expect("an address"))
        };
        assert!(
            at("both", "[::]:80") && at("prp", "127.80.82.81:80") && at("both", "198.18.0.3:1")
        );
        assert!(!at("tcp", "[::]:80") && !at("both", "10.0.0.1:80") && !at("both", "198.18.0.4:1"));
    }
}
