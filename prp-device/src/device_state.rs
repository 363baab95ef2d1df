//! What the kernel says of a device beyond what frames need: whether it is up, what it belongs to,
//! what else it is called.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::sys::socket::SockFlag;
use prp_proto::addr::MacAddr;

use crate::netlink::{self, NETWORK, attribute, attributes, text, u32_at, until_zero};
use crate::sys::packet;

// From linux/rtnetlink.h, linux/if_link.h and linux/if.h.
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const LINK_INFO: usize = 16;
const ADDRESS: u16 = 1;
const IF_NAME: u16 = 3;
const MTU: u16 = 4;
const QDISC: u16 = 6;
const MASTER: u16 = 10;
const DETAILS: u16 = 18;
const KIND: u16 = 1;
const PROPERTIES: u16 = 52;
const ALTERNATIVE_NAME: u16 = 53;
const UP: u32 = 1;
const LOOPBACK: u32 = 8;
const LOWER_UP: u32 = 0x1_0000;

/// The state of a device.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DeviceState {
    /// Its name.
    pub name: String,
    /// The kernel's number for it.
    pub index: u32,
    /// Its hardware address; all zeros for the loopback device.
    pub mac: MacAddr,
    /// Whether it leads back to this machine.
    pub loopback: bool,
    /// It has been set up.
    pub up: bool,
    /// It has a link.
    pub link_up: bool,
    /// Bytes after the Ethernet header that it takes; 0 where the kernel does not say.
    pub mtu: u32,
    /// What queues its frames before they leave, as `ip link` has it: `noqueue`, `fq_codel`.
    pub qdisc: Option<String>,
    /// What kind of virtual device it is, as `ip link` has it: `bridge`, `bond`, `veth`. None for
    /// hardware.
    pub kind: Option<String>,
    /// The number of the device it is a port of.
    pub master: Option<u32>,
    /// What else it is called.
    pub alternatives: Vec<String>,
}

/// The state of all devices of this thread's network namespace.
///
/// # Errors
/// The kernel gives no netlink socket, or does not answer.
pub fn device_states() -> io::Result<Vec<DeviceState>> {
    let socket = netlink::open(NETWORK, 0, SockFlag::empty())?;
    netlink::ask(socket.as_fd(), GET_LINK, &[0; LINK_INFO])?;
    let mut states = Vec::new();
    netlink::answer(&socket, |kind, body| states.extend(state(kind, body)))?;
    Ok(states)
}

/// The kernel's number of the device that a packet socket is on, and the bytes after the Ethernet
/// header that it takes, in this thread's network namespace. Its name may be another one by now.
///
/// # Errors
/// `ENODEV` if it is on none, or that has gone.
pub fn device_of_socket(socket: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    let index = packet::device(socket).ok_or_else(no_device)?;
    Ok((index, mtu(&netlink::open(NETWORK, 0, SockFlag::empty())?, index)?))
}

/// Bytes after the Ethernet header that device `index` takes, where `socket` is for questions about
/// devices.
///
/// # Errors
/// `ENODEV` if there is no such device.
pub(crate) fn mtu(socket: &OwnedFd, index: u32) -> io::Result<u32> {
    let mut info = [0; LINK_INFO];
    info[4..8].copy_from_slice(&index.to_ne_bytes());
    netlink::ask_one(socket.as_fd(), GET_LINK, &info)?;
    let mut found = None;
    netlink::answer(socket, |kind, body| found = found.take().or_else(|| state(kind, body)))?;
    Ok(found.ok_or_else(no_device)?.mtu)
}

fn no_device() -> io::Error {
    io::Error::from_raw_os_error(libc::ENODEV)
}

/// What a message of the kernel's states of a device, if it is about one.
fn state(kind: u16, body: &[u8]) -> Option<DeviceState> {
    let info = body.get(LINK_INFO..).filter(|_| kind == NEW_LINK)?;
    let (index, flags) = (u32_at(body, 4)?, u32_at(body, 8)?);
    let mac = attribute(info, ADDRESS).and_then(|mac| mac.try_into().ok());
    let properties = attributes(attribute(info, PROPERTIES).unwrap_or_default());
    let alternatives = properties.filter(|(kind, _)| *kind == ALTERNATIVE_NAME);
    Some(DeviceState {
        name: text(info, IF_NAME)?.to_owned(),
        index,
        mac: mac.map_or(MacAddr::ZERO, MacAddr),
        loopback: flags & LOOPBACK != 0,
        up: flags & UP != 0,
        link_up: flags & LOWER_UP != 0,
        mtu: attribute(info, MTU).and_then(|mtu| u32_at(mtu, 0)).unwrap_or(0),
        qdisc: text(info, QDISC).map(str::to_owned),
        kind: attribute(info, DETAILS).and_then(|it| text(it, KIND)).map(str::to_owned),
        master: attribute(info, MASTER).and_then(|master| u32_at(master, 0)),
        alternatives: alternatives.filter_map(|(_, name)| Some(until_zero(name)?.into())).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{message, messages};

    /// An attribute as it lies in another one.
    fn nested(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = (4 + value.len()) as u16;
        let mut bytes = [&length.to_ne_bytes(), &kind.to_ne_bytes(), value].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn packet() -> Vec<u8> {
        let mut fixed = [0; LINK_INFO];
        fixed[4..8].copy_from_slice(&7_u32.to_ne_bytes());
        fixed[8..12].copy_from_slice(&(UP | LOWER_UP).to_ne_bytes());
        let details = nested(KIND, b"veth\0");
        let names =
            [nested(ALTERNATIVE_NAME, b"lan0\0"), nested(ALTERNATIVE_NAME, b"uplink\0")].concat();
        message(
            NEW_LINK,
            &fixed,
            &[
                (IF_NAME, b"eth0\0"),
                (ADDRESS, &[2, 0, 0, 0, 0, 1]),
                (MTU, &1500_u32.to_ne_bytes()),
                (QDISC, b"noqueue\0"),
                (MASTER, &9_u32.to_ne_bytes()),
                (DETAILS, &details),
                (PROPERTIES | 0x8000, &names),
            ],
        )
    }

    fn states(packet: &[u8]) -> Vec<DeviceState> {
        messages(packet).filter_map(|(kind, body)| state(kind, body)).collect()
    }

    #[test]
    fn state__has_what_the_kernel_says() {
        let expected = DeviceState {
            name: "eth0".into(),
            index: 7,
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            loopback: false,
            up: true,
            link_up: true,
            mtu: 1500,
            qdisc: Some("noqueue".into()),
            kind: Some("veth".into()),
            master: Some(9),
            alternatives: vec!["lan0".into(), "uplink".into()],
        };
        assert_eq!(states(&packet()), [expected]);
    }

    #[test]
    fn state__survives_what_no_kernel_says() {
        let whole = packet();
        for cut in 0..whole.len() {
            states(&whole[..cut]);
        }
        assert_eq!(states(&[0; 100]), []);
        assert_eq!(states(&[0xff; 100]), []);
    }

    #[test]
    fn device_states__has_the_loopback_device() {
        let states = device_states().expect("a netlink socket");
        let is_lo = |state: &&DeviceState| state.name == "lo" && state.loopback;
        assert_eq!(states.iter().filter(is_lo).count(), 1, "{states:?}");
    }

    #[test]
    fn mtu__of_a_device_by_its_number() {
        let states = device_states().expect("a netlink socket");
        let lo = states.iter().find(|state| state.loopback).expect("every machine has it");
        let socket = netlink::open(NETWORK, 0, SockFlag::empty()).expect("a netlink socket");
        assert_eq!(mtu(&socket, lo.index).ok(), Some(lo.mtu));
        let absent = mtu(&socket, i32::MAX.cast_unsigned()).expect_err("no device has it");
        assert_eq!(absent.raw_os_error(), Some(libc::ENODEV));
        // Expect: the socket answers further questions.
        assert_eq!(mtu(&socket, lo.index).ok(), Some(lo.mtu));
    }
}
