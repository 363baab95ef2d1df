//! Echoes in UDP datagrams: from one of the ports of a node's processes, without any privilege.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use prp_device::{NodePort, Sent, UdpCounters, UdpDevice, Underlay};
use prp_node::{Addressee, PortClaims, UdpOwners};
use prp_proto::addr::{LinkAddr, NodeId};
use prp_proto::device::Device;
use prp_proto::hosts::Hosts;

/// Datagrams that are taken at a time.
const BATCH: usize = 32;

/// The UDP sockets of a process, and those of the node's own ports that no other process holds:
/// what comes there is handed on meanwhile, to others as well. As other processes do, it takes
/// those that become free: what comes by a router gets to no process otherwise.
#[derive(Debug)]
pub(super) struct UdpProbe {
    device: UdpDevice,
    /// For each of the node's own addresses, in order.
    node_ports: Vec<(SocketAddr, Option<NodePort>)>,
    owners: UdpOwners,
    seek_at: Instant,
}

impl UdpProbe {
    /// On the UDP addresses of node `local`, and what it is to a router; none if it has none. The
    /// processes of the node find it by `claims`.
    pub(super) fn open(
        hosts: &Hosts,
        local: NodeId,
        claims: &mut PortClaims,
    ) -> io::Result<Option<(Self, Device)>> {
        let addrs = hosts.udp_addrs(local);
        let Some(&(_, best)) = addrs.first() else { return Ok(None) };
        let own: Vec<_> = addrs.iter().map(|(own, _)| *own).collect();
        let mut device = UdpDevice::open(&own, false, hosts.udp_peers())?;
        device.test_gso_freely();
        claims.set_udp_offset(device.offset());
        let mut owners = UdpOwners::new(local)?;
        // A router has the first one alone.
        if own.len() > 1 && owners.router().is_some() {
            device.open_node_ports();
        }
        let own: Vec<_> = device.own_addrs().collect();
        let node_ports = own.into_iter().zip(device.take_node_ports()).collect();
        let seen = Device::new(best, device.capabilities());
        let seek_at = Instant::now() + NodePort::RETRY_INTERVAL;
        Ok(Some((Self { device, node_ports, owners, seek_at }, seen)))
    }

    /// Sends datagrams to `to`, as a GSO batch if there are several of one size.
    pub(super) fn send(&mut self, to: LinkAddr, datagrams: &[Vec<u8>]) -> Sent {
        self.device.send(&mut datagrams.iter().map(|bytes| (to, [&bytes[..], &[], &[], &[]])))
    }

    /// Hands what is there to `take`, with its senders.
    pub(super) fn receive(&mut self, take: &mut dyn FnMut(LinkAddr, &[u8])) -> io::Result<()> {
        self.seek(Instant::now());
        let Self { device, node_ports, owners, .. } = self;
        let offset = device.offset();
        for (_, place) in node_ports {
            let handed_on = place.as_mut().map_or(Ok(0), |port| {
                port.hand_on(|bytes| match owners.addressee(bytes)? {
                    Addressee::Process(owner) => Some(owner),
                    // Without a router this process answers for the node.
                    Addressee::Unowned => Some(owners.router().unwrap_or(offset)),
                    Addressee::OtherNode => owners.router(),
                })
            });
            if handed_on.is_err() {
                // It is of no use any more, and another one may be.
                *place = None;
            }
        }
        device.receive_packets(BATCH, take).map(|_| ())
    }

    /// When to receive again at the latest, since a port of the node may have become free.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.node_ports.iter().any(|(_, port)| port.is_none()).then_some(self.seek_at)
    }

    /// Takes those of the node's own ports that have become free, in order, and leaves to others
    /// what is behind one that it does not get: one process has them all, or a router the first.
    fn seek(&mut self, now: Instant) {
        if self.next_timeout().is_none_or(|at| now < at) {
            return;
        }
        self.seek_at = now + NodePort::RETRY_INTERVAL;
        let has_router = self.owners.router().is_some();
        let drops = self.device.node_port_drops();
        let mut may_hold = true;
        for (own, port) in &mut self.node_ports {
            if !may_hold {
                *port = None;
            } else if port.is_none() {
                *port = NodePort::open(*own, drops).ok();
            }
            may_hold &= port.is_some() || has_router;
        }
    }

    /// What to poll.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let node_ports = self.node_ports.iter().filter_map(|(_, port)| port.as_ref());
        self.device.fds().chain(node_ports.map(NodePort::as_fd))
    }

    /// What it has counted.
    pub(super) fn counters(&self) -> UdpCounters {
        self.device.counters()
    }
}
