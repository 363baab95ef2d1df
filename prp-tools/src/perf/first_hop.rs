//! The device and the station by which frames to a node leave this machine.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;
use prp_node::printable_path;
use prp_proto::addr::{MacAddr, NodeId};
use prp_proto::hosts::{HopTarget, Tag, interface_name};
use prp_sock::HostsFile;

/// Nodes a path may lead over: as many as a frame can cross.
const MAX_VIA: usize = 15;

/// The first step of the path to a node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FirstHop {
    /// This machine's device.
    pub(super) device: String,
    /// The VLAN and the priority of the frames.
    pub(super) tag: Tag,
    /// The station that gets the frames there.
    pub(super) mac: MacAddr,
    /// That is the node itself, not a router.
    pub(super) direct: bool,
}

/// How frames to a node leave this machine.
enum NextHop {
    Ethernet(FirstHop),
    /// To the address of the node itself, or of one on the path.
    Udp {
        node: NodeId,
        addr: SocketAddr,
    },
    /// To processes of this machine.
    Unix {
        node: NodeId,
    },
}

impl NextHop {
    /// The path to `node`.
    ///
    /// # Errors
    /// `HostUnreachable` if prphosts has none.
    fn toward(hosts: &HostsFile, node: NodeId) -> io::Result<Self> {
        let mut at = node;
        for _ in 0..=MAX_VIA {
            let entry = hosts.hosts().entry(at);
            let best = entry.and_then(|entry| entry.hops().min_by_key(|hop| hop.metric));
            match best.map(|hop| hop.target) {
                Some(HopTarget::Direct { mac, device }) => {
                    let (tag, direct) = (hosts.hosts().tag(device), at == node);
                    let device = interface_name(device).to_owned();
                    return Ok(Self::Ethernet(FirstHop { device, tag, mac, direct }));
                }
                Some(HopTarget::Udp(addr)) => return Ok(Self::Udp { node: at, addr }),
                Some(HopTarget::Unix(_)) => return Ok(Self::Unix { node: at }),
                Some(HopTarget::Via(next)) => at = next,
                None => break,
            }
        }
        let message = format!("{}: no route to node {node}", printable_path(hosts.path()));
        Err(io::Error::new(io::ErrorKind::HostUnreachable, message))
    }
}

impl FirstHop {
    /// The first step to `node`.
    ///
    /// # Errors
    /// `HostUnreachable` if prphosts has no route there, and `Unsupported` if it is none of
    /// Ethernet.
    pub(super) fn toward(hosts: &HostsFile, node: NodeId) -> io::Result<Self> {
        match NextHop::toward(hosts, node)? {
            NextHop::Ethernet(hop) => Ok(hop),
            NextHop::Udp { node, .. } => Err(not_ethernet(hosts, node, "over UDP")),
            NextHop::Unix { node } => Err(not_ethernet(hosts, node, "by Unix sockets")),
        }
    }
}

/// That raw frames do not get to `node`, which is reached otherwise.
fn not_ethernet(hosts: &HostsFile, node: NodeId, how: &str) -> io::Error {
    let file = printable_path(hosts.path());
    let message = format!("{file}: node {node} is reached {how}, and raw frames are for Ethernet");
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// The device by which frames or datagrams to `node` leave.
///
/// # Errors
/// `HostUnreachable` if prphosts has no route there, `Unsupported` if no device is on it, and what
/// the kernel says to its address.
pub(super) fn device_toward(hosts: &HostsFile, node: NodeId) -> io::Result<String> {
    match NextHop::toward(hosts, node)? {
        NextHop::Ethernet(hop) => Ok(hop.device),
        NextHop::Udp { addr, .. } => device_to(addr),
        NextHop::Unix { node } => Err(not_ethernet(hosts, node, "by Unix sockets")),
    }
}

/// The device by which datagrams to `addr` leave: that with the address they would leave with.
fn device_to(addr: SocketAddr) -> io::Result<String> {
    let any: IpAddr =
        if addr.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    // Sends nothing, but the kernel chooses the address.
    socket.connect(addr)?;
    let own = socket.local_addr()?.ip();
    let is_own = |found: &SockaddrStorage| {
        let v4 = found.as_sockaddr_in().map(|addr| IpAddr::from(addr.ip()));
        v4.or_else(|| found.as_sockaddr_in6().map(|addr| addr.ip().into())) == Some(own)
    };
    let device = getifaddrs()?.find(|device| device.address.as_ref().is_some_and(is_own));
    device.map(|device| device.interface_name).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("no device has the address {own}"))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// prphosts with `text`.
    fn hosts(text: &str) -> HostsFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(text.as_bytes()).expect("room");
        HostsFile::load(file.path()).expect("no mistakes")
    }

    #[test]
    fn toward__the_best_route_and_through_routers() {
        let hosts = hosts(
            "1 02:00:00:00:00:01 eth0 a\n2 02:00:00:00:00:02 eth1 vlan=7 priority=5 b\n3 via 2 c\n4 via 3 d\n",
        );
        let toward = |n| FirstHop::toward(&hosts, NodeId::new(n).expect("a node"));
        let mac = MacAddr([2, 0, 0, 0, 0, 2]);
        let tag = Tag::new(7, 5);
        let direct = FirstHop { device: "eth1".into(), tag, mac, direct: true };
        assert_eq!(toward(2).expect("a path"), direct);
        assert_eq!(toward(4).expect("a path"), FirstHop { direct: false, ..direct });
        assert_eq!(toward(9).expect_err("no route").kind(), io::ErrorKind::HostUnreachable);
    }

    #[test]
    fn device_toward__of_frames_and_of_datagrams() {
        let hosts =
            hosts("1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth1 vlan=7\n3 udp:127.0.0.1\n");
        let toward = |n| device_toward(&hosts, NodeId::new(n).expect("a node"));
        assert_eq!(toward(2).expect("a path"), "eth1");
        assert_eq!(toward(3).expect("this machine"), "lo");
        assert_eq!(toward(9).expect_err("no route").kind(), io::ErrorKind::HostUnreachable);
        let node = NodeId::new(3).expect("a node");
        let raw = FirstHop::toward(&hosts, node).expect_err("no frames");
        assert_eq!(raw.kind(), io::ErrorKind::Unsupported);
    }
}
