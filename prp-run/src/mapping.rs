//! Which IP addresses stand for nodes.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// The address from which the holder connects to a program's listening socket.
pub const BELL: Ipv4Addr = Ipv4Addr::new(127, 80, 82, 80);

/// What a listener at all addresses is bound to that is to serve PRP only.
pub(crate) const PRP_ONLY: Ipv4Addr = Ipv4Addr::new(127, 80, 82, 81);

/// What a listener at the address of this node in the mapping is bound to.
pub(crate) const OWN_ONLY: Ipv4Addr = Ipv4Addr::new(127, 80, 82, 82);

/// As [`PRP_ONLY`], for a listener of IPv6 alone, beside which there may be one of IPv4.
pub(crate) const PRP_ONLY_IP6: Ipv4Addr = Ipv4Addr::new(127, 80, 82, 83);

/// As [`OWN_ONLY`], for a listener of IPv6 alone.
pub(crate) const OWN_ONLY_IP6: Ipv4Addr = Ipv4Addr::new(127, 80, 82, 84);

/// What the sockets are bound to that stand for those of `AF_PRPF`.
pub const FAMILY: Ipv4Addr = Ipv4Addr::new(127, 80, 82, 85);

/// The first two groups of the IPv6 addresses of nodes; the last is the number.
const PREFIX: [u16; 2] = [0xfd50, 0x5250];

/// A network in which the host number of an address is a node number.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Network {
    base: u32,
    bits: u32,
}

impl Network {
    /// 198.18.0.0/16, a network that is reserved for measurements (RFC 2544), and that no machine
    /// on the internet has an address of.
    pub const PRIVATE: Self = Self { base: 0xc612_0000, bits: 16 };

    const fn mask(self) -> u32 {
        u32::MAX << (32 - self.bits)
    }

    /// Returns the node number of an address of this network.
    pub fn node(self, ip: Ipv4Addr) -> Option<u16> {
        let bits = u32::from(ip);
        if bits & self.mask() != self.base {
            return None;
        }
        u16::try_from(bits & !self.mask()).ok().filter(|number| !matches!(*number, 0 | u16::MAX))
    }

    /// Returns the address of a node; `None` if its number does not fit into the host bits.
    pub fn address(self, node: u16) -> Option<Ipv4Addr> {
        let number = u32::from(node);
        (number & self.mask() == 0).then(|| Ipv4Addr::from(self.base | number))
    }
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const WRONG: &str =
            "expected a network such as 10.99.0.0/24, with 16 to 30 bits and no bits of a host";
        let (address, bits) = text.split_once('/').ok_or(WRONG)?;
        let base = address.parse::<Ipv4Addr>().map_err(|_| WRONG)?.into();
        let bits = bits.parse().ok().filter(|bits| (16..=30).contains(bits)).ok_or(WRONG)?;
        let made = Self { base, bits };
        if base & !made.mask() == 0 { Ok(made) } else { Err(WRONG) }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.base), self.bits)
    }
}

/// The addresses that stand for nodes in a run.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Mapping {
    /// The IPv4 addresses of nodes.
    pub network: Network,
    /// The node that 127.0.0.1 and ::1 stand for, if they do for one.
    pub loopback: Option<u16>,
}

impl Mapping {
    /// Returns the node that `ip` stands for.
    pub fn node(&self, ip: IpAddr) -> Option<u16> {
        match unmapped(ip) {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => self.loopback,
            IpAddr::V4(ip) => self.network.node(ip),
            IpAddr::V6(ip) => match ip.segments() {
                [a, b, 0, 0, 0, 0, 0, number] if [a, b] == PREFIX => {
                    Some(number).filter(|number| !matches!(*number, 0 | u16::MAX))
                }
                _ => None,
            },
        }
    }

    /// Returns the IPv4 address of a node.
    pub fn ip4(&self, node: u16) -> Option<Ipv4Addr> {
        match self.loopback {
            Some(own) if own == node => Some(Ipv4Addr::LOCALHOST),
            _ => self.network.address(node),
        }
    }

    /// Returns the IPv6 address of a node.
    pub const fn ip6(&self, node: u16) -> Ipv6Addr {
        match self.loopback {
            Some(own) if own == node => Ipv6Addr::LOCALHOST,
            _ => Ipv6Addr::new(PREFIX[0], PREFIX[1], 0, 0, 0, 0, 0, node),
        }
    }

    /// Returns the address of a node in the family and form of `like`.
    pub fn ip_like(&self, node: u16, like: IpAddr) -> IpAddr {
        let ip4 = self.ip4(node);
        match (like, ip4) {
            (IpAddr::V4(_), Some(ip)) => IpAddr::V4(ip),
            (IpAddr::V4(_), None) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            (IpAddr::V6(like), Some(ip)) if like.to_ipv4_mapped().is_some() => {
                IpAddr::V6(ip.to_ipv6_mapped())
            }
            (IpAddr::V6(_), _) => IpAddr::V6(self.ip6(node)),
        }
    }

    /// Whether a fall-back to TCP can reach `ip`, which stands for a node: an address of 198.18 or
    /// of fd50:5250 is nobody's.
    pub fn is_of_tcp_too(&self, ip: IpAddr) -> bool {
        match unmapped(ip) {
            IpAddr::V4(ip) => ip.is_loopback() || self.network != Network::PRIVATE,
            IpAddr::V6(ip) => ip.is_loopback(),
        }
    }
}

/// Returns an IPv4 address that is written as an IPv6 address as an IPv4 address.
fn unmapped(ip: IpAddr) -> IpAddr {
    ip.to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Mapping = Mapping { network: Network::PRIVATE, loopback: None };

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn node__of_each_form() {
        for (text, node) in [
            ("198.18.0.3", Some(3)),
            ("198.18.1.2", Some(258)),
            ("::ffff:198.18.0.3", Some(3)),
            ("fd50:5250::3", Some(3)),
            ("198.18.0.0", None),
            ("198.18.255.255", None),
            ("198.19.0.3", None),
            ("fd50:5250::1:0:3", None),
            ("fd50:5251::3", None),
            ("127.0.0.1", None),
            ("::1", None),
        ] {
            assert_eq!(PLAIN.node(ip(text)), node, "{text}");
        }
    }

    #[test]
    fn node__of_a_claimed_loopback() {
        let claimed = Mapping { loopback: Some(7), ..PLAIN };
        for text in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(claimed.node(ip(text)), Some(7), "{text}");
        }
        // The holder's own.
        assert_eq!(claimed.node(BELL.into()), None);
        assert_eq!(claimed.ip_like(7, ip("10.0.0.1")), ip("127.0.0.1"));
        assert_eq!(claimed.ip_like(7, ip("fe80::1")), ip("::1"));
        assert_eq!(claimed.ip_like(8, ip("10.0.0.1")), ip("198.18.0.8"));
    }

    #[test]
    fn ip_like__has_the_form_of_the_other_end() {
        assert_eq!(PLAIN.ip_like(3, ip("198.18.0.9")), ip("198.18.0.3"));
        assert_eq!(PLAIN.ip_like(3, ip("::ffff:198.18.0.9")), ip("::ffff:198.18.0.3"));
        assert_eq!(PLAIN.ip_like(3, ip("fd50:5250::9")), ip("fd50:5250::3"));
    }

    #[test]
    fn network__is_parsed_and_printed() {
        let network: Network = "10.99.0.0/24".parse().expect("a network");
        assert_eq!(network.node(Ipv4Addr::new(10, 99, 0, 2)), Some(2));
        assert_eq!(network.node(Ipv4Addr::new(10, 99, 1, 2)), None);
        assert_eq!((network.address(2), network.address(256)), (Some([10, 99, 0, 2].into()), None));
        assert_eq!(network.to_string(), "10.99.0.0/24");
        assert_eq!(Network::PRIVATE.to_string(), "198.18.0.0/16");
        for text in ["10.99.0.0", "10.99.0.1/24", "10.0.0.0/8", "10.99.0.0/31", "fd00::/16"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }

    #[test]
    fn is_of_tcp_too__where_machines_have_such_addresses() {
        assert!(!PLAIN.is_of_tcp_too(ip("198.18.0.3")) && !PLAIN.is_of_tcp_too(ip("fd50:5250::3")));
        assert!(PLAIN.is_of_tcp_too(ip("127.0.0.1")) && PLAIN.is_of_tcp_too(ip("::1")));
        let real = Mapping { network: "10.99.0.0/24".parse().expect("a network"), ..PLAIN };
        assert!(real.is_of_tcp_too(ip("10.99.0.2")) && !real.is_of_tcp_too(ip("fd50:5250::3")));
    }
}
