//! How large datagrams may be, as the interfaces have it that bear the node's addresses.

use std::net::IpAddr;

use super::node_port::longest_handed_on;
use crate::interface::device_of;
use crate::sys::datagram;
use crate::{Interface, IpAddress, ip_addresses, list_interfaces};

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
        let (addresses, devices) = (ip_addresses().ok()?, list_interfaces().ok()?);
        let payloads = self.own.iter().map(|ip| largest_payload(*ip, &addresses, &devices));
        payloads.collect::<Option<Vec<_>>>()?.into_iter().min()
    }
}

/// Bytes of payload that the one of `devices` with the address `ip` takes.
fn largest_payload(ip: IpAddr, addresses: &[IpAddress], devices: &[Interface]) -> Option<u32> {
    let headers = if ip.is_ipv4() { IPV4_HEADERS } else { IPV6_HEADERS };
    let payload = device_of(ip, addresses, devices)?.mtu.saturating_sub(headers);
    Some(payload.clamp(FLOOR, datagram::MAX_BYTES as u32).min(longest_handed_on(ip) as u32))
}
