//! What frames pass by that are handed straight to a driver: queueing disciplines with their filters, programs at the device's
//! egress, and who listens to all that is sent. Where there is any of it frames go the usual way.
//!
//! Not found out is whether nftables has a chain at the device's egress.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, SockFlag, recv, setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

use super::number_and_mtu;
use crate::netlink::{self, BUFFER, DONE, ERROR, messages, text, u32_at};
use crate::sys::bpf::programs_at_egress;

// From linux/rtnetlink.h and linux/if_ether.h.
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const TRAFFIC_CONTROL: usize = 20;
const KIND: u16 = 1;
const ALL_PROTOCOLS: &str = "0003";

/// The queueing discipline that is none: what virtual links have.
const NO_QUEUE: &str = "noqueue";

/// Packet sockets of this thread's network namespace.
const SOCKETS: &str = "/proc/thread-self/net/packet";

/// Longer than the kernel ever takes for an answer, unless something is wrong.
const PATIENCE_S: i64 = 1;

/// The number of the device called `name`, in this thread's network namespace, if frames that go straight to its driver pass by
/// nothing. Nobody would see there that a frame is too large: the device must have the MTU it had.
///
/// # Errors
/// `WouldBlock` if there is something; it cannot be found out, for want of CAP_NET_ADMIN for one: then something may be there.
pub(super) fn number_if_none(name: &str, mtu: u32) -> io::Result<u32> {
    let socket = netlink::open(0, SockFlag::empty())?;
    let (index, mtu_now) = number_and_mtu(socket.as_fd(), name)?;
    let is_none = mtu_now == mtu
        && has_no_queue(&socket, index)?
        && !has_listener(&fs::read_to_string(SOCKETS)?, index)
        && programs_at_egress(index)? == 0;
    is_none.then_some(index).ok_or_else(|| io::ErrorKind::WouldBlock.into())
}

/// Whether the device has no queueing discipline, and none that is but a place for filters.
fn has_no_queue(socket: &OwnedFd, index: u32) -> io::Result<bool> {
    setsockopt(socket, sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE_S))?;
    netlink::ask(socket.as_fd(), GET_QDISC, TRAFFIC_CONTROL)?;
    let mut buffer = vec![0; BUFFER];
    let mut kinds = Kinds::default();
    while !kinds.complete {
        match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
            Ok(n) => kinds.note(&buffer[..n], index)?,
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(kinds.without_queue > 0 && kinds.others == 0)
}

/// The queueing disciplines of a device.
#[derive(Debug, Default, Eq, PartialEq)]
struct Kinds {
    without_queue: u32,
    others: u32,
    complete: bool,
}

impl Kinds {
    /// Notes what a packet of the kernel's answer says of device `index`.
    fn note(&mut self, packet: &[u8], index: u32) -> io::Result<()> {
        for (kind, body) in messages(packet) {
            match kind {
                DONE => self.complete = true,
                ERROR => return Err(io::ErrorKind::Unsupported.into()),
                NEW_QDISC if u32_at(body, 4) == Some(index) => {
                    match text(body.get(TRAFFIC_CONTROL..).unwrap_or_default(), KIND) {
                        Some(NO_QUEUE) => self.without_queue += 1,
                        _ => self.others += 1,
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether one of `sockets`, as the kernel lists them, is for frames of all protocols, sent ones among them, of device `index` or of all.
fn has_listener(sockets: &str, index: u32) -> bool {
    // sk RefCnt Type Proto Iface ...
    sockets.lines().skip(1).any(|line| {
        let mut words = line.split_ascii_whitespace().skip(3);
        let protocol = words.next();
        let device = words.next().and_then(|word| word.parse::<u32>().ok());
        protocol == Some(ALL_PROTOCOLS) && device.is_none_or(|device| [0, index].contains(&device))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message;

    fn qdisc(index: u32, kind: &str) -> Vec<u8> {
        let mut fixed = [0; TRAFFIC_CONTROL];
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        message(NEW_QDISC, &fixed, &[(2, &[0; 7]), (KIND, kind.as_bytes())])
    }

    fn kinds(packets: &[Vec<u8>]) -> (u32, u32, bool) {
        let mut kinds = Kinds::default();
        packets.iter().for_each(|packet| kinds.note(packet, 7).unwrap());
        (kinds.without_queue, kinds.others, kinds.complete)
    }

    #[test]
    fn note__counts_the_queueing_disciplines_of_one_device() {
        let done = message(DONE, &[0; 4], &[]);
        let others = [qdisc(1, "noqueue"), qdisc(8, "tbf")].concat();
        assert_eq!(kinds(&[others.clone(), qdisc(7, "noqueue\0")]), (1, 0, false));
        assert_eq!(kinds(&[others, qdisc(7, "noqueue"), done.clone()]), (1, 0, true));
        assert_eq!(
            kinds(&[[qdisc(7, "noqueue"), qdisc(7, "clsact"), done].concat()]),
            (1, 1, true)
        );
    }

    #[test]
    fn note__no_answer_is_an_error() {
        assert!(Kinds::default().note(&message(ERROR, &[0; 20], &[]), 7).is_err());
        for cut in 0..60 {
            let mut packet = qdisc(7, "noqueue");
            packet.truncate(cut);
            assert!(Kinds::default().note(&packet, 7).is_ok());
        }
    }

    #[test]
    fn has_listener__for_all_protocols_here_or_everywhere() {
        const HEAD: &str = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n";
        let list = |protocol, device| {
            format!(
                "{HEAD}0000000000000000 3      3    {protocol}   {device}     1 0      0      21\n"
            )
        };
        assert!(!has_listener(HEAD, 7));
        assert!(!has_listener(&list("88b5", 7), 7));
        assert!(!has_listener(&list("0003", 8), 7));
        assert!(has_listener(&list("0003", 7), 7));
        assert!(has_listener(&list("0003", 0), 7));
        assert!(has_listener(&format!("{}{}", list("88b5", 7), "0 3 3 0003 7 1 0 0 22\n"), 7));
    }

    #[test]
    fn has_no_queue__of_the_loopback_device_but_of_none_that_is_not_there() {
        let socket = netlink::open(0, SockFlag::empty()).expect("a netlink socket");
        assert!(has_no_queue(&socket, 1).expect("an answer"));
        assert!(!has_no_queue(&socket, u32::MAX).expect("an answer"));
    }
}
