//! The devices of a node, as prphosts names them.

use std::io;
use std::path::Path;

use nix::unistd::{AccessFlags, eaccess};
use prp_proto::addr::{LinkAddr, MacAddr, NodeId};
use prp_proto::device::Device;
use prp_proto::hosts::{Entry, HopTarget, Hosts, UDP_DEVICE, UNIX_DEVICE, interface_name};

use crate::{
    Framing, Interface, PacketDevice, UdpDevice, Underlay, UnixDevice, explain_open,
    list_interfaces, named_interfaces,
};

/// Devices that are waited for, at most: each costs two descriptors and a ring of a megabyte, and a
/// file for many machines may name many that this one will never have.
const MAX_ABSENT: usize = 8;

/// A device that is open, and what the protocol has to know of it.
#[derive(Debug)]
pub struct NodeDevice {
    /// What it is called.
    pub name: String,
    /// Its address and MTU.
    pub device: Device,
    /// What packets go in and out by.
    pub io: Box<dyn Underlay>,
}

/// Opens the devices of the node `local`, which `hosts` names, and those that lead back to this
/// machine; only the one called `only`, if given, in place of those that `hosts` names. An Ethernet
/// device that is not there is waited for ([`crate::KernelDevice::rebind`]). Where the node has no
/// Ethernet address no packet socket is opened, and no privilege needed.
///
/// # Errors
/// `NotFound` if `only` is not there; `PermissionDenied` without CAP_NET_RAW; `AddrNotAvailable` if
/// the node's IP address is another machine's; what else the kernel says.
pub fn open(hosts: &Hosts, local: NodeId, only: Option<&str>) -> io::Result<Vec<NodeDevice>> {
    let mut devices = Vec::new();
    if !matches!(only, Some(UDP_DEVICE | UNIX_DEVICE)) && is_on_ethernet(hosts, local) {
        open_ethernet(hosts, only, &mut devices)?;
    }
    if only.is_none_or(|only| only == UDP_DEVICE) {
        devices.extend(open_udp(hosts, local)?);
    }
    if only.is_none_or(|only| only == UNIX_DEVICE) {
        devices.extend(open_unix(hosts, local)?);
    }
    Ok(devices)
}

/// Whether the node `local` needs packet sockets: not if its only addresses are UDP's, or it is
/// reached by Unix sockets.
pub fn is_on_ethernet(hosts: &Hosts, local: NodeId) -> bool {
    let without = |entry: Entry<'_>| {
        let mut hops = entry.hops().peekable();
        let is_other = |target| match target {
            HopTarget::Udp(_) | HopTarget::Unix(_) => true,
            HopTarget::Direct { .. } | HopTarget::Via(_) => false,
        };
        hops.peek().is_some() && hops.all(|hop| is_other(hop.target))
    };
    !hosts.entry(local).is_some_and(without)
}

/// Opens the UDP sockets of the node, on those of its UDP addresses that this machine has.
fn open_udp(hosts: &Hosts, local: NodeId) -> io::Result<Option<NodeDevice>> {
    let addrs = hosts.udp_addrs(local);
    let Some(&(_, best)) = addrs.first() else { return Ok(None) };
    let own: Vec<_> = addrs.iter().map(|(own, _)| *own).collect();
    let io = UdpDevice::open(&own, true, hosts.udp_peers())?;
    let device = Device::new(best, io.capabilities());
    Ok(Some(NodeDevice { name: UDP_DEVICE.to_owned(), device, io: Box::new(io) }))
}

/// Whether this process may make the Unix socket that [`open`] opens for the node `local`, if
/// `hosts` says that the node has such.
pub fn may_open_unix(hosts: &Hosts, local: NodeId) -> bool {
    let folder = hosts.unix_folder().filter(|_| hosts.is_on_unix(local));
    let needed = AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK;
    folder.is_none_or(|folder| eaccess(folder, needed).is_ok())
}

/// Opens the Unix socket of this process, if prphosts says that the node has such.
fn open_unix(hosts: &Hosts, local: NodeId) -> io::Result<Option<NodeDevice>> {
    let Some(folder) = hosts.unix_folder().filter(|_| hosts.is_on_unix(local)) else {
        return Ok(None);
    };
    let io = UnixDevice::open(Path::new(folder), local)?;
    let own = LinkAddr::Unix { node: local, process: 0 };
    let device = Device::new(own, io.capabilities());
    Ok(Some(NodeDevice { name: UNIX_DEVICE.to_owned(), device, io: Box::new(io) }))
}

/// Checks that `only`, the device to use alone, is not in another VLAN than `hosts` says of it.
///
/// # Errors
/// `InvalidInput`: `hosts` has VLANs of this device, or `only` is one, and `hosts` has not `only`.
fn check_vlan(hosts: &Hosts, only: &str) -> io::Result<()> {
    let name = interface_name(only);
    let mut same = hosts.devices().filter(|device| interface_name(device) == name).peekable();
    let first = same.peek().copied();
    if same.any(|device| device == only) || (first.is_none() && name == only) {
        return Ok(());
    }
    let message = match first {
        Some(first) => format!("{only}: prphosts has {first} of this device, and not {only}"),
        None => format!("{only}: prphosts names no such VLAN; give its line vlan=ID"),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Opens the Ethernet devices of `hosts` and those that lead back to this machine, or `only` one.
fn open_ethernet(
    hosts: &Hosts,
    only: Option<&str>,
    devices: &mut Vec<NodeDevice>,
) -> io::Result<()> {
    if let Some(only) = only {
        check_vlan(hosts, only)?;
    }
    let found = list_interfaces()?;
    if let Some(only) = only
        && !found.iter().any(|i| i.name == interface_name(only))
    {
        let message = format!("{only}: no such device on this machine");
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    for interface in &wanted(&found, hosts, only) {
        let name = &interface.name;
        let framing = Framing::of(hosts, name);
        let io = match PacketDevice::open_for(interface, &framing) {
            // It has gone since it was listed.
            Err(e) if e.raw_os_error() == Some(libc::ENODEV) && only.is_none() => {
                PacketDevice::await_interface(&framing)
            }
            opened => opened,
        };
        let io = io.map_err(|e| explain_open(&e, name))?;
        let ours = Device::new(interface.mac.into(), io.capabilities());
        let device = Device { loopback: interface.loopback, ..ours };
        devices.push(NodeDevice { name: name.clone(), device, io: Box::new(io) });
    }
    for name in absent(hosts, &found, only) {
        let opened = PacketDevice::await_interface(&Framing::of(hosts, name));
        let io = opened.map_err(|e| explain_open(&e, name))?;
        let device = Device::new(MacAddr::ZERO.into(), io.capabilities());
        devices.push(NodeDevice { name: name.to_owned(), device, io: Box::new(io) });
    }
    Ok(())
}

/// Those of `found` to open: what leads back to this machine, and what `hosts` names or the `only`
/// one, for each VLAN once.
fn wanted(found: &[Interface], hosts: &Hosts, only: Option<&str>) -> Vec<Interface> {
    let wanted = found.iter().flat_map(|interface| {
        let interface = std::slice::from_ref(interface);
        match only {
            _ if interface[0].loopback => interface.to_vec(),
            Some(only) => named_interfaces(interface, &std::iter::once(only)),
            None => named_interfaces(interface, &hosts.devices()),
        }
    });
    wanted.collect()
}

/// The devices of `hosts` that this machine has not, or not yet; none where there is an `only` one.
fn absent<'a>(
    hosts: &'a Hosts,
    found: &'a [Interface],
    only: Option<&str>,
) -> impl Iterator<Item = &'a str> {
    let is_absent =
        |name: &&str| !found.iter().any(|interface| interface.name == interface_name(name));
    let named = hosts.devices().filter(is_absent);
    named.take(if only.is_some() { 0 } else { MAX_ABSENT })
}

#[cfg(test)]
mod tests;
