//! Questions about the ports of other processes.

use std::collections::HashMap;
use std::io;
use std::os::unix::net::UnixDatagram;

use prp_proto::addr::{LinkAddr, NodeId, Port, UdpPeer};
use prp_proto::time::Instant;
use prp_proto::wire::Frame;

use super::claimed_ports::{ClaimedPorts, PortBlock};
use super::router_name::{router_name, router_udp_name};
use super::search_limit::{SearchLimit, Sought};
use super::{explain, is_unbound};

/// Finds out whether any process of a node owns a port, in the network namespace where the probe
/// was made, whichever thread asks.
#[derive(Debug)]
pub struct OwnerProbe {
    node: NodeId,
    socket: UnixDatagram,
}

impl OwnerProbe {
    /// A probe for the ports of `node` in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The process has no descriptor left, or may not open Unix sockets.
    pub fn new(node: NodeId) -> io::Result<Self> {
        let socket = UnixDatagram::unbound().map_err(|e| explain(&e))?;
        Ok(Self { node, socket })
    }

    /// Whether no process owns `port`. At most two system calls, which never wait.
    pub fn is_free(&self, port: Port) -> bool {
        self.claimed_with(port).is_none()
    }

    /// The ports that a process has claimed together with `port`; none if no process owns it.
    fn claimed_with(&self, port: Port) -> Option<ClaimedPorts> {
        let block = PortBlock::of(port).map(ClaimedPorts::Block);
        let names = [Some(ClaimedPorts::Single(port)), block];
        names.into_iter().flatten().find(|ports| !is_unbound(&self.socket, &ports.name(self.node)))
    }
}

/// For whom a datagram is that came to the node's own UDP port.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Addressee {
    /// The process whose UDP port is the node's own plus this number.
    Process(u16),
    /// A port of the node that no process on UDP owns.
    Unowned,
    /// Another node.
    OtherNode,
}

/// Where a datagram comes from does not matter to what hands it on.
const NOWHERE: LinkAddr = LinkAddr::Udp { peer: UdpPeer(0), port: 0 };

/// Finds out at which of the node's UDP ports the owners of PRP's ports are.
#[derive(Debug)]
pub struct UdpOwners {
    probe: OwnerProbe,
    /// What was found. It is asked for again before it is used: one system call, not a hundred.
    known: HashMap<Port, (ClaimedPorts, u16)>,
    router: Option<u16>,
    limit: SearchLimit,
    started: std::time::Instant,
}

impl UdpOwners {
    /// For the ports of `node` in the network namespace of the calling thread.
    ///
    /// # Errors
    /// As [`OwnerProbe::new`].
    pub fn new(node: NodeId) -> io::Result<Self> {
        Ok(Self {
            probe: OwnerProbe::new(node)?,
            known: HashMap::new(),
            router: None,
            limit: SearchLimit::default(),
            started: std::time::Instant::now(),
        })
    }

    /// For whom `datagram` is; none if it carries no packet.
    pub fn addressee(&mut self, datagram: &[u8]) -> Option<Addressee> {
        let head = Frame::parse_datagram(NOWHERE, datagram).ok()?.head;
        if head.network.dst != self.probe.node {
            return Some(Addressee::OtherNode);
        }
        let port = head.transport.dst_port;
        // No process owns it: its name is the steward's, and says of no UDP port. To search for one
        // would take as many system calls as a node has ports, for each echo.
        let owner = if port == Port::CONTROL { None } else { self.offset(port) };
        Some(owner.map_or(Addressee::Unowned, Addressee::Process))
    }

    /// How many UDP ports behind the node's own the owner of `port` is; none if no process owns it,
    /// or one that is not on UDP. A search in vain takes a system call for each of the node's
    /// ports, so there are not many in a second.
    pub(super) fn offset(&mut self, port: Port) -> Option<u16> {
        let started = self.started;
        self.offset_at(port, || Instant::ZERO + started.elapsed())
    }

    /// As [`Self::offset`], where the time is `now`.
    pub(super) fn offset_at(&mut self, port: Port, now: impl FnOnce() -> Instant) -> Option<u16> {
        let Self { probe, known, limit, .. } = self;
        let is_there = |ports: ClaimedPorts, offset| {
            !is_unbound(&probe.socket, &ports.udp_name(probe.node, offset))
        };
        if let Some((ports, offset)) = known.get(&port).copied()
            && is_there(ports, offset)
        {
            return Some(offset);
        }
        known.remove(&port);
        let ports = probe.claimed_with(port)?;
        let found =
            limit.search(Sought::OwnerOf(ports), now(), |offset| is_there(ports, offset))?;
        known.insert(port, (ports, found));
        Some(found)
    }

    /// How many UDP ports behind the node's own its router is; none if it has none on UDP. Any user
    /// can say that it has one, so there are not many searches in vain in a second.
    pub fn router(&mut self) -> Option<u16> {
        let started = self.started;
        self.router_at(|| Instant::ZERO + started.elapsed())
    }

    /// As [`Self::router`], where the time is `now`.
    pub(super) fn router_at(&mut self, now: impl FnOnce() -> Instant) -> Option<u16> {
        let Self { probe: OwnerProbe { node, socket }, router, limit, .. } = self;
        if is_unbound(socket, &router_name(*node)) {
            return None;
        }
        let is_there = |offset| !is_unbound(socket, &router_udp_name(*node, offset));
        *router = router
            .filter(|offset| is_there(*offset))
            .or_else(|| limit.search(Sought::Router, now(), is_there));
        *router
    }
}
