//! Chains of nftables at devices: each sees the frames that come by a device, or those that leave.

use std::io;
use std::os::fd::AsFd;

use nix::sys::socket::{SockFlag, SockProtocol};

use crate::netlink::{self, attribute, attributes, text, until_zero};

// From linux/netfilter/nfnetlink.h, nf_tables.h and linux/netfilter.h.
const NEW_CHAIN: u16 = 10 << 8 | 3;
const GET_CHAIN: u16 = 10 << 8 | 4;
const OF_DEVICES: [u8; 4] = [5, 0, 0, 0];
const TABLE: u16 = 1;
const NAME: u16 = 3;
const HOOK: u16 = 4;
const POLICY: u16 = 5;
const HOOK_NUMBER: u16 = 1;
const HOOK_DEVICES: u16 = 4;
const DEVICE_NAME: u16 = 1;
const DROP: [u8; 4] = 0u32.to_be_bytes();
const INGRESS: [u8; 4] = 0u32.to_be_bytes();
const EGRESS: [u8; 4] = 1u32.to_be_bytes();

/// Which frames a chain sees.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum ChainHook {
    /// Those that come.
    Ingress,
    /// Those that leave.
    Egress,
}

/// A chain of nftables at devices.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeviceChain {
    /// Its table, of the family netdev.
    pub table: String,
    /// Its name in that.
    pub name: String,
    /// Which frames it sees.
    pub hook: ChainHook,
    /// The names of its devices. The kernel names one that is given by a pattern as the pattern's
    /// beginning, or not at all.
    pub devices: Vec<String>,
    /// Whether it drops what no rule of it accepts.
    pub drops_others: bool,
}

/// Returns the chains at devices of this thread's network namespace.
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN, and what else keeps them from being listed.
pub fn device_chains() -> io::Result<Vec<DeviceChain>> {
    let socket = match netlink::open(SockProtocol::NetlinkNetFilter, 0, SockFlag::empty()) {
        // Not in this kernel.
        Err(e) if e.raw_os_error() == Some(libc::EPROTONOSUPPORT) => return Ok(Vec::new()),
        socket => socket?,
    };
    netlink::ask(socket.as_fd(), GET_CHAIN, &OF_DEVICES)?;
    let mut chains = Vec::new();
    match netlink::answer(&socket, |kind, body| chains.extend(chain(kind, body))) {
        // Nor is that.
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(Vec::new()),
        answer => answer.map(|()| chains),
    }
}

/// The chain at devices that a message of the kernel's is about.
fn chain(kind: u16, body: &[u8]) -> Option<DeviceChain> {
    let chain = body.get(OF_DEVICES.len()..).filter(|_| kind == NEW_CHAIN)?;
    let hook = attribute(chain, HOOK)?;
    let devices = attributes(attribute(hook, HOOK_DEVICES).unwrap_or_default());
    let devices = devices.filter(|(kind, _)| *kind == DEVICE_NAME);
    let word = |kind| text(chain, kind).unwrap_or_default().to_owned();
    Some(DeviceChain {
        table: word(TABLE),
        name: word(NAME),
        hook: match attribute(hook, HOOK_NUMBER)?.try_into().ok()? {
            INGRESS => ChainHook::Ingress,
            EGRESS => ChainHook::Egress,
            _ => return None,
        },
        devices: devices.filter_map(|(_, name)| Some(until_zero(name)?.to_owned())).collect(),
        drops_others: attribute(chain, POLICY) == Some(&DROP),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{message, messages};

    /// As attributes lie in each other: length and kind before each.
    fn nested(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = (4 + value.len()) as u16;
        let mut bytes = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn read(packet: &[u8]) -> Vec<DeviceChain> {
        messages(packet).filter_map(|(kind, body)| chain(kind, body)).collect()
    }

    #[test]
    fn chain__has_its_hook_and_devices() {
        let names = [nested(DEVICE_NAME, b"eth0\0"), nested(DEVICE_NAME, b"eth1\0")].concat();
        let packet = |hook: u32| {
            // Those that see what leaves drop.
            let policy = (1 - hook.min(1)).to_be_bytes();
            let number = nested(HOOK_NUMBER, &hook.to_be_bytes());
            let hook = [number, nested(HOOK_DEVICES | 0x8000, &names)].concat();
            let name = [(TABLE, &b"t\0"[..]), (NAME, b"c\0")];
            let what = [(HOOK | 0x8000, &hook[..]), (POLICY, &policy)];
            message(NEW_CHAIN, &OF_DEVICES, &[name, what].concat())
        };
        let wanted = |hook| DeviceChain {
            table: "t".into(),
            name: "c".into(),
            hook,
            devices: vec!["eth0".into(), "eth1".into()],
            drops_others: hook == ChainHook::Egress,
        };
        assert_eq!(read(&packet(0)), [wanted(ChainHook::Ingress)]);
        assert_eq!(read(&packet(1)), [wanted(ChainHook::Egress)]);
        assert_eq!(read(&packet(2)), []);
        assert_eq!(read(&message(NEW_CHAIN, &OF_DEVICES, &[(TABLE, b"t\0")])), [], "at no hook");
        for cut in 0..packet(0).len() {
            // Nothing is read that is not there.
            read(&packet(0)[..cut]);
        }
    }
}
