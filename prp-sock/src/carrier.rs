//! Which devices are up and have a carrier, as the kernel reports it (rtnetlink).

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockFlag, recv};

use crate::netlink::{self, BUFFER, NETWORK, messages, text, u32_at};

// From linux/rtnetlink.h, linux/if_link.h and linux/if.h.
const GROUP_LINK: u32 = 1;
const NEW_LINK: u16 = 16;
const DEL_LINK: u16 = 17;
const GET_LINK: u16 = 18;
const LINK_INFO: usize = 16;
const IF_NAME: u16 = 3;
const UP: u32 = 1;
const RUNNING: u32 = 0x40;
const LOWER_UP: u32 = 0x1_0000;
/// Set up, with a carrier of its own, and with one of what it is built on.
const USABLE: u32 = UP | RUNNING | LOWER_UP;

/// The kernel's word on devices.
#[derive(Debug)]
pub struct Carrier {
    socket: OwnedFd,
    /// By name: a device that is removed and made again has another number.
    devices: HashMap<String, bool>,
    buffer: Vec<u8>,
}

impl Carrier {
    /// Asks for the state of all devices, and to be told of changes.
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

    /// Whether the device called `name` is up and has a carrier; none if the kernel has said nothing
    /// of it.
    pub fn state(&self, name: &str) -> Option<bool> {
        self.devices.get(name).copied()
    }

    /// As [`Self::state`]: a device the kernel has said nothing of is taken to be up.
    pub fn is_up(&self, name: &str) -> bool {
        self.state(name).unwrap_or(true)
    }
}

impl AsFd for Carrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Notes what a packet of netlink messages says.
fn note(devices: &mut HashMap<String, bool>, packet: &[u8]) {
    for (kind, body) in messages(packet).filter(|(kind, _)| matches!(*kind, NEW_LINK | DEL_LINK)) {
        let name = text(body.get(LINK_INFO..).unwrap_or_default(), IF_NAME);
        if let (Some(name), Some(flags)) = (name, u32_at(body, 8)) {
            let up = kind == NEW_LINK && flags & USABLE == USABLE;
            devices.insert(name.to_owned(), up);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, name: &str, flags: u32, rest: usize) -> Vec<u8> {
        let mut fixed = [0; LINK_INFO];
        fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
        netlink::message(kind, &fixed, &[(1, &vec![7; rest]), (IF_NAME, name.as_bytes())])
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
        let up = |name: &&str| devices[*name];
        let names = ["eth2", "eth3", "eth4", "eth5", "eth6"];
        assert_eq!(names.iter().copied().filter(up).collect::<Vec<_>>(), ["eth2"]);
        assert_eq!(devices.len(), names.len());
        note(&mut devices, &message(DEL_LINK, "eth2", USABLE, 0));
        assert!(!devices["eth2"]);
        // Expect: it is known again when it has been made again.
        note(&mut devices, &message(NEW_LINK, "eth2", USABLE, 0));
        assert!(devices["eth2"]);
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
        assert!(carrier.devices.contains_key("lo"));
        assert_eq!(carrier.state("no such"), None);
        assert!(carrier.is_up("no such"), "nothing is known of that one");
    }
}
