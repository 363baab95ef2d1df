//! Which devices have a carrier, as the kernel reports it (rtnetlink).

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    socket,
};

// From linux/rtnetlink.h, linux/netlink.h and linux/if.h.
const GROUP_LINK: u32 = 1;
const NEW_LINK: u16 = 16;
const DEL_LINK: u16 = 17;
const GET_LINK: u16 = 18;
const REQUEST_DUMP: u16 = 0x301;
const HEADER: usize = 16;
const LINK_INFO: usize = 16;
const ATTRIBUTE: usize = 4;
const IF_NAME: u16 = 3;
const UP: u32 = 1;
const LOWER_UP: u32 = 0x1_0000;

/// One message with all attributes of a device has some two KiB; the kernel packs several.
const BUFFER: usize = 32 * 1024;

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
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let family = AddressFamily::Netlink;
        let socket = socket(family, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, GROUP_LINK))?;
        let mut carrier = Self { socket, devices: HashMap::new(), buffer: vec![0; BUFFER] };
        carrier.ask()?;
        carrier.read()?;
        Ok(carrier)
    }

    fn ask(&self) -> io::Result<()> {
        let mut request = [0; HEADER + LINK_INFO];
        request[..4].copy_from_slice(&((HEADER + LINK_INFO) as u32).to_ne_bytes());
        request[4..6].copy_from_slice(&GET_LINK.to_ne_bytes());
        request[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
        send(self.socket.as_raw_fd(), &request, MsgFlags::empty())?;
        Ok(())
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

    /// Whether the device called `name` has a carrier. One the kernel has said nothing of is taken to.
    pub fn is_up(&self, name: &str) -> bool {
        self.devices.get(name).copied().unwrap_or(true)
    }
}

impl AsFd for Carrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Notes what a packet of netlink messages says.
fn note(devices: &mut HashMap<String, bool>, mut packet: &[u8]) {
    while let Some(length) = u32_at(packet, 0) {
        let length = (length as usize).max(HEADER);
        let message = packet.get(..length).unwrap_or_default();
        let kind = u16_at(message, 4);
        let name = name(message.get(HEADER + LINK_INFO..).unwrap_or_default());
        if let (Some(name), Some(flags)) = (name, u32_at(message, HEADER + 8)) {
            let up = kind == Some(NEW_LINK) && flags & UP != 0 && flags & LOWER_UP != 0;
            if matches!(kind, Some(NEW_LINK | DEL_LINK)) {
                devices.insert(name, up);
            }
        }
        packet = packet.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// The device's name among its attributes.
fn name(mut attributes: &[u8]) -> Option<String> {
    loop {
        let length = usize::from(u16_at(attributes, 0)?).max(ATTRIBUTE);
        if u16_at(attributes, 2) == Some(IF_NAME) {
            let name = attributes.get(ATTRIBUTE..length)?.split(|b| *b == 0).next()?;
            return String::from_utf8(name.to_vec()).ok();
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, name: &str, flags: u32, rest: usize) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + LINK_INFO];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[HEADER + 8..HEADER + 12].copy_from_slice(&flags.to_ne_bytes());
        for (kind, value) in [(1, &vec![7; rest][..]), (IF_NAME, name.as_bytes())] {
            bytes.extend(((ATTRIBUTE + value.len()) as u16).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }

    #[test]
    fn note__takes_the_state_of_every_device_of_a_packet() {
        let mut devices = HashMap::new();
        let packet = [
            message(NEW_LINK, "eth2", UP | LOWER_UP, 5),
            message(NEW_LINK, "eth3", UP, 0),
            message(3, "eth0", 0, 0),
            message(NEW_LINK, "eth4", LOWER_UP, 1),
        ];
        note(&mut devices, &packet.concat());
        let expected = [("eth2", true), ("eth3", false), ("eth4", false)];
        assert_eq!(devices, HashMap::from(expected.map(|(name, up)| (name.to_owned(), up))));
        note(&mut devices, &message(DEL_LINK, "eth2", UP | LOWER_UP, 0));
        assert!(!devices["eth2"]);
        // Expect: it is known again when it has been made again.
        note(&mut devices, &message(NEW_LINK, "eth2", UP | LOWER_UP, 0));
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
        assert!(carrier.is_up("no such"), "nothing is known of that one");
    }
}
