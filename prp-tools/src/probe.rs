//! Echoes to nodes and what comes back (SPEC PRP-NODE): what `ping` and `trace` are made of.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use prp_device::{FrameIo, KernelDevice, PacketDevice, PortFilter, explain_open, list_interfaces};
use prp_node::PortClaims;
use prp_proto::addr::{DeviceId, NodeId, Port};
use prp_proto::endpoint::Device;
use prp_proto::forward::{Flow, Forwarder, Outcome};
use prp_proto::route::{Route, RouteTable};
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{
    CRC_LEN, ETHERNET_LEN, EthernetHeader, Flags, HEADER_LEN, Head, NetworkHeader, NodeBlock,
    NodeKind, TransportHeader, sealed,
};
use prp_sock::{HostsFile, Resolver};

use crate::exit::{Code, Failure};
use crate::hosts;

/// Where ports for asking begin: above those that are given out automatically.
const FIRST_PORT: u16 = 61_000;

/// What is said where no line of prphosts names a device.
const OVER_UDP: &str = "they are sent over Ethernet only, and prphosts has UDP addresses alone; \
                        `prp cat -z NODE PORT` asks whether a node is there";

/// Sends echoes and receives answers.
#[derive(Debug)]
pub(crate) struct Prober {
    file: HostsFile,
    forwarder: Forwarder,
    devices: Vec<PacketDevice>,
    port: Port,
    id: u32,
    started: Instant,
    /// Held for the port.
    _claims: PortClaims,
}

/// An answer to an echo.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct ProbeReply {
    /// The node that sent it.
    pub(crate) from: NodeId,
    /// What.
    pub(crate) kind: NodeKind,
    /// Of which echo.
    pub(crate) sequence: u16,
    /// Routers between the asker and the node that answered.
    pub(crate) routers: u8,
    /// How long it took.
    pub(crate) took: Duration,
}

impl Prober {
    /// By the prphosts at `path`, or else by the one in force.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let file = hosts::load(&hosts::path_or_default(path))?;
        Self::by(file).map_err(|e| Failure::network("echoes", &e))
    }

    /// The prphosts it goes by.
    pub(crate) fn hosts(&self) -> &Path {
        self.file.path()
    }

    fn by(file: HostsFile) -> io::Result<Self> {
        let local = Resolver::by(file.clone())?.local_node()?;
        let mut claims = PortClaims::new(local);
        let port = free_port(&mut claims)?;
        let hosts = file.hosts();
        if hosts.devices().next().is_none() && !hosts.udp_peers().is_empty() {
            return Err(io::Error::new(ErrorKind::Unsupported, OVER_UDP));
        }
        let found = list_interfaces()?;
        let wanted: Vec<_> = found
            .iter()
            .filter(|i| !i.loopback && hosts.devices().any(|name| name == i.name))
            .collect();
        let filter = PortFilter::new(local, false, [port].into_iter());
        let (mut devices, mut ours) = (Vec::new(), Vec::new());
        for interface in &wanted {
            let opened = PacketDevice::open(interface, hosts.ethertype());
            let device = opened.map_err(|e| explain_open(&e, &interface.name))?;
            device.set_filter(&filter)?;
            ours.push(Device::ethernet(interface.mac, device.mtu()));
            devices.push(device);
        }
        let routes = RouteTable::build(hosts, local, |name| {
            wanted.iter().position(|i| i.name == name).map(|at| DeviceId(at as u16))
        });
        let forwarder = Forwarder::new(hosts.ethertype(), routes, ours);
        let (id, started) = (std::process::id(), Instant::now());
        Ok(Self { file, forwarder, devices, port, id, started, _claims: claims })
    }

    /// The node `name` means.
    pub(crate) fn resolve(&self, name: &str) -> Result<NodeId, Failure> {
        let node = hosts::find(&self.file, name)?;
        if node == self.forwarder.local() {
            let text = format!("{name}: that is this machine, which no frame leaves to reach");
            return Err(Failure::new(Code::Failed, text));
        }
        Ok(node)
    }

    /// The first node on the way to `node`.
    pub(crate) fn first_hop(&self, node: NodeId) -> Option<NodeId> {
        Some(self.forwarder.routes().lookup(node).next_hops().first()?.node)
    }

    /// Bytes of an echo with so much padding, without the Ethernet header.
    pub(crate) const fn frame_len(padding: usize) -> usize {
        HEADER_LEN - ETHERNET_LEN + NodeBlock::LEN + padding + CRC_LEN
    }

    /// The most padding of an echo to `node` that the device and prphosts allow.
    pub(crate) fn largest_padding(&self, node: NodeId) -> usize {
        let routes = self.forwarder.routes();
        let device = routes.lookup(node).next_hops().first().map(|hop| usize::from(hop.device.0));
        let device = device.and_then(|at| self.forwarder.devices().get(at)).map(|d| d.mtu);
        let nodes = [node, self.forwarder.local()];
        let stated = nodes.into_iter().filter_map(|node| self.file.hosts().entry(node)?.mtu());
        let mtu = stated.chain(device).min().unwrap_or(0) as usize;
        mtu.saturating_sub(Self::frame_len(0))
    }

    /// A node's number, with its name if it has one.
    pub(crate) fn name(&self, node: NodeId) -> String {
        let name = self.file.hosts().name(node);
        name.map_or_else(|| node.to_string(), |name| format!("{node} ({name})"))
    }

    /// Sends an echo with so many bytes of padding, which the router after `routers` others drops.
    pub(crate) fn send(
        &mut self,
        node: NodeId,
        sequence: u16,
        routers: u8,
        padding: usize,
    ) -> Result<(), Failure> {
        let local = self.forwarder.local();
        let flow = Flow {
            src: local.number(),
            dst: node.number(),
            src_port: self.port.number(),
            dst_port: 0,
        };
        let next = self.forwarder.next_hop(node, flow, None).map_err(|_| self.unreachable(node))?;
        let at = usize::from(next.device.0);
        let mut transport =
            TransportHeader::new(self.port, Port::CONTROL, Seq::default(), SeqWidth::Bits20, 0);
        let spent = Flags::MAX_HOPS.saturating_sub(routers);
        transport.flags = (transport.flags | Flags::CTL).with_hops(spent);
        let head = Head {
            ethernet: EthernetHeader::between(
                self.forwarder.devices()[at].addr,
                next.addr,
                self.forwarder.ethertype(),
            ),
            network: NetworkHeader { src: local, dst: node },
            transport,
        };
        let stamp = self.started.elapsed().as_nanos() as u64;
        let block = NodeBlock { kind: NodeKind::Echo, hops: spent, sequence, id: self.id, stamp };
        let frame = sealed(head, &[&block.emit(), &vec![0; padding]]);
        let sent = self.devices[at].send(&mut [[&frame[..], &[], &[], &[]]].into_iter());
        if sent.too_big {
            let mtu = self.forwarder.devices()[at].mtu;
            let text = format!("{padding} bytes of padding: more than an MTU of {mtu} takes");
            return Err(Failure::new(Code::Failed, text));
        }
        Ok(())
    }

    /// There is no way to `node`, and why.
    fn unreachable(&self, node: NodeId) -> Failure {
        let why = match self.forwarder.routes().lookup(node) {
            Route::NoRoute(why) => why.to_string(),
            Route::Local | Route::Via(_) => "no way to it may be used".into(),
        };
        let text = format!("{}: {why} ({})", self.name(node), self.file.path().display());
        Failure::new(Code::Unreachable, text)
    }

    /// The next answer, waiting until `deadline` at most.
    pub(crate) fn receive(&mut self, deadline: Instant) -> Result<Option<ProbeReply>, Failure> {
        loop {
            let mut reply = None;
            for (at, device) in self.devices.iter_mut().enumerate() {
                let (forwarder, started) = (&mut self.forwarder, self.started);
                let (id, port) = (self.id, self.port);
                let received = device.receive(1, &mut |bytes| {
                    let Outcome::Local(frame) = forwarder.decide(DeviceId(at as u16), bytes) else {
                        return;
                    };
                    let transport = frame.head.transport;
                    let block = NodeBlock::of(&frame).filter(|b| b.id == id);
                    let Some(block) = block.filter(|_| transport.dst_port == port) else { return };
                    let now = started.elapsed().as_nanos() as u64;
                    reply = Some((frame.head.network.src, block, now.saturating_sub(block.stamp)));
                });
                received.map_err(|e| Failure::network("echoes", &e))?;
                if let Some((from, block, nanos)) = reply {
                    return Ok(Some(ProbeReply {
                        from,
                        kind: block.kind,
                        sequence: block.sequence,
                        routers: block.hops,
                        took: Duration::from_nanos(nanos),
                    }));
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let mut fds: Vec<_> =
                self.devices.iter().map(|d| PollFd::new(d.as_fd(), PollFlags::POLLIN)).collect();
            match ppoll(&mut fds, Some(TimeSpec::from_duration(left)), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(e) => return Err(Failure::network("echoes", &e.into())),
            }
        }
    }
}

/// A port that nobody has, which is ours now.
fn free_port(claims: &mut PortClaims) -> io::Result<Port> {
    for port in (FIRST_PORT..u16::MAX).map(Port::new) {
        if claims.claim(port)? {
            return Ok(port);
        }
    }
    Err(ErrorKind::AddrInUse.into())
}
