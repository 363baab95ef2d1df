//! The device and the station by which frames to a node leave this machine.

use std::io;

use prp_node::printable_path;
use prp_proto::addr::{MacAddr, NodeId};
use prp_proto::hosts::HopTarget;
use prp_sock::HostsFile;

/// Nodes a way may lead over: as many as a frame can cross.
const MAX_VIA: usize = 15;

/// The first step of the way to a node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FirstHop {
    /// This machine's device.
    pub(super) device: String,
    /// The station that gets the frames there.
    pub(super) mac: MacAddr,
    /// That is the node itself, not a router.
    pub(super) direct: bool,
}

impl FirstHop {
    /// The first step to `node`.
    ///
    /// # Errors
    /// `HostUnreachable` if prphosts has no way there.
    pub(super) fn toward(hosts: &HostsFile, node: NodeId) -> io::Result<Self> {
        let mut at = node;
        for _ in 0..=MAX_VIA {
            let entry = hosts.hosts().entry(at);
            let best = entry.and_then(|entry| entry.hops().min_by_key(|hop| hop.metric));
            match best.map(|hop| hop.target) {
                Some(HopTarget::Direct { mac, device }) => {
                    return Ok(Self { device: device.to_owned(), mac, direct: at == node });
                }
                Some(HopTarget::Udp(_)) => {
                    let message = format!(
                        "{}: node {at} is reached over UDP, and raw frames are for Ethernet",
                        printable_path(hosts.path())
                    );
                    return Err(io::Error::new(io::ErrorKind::Unsupported, message));
                }
                Some(HopTarget::Via(next)) => at = next,
                None => break,
            }
        }
        let message = format!("{}: no way to node {node}", printable_path(hosts.path()));
        Err(io::Error::new(io::ErrorKind::HostUnreachable, message))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// prphosts with `text`.
    fn hosts(text: &str) -> HostsFile {
        let path = std::env::temp_dir().join(format!("prp-raw-{}", std::process::id()));
        let mut file = std::fs::File::create(&path).expect("a temporary file");
        file.write_all(text.as_bytes()).expect("room");
        let loaded = HostsFile::load(&path).expect("no mistakes");
        std::fs::remove_file(&path).expect("it is there");
        loaded
    }

    #[test]
    fn toward__the_best_route_and_through_routers() {
        let hosts =
            hosts("1 02:00:00:00:00:01 eth0 a\n2 02:00:00:00:00:02 eth1 b\n3 via 2 c\n4 via 3 d\n");
        let toward = |n| FirstHop::toward(&hosts, NodeId::new(n).expect("a node"));
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        let direct = FirstHop { device: "eth1".into(), mac, direct: true };
        assert_eq!(toward(2).expect("a way"), direct);
        assert_eq!(toward(4).expect("a way"), FirstHop { direct: false, ..direct });
        assert_eq!(toward(9).expect_err("no way").kind(), io::ErrorKind::HostUnreachable);
    }
}
