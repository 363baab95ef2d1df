//! Places for filters of tc(8) at devices: queueing disciplines that hold nothing but those.

use std::io;
use std::os::fd::AsFd;

use nix::sys::socket::SockFlag;

use crate::netlink::{self, NETWORK, text, u32_at};

// From linux/rtnetlink.h.
const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
const TRAFFIC_CONTROL: usize = 20;
const KIND: u16 = 1;

/// The queueing disciplines that queue nothing.
const PLACES: [&str; 2] = ["ingress", "clsact"];

/// Returns the numbers of the devices of this thread's network namespace at which there may be
/// filters of tc for what comes or leaves, which see frames before packet sockets do.
///
/// # Errors
/// The kernel gives no netlink socket, or does not answer.
pub fn devices_with_filters() -> io::Result<Vec<u32>> {
    let socket = netlink::open(NETWORK, 0, SockFlag::empty())?;
    netlink::ask(socket.as_fd(), GET_QDISC, &[0; TRAFFIC_CONTROL])?;
    let mut found = Vec::new();
    netlink::answer(&socket, |kind, body| found.extend(place(kind, body)))?;
    Ok(found)
}

/// The device of a message of the kernel's, if that is of such a place.
fn place(kind: u16, body: &[u8]) -> Option<u32> {
    let details = body.get(TRAFFIC_CONTROL..).filter(|_| kind == NEW_QDISC)?;
    text(details, KIND).filter(|kind| PLACES.contains(kind)).and_then(|_| u32_at(body, 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::{message, messages};

    fn qdisc(index: u32, kind: &str) -> Vec<u8> {
        let mut fixed = [0; TRAFFIC_CONTROL];
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        message(NEW_QDISC, &fixed, &[(2, &[0; 7]), (KIND, kind.as_bytes())])
    }

    #[test]
    fn place__at_which_device() {
        let packet = [qdisc(7, "fq_codel\0"), qdisc(8, "clsact\0"), qdisc(9, "ingress\0")].concat();
        let found: Vec<_> =
            messages(&packet).filter_map(|(kind, body)| place(kind, body)).collect();
        assert_eq!(found, [8, 9]);
        let whole = qdisc(8, "clsact");
        for cut in 0..whole.len() {
            assert!(messages(&whole[..cut]).all(|(kind, body)| place(kind, body).is_none()));
        }
    }

    #[test]
    fn devices_with_filters__can_be_asked_for() {
        devices_with_filters().expect("a netlink socket");
    }
}
