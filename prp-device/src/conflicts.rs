//! What a fast path would bypass. Frames that are handed directly to a NIC driver bypass queueing
//! disciplines with their filters, programs and rules at the device's egress, and sockets that
//! capture all that is sent. Frames that a program at the ingress takes bypass filters and rules
//! there. Where there is any of it, frames take the packet socket.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use caps::{CapSet, Capability};
use nix::sys::socket::SockFlag;

use crate::chains::{ChainHook, device_chains};
use crate::netlink::{self, NETWORK};
use crate::sys::bpf::query::programs_at_egress;
use crate::sys::packet::NO_FRAMES;
use crate::{device_state, qdiscs};

// From linux/if_ether.h.
const ALL_PROTOCOLS: u16 = 3;

/// The queueing discipline that is none: what virtual links have.
const NO_QUEUE: &str = "noqueue";

/// Packet sockets of this thread's network namespace.
const SOCKETS: &str = "/proc/thread-self/net/packet";

/// Whether frames that go straight to the NIC driver of device `index`, in this thread's network
/// namespace, pass by nothing. No error would show there that a frame is too large: the device must
/// have the MTU it had. Captures may listen that get them all the same: `is_reached` says of the
/// inode of a packet socket whether its owner does.
///
/// # Errors
/// `WouldBlock` if there is something. `EPERM` without CAP_NET_ADMIN, and what else keeps it from
/// being found out: then something may be there.
pub(super) fn ensure_no_egress_hooks(
    index: u32,
    mtu: u32,
    is_reached: impl FnMut(u64) -> bool,
) -> io::Result<()> {
    // Before any system call that a filter might think this program has no use for.
    if !caps::has_cap(None, CapSet::Effective, Capability::CAP_NET_ADMIN).unwrap_or(false) {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    let socket = netlink::open(NETWORK, 0, SockFlag::empty())?;
    let is_none = device_state::mtu(&socket, index)? == mtu
        && programs_at_egress(index)? == 0
        && !has_rules(ChainHook::Egress)?
        && kinds(&socket, index)?.are_none()
        && listeners(&fs::read_to_string(SOCKETS)?, index).into_iter().all(is_reached);
    if is_none { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
}

/// Whether frames that a program at the ingress of device `index` takes pass by no filters and no
/// rules there. Other programs, that were there before, see them first. Its frames must still be of
/// the length they had.
///
/// # Errors
/// `WouldBlock` if there is something. `EPERM` without CAP_NET_ADMIN and CAP_BPF, and what else
/// keeps it from being found out.
pub(super) fn ensure_no_ingress_hooks(index: u32, mtu: u32) -> io::Result<()> {
    let has = |capability| caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false);
    if !has(Capability::CAP_NET_ADMIN) || !has(Capability::CAP_BPF) {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    let socket = netlink::open(NETWORK, 0, SockFlag::empty())?;
    let is_none = device_state::mtu(&socket, index)? == mtu
        && !has_rules(ChainHook::Ingress)?
        && kinds(&socket, index)?.at_ingress == 0;
    if is_none { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
}

/// Which queueing disciplines device `index` has.
fn kinds(socket: &OwnedFd, index: u32) -> io::Result<Kinds> {
    let mut kinds = Kinds::default();
    qdiscs::each(socket, |device, kind| kinds.note(device == index, kind))?;
    Ok(kinds)
}

/// Whether nftables has a chain at `hook` of any device.
fn has_rules(hook: ChainHook) -> io::Result<bool> {
    Ok(device_chains()?.iter().any(|chain| chain.hook == hook))
}

/// The queueing disciplines of a device.
#[derive(Debug, Default, Eq, PartialEq)]
struct Kinds {
    without_queue: u32,
    others: u32,
    /// Of those, places for filters of what is received.
    at_ingress: u32,
}

impl Kinds {
    /// Notes one of `kind`, if it is of the device in question.
    fn note(&mut self, is_of_device: bool, kind: Option<&str>) {
        match kind {
            _ if !is_of_device => {}
            Some(NO_QUEUE) => self.without_queue += 1,
            kind => {
                self.others += 1;
                self.at_ingress += u32::from(kind.is_none_or(qdiscs::is_place));
            }
        }
    }

    /// Whether there is no queue, nor a place for filters.
    const fn are_none(&self) -> bool {
        self.without_queue > 0 && self.others == 0
    }
}

/// The inodes of those of `sockets`, as the kernel lists them, that are for frames of all
/// protocols, sent ones among them, of device `index` or of all; 0 where a line does not say.
fn listeners(sockets: &str, index: u32) -> Vec<u64> {
    // sk RefCnt Type Proto Iface R Rmem User Inode
    let inode = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(3);
        let protocol = words.next().and_then(|word| u16::from_str_radix(word, 16).ok());
        let device = words.next().and_then(|word| word.parse::<u32>().ok());
        // Also a capture at its limit: it sees frames again soon.
        let is_listener = matches!(protocol, Some(ALL_PROTOCOLS | NO_FRAMES))
            && device.is_none_or(|device| [0, index].contains(&device));
        is_listener.then(|| words.nth(3).and_then(|word| word.parse().ok()).unwrap_or(0))
    };
    sockets.lines().skip(1).filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::messages;
    use crate::qdiscs::testing::qdisc_message as qdisc;

    fn kinds(packet: &[u8]) -> Kinds {
        let mut kinds = Kinds::default();
        let all = messages(packet).filter_map(|(message, body)| qdiscs::qdisc(message, body));
        all.for_each(|(device, kind)| kinds.note(device == 7, kind));
        kinds
    }

    #[test]
    fn note__counts_the_queueing_disciplines_of_one_device() {
        let others = [qdisc(1, "noqueue"), qdisc(8, "tbf")].concat();
        assert!(!kinds(&others).are_none(), "nothing is known of that one");
        assert!(kinds(&[others.clone(), qdisc(7, "noqueue\0")].concat()).are_none());
        let both = kinds(&[others, qdisc(7, "noqueue"), qdisc(7, "clsact")].concat());
        assert_eq!(both, Kinds { without_queue: 1, others: 1, at_ingress: 1 });
        assert!(!both.are_none());
        let ingress = kinds(&[qdisc(7, "ingress"), qdisc(8, "clsact")].concat());
        assert_eq!(ingress.at_ingress, 1);
        assert_eq!(kinds(&[qdisc(7, "mq"), qdisc(7, "fq_codel")].concat()).at_ingress, 0);
        for cut in 0..60 {
            assert!(!kinds(&qdisc(7, "noqueue")[..cut]).are_none());
        }
    }

    #[test]
    fn listeners__for_all_protocols_here_or_everywhere() {
        const HEAD: &str = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n";
        let list = |protocol, device| {
            format!(
                "{HEAD}0000000000000000 3      3    {protocol}   {device}     1 0      0      21\n"
            )
        };
        assert_eq!(listeners(HEAD, 7), []);
        assert_eq!(listeners(&list("88b5", 7), 7), []);
        assert_eq!(listeners(&list("0003", 8), 7), []);
        assert_eq!(listeners(&list("0003", 7), 7), [21]);
        assert_eq!(listeners(&list("0003", 0), 7), [21]);
        assert_eq!(listeners(&list("ffff", 0), 7), [21], "a capture at its limit");
        let two = format!("{}{}", list("0003", 7), "0 3 3 0003 7 1 0 0 22\n0 3 3 0003 7\n");
        assert_eq!(listeners(&two, 7), [21, 22, 0]);
    }
}
