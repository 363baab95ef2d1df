//! The network interfaces of this machine, in this thread's network namespace.

use std::io;
use std::net::UdpSocket;
use std::os::fd::BorrowedFd;

use nix::sys::socket::SockFlag;
use prp_node::HostsFile;
use prp_proto::addr::{MacAddr, NodeId};
use prp_proto::hosts::Reach;

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
    let found = interfaces();
    if !found.is_empty() {
        return Ok(found);
    }
    // Every network namespace has a loopback device, so the question itself has failed.
    netlink::open(NETWORK, 0, SockFlag::empty()).map_err(|e| {
        let message = format!(
            "the network interfaces of this machine cannot be listed: a netlink socket: {e}; allow AF_NETLINK \
             (RestrictAddressFamilies= of a systemd unit)"
        );
        io::Error::new(e.kind(), message)
    })?;
    Err(io::Error::other("the kernel lists no network interfaces"))
}

/// All of them; none where they cannot be listed.
pub fn interfaces() -> Vec<Interface> {
    pnet::datalink::interfaces()
        .into_iter()
        .map(|i| Interface {
            loopback: i.is_loopback(),
            mac: MacAddr(i.mac.map_or([0; 6], |m| m.octets())),
            index: i.index,
            name: i.name,
        })
        .collect()
}

/// What the kernel says to opening a packet socket on the device `name`, with what is missing and
/// the mend where the kernel only says no.
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
            file.error(format!("this machine is to be node {node}, but {node} has no line here"))
        };
        return hosts.entry(node).map(|_| node).ok_or_else(unknown);
    }
    let found = list_interfaces()?;
    let is_local = |own: Reach<'_>| match own {
        Reach::Direct { mac, .. } => found.iter().any(|i| i.mac == mac),
        // The kernel lets nobody bind an address of another machine.
        Reach::Udp(addr) => UdpSocket::bind((addr.ip(), 0)).is_ok(),
        Reach::Via(_) => false,
    };
    hosts.local_node(is_local).map_err(|e| file.error(e.to_string()))
}

/// The kernel's number of the interface called `name`, in the network namespace of `socket`, and
/// the bytes after the Ethernet header it takes. Both may change while the name stays.
///
/// # Errors
/// `ENODEV` if there is none of that name.
pub fn number_and_mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<(u32, u32)> {
    Ok((packet::index(socket, name)?, packet::mtu(socket, name)?))
}
