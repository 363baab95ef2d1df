//! How large datagrams may be, as the interfaces have it that bear the node's addresses.

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use pnet::datalink::{self, NetworkInterface};
use socket2::{Domain, Socket, Type};

use super::node_port::longest_handed_on;
use crate::sys::{datagram, packet};

/// Bytes of a datagram's payload that every path takes (SPEC PRP-UDP-4).
pub(super) const FLOOR: u32 = 1200;

/// Bytes of the headers before the payload, without options.
const IPV4_HEADERS: u32 = 28;
const IPV6_HEADERS: u32 = 48;

/// Asks the kernel for what it says of the interfaces, which may take long: by a thread that keeps
/// no other from the device.
#[derive(Clone, Debug)]
pub struct UdpMtu {
    own: Vec<IpAddr>,
}

impl UdpMtu {
    /// That of the node's addresses `own`.
    pub(super) fn new(own: impl Iterator<Item = IpAddr>) -> Self {
        Self { own: own.collect() }
    }

    /// Bytes of payload that all addresses take in a datagram, also in one that is handed on; none
    /// while an address is on no interface. In the network namespace of the calling thread.
    pub fn read(&self) -> Option<u32> {
        let domain = if self.own.first()?.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        self.read_by(Socket::new(domain, Type::DGRAM, None).ok()?.as_fd())
    }

    /// As [`Self::read`], in the network namespace of `fd`.
    pub(super) fn read_by(&self, fd: BorrowedFd<'_>) -> Option<u32> {
        let found = datalink::interfaces();
        let payloads = self.own.iter().map(|ip| largest_payload(fd, *ip, &found));
        payloads.collect::<Option<Vec<_>>>()?.into_iter().min()
    }
}

/// Bytes of payload that the one of the interfaces `found` with the address `ip` takes.
fn largest_payload(fd: BorrowedFd<'_>, ip: IpAddr, found: &[NetworkInterface]) -> Option<u32> {
    let headers = if ip.is_ipv4() { IPV4_HEADERS } else { IPV6_HEADERS };
    // The loopback device has all addresses of its network.
    let has = |i: &&NetworkInterface| {
        i.ips.iter().any(|own| own.ip() == ip || (i.is_loopback() && own.contains(ip)))
    };
    let interface = found.iter().find(has)?;
    let payload = packet::mtu(fd, &interface.name).ok()?.saturating_sub(headers);
    Some(payload.clamp(FLOOR, datagram::MAX_BYTES as u32).min(longest_handed_on(ip) as u32))
}
