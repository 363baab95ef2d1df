//! Which devices are up and have a link, as the kernel reports it (rtnetlink).

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, recv};
use prp_proto::addr::MacAddr;
use prp_proto::hosts::interface_name;

use crate::KernelDevice;
use crate::netlink::{self, BUFFER, NETWORK, attribute, messages, text, u32_at};

// From linux/rtnetlink.h, linux/if_link.h and linux/if.h.
const GROUP_LINK: u32 = 1;
const GROUP_IP6_ADDRESS: u32 = 0x100;
const NEW_LINK: u16 = 16;
const DEL_LINK: u16 = 17;
const GET_LINK: u16 = 18;
const LINK_INFO: usize = 16;
const ADDRESS: u16 = 1;
const IF_NAME: u16 = 3;
const MTU: u16 = 4;
const UP: u32 = 1;
const RUNNING: u32 = 0x40;
const LOWER_UP: u32 = 0x1_0000;
/// Set up, with a link of its own, and with one of what it is built on.
const USABLE: u32 = UP | RUNNING | LOWER_UP;

/// What the kernel says of a device that is there.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct LinkState {
    /// The kernel's number for it.
    pub index: u32,
    /// It is up and has a link.
    pub up: bool,
    /// Its hardware address; all zeros for the loopback device.
    pub mac: MacAddr,
    /// Bytes after the Ethernet header it takes.
    pub mtu: u32,
}

/// A device that is there, and what it is called now.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Link {
    name: String,
    state: LinkState,
}

/// The kernel's word on devices.
#[derive(Debug)]
pub struct LinkStates {
    socket: OwnedFd,
    /// By number: a name may go from one device to another.
    devices: HashMap<u32, Link>,
    buffer: Vec<u8>,
}

impl LinkStates {
    /// Asks for the state of all devices, and to be notified of changes.
    ///
    /// # Errors
    /// The kernel gives no such socket.
    pub fn watch() -> io::Result<Self> {
        Self::of_groups(GROUP_LINK)
    }

    /// As [`watch`](Self::watch), with news of IPv6 addresses, too: the kernel finds machines that
    /// have one in common.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    pub fn watch_with_addresses() -> io::Result<Self> {
        Self::of_groups(GROUP_LINK | GROUP_IP6_ADDRESS)
    }

    fn of_groups(groups: u32) -> io::Result<Self> {
        let socket = netlink::open(NETWORK, groups, SockFlag::SOCK_NONBLOCK)?;
        let mut link_states = Self { socket, devices: HashMap::new(), buffer: vec![0; BUFFER] };
        link_states.ask()?;
        link_states.read()?;
        Ok(link_states)
    }

    fn ask(&self) -> io::Result<()> {
        netlink::ask(self.socket.as_fd(), GET_LINK, &[0; LINK_INFO])
    }

    /// Takes the kernel's news; whether there were any.
    ///
    /// # Errors
    /// The socket is gone for good.
    pub fn read(&mut self) -> io::Result<bool> {
        let mut news = false;
        loop {
            match recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Ok(n) => {
                    news = true;
                    note(&mut self.devices, &self.buffer[..n]);
                }
                Err(Errno::EAGAIN) => return Ok(news),
                Err(Errno::EINTR) => {}
                // News were lost, that of a removal perhaps: all of it once more.
                Err(Errno::ENOBUFS) => {
                    self.devices.clear();
                    self.ask()?;
                }
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// The device with this number; none if there is none, or the kernel has said nothing of it.
    pub fn state(&self, index: u32) -> Option<LinkState> {
        self.devices.get(&index).map(|link| link.state)
    }

    /// What the device with this number is called now.
    pub fn name(&self, index: u32) -> Option<&str> {
        self.devices.get(&index).map(|link| link.name.as_str())
    }

    /// The device that is called `name` now, of which prphosts may name a VLAN.
    pub fn called(&self, name: &str) -> Option<LinkState> {
        let name = interface_name(name);
        self.devices.values().find(|link| link.name == name).map(|link| link.state)
    }

    /// The state of the device that the socket `device` is on. If that has gone, or was not there
    /// yet, the socket goes to the one that is called `name` now, provided that `is_meant` says of
    /// its hardware address that it is the same one, made again. None if there is none.
    pub fn follow(
        &self,
        device: &dyn KernelDevice,
        name: &str,
        is_meant: impl Fn(MacAddr) -> bool,
    ) -> Option<LinkState> {
        if let Some(index) = device.index() {
            return self.state(index);
        }
        let link = self.called(name).filter(|link| is_meant(link.mac))?;
        // If it has gone meanwhile, there is more news to come.
        device.rebind(link.index).then_some(link)
    }
}

impl AsFd for LinkStates {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Records what a packet of netlink messages states.
fn note(devices: &mut HashMap<u32, Link>, packet: &[u8]) {
    for (kind, body) in messages(packet).filter(|(kind, _)| matches!(*kind, NEW_LINK | DEL_LINK)) {
        // A bridge reports its ports by messages of a family of its own, also when it frees one.
        if body.first().copied() != Some(AddressFamily::Unspec as u8) {
            continue;
        }
        let info = body.get(LINK_INFO..).unwrap_or_default();
        let (Some(name), Some(index), Some(flags)) =
            (text(info, IF_NAME), u32_at(body, 4), u32_at(body, 8))
        else {
            continue;
        };
        if kind == DEL_LINK {
            devices.remove(&index);
            continue;
        }
        let mac = attribute(info, ADDRESS).and_then(|mac| mac.try_into().ok());
        let state = LinkState {
            index,
            up: flags & USABLE == USABLE,
            mac: mac.map_or(MacAddr::ZERO, MacAddr),
            mtu: attribute(info, MTU).and_then(|mtu| u32_at(mtu, 0)).unwrap_or_default(),
        };
        devices.insert(index, Link { name: name.to_owned(), state });
    }
}

#[cfg(test)]
mod tests;
