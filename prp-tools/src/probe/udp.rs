//! Echoes in UDP datagrams: from one of the ports of a node's processes, without any privilege.

use std::io;
use std::os::fd::BorrowedFd;

use prp_device::{NodePort, Sent, UdpCounters, UdpDevice};
use prp_node::{Addressee, PortClaims, UdpOwners};
use prp_proto::addr::{LinkAddr, NodeId};
use prp_proto::endpoint::Device;
use prp_proto::hosts::Hosts;

/// Datagrams that are taken at a time.
const BATCH: usize = 32;

/// The UDP sockets of a process, and those of the node's own ports that no other process holds:
/// what comes there is handed on meanwhile, to others as well.
#[derive(Debug)]
pub(super) struct UdpProbe {
    device: UdpDevice,
    node_ports: Vec<NodePort>,
    owners: UdpOwners,
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
        device.test_trains_freely();
        claims.set_udp_offset(device.offset());
        let mut owners = UdpOwners::new(local)?;
        // A router has the first one alone.
        if own.len() > 1 && owners.router().is_some() {
            device.open_node_ports();
        }
        let node_ports = device.take_node_ports().flatten().collect();
        let seen = Device::udp(best, device.mtu(), device.train());
        Ok(Some((Self { device, node_ports, owners }, seen)))
    }

    /// Sends datagrams to `to`, as a train if there are several of one size.
    pub(super) fn send(&mut self, to: LinkAddr, datagrams: &[Vec<u8>]) -> Sent {
        self.device.send(datagrams.iter().map(|bytes| (to, [&bytes[..], &[], &[], &[]])))
    }

    /// Hands what is there to `take`, with its senders.
    pub(super) fn receive(&mut self, take: &mut dyn FnMut(LinkAddr, &[u8])) -> io::Result<()> {
        let Self { device, node_ports, owners } = self;
        let offset = device.offset();
        for port in node_ports {
            port.hand_on(|bytes| match owners.addressee(bytes)? {
                Addressee::Process(owner) => Some(owner),
                // Without a router this process answers for the node.
                Addressee::Unowned => Some(owners.router().unwrap_or(offset)),
                Addressee::OtherNode => owners.router(),
            })?;
        }
        device.receive(BATCH, take).map(|_| ())
    }

    /// What to poll.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.device.fds().chain(self.node_ports.iter().map(NodePort::as_fd))
    }

    /// What it has counted.
    pub(super) fn counters(&self) -> UdpCounters {
        self.device.counters()
    }
}
