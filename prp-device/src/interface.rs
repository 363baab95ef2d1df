//! The network interfaces of this machine, in this thread's network namespace.
//!
//! An interface is its number and its hardware address. Its name may change, and so may the device
//! that a name belongs to; an IP address may bear a label that looks like a name of its own.

use std::io;
use std::net::IpAddr;

use prp_node::limits::MORE_DESCRIPTORS;
use prp_node::{Explanation, HostsFile, reworded};
use prp_proto::addr::{MacAddr, NodeId};
use prp_proto::hosts::{Entry, HopTarget, Hosts, interface_name};

use crate::DeviceState;
use crate::ip_address::IpAddress;
use crate::{device_states, ip_addresses};

/// An interface that could carry frames, as it was when it was listed.
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
    /// Bytes after the Ethernet header that it takes.
    pub mtu: u32,
}

/// All of them, each once.
///
/// # Errors
/// The kernel gives no netlink socket, where a filter of address families leaves AF_NETLINK out.
pub fn list_interfaces() -> io::Result<Vec<Interface>> {
    let states = device_states().map_err(|e| explain_listing(&e))?;
    Ok(states.into_iter().map(Interface::from).collect())
}

/// All of them; none where they cannot be listed.
pub fn interfaces() -> Vec<Interface> {
    list_interfaces().unwrap_or_default()
}

/// Returns those of `found` that `devices` name as prphosts does ([`Hosts::devices`]), in the order
/// of `found`, and under those names: one with several VLANs is there for each of them.
pub fn named_interfaces<'d>(
    found: &[Interface],
    devices: &(impl Iterator<Item = &'d str> + Clone),
) -> Vec<Interface> {
    let named = found.iter().flat_map(|interface| {
        let names = devices.clone().filter(move |name| interface_name(name) == interface.name);
        names.map(move |name| Interface { name: name.to_owned(), ..interface.clone() })
    });
    named.collect()
}

/// Says what is missing where interfaces or their addresses cannot be listed.
fn explain_listing(error: &io::Error) -> io::Error {
    let cause = format!(
        "the network interfaces of this machine cannot be listed: a netlink socket: {error}"
    );
    if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) {
        return reworded(error, format!("{cause}; {MORE_DESCRIPTORS}"));
    }
    let fix = "allow AF_NETLINK (RestrictAddressFamilies= of a systemd unit)";
    Explanation { cause, fix: Some(fix.into()), ..Explanation::default() }.into_error(error.kind())
}

impl From<DeviceState> for Interface {
    fn from(state: DeviceState) -> Self {
        let DeviceState { name, index, mac, loopback, mtu, .. } = state;
        Self { name, index, mac, loopback, mtu }
    }
}

/// What the kernel says to opening a packet socket on the device `name`, with what is missing and
/// the fix where the kernel only says no.
pub fn explain_open(error: &io::Error, name: &str) -> io::Error {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            let message = format!(
                "{name}: a packet socket needs CAP_NET_RAW: run as root, give the program the \
                 capability (setcap cap_net_raw+ep PROGRAM), or use a user namespace"
            );
            io::Error::new(error.kind(), message)
        }
        _ => reworded(error, format!("{name}: opening a packet socket: {error}")),
    }
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
    let devices = list_interfaces()?;
    let addresses = ip_addresses().map_err(|e| explain_listing(&e))?;
    let is_local = |own: HopTarget<'_>| match own {
        HopTarget::Direct { mac: own, .. } => devices.iter().any(|device| device.mac == own),
        // That it can be bound says nothing where net.ipv4.ip_nonlocal_bind is 1.
        HopTarget::Udp(addr) => device_of(addr.ip(), &addresses, &devices).is_some(),
        // It says that a node is on this machine, and not which one a process belongs to.
        HopTarget::Unix(_) | HopTarget::Via(_) => false,
    };
    hosts.local_node(is_local).map_err(|e| file.error(e.cause(), Some(e.fix())))
}

/// The hardware addresses that the line of node `own` in `hosts` gives for the device `name`.
pub fn own_addrs(hosts: &Hosts, own: NodeId, name: &str) -> impl Iterator<Item = MacAddr> {
    let hops = hosts.entry(own).into_iter().flat_map(Entry::hops);
    hops.filter_map(move |hop| match hop.target {
        HopTarget::Direct { mac, device } => (device == name).then_some(mac),
        HopTarget::Via(_) | HopTarget::Udp(_) | HopTarget::Unix(_) => None,
    })
}

/// The one of `devices` that has the address `ip`, where all have `addresses`. All addresses of a
/// network of the loopback device are this machine's: 127.0.0.0/8.
pub(crate) fn device_of<'d>(
    ip: IpAddr,
    addresses: &[IpAddress],
    devices: &'d [Interface],
) -> Option<&'d Interface> {
    let found = |index: u32| devices.iter().find(|device| device.index == index);
    addresses.iter().find_map(|address| {
        let device = found(address.index)?;
        (address.ip == ip || device.loopback && address.network_contains(ip)).then_some(device)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, index: u32) -> Interface {
        let loopback = name == "lo";
        Interface { name: name.into(), index, mac: MacAddr::ZERO, loopback, mtu: 1500 }
    }

    #[test]
    fn device_of__of_all_devices_and_of_the_whole_loopback_network() {
        let devices = [interface("lo", 1), interface("eth0", 2)];
        let networks = [
            (1, "127.0.0.1", 8),
            (1, "::1", 128),
            (1, "10.77.0.1", 32),
            (2, "10.1.0.7", 16),
            (2, "fd00::7", 64),
            (9, "10.9.0.9", 16),
        ];
        let addresses = networks.map(|(index, ip, prefix)| {
            let ip = ip.parse().expect("an address");
            IpAddress { index, ip, prefix, ..IpAddress::default() }
        });
        let of = |ip: &str| {
            let found = device_of(ip.parse().expect("an address"), &addresses, &devices);
            found.map(|device| device.index)
        };
        for ip in ["127.0.0.1", "127.200.3.4", "::1", "10.77.0.1"] {
            assert_eq!(of(ip), Some(1), "{ip}");
        }
        for ip in ["10.1.0.7", "fd00::7"] {
            assert_eq!(of(ip), Some(2), "{ip}");
        }
        for ip in ["10.1.0.8", "10.77.0.2", "fd00::8", "::2", "192.0.2.1", "10.9.0.9"] {
            assert_eq!(of(ip), None, "{ip}");
        }
    }

    #[test]
    fn list_interfaces__each_once() {
        let found = list_interfaces().expect("a netlink socket");
        let mut numbers: Vec<_> = found.iter().map(|device| device.index).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), found.len(), "{found:?}");
        assert_eq!(found.iter().filter(|device| device.loopback).count(), 1, "{found:?}");
    }
}
