//! The queueing disciplines of devices, of which some are places for filters of tc(8) alone.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::socket::SockFlag;

use crate::netlink::{self, NETWORK, text, u32_at};

// From linux/rtnetlink.h.
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const TRAFFIC_CONTROL: usize = 20;
const KIND: u16 = 1;

/// Returns whether the queueing disciplines of this kind queue nothing, and are places for filters
/// of what a device receives.
pub(crate) fn is_place(kind: &str) -> bool {
    ["ingress", "clsact"].contains(&kind)
}

/// Passes the device and the kind of each queueing discipline to `note`; no kind where the kernel
/// does not say it.
///
/// # Errors
/// The kernel does not answer.
pub(crate) fn each(socket: &OwnedFd, mut note: impl FnMut(u32, Option<&str>)) -> io::Result<()> {
    netlink::ask(socket.as_fd(), GET_QDISC, &[0; TRAFFIC_CONTROL])?;
    netlink::answer(socket, |message, body| {
        if let Some((device, kind)) = qdisc(message, body) {
            note(device, kind);
        }
    })
}

/// Returns the numbers of the devices of this thread's network namespace at which there may be
/// filters of tc for what comes or leaves, which see frames before packet sockets do.
///
/// # Errors
/// The kernel gives no netlink socket, or does not answer.
pub fn devices_with_filters() -> io::Result<Vec<u32>> {
    let socket = netlink::open(NETWORK, 0, SockFlag::empty())?;
    let mut found = Vec::new();
    each(&socket, |device, kind| found.extend(kind.is_some_and(is_place).then_some(device)))?;
    Ok(found)
}

/// The device and the kind of the queueing discipline that a message of the kernel's is of.
pub(crate) fn qdisc(message: u16, body: &[u8]) -> Option<(u32, Option<&str>)> {
    let device = u32_at(body, 4).filter(|_| message == NEW_QDISC)?;
    Some((device, text(body.get(TRAFFIC_CONTROL..).unwrap_or_default(), KIND)))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::netlink::message;

    /// A message of the kernel's that says that device `index` has one of `kind`.
    pub(crate) fn qdisc_message(index: u32, kind: &str) -> Vec<u8> {
        let mut fixed = [0; TRAFFIC_CONTROL];
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        message(NEW_QDISC, &fixed, &[(2, &[0; 7]), (KIND, kind.as_bytes())])
    }
}

#[cfg(test)]
mod tests {
    use super::testing::qdisc_message;
    use super::*;
    use crate::netlink::messages;

    fn places(packet: &[u8]) -> Vec<u32> {
        let all = messages(packet).filter_map(|(message, body)| qdisc(message, body));
        all.filter(|(_, kind)| kind.is_some_and(is_place)).map(|(device, _)| device).collect()
    }

    #[test]
    fn place__at_which_device() {
        let all = [(7, "fq_codel\0"), (8, "clsact\0"), (9, "ingress\0")];
        assert_eq!(places(&all.map(|(device, kind)| qdisc_message(device, kind)).concat()), [8, 9]);
        let whole = qdisc_message(8, "clsact");
        for cut in 0..whole.len() {
            assert_eq!(places(&whole[..cut]), []);
        }
    }
}
