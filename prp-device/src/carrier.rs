//! Which devices are up and have a carrier, as the kernel reports it (rtnetlink).

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockFlag, recv};
use prp_proto::addr::MacAddr;

use crate::netlink::{self, BUFFER, NETWORK, attribute, messages, text, u32_at};

// From linux/rtnetlink.h, linux/if_link.h and linux/if.h.
const GROUP_LINK: u32 = 1;
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
/// Set up, with a carrier of its own, and with one of what it is built on.
const USABLE: u32 = UP | RUNNING | LOWER_UP;

/// What the kernel says of a device.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct LinkState {
    /// The kernel's number for it; none if it was removed, or taken to another network namespace.
    pub index: Option<u32>,
    /// It is up and has a carrier.
    pub up: bool,
    /// Its hardware address; all zeros for the loopback device.
    pub mac: MacAddr,
    /// Bytes after the Ethernet header it takes.
    pub mtu: u32,
}

/// The kernel's word on devices.
#[derive(Debug)]
pub struct Carrier {
    socket: OwnedFd,
    /// By name: a device that is removed and made again has another number.
    devices: HashMap<String, LinkState>,
    buffer: Vec<u8>,
}

impl Carrier {
    /// Asks for the state of all devices, and to be notified of changes.
    ///
    /// # Errors
    /// The kernel gives no such socket.
    pub fn watch() -> io::Result<Self> {
        let socket = netlink::open(NETWORK, GROUP_LINK, SockFlag::SOCK_NONBLOCK)?;
        let mut carrier = Self { socket, devices: HashMap::new(), buffer: vec![0; BUFFER] };
        carrier.ask()?;
        carrier.read()?;
        Ok(carrier)
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
                // News were lost: all of it once more.
                Err(Errno::ENOBUFS) => self.ask()?,
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// What the kernel has said of the device called `name`; none if it has said nothing, as of one
    /// that bears another name by now.
    pub fn state(&self, name: &str) -> Option<LinkState> {
        self.devices.get(name).copied()
    }

    /// Whether the device called `name` is up and has a carrier. One the kernel has said nothing of
    /// is taken to.
    pub fn is_up(&self, name: &str) -> bool {
        self.state(name).is_none_or(|link| link.up)
    }
}

impl AsFd for Carrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Records what a packet of netlink messages states.
fn note(devices: &mut HashMap<String, LinkState>, packet: &[u8]) {
    for (kind, body) in messages(packet).filter(|(kind, _)| matches!(*kind, NEW_LINK | DEL_LINK)) {
        let info = body.get(LINK_INFO..).unwrap_or_default();
        let (Some(name), Some(index), Some(flags)) =
            (text(info, IF_NAME), u32_at(body, 4), u32_at(body, 8))
        else {
            continue;
        };
        // Whatever it was called before, it is not called that any more.
        devices.retain(|other, link| other == name || link.index != Some(index));
        let there = kind == NEW_LINK;
        let mac = attribute(info, ADDRESS).and_then(|mac| mac.try_into().ok());
        let link = LinkState {
            index: there.then_some(index),
            up: there && flags & USABLE == USABLE,
            mac: mac.map_or(MacAddr::ZERO, MacAddr),
            mtu: attribute(info, MTU).and_then(|mtu| u32_at(mtu, 0)).unwrap_or_default(),
        };
        // The end of a device says nothing of another one that has taken its name meanwhile.
        if there || devices.get(name).is_none_or(|known| known.index == Some(index)) {
            devices.insert(name.to_owned(), link);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel speaks of device 2 if it is called `eth2`.
    fn message(kind: u16, name: &str, flags: u32, rest: usize) -> Vec<u8> {
        let index = u32::from(name.bytes().last().unwrap_or_default() - b'0');
        numbered(kind, name, index, flags, rest)
    }

    fn numbered(kind: u16, name: &str, index: u32, flags: u32, rest: usize) -> Vec<u8> {
        let mut fixed = [0; LINK_INFO];
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
        netlink::message(kind, &fixed, &[(9, &vec![7; rest]), (IF_NAME, name.as_bytes())])
    }

    #[test]
    fn note__takes_the_state_of_every_device_of_a_packet() {
        let mut devices = HashMap::new();
        let packet = [
            message(NEW_LINK, "eth2", USABLE, 5),
            message(NEW_LINK, "eth3", UP, 0),
            message(3, "eth0", 0, 0),
            message(NEW_LINK, "eth4", RUNNING | LOWER_UP, 1),
            message(NEW_LINK, "eth5", UP | LOWER_UP, 0),
            message(NEW_LINK, "eth6", UP | RUNNING, 0),
        ];
        note(&mut devices, &packet.concat());
        let up = |name: &&str| devices[*name].up;
        let names = ["eth2", "eth3", "eth4", "eth5", "eth6"];
        assert_eq!(names.iter().copied().filter(up).collect::<Vec<_>>(), ["eth2"]);
        assert_eq!(devices.len(), names.len());
        note(&mut devices, &message(DEL_LINK, "eth2", USABLE, 0));
        assert_eq!(devices["eth2"], LinkState::default());
        // Expect: it is known again when it has been made again.
        note(&mut devices, &message(NEW_LINK, "eth2", USABLE, 0));
        assert!(devices["eth2"].up);
    }

    #[test]
    fn note__follows_a_name_from_device_to_device() {
        let mut devices = HashMap::new();
        let mut receive = |kind, name, index| {
            note(&mut devices, &numbered(kind, name, index, USABLE, 0));
            let mut known: Vec<_> =
                devices.iter().map(|(name, link)| (name.clone(), link.index)).collect();
            known.sort();
            known
        };
        let known = |all: &[(&str, Option<u32>)]| {
            all.iter().map(|(name, index)| ((*name).to_owned(), *index)).collect::<Vec<_>>()
        };
        receive(NEW_LINK, "eth0", 2);
        assert_eq!(receive(NEW_LINK, "old", 2), known(&[("old", Some(2))]));
        assert_eq!(receive(NEW_LINK, "eth0", 3), known(&[("eth0", Some(3)), ("old", Some(2))]));
        // Expect: the end of the one that was called so before is not the end of this one.
        assert_eq!(receive(DEL_LINK, "eth0", 2), known(&[("eth0", Some(3))]));
        assert_eq!(receive(DEL_LINK, "eth0", 3), known(&[("eth0", None)]));
    }

    #[test]
    fn note__survives_what_no_kernel_says() {
        for cut in 0..80 {
            let mut packet = message(NEW_LINK, "eth2", UP, 16);
            packet.truncate(cut);
            note(&mut HashMap::new(), &packet);
        }
        note(&mut HashMap::new(), &[0; 100]);
        note(&mut HashMap::new(), &[0xff; 100]);
    }

    #[test]
    fn watch__knows_the_devices_of_this_machine() {
        let carrier = Carrier::watch().expect("a netlink socket");
        let lo = carrier.state("lo").expect("every machine has it");
        assert!(lo.index.is_some() && lo.mtu >= 1500 && lo.mac == MacAddr::ZERO, "{lo:?}");
        assert_eq!(carrier.state("no such"), None);
        assert!(carrier.is_up("no such"), "nothing is known of that one");
    }
}
