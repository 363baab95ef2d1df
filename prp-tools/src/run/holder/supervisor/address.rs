//! Socket addresses as they are in a program's memory.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use nix::libc;

/// Bytes of an address that tells its family.
pub(super) const SHORTEST: usize = size_of::<libc::sa_family_t>();

/// Bytes of an address of IPv6.
pub(super) const LONGEST: usize = size_of::<libc::sockaddr_in6>();

/// Bytes of an address of IPv4.
const IP4: usize = size_of::<libc::sockaddr_in>();

/// Where the address of IPv6 is in its structure, behind port and flow.
const IP6_AT: usize = 8;

/// Reads an address of IPv4 or IPv6; `None` for one of another family.
pub(super) fn parse(bytes: &[u8]) -> Option<SocketAddr> {
    let family = u16::from_ne_bytes(*bytes.first_chunk()?);
    let port = bytes.get(2..4).map(|it| u16::from_be_bytes([it[0], it[1]]));
    let ip: IpAddr = match i32::from(family) {
        libc::AF_INET if bytes.len() >= IP4 => {
            Ipv4Addr::from(*bytes[4..].first_chunk::<4>()?).into()
        }
        libc::AF_INET6 if bytes.len() >= LONGEST => {
            Ipv6Addr::from(*bytes[IP6_AT..].first_chunk::<16>()?).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port?))
}

/// Returns an address as the kernel writes it.
pub(super) fn to_bytes(address: SocketAddr) -> Vec<u8> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let mut bytes = (family as libc::sa_family_t).to_ne_bytes().to_vec();
    bytes.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => {
            bytes.extend(ip.octets());
            bytes.resize(IP4, 0);
        }
        IpAddr::V6(ip) => {
            bytes.resize(IP6_AT, 0);
            bytes.extend(ip.octets());
            bytes.resize(LONGEST, 0);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use socket2::SockAddr;

    use super::*;

    #[test]
    fn to_bytes__is_what_the_kernel_has() {
        for (text, len) in [("198.18.0.3:8080", 16), ("[fd50:5250::3]:80", 28)] {
            let address: SocketAddr = text.parse().expect("an address");
            let bytes = to_bytes(address);
            assert_eq!((bytes.len(), SockAddr::from(address).len()), (len, len as u32));
            assert_eq!(parse(&bytes), Some(address));
        }
    }

    #[test]
    fn parse__has_none_of_other_families_or_cut_ones() {
        let ip4 = to_bytes("198.18.0.3:8080".parse().expect("an address"));
        assert_eq!(parse(&ip4[..15]), None);
        assert_eq!(parse(&[libc::AF_UNIX as u8, 0, b'/', b'x']), None);
        assert_eq!(parse(&[]), None);
    }
}
