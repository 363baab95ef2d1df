//! Echoes to nodes and what comes back (SPEC PRP-NODE): what `ping` and `trace` are made of.

mod own_replies;
mod udp;
mod without_key;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use prp_device::{
    Framing, KernelDevice, PacketDevice, PortFilter, Refusal, Sent, UdpCounters, Underlay,
    explain_open, factory, factory::NodeDevice, list_interfaces, named_interfaces,
};
use prp_node::printable_path;
use prp_node::{KeyWatch, PortClaims};
use prp_proto::addr::{DeviceId, LinkAddr, NodeId, Port};
use prp_proto::endpoint::Device;
use prp_proto::forward::{Flow, Forwarder, Outcome};
use prp_proto::hosts::{UDP_DEVICE, UNIX_DEVICE};
use prp_proto::key::TRAILER_BYTES;
use prp_proto::route::{NextHop, Route, RouteTable};
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{
    CRC_LEN, ETHERNET_LEN, EthernetHeader, Flags, Frame, HEADER_LEN, Head, NetworkHeader,
    NodeBlock, NodeKind, TransportHeader, UnreachableCause, sealed_by,
};
use prp_sock::{HostsFile, Resolver};

use crate::exit::{Code, Failure};
use crate::hosts;
use own_replies::OwnReplies;
use udp::UdpProbe;

/// What is wrong with a node that answers only echoes that are not signed.
pub(crate) const NO_KEY: &str = "answers only without the cluster key: it has none, or another one \
                                 (`prp key list` on both nodes), or another key= in prphosts";

/// Where ports for asking begin: above those that are given out automatically.
const FIRST_PORT: u16 = 61_000;

/// Sends echoes and receives answers.
#[derive(Debug)]
pub(crate) struct Prober {
    file: HostsFile,
    forwarder: Forwarder,
    devices: Vec<PacketDevice>,
    /// The names of those.
    names: Vec<String>,
    /// The device after those.
    udp: Option<UdpProbe>,
    /// The last device.
    unix: Option<NodeDevice>,
    presence: OwnReplies,
    /// Why there are no Ethernet devices, where the node has some.
    no_ethernet: Option<io::Error>,
    replies: VecDeque<ProbeReply>,
    /// What the kernel has said to the last echoes, if it did not send them.
    refusal: Option<Refusal>,
    /// Echoes and answers go without the cluster's key, to find out who lacks it.
    is_unsigned: bool,
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
    /// Why, where it is that there is no route on.
    pub(crate) unreachable_cause: UnreachableCause,
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
        let hosts = file.hosts();
        let mut claims = PortClaims::new(local);
        let (udp, udp_device) = UdpProbe::open(hosts, local, &mut claims)?.unzip();
        let unix = factory::open(hosts, local, Some(UNIX_DEVICE))?.pop();
        let port = free_port(&mut claims)?;
        let mut ethernet = Ok((Vec::new(), Vec::new()));
        if factory::is_on_ethernet(hosts, local) {
            ethernet = open_ethernet(&file, &PortFilter::new(local, false, [port].into_iter()));
        }
        let (opened, no_ethernet) = match ethernet {
            // The others need no privilege, and may lead to the node.
            Err(e)
                if e.kind() == ErrorKind::PermissionDenied && (udp.is_some() || unix.is_some()) =>
            {
                (Default::default(), Some(e))
            }
            other => (other?, None),
        };
        let (devices, names) = opened;
        let mut ours: Vec<_> = names.iter().map(|(_, device)| *device).collect();
        let routes = RouteTable::build(hosts, local, |name| {
            let at = match name {
                UDP_DEVICE => udp_device.is_some().then_some(names.len()),
                UNIX_DEVICE => {
                    unix.is_some().then_some(names.len() + usize::from(udp_device.is_some()))
                }
                name => names.iter().position(|(known, _)| known == name),
            };
            at.map(|at| DeviceId(at as u16))
        });
        ours.extend(udp_device);
        ours.extend(unix.as_ref().map(|unix| unix.device));
        let mut forwarder = Forwarder::new(hosts.ethertype(), routes, ours);
        forwarder.set_keyring(KeyWatch::in_force().keyring(&file, local)?);
        // Random: who has recorded the answers to another process must not answer this one.
        let id = RandomState::new().hash_one(std::process::id()) as u32;
        let started = Instant::now();
        let names = names.into_iter().map(|(name, _)| name).collect();
        let replies = VecDeque::new();
        Ok(Self {
            file,
            forwarder,
            devices,
            names,
            udp,
            unix,
            presence: OwnReplies::new(local)?,
            no_ethernet,
            replies,
            refusal: None,
            is_unsigned: false,
            port,
            id,
            started,
            _claims: claims,
        })
    }

    /// The node `name` means.
    pub(crate) fn resolve(&self, name: &str) -> Result<NodeId, Failure> {
        let node = hosts::find(&self.file, name)?;
        if node == self.forwarder.local() {
            let text = format!("{name}: that is this machine, which no frame leaves to reach");
            return Err(Failure::new(Code::Usage, text));
        }
        Ok(node)
    }

    /// That no node is called `name`, and what to do about it.
    pub(crate) fn unknown(&self, name: &str) -> (String, String) {
        hosts::unknown(&self.file, name)
    }

    /// The first node on the path to `node`.
    pub(crate) fn first_hop(&self, node: NodeId) -> Option<NodeId> {
        Some(self.forwarder.routes().lookup(node).next_hops().first()?.node)
    }

    /// The other nodes of prphosts.
    pub(crate) fn others(&self) -> Vec<NodeId> {
        let nodes = self.file.hosts().entries().map(|entry| entry.node());
        nodes.filter(|node| *node != self.forwarder.local()).collect()
    }

    /// The device by which echoes to `node` leave first of all; none without an Ethernet device on
    /// the path, and without a path.
    pub(crate) fn device(&self, node: NodeId) -> Option<&str> {
        let device = self.best_hop(node)?.device;
        self.names.get(usize::from(device.0)).map(String::as_str)
    }

    /// That device, or `udp` or `unix`, and the first node on the path if that is another.
    pub(crate) fn path(&self, node: NodeId) -> Option<String> {
        let hop = self.best_hop(node)?;
        let device = match hop.addr {
            LinkAddr::Ethernet(_) => self.device(node)?,
            LinkAddr::Udp { .. } => UDP_DEVICE,
            LinkAddr::Unix { .. } => UNIX_DEVICE,
        };
        Some(match hop.node {
            first if first == node => device.to_owned(),
            first => format!("{device} via {first}"),
        })
    }

    /// A node's name, if it has one.
    pub(crate) fn bare_name(&self, node: NodeId) -> Option<&str> {
        self.file.hosts().name(node)
    }

    /// Bytes of an echo to `node` with `padding` bytes of padding, without the Ethernet header.
    pub(crate) fn frame_len(&self, node: NodeId, padding: usize) -> usize {
        let trailer = if self.keyring_for(node).is_some() { TRAILER_BYTES } else { CRC_LEN };
        HEADER_LEN - ETHERNET_LEN + NodeBlock::LEN + padding + trailer
    }

    /// Whether the best path to `node` is UDP.
    pub(crate) fn is_udp(&self, node: NodeId) -> bool {
        self.best_hop(node).is_some_and(|hop| hop.addr.is_udp())
    }

    /// The UDP address of the first node on the path to `node`, at that node's own port; none over
    /// Ethernet.
    pub(crate) fn udp_addr(&self, node: NodeId) -> Option<SocketAddr> {
        self.file.hosts().socket_addr(self.best_hop(node)?.addr)
    }

    /// What the UDP device has counted, if there is one.
    pub(crate) fn udp_counters(&self) -> Option<UdpCounters> {
        self.udp.as_ref().map(UdpProbe::counters)
    }

    fn best_hop(&self, node: NodeId) -> Option<&NextHop> {
        self.forwarder.routes().lookup(node).next_hops().first()
    }

    /// The most padding of an echo to `node` that the device and prphosts allow.
    pub(crate) fn largest_padding(&self, node: NodeId) -> usize {
        let hop = self.best_hop(node);
        let device = hop.and_then(|hop| self.forwarder.devices().get(usize::from(hop.device.0)));
        let device = device.map(|device| device.mtu);
        let mtu = if self.is_udp(node) {
            // Without the headers of IP and UDP, as routes have it.
            hop.and_then(|hop| hop.mtu).into_iter().chain(device).min()
        } else {
            let nodes = [node, self.forwarder.local()];
            let stated = nodes.into_iter().filter_map(|node| self.file.hosts().entry(node)?.mtu());
            stated.chain(device).min()
        };
        (mtu.unwrap_or(0) as usize).saturating_sub(self.frame_len(node, 0))
    }

    /// A node's number, with its name if it has one.
    pub(crate) fn name(&self, node: NodeId) -> String {
        let name = self.file.hosts().name(node);
        name.map_or_else(|| node.to_string(), |name| format!("{node} ({name})"))
    }

    /// Sends an echo with the given bytes of padding, which the router after `routers` others
    /// drops.
    pub(crate) fn send(
        &mut self,
        node: NodeId,
        sequence: u16,
        routers: u8,
        padding: usize,
    ) -> Result<(), Failure> {
        self.send_all(node, &[sequence], routers, padding)
    }

    /// As [`Self::send`], of echoes with these numbers at once: over UDP they leave as a GSO batch.
    pub(crate) fn send_all(
        &mut self,
        node: NodeId,
        sequences: &[u16],
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
        let echo = |sequence: &u16| self.echo(node, &next, *sequence, routers, padding);
        let frames: Vec<_> = sequences.iter().map(echo).collect();
        let Some(sent) = self.send_frames(next.device, next.addr, &frames) else {
            return Err(self.unreachable(node));
        };
        self.refusal = sent.refused;
        let Some(refusal) = sent.refused else { return Ok(()) };
        if refusal.is_too_big() {
            let mtu = self.forwarder.devices()[usize::from(next.device.0)].mtu;
            let text = format!("{padding} bytes of padding: more than an MTU of {mtu} takes");
            return Err(Failure::new(Code::Failed, text));
        }
        if refusal.is_of_route {
            return Err(Failure::new(Code::Unreachable, self.refused(node, refusal)));
        }
        Ok(())
    }

    /// What the kernel of this machine has said to the last echoes, if it did not send them and may
    /// send the next ones.
    pub(crate) const fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// That the kernel of this machine does not send what is for `node`, and why.
    pub(crate) fn refused(&self, node: NodeId, refusal: Refusal) -> String {
        format!("this machine refuses to send to {}: {refusal}", self.name(node))
    }

    /// Sends `frames` by `device` to `to`; none if there is no such device.
    fn send_frames(&mut self, device: DeviceId, to: LinkAddr, frames: &[Vec<u8>]) -> Option<Sent> {
        if let Some(device) = self.devices.get_mut(usize::from(device.0)) {
            let mut frames = frames.iter().map(|frame| [&frame[..], &[], &[], &[]]);
            return Some(device.send_frames(&mut frames));
        }
        if to.is_unix() {
            let mut packets = frames.iter().map(|frame| (to, [&frame[..], &[], &[], &[]]));
            return Some(self.unix.as_mut()?.io.send(&mut packets));
        }
        Some(self.udp.as_mut()?.send(to, frames))
    }

    /// An echo by `next`, from the Ethernet header on if there is one.
    fn echo(
        &self,
        node: NodeId,
        next: &NextHop,
        sequence: u16,
        routers: u8,
        padding: usize,
    ) -> Vec<u8> {
        let mut transport =
            TransportHeader::new(self.port, Port::CONTROL, Seq::default(), SeqWidth::Bits20, 0);
        let spent = Flags::MAX_HOPS.saturating_sub(routers);
        transport.flags = (transport.flags | Flags::CTL).with_hops(spent);
        let own = self.forwarder.devices()[usize::from(next.device.0)].addr;
        let head = Head {
            ethernet: EthernetHeader::between(own, next.addr, self.forwarder.ethertype()),
            network: NetworkHeader { src: self.forwarder.local(), dst: node },
            transport,
        };
        let stamp = self.started.elapsed().as_nanos() as u64;
        let block = NodeBlock { kind: NodeKind::Echo, hops: spent, sequence, id: self.id, stamp };
        sealed_by(self.keyring_for(node), head, &[&block.emit(), &vec![0; padding]])
    }

    /// There is no route to `node`, and why.
    fn unreachable(&self, node: NodeId) -> Failure {
        let why = match self.forwarder.routes().lookup(node) {
            Route::NoRoute(why) => why.to_string(),
            Route::Local | Route::Via(_) => "no route to it may be used".into(),
        };
        let text = format!("{}: {why} ({})", self.name(node), printable_path(self.file.path()));
        match &self.no_ethernet {
            Some(e) => Failure::new(Code::Unreachable, format!("{text}; Ethernet: {e}")),
            None => Failure::new(Code::Unreachable, text),
        }
    }

    /// The next answer, waiting until `deadline` at most.
    pub(crate) fn receive(&mut self, deadline: Instant) -> Result<Option<ProbeReply>, Failure> {
        let failed = |e: io::Error| Failure::network("echoes", &e);
        loop {
            self.take_replies().map_err(failed)?;
            if let Some(replies) = self.replies.pop_front() {
                return Ok(Some(replies));
            }
            let now = Instant::now();
            if deadline <= now {
                return Ok(None);
            }
            let due = self.udp.as_ref().and_then(UdpProbe::next_timeout);
            let wakeup = due.map_or(deadline, |due| due.min(deadline));
            let left = wakeup.saturating_duration_since(now);
            let ethernet = self.devices.iter().map(PacketDevice::as_fd);
            let fds = ethernet.chain(self.udp.iter().flat_map(UdpProbe::fds));
            let fds = fds.chain(self.unix.iter().flat_map(|unix| unix.io.fds()));
            let mut fds: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
            match ppoll(&mut fds, Some(TimeSpec::from_duration(left)), None) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(e) => return Err(failed(e.into())),
            }
        }
    }

    /// Takes in what is there, and answers what is for the node itself.
    fn take_replies(&mut self) -> io::Result<()> {
        let Self { devices, udp, unix, presence, forwarder, replies, started, id, port, .. } = self;
        let is_unsigned = &self.is_unsigned;
        let now = || started.elapsed().as_nanos() as u64;
        let mut take = |forwarder: &Forwarder, frame: &Frame<'_>| {
            let checked = if *is_unsigned { Ok(*frame) } else { forwarder.authenticate(frame) };
            // What is not signed, where it is to be, says nothing.
            let Ok(frame) = checked else { return };
            let block = NodeBlock::of(&frame).filter(|block| block.id == *id);
            let Some(block) = block else { return };
            replies.push_back(ProbeReply {
                from: frame.head.network.src,
                kind: block.kind,
                unreachable_cause: UnreachableCause::of(&frame, &block).unwrap_or_default(),
                sequence: block.sequence,
                routers: block.hops,
                took: Duration::from_nanos(now().saturating_sub(block.stamp)),
            });
        };
        let is_ours = |frame: &Frame<'_>| frame.head.transport.dst_port == *port;
        for (at, device) in devices.iter_mut().enumerate() {
            let at = DeviceId(at as u16);
            device.receive_packets(
                1,
                &mut |from, bytes| match forwarder.decide(at, from, bytes) {
                    Outcome::Local(frame) if is_ours(&frame) => take(forwarder, &frame),
                    _ => {}
                },
            )?;
        }
        if let Some(unix) = unix {
            let at = DeviceId((devices.len() + usize::from(udp.is_some())) as u16);
            // The node's steward answers what is for the node.
            unix.io.receive_packets(
                1,
                &mut |from, bytes| match forwarder.decide(at, from, bytes) {
                    Outcome::Local(frame) if is_ours(&frame) => take(forwarder, &frame),
                    _ => {}
                },
            )?;
        }
        let Some(udp) = udp else { return Ok(()) };
        let at = DeviceId(devices.len() as u16);
        let mut answers = Vec::new();
        udp.receive(&mut |from, bytes| match forwarder.handle_packet(at, from, bytes) {
            Outcome::Local(frame) if is_ours(&frame) => take(forwarder, &frame),
            Outcome::Local(frame) => {
                let now = prp_proto::time::Instant::from_nanos(now());
                answers.extend(presence.answer(now, forwarder, &frame));
            }
            Outcome::Forward(_) | Outcome::Dropped(..) => {}
        })?;
        for answer in answers {
            // It may be lost like any other.
            let _ = self.send_frames(answer.device, answer.to, &[answer.bytes]);
        }
        Ok(())
    }
}

/// The devices of prphosts that this machine has, with their names and what they are to a router.
#[expect(clippy::type_complexity, reason = "it is taken apart at once")]
fn open_ethernet(
    file: &HostsFile,
    filter: &PortFilter,
) -> io::Result<(Vec<PacketDevice>, Vec<(String, Device)>)> {
    let (mut devices, mut names) = (Vec::new(), Vec::new());
    let named = named_interfaces(&list_interfaces()?, &file.hosts().devices());
    for interface in named.iter().filter(|interface| !interface.loopback) {
        let framing = Framing::of(file.hosts(), &interface.name);
        let opened = PacketDevice::open_for(interface, &framing);
        let device = opened.map_err(|e| explain_open(&e, &interface.name))?;
        device.set_filter(filter)?;
        names.push((interface.name.clone(), Device::ethernet(interface.mac, device.mtu())));
        devices.push(device);
    }
    Ok((devices, names))
}

/// A port that no process has, which is ours now.
fn free_port(claims: &mut PortClaims) -> io::Result<Port> {
    for port in (FIRST_PORT..u16::MAX).map(Port::new) {
        if claims.claim(port)? {
            return Ok(port);
        }
    }
    Err(ErrorKind::AddrInUse.into())
}
