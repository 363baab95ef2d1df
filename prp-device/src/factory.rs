//! The devices of a node, as prphosts names them.

use std::io;

use prp_proto::addr::MacAddr;
use prp_proto::endpoint::Device;
use prp_proto::hosts::Hosts;

use crate::{DeviceIo, Interface, PacketDevice, explain_open, list_interfaces};

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
    /// What frames go in and out by.
    pub io: DeviceIo,
}

/// Opens the devices that `hosts` names and those that lead back to this machine; only the one
/// called `only`, if given, in place of those that `hosts` names. A device that is not there is
/// waited for ([`crate::KernelDevice::revive`]).
///
/// # Errors
/// `NotFound` if `only` is not there; `PermissionDenied` without CAP_NET_RAW; what else the kernel
/// says.
pub fn open(hosts: &Hosts, only: Option<&str>) -> io::Result<Vec<NodeDevice>> {
    let found = list_interfaces()?;
    if let Some(only) = only
        && !found.iter().any(|i| i.name == only)
    {
        let message = format!("{only}: no such device on this machine");
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    let is_wanted = |name: &str| match only {
        Some(only) => only == name,
        None => hosts.devices().any(|named| named == name),
    };
    let mut devices = Vec::new();
    for interface in found.iter().filter(|i| i.loopback || is_wanted(&i.name)) {
        let name = &interface.name;
        let opened = PacketDevice::open(interface, hosts.ethertype());
        let io = opened.map_err(|e| explain_open(&e, name))?;
        let ours = Device::ethernet(interface.mac, io.mtu());
        let device = Device { loopback: interface.loopback, ..ours };
        devices.push(NodeDevice { name: name.clone(), device, io: DeviceIo::Frames(Box::new(io)) });
    }
    for name in absent(hosts, &found, only) {
        let opened = PacketDevice::await_interface(name, hosts.ethertype());
        let io = opened.map_err(|e| explain_open(&e, name))?;
        let device = Device::ethernet(MacAddr::ZERO, io.mtu());
        devices.push(NodeDevice {
            name: name.to_owned(),
            device,
            io: DeviceIo::Frames(Box::new(io)),
        });
    }
    Ok(devices)
}

/// The devices of `hosts` that this machine has not, or not yet; none where there is an `only` one.
fn absent<'a>(
    hosts: &'a Hosts,
    found: &'a [Interface],
    only: Option<&str>,
) -> impl Iterator<Item = &'a str> {
    let is_absent = |name: &&str| !found.iter().any(|interface| interface.name == *name);
    let named = hosts.devices().filter(is_absent);
    named.take(if only.is_some() { 0 } else { MAX_ABSENT })
}
