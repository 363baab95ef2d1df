//! The IP addresses of this machine's devices (rtnetlink).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;

use nix::sys::socket::SockFlag;

use crate::netlink::{self, NETWORK, attribute, u32_at};

// From linux/rtnetlink.h and linux/if_addr.h.
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const ADDRESS_INFO: usize = 8;
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const FLAGS: u16 = 8;
const DUPLICATE: u32 = 0x08;
const TENTATIVE: u32 = 0x40;

/// An IP address of a device.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct IpAddress {
    /// The kernel's number of the device.
    pub index: u32,
    /// The address.
    pub ip: IpAddr,
    /// Leading bits that the addresses of its network have in common.
    pub prefix: u8,
    /// It cannot be used yet: the kernel still asks whether another machine has it (RFC 4862, 5.4).
    pub is_tentative: bool,
    /// It cannot be used: another machine has it, too.
    pub is_duplicate: bool,
}

impl IpAddress {
    /// Whether `ip` is in the network of this address.
    pub(crate) fn network_contains(&self, ip: IpAddr) -> bool {
        let prefix = u32::from(self.prefix);
        match (self.ip, ip) {
            (IpAddr::V4(own), IpAddr::V4(ip)) => {
                (own.to_bits() ^ ip.to_bits()).leading_zeros() >= prefix
            }
            (IpAddr::V6(own), IpAddr::V6(ip)) => {
                (own.to_bits() ^ ip.to_bits()).leading_zeros() >= prefix
            }
            _ => false,
        }
    }
}

/// All addresses of the devices of this thread's network namespace.
///
/// # Errors
/// The kernel gives no netlink socket, or does not answer.
pub fn ip_addresses() -> io::Result<Vec<IpAddress>> {
    let socket = netlink::open(NETWORK, 0, SockFlag::empty())?;
    netlink::ask(socket.as_fd(), GET_ADDRESS, &[0; ADDRESS_INFO])?;
    let mut addresses = Vec::new();
    netlink::answer(&socket, |kind, body| addresses.extend(address(kind, body)))?;
    Ok(addresses)
}

/// The address that a message of the kernel's is about, if it is about one.
fn address(kind: u16, body: &[u8]) -> Option<IpAddress> {
    let info = body.get(ADDRESS_INFO..).filter(|_| kind == NEW_ADDRESS)?;
    // Of a link between two machines the other attribute has the peer's.
    let bytes = attribute(info, LOCAL).or_else(|| attribute(info, ADDRESS))?;
    let short_flags = u32::from(*body.get(2)?);
    let flags = attribute(info, FLAGS).and_then(|flags| u32_at(flags, 0)).unwrap_or(short_flags);
    Some(IpAddress {
        index: u32_at(body, 4)?,
        ip: ip(bytes)?,
        prefix: *body.get(1)?,
        is_tentative: flags & TENTATIVE != 0 && flags & DUPLICATE == 0,
        is_duplicate: flags & DUPLICATE != 0,
    })
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?))),
        _ => Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?))),
    }
}

#[cfg(test)]
impl Default for IpAddress {
    fn default() -> Self {
        let ip = Ipv4Addr::UNSPECIFIED.into();
        Self { index: 0, ip, prefix: 32, is_tentative: false, is_duplicate: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{message, messages};

    fn packet(prefix: u8, flags: u32, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut fixed = [0; ADDRESS_INFO];
        (fixed[1], fixed[2]) = (prefix, flags as u8);
        fixed[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        message(NEW_ADDRESS, &fixed, attributes)
    }

    fn addresses(packet: &[u8]) -> Vec<IpAddress> {
        messages(packet).filter_map(|(kind, body)| address(kind, body)).collect()
    }

    #[test]
    fn address__has_what_the_kernel_says() {
        // Of a label nothing is taken: it is no name of a device.
        let labelled = packet(8, 0x80, &[(ADDRESS, &[10, 0, 0, 2]), (3, b"lo:0\0")]);
        let ip = "10.0.0.2".parse().unwrap();
        let expected = IpAddress { index: 7, ip, prefix: 8, ..IpAddress::default() };
        assert_eq!(addresses(&labelled), [expected]);
        let between = packet(32, 0, &[(ADDRESS, &[10, 0, 0, 9]), (LOCAL, &[10, 0, 0, 2])]);
        assert_eq!(addresses(&between), [IpAddress { prefix: 32, ..expected }]);
        let ip: Ipv6Addr = "fd00::7".parse().unwrap();
        let six = |flags: u32| {
            let flags = [(ADDRESS, &ip.octets()[..]), (FLAGS, &flags.to_ne_bytes())];
            addresses(&packet(64, 0, &flags))[0]
        };
        let expected = IpAddress { ip: ip.into(), prefix: 64, ..expected };
        assert_eq!(six(0x80), expected);
        assert_eq!(six(TENTATIVE), IpAddress { is_tentative: true, ..expected });
        // The kernel leaves that bit set where the address is another machine's.
        assert_eq!(six(TENTATIVE | DUPLICATE), IpAddress { is_duplicate: true, ..expected });
    }

    #[test]
    fn address__survives_what_no_kernel_says() {
        let whole = packet(64, 0, &[(ADDRESS, &[1; 16]), (FLAGS, &[0; 4])]);
        for cut in 0..whole.len() {
            addresses(&whole[..cut]);
        }
        assert_eq!(addresses(&packet(8, 0, &[(ADDRESS, &[1; 5])])), []);
        assert_eq!(addresses(&[0xff; 100]), []);
    }

    #[test]
    fn ip_addresses__has_those_of_the_loopback_device() {
        let found = ip_addresses().expect("a netlink socket");
        let is_localhost = |address: &IpAddress| address.ip == IpAddr::from(Ipv4Addr::LOCALHOST);
        assert!(found.iter().any(is_localhost), "{found:?}");
    }
}
