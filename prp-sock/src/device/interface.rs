//! The network interfaces of this machine, in this thread's network namespace.

use std::io;
use std::os::fd::BorrowedFd;

use prp_proto::addr::MacAddr;

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

/// All of them.
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

/// The kernel's number of the interface called `name`, in the network namespace of `socket`, and the bytes after the Ethernet
/// header it takes. Both may change while the name stays.
///
/// # Errors
/// `ENODEV` if there is none of that name.
pub fn number_and_mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<(u32, u32)> {
    Ok((packet::index(socket, name)?, packet::mtu(socket, name)?))
}
