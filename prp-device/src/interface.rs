//! The network interfaces of this machine, in this thread's network namespace.

use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

use nix::sys::socket::SockFlag;
use pnet::datalink::NetworkInterface;
use prp_node::{Explanation, HostsFile};
use prp_proto::addr::{MacAddr, NodeId};
use prp_proto::hosts::HopTarget;

use crate::netlink::{self, NETWORK};
use crate::sys::packet;

/// An interface that could carry frames.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// The kernel's number for it.
    pub index: u32,
    /// Its hardware address; all zeros for the loopback device.
    pub mac: MacAddr,
    /// Whether it leads back to this machine.
    pub loopback: bool,
}

/// All of them, or why they cannot be listed.
///
/// # Errors
/// The kernel gives no netlink socket, where a filter of address families leaves AF_NETLINK out.
pub fn list_interfaces() -> io::Result<Vec<Interface>> {
    Ok(listed()?.into_iter().map(Interface::from).collect())
}

/// As [`list_interfaces`], with their IP addresses.
fn listed() -> io::Result<Vec<NetworkInterface>> {
    let found = pnet::datalink::interfaces();
    if !found.is_empty() {
        return Ok(found);
    }
    // Every network namespace has a loopback device, so the question itself has failed.
    netlink::open(NETWORK, 0, SockFlag::empty()).map_err(|e| {
        let cause = format!(
            "the network interfaces of this machine cannot be listed: a netlink socket: {e}"
        );
        let fix = "allow AF_NETLINK (RestrictAddressFamilies= of a systemd unit)";
        Explanation { cause, fix: Some(fix.into()), ..Explanation::default() }.into_error(e.kind())
    })?;
    Err(io::Error::other("the kernel lists no network interfaces"))
}

/// All of them; none where they cannot be listed.
pub fn interfaces() -> Vec<Interface> {
    pnet::datalink::interfaces().into_iter().map(Interface::from).collect()
}

impl From<NetworkInterface> for Interface {
    fn from(i: NetworkInterface) -> Self {
        Self { loopback: i.is_loopback(), mac: mac(&i), index: i.index, name: i.name }
    }
}

fn mac(interface: &NetworkInterface) -> MacAddr {
    MacAddr(interface.mac.map_or([0; 6], |mac| mac.octets()))
}

/// Whether `ip` is an address of one of these interfaces. All addresses of a network of the
/// loopback device are this machine's: 127.0.0.0/8.
fn is_local_ip(ip: IpAddr, interfaces: &[NetworkInterface]) -> bool {
    let has_ip = |i: &NetworkInterface| {
        let is_loopback = i.is_loopback();
        i.ips.iter().any(|network| network.ip() == ip || is_loopback && network.contains(ip))
    };
    interfaces.iter().any(has_ip)
}

/// What the kernel says to opening a packet socket on the device `name`, with what is missing and
/// the fix where the kernel only says no.
pub fn explain_open(error: &io::Error, name: &str) -> io::Error {
    let message = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => format!(
            "{name}: a packet socket needs CAP_NET_RAW: run as root, give the program the \
             capability (setcap cap_net_raw+ep PROGRAM), or use a user namespace"
        ),
        _ => format!("{name}: opening a packet socket: {error}"),
    };
    io::Error::new(error.kind(), message)
}

/// The node that this machine is by `file`: `wanted` if given, else the one that has the address of
/// one of this machine's devices.
///
/// # Errors
/// `InvalidData` if `file` has no such node, or several; what keeps the devices from being listed.
pub fn local_node(file: &HostsFile, wanted: Option<NodeId>) -> io::Result<NodeId> {
    let hosts = file.hosts();
    if let Some(node) = wanted {
        let unknown = || {
            let cause = format!("this machine is to be node {node}, but {node} has no line here");
            file.error(cause, None)
        };
        return hosts.entry(node).map(|_| node).ok_or_else(unknown);
    }
    let found = listed()?;
    let is_local = |own: HopTarget<'_>| match own {
        HopTarget::Direct { mac: own, .. } => found.iter().any(|i| mac(i) == own),
        // That it can be bound says nothing where net.ipv4.ip_nonlocal_bind is 1.
        HopTarget::Udp(addr) => is_local_ip(addr.ip(), &found),
        HopTarget::Via(_) => false,
    };
    hosts.local_node(is_local).map_err(|e| file.error(e.cause(), Some(e.fix())))
}

/// The kernel's number of the interface called `name`, in the network namespace of `socket`, and
/// the bytes after the Ethernet header it takes. Both may change while the name stays.
///
/// # Errors
/// `ENODEV` if there is none of that name.
pub fn number_and_mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<(u32, u32)> {
    Ok((packet::index(socket, name)?, packet::mtu(socket, name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, flags: i32, ips: &[&str]) -> NetworkInterface {
        let ips = ips.iter().map(|ip| ip.parse().expect("a network")).collect();
        let (description, flags) = (String::new(), flags.cast_unsigned());
        NetworkInterface { name: name.into(), description, index: 1, mac: None, ips, flags }
    }

    #[test]
    fn is_local_ip__of_all_devices_and_of_the_whole_loopback_network() {
        let found = [
            interface("lo", libc::IFF_LOOPBACK, &["127.0.0.1/8", "::1/128"]),
            interface("eth0", 0, &["10.1.0.7/16", "fd00::7/64"]),
        ];
        let is_local = |ip: &str| is_local_ip(ip.parse().expect("an address"), &found);
        for ip in ["127.0.0.1", "127.200.3.4", "::1", "10.1.0.7", "fd00::7"] {
            assert!(is_local(ip), "{ip}");
        }
        for ip in ["10.1.0.8", "fd00::8", "::2", "192.0.2.1"] {
            assert!(!is_local(ip), "{ip}");
        }
    }
}
