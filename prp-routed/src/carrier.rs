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
const UP: u32 = 1;
const LOWER_UP: u32 = 0x1_0000;

/// One message with all attributes of a device has some two KiB; the kernel packs several.
const BUFFER: usize = 32 * 1024;

/// The kernel's word on devices.
#[derive(Debug)]
pub struct Carrier {
    socket: OwnedFd,
    devices: HashMap<u32, bool>,
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

    /// Whether the device with the kernel's number `index` has a carrier. One the kernel has said nothing
    /// of is taken to.
    pub fn is_up(&self, index: u32) -> bool {
        self.devices.get(&index).copied().unwrap_or(true)
    }
}

impl AsFd for Carrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Notes what a packet of netlink messages says.
fn note(devices: &mut HashMap<u32, bool>, mut packet: &[u8]) {
    while let Some(length) = u32_at(packet, 0) {
        let length = (length as usize).max(HEADER);
        let kind = packet.get(4..6).and_then(|b| b.try_into().ok()).map(u16::from_ne_bytes);
        if let (Some(index), Some(flags)) = (u32_at(packet, HEADER + 4), u32_at(packet, HEADER + 8))
        {
            let up = kind == Some(NEW_LINK) && flags & UP != 0 && flags & LOWER_UP != 0;
            if matches!(kind, Some(NEW_LINK | DEL_LINK)) {
                devices.insert(index, up);
            }
        }
        packet = packet.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, index: u32, flags: u32, rest: usize) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + LINK_INFO + rest];
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[HEADER + 4..HEADER + 8].copy_from_slice(&index.to_ne_bytes());
        bytes[HEADER + 8..HEADER + 12].copy_from_slice(&flags.to_ne_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn note__takes_the_state_of_every_device_of_a_packet() {
        let mut devices = HashMap::new();
        let packet = [
            message(NEW_LINK, 2, UP | LOWER_UP, 5),
            message(NEW_LINK, 3, UP, 0),
            message(3, 0, 0, 0),
            message(NEW_LINK, 4, LOWER_UP, 1),
        ];
        note(&mut devices, &packet.concat());
        assert_eq!(devices, HashMap::from([(2, true), (3, false), (4, false)]));
        note(&mut devices, &message(DEL_LINK, 2, UP | LOWER_UP, 0));
        assert!(!devices[&2]);
    }

    #[test]
    fn note__survives_what_no_kernel_says() {
        for cut in 0..60 {
            let mut packet = message(NEW_LINK, 2, UP, 16);
            packet.truncate(cut);
            note(&mut HashMap::new(), &packet);
        }
        note(&mut HashMap::new(), &[0; 100]);
        note(&mut HashMap::new(), &[0xff; 100]);
    }

    #[test]
    fn watch__knows_the_devices_of_this_machine() {
        let carrier = Carrier::watch().expect("a netlink socket");
        assert!(!carrier.devices.is_empty());
        assert!(carrier.is_up(u32::MAX), "nothing is known of that one");
    }
}
