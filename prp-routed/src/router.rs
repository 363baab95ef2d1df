//! Links and decision together: one iteration of a router's work.

use std::io;
use std::net::IpAddr;

use prp_device::{LinkStates, PacketDevice, Received, UdpDevice, Underlay, interfaces};
use prp_node::OwnerProbe;
use prp_proto::addr::{DeviceId, LinkAddr, MacAddr, Port, StationAddr};
use prp_proto::device::Device;
use prp_proto::endpoint::EstablishedId;
use prp_proto::forward::{
    Answer, Egress, ForwardDrop, Forwarder, Outcome, answer, no_onward_route, refuse, reset,
    reset_here,
};
use prp_proto::route::RouteTable;
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::time::Instant;
use prp_proto::token_bucket::TokenBucket;
use prp_proto::wire::{
    EthernetHeader, Flags, Frame, HEADER_LEN, Head, LivenessBlock, NetworkHeader,
    PACKET_HEADER_LEN, ResetBlock, TransportHeader, ethernet_source, sealed_by,
};

use crate::batch::Batch;
use crate::kernel::Kernel;
use crate::link::Link;
use crate::neighbours::{Probe, ProbeReceived};
use crate::node_port::RouterNodePort;
use crate::source_mismatches::SourceMismatches;

/// Frames received per iteration from one device: half of what `sendmmsg` takes, so that two busy
/// devices fill one call.
const RECEIVE_BATCH: usize = 32;

/// What may be sent per second, of each kind: enough for every diagnosis, too little to harm a host
/// (SPEC PRP-NODE-4, PRP-RST-6).
const ANSWERS_PER_SECOND: u32 = 1000;

/// A router without its loop.
#[derive(Debug)]
pub struct Router {
    /// Decides what becomes of frames.
    pub forwarder: Forwarder,
    /// By [`DeviceId`].
    pub links: Vec<Link>,
    /// The node's own UDP port, if the node is on UDP.
    pub node_port: Option<RouterNodePort>,
    /// What the kernel forwards by itself.
    pub kernel: Kernel,
    /// Probes of neighbours that have come: from which device and address.
    pub probes: Vec<ProbeReceived>,
    /// Frames that come from elsewhere than prphosts has their source node.
    pub mismatches: SourceMismatches,
    batch: Batch,
    presence: OwnReplies,
}

/// What this node sends for itself.
#[derive(Debug)]
struct OwnReplies {
    owners: OwnerProbe,
    answers: TokenBucket,
    refusals: TokenBucket,
    counters: PresenceCounters,
}

/// Answers with a limit and a counter of their own.
#[derive(Copy, Clone, Debug)]
enum AnswerKind {
    /// To an echo.
    Echo,
    /// To a request: no program has its port, or no route leads on.
    Refusal,
}

/// Counters of what this node sent for itself.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct PresenceCounters {
    /// Echo replies, and answers about echoes that went no further.
    pub echoes: u64,
    /// Requests refused.
    pub refusals: u64,
    /// Resets in the name of dead processes.
    pub resets: u64,
    /// What was not sent because there was too much of it.
    pub suppressed: u64,
}

impl Router {
    /// A router of `forwarder`'s node on `links`.
    ///
    /// # Errors
    /// No Unix socket can be had, by which the owners of ports are found out.
    pub fn new(forwarder: Forwarder, links: Vec<Link>) -> io::Result<Self> {
        let presence = OwnReplies {
            owners: OwnerProbe::new(forwarder.local())?,
            answers: TokenBucket::new(ANSWERS_PER_SECOND),
            refusals: TokenBucket::new(ANSWERS_PER_SECOND),
            counters: PresenceCounters::default(),
        };
        let (probes, batch) = (Vec::new(), Batch::default());
        let (kernel, node_port) = (Kernel::Off, None);
        let mismatches = SourceMismatches::default();
        Ok(Self { forwarder, links, node_port, kernel, probes, mismatches, batch, presence })
    }

    /// The counters of what the node sent for itself.
    pub const fn presence_counters(&self) -> &PresenceCounters {
        &self.presence.counters
    }

    /// Receives what is there, up to a batch per device, and sends what follows from it; how many
    /// frames there were.
    ///
    /// # Errors
    /// A device is gone for good.
    pub fn poll(&mut self, now: Instant) -> io::Result<usize> {
        // What the router passes to itself is there when its link is polled.
        let mut frames = self.node_port.as_mut().map_or(0, |port| port.poll(now));
        for index in 0..self.links.len() {
            let received = match self.pass_on(now, index)? {
                Some(received) => received,
                None => self.receive_batch(now, index)?,
            };
            self.links[index].note_received(received);
            frames += received.frames as usize;
        }
        self.flush();
        Ok(frames)
    }

    /// Forwards frames right from the memory that link `index` shares with the kernel; none if it
    /// shares none.
    fn pass_on(&mut self, now: Instant, index: usize) -> io::Result<Option<Received>> {
        let Self { forwarder, links, probes, mismatches, batch, presence, .. } = self;
        let (before, rest) = links.split_at_mut(index);
        let Some((link, after)) = rest.split_first_mut() else { return Ok(None) };
        let id = DeviceId(index as u16);
        let mut context = LinkContext { now, id, forwarder, batch, presence, probes, mismatches };
        let Some(kernel) = link.io.ethernet() else { return Ok(None) };
        kernel.lend(RECEIVE_BATCH, &mut |frames| {
            let mut passing: Vec<(Egress, &[u8])> = Vec::new();
            for bytes in frames {
                match context.judge(ethernet_source(bytes), bytes) {
                    // Its own socket is busy with the frames that are lent.
                    Some(egress) if egress.device == context.id => {
                        context.copy(&egress, &bytes[HEADER_LEN..]);
                    }
                    Some(egress) => passing.push((egress, &bytes[HEADER_LEN..])),
                    None => {}
                }
            }
            let others = before.iter_mut().enumerate();
            for (at, other) in others.chain((index + 1..).zip(after.iter_mut())) {
                let to = |passing: &&(Egress, &[u8])| usize::from(passing.0.device.0) == at;
                if passing.iter().any(|p| to(&p)) {
                    let frames = passing.iter().filter(to);
                    let pieces = frames.map(|(egress, rest)| (egress.to, [egress.head(), rest]));
                    other.send(pieces, context.forwarder.stats_mut());
                }
            }
        })
    }

    /// Receives from link `index`, and puts what is to go on into the batch.
    fn receive_batch(&mut self, now: Instant, index: usize) -> io::Result<Received> {
        let Self { forwarder, links, probes, mismatches, batch, presence, .. } = self;
        let id = DeviceId(index as u16);
        let mut context = LinkContext { now, id, forwarder, batch, presence, probes, mismatches };
        let io = &mut links[index].io;
        let headers = io.capabilities().header + PACKET_HEADER_LEN;
        let received = io.receive_packets(RECEIVE_BATCH, &mut |from, bytes| {
            if let Some(egress) = context.judge(from, bytes) {
                context.copy(&egress, &bytes[headers..]);
            }
        });
        if let Some((node, from)) = io.udp_mut().and_then(UdpDevice::take_stranger) {
            context.mismatches.note(now, node, context.id, StationAddr::Udp(from));
        }
        received
    }

    /// Puts other routes in force: from the next frame on, also for those that wait for room. A
    /// device on UDP knows the addresses of prphosts, `peers`, by the numbers that routes have for
    /// them; `own` is the node's own.
    pub fn set_routes(&mut self, routes: RouteTable, peers: &[IpAddr], own: Option<LinkAddr>) {
        let Self { forwarder, links, .. } = self;
        let renumber = |addr| routes.renumber(forwarder.routes(), addr);
        let mut stats = *forwarder.stats();
        let mut udp = None;
        for (at, link) in links.iter_mut().enumerate() {
            link.renumber(renumber, &mut stats);
            if let (Some(io), Some(own)) = (link.io.udp_mut(), own) {
                io.set_peers(peers);
                udp = Some((DeviceId(at as u16), Device::new(own, io.capabilities())));
            }
        }
        *forwarder.stats_mut() = stats;
        forwarder.set_routes(routes);
        self.mismatches.clear();
        if let Some((id, device)) = udp {
            forwarder.set_device(id, device);
        }
    }

    /// Devices may have been removed and made again, or have changed, as `link_states` says. One
    /// that has come in the place of another is that one made again if it has its address, or
    /// `is_own` says that prphosts gives it that address.
    pub fn devices_changed(
        &mut self,
        link_states: &LinkStates,
        is_own: impl Fn(&str, MacAddr) -> bool,
    ) {
        for (at, link) in self.links.iter_mut().enumerate() {
            let id = DeviceId(at as u16);
            if let Some(udp) = link.io.udp_mut()
                && let Some(mtu) = udp.interface_mtu().read()
                && let Some(ours) = self.forwarder.devices().get(at)
            {
                udp.set_mtu(mtu);
                self.forwarder.set_device(id, Device::new(ours.addr, udp.capabilities()));
            }
            let fits = link.io.capabilities().mtu;
            let had = self.forwarder.devices().get(at).and_then(|ours| ours.addr.mac());
            let name = link.name().to_owned();
            let Some(kernel) = link.io.ethernet() else { continue };
            let is_meant = |mac| had == Some(mac) || is_own(&name, mac);
            link.state = link_states.follow(kernel, &name, is_meant);
            let Some(state) = link.state else { continue };
            let mtu = state.mtu.min(fits);
            let device = Device::ethernet(state.mac, mtu);
            self.forwarder.set_device(id, device);
        }
        self.kernel.devices_changed();
    }

    /// Has the kernel forward as this router would, if that has changed.
    pub fn instruct_kernel(&mut self) {
        self.kernel.follow(&self.forwarder, &self.links);
    }

    /// Whether a device holds frames it could not take.
    pub fn is_stalled(&self, device: usize) -> bool {
        self.links.get(device).is_some_and(Link::is_stalled)
    }

    /// Sends a probe to a neighbour.
    pub fn probe(&mut self, probe: &Probe) {
        let Some(ours) = self.forwarder.devices().get(usize::from(probe.device.0)) else { return };
        let port = Port::CONTROL;
        let mut transport = TransportHeader::new(port, port, Seq::default(), SeqWidth::Bits20, 0);
        transport.flags |= Flags::CTL;
        let ethertype = self.forwarder.ethertype();
        let head = Head {
            ethernet: EthernetHeader::between(ours.addr, probe.addr, ethertype),
            network: NetworkHeader { src: self.forwarder.local(), dst: probe.to },
            transport,
        };
        let asked = self.forwarder.keyring_for(probe.to);
        let keyring = asked.or_else(|| self.forwarder.keyring().filter(|_| probe.is_signed));
        let (block, number) = (probe.block.emit(), probe.number.to_be_bytes());
        let number = keyring.map_or(&[][..], |_| &number);
        let bytes = sealed_by(keyring, head, &[&block, number]);
        self.batch.push(probe.device, probe.addr, &bytes, &[]);
        self.flush();
    }

    /// Resets connections of a process that is dead.
    pub fn reset(&mut self, connections: &[EstablishedId]) {
        let here = self.forwarder.local();
        for established in connections.iter().filter(|s| s.remote.node != here) {
            if let Some(reset) = reset(&self.forwarder, established) {
                self.presence.counters.resets += 1;
                self.batch.push(reset.device, reset.to, &reset.bytes, &[]);
            }
        }
        self.flush();
        let mut inside = connections.iter().filter(|s| s.remote.node == here).peekable();
        if inside.peek().is_none() {
            return;
        }
        // The path from the node to itself, which a router has no other use for.
        let ethertype = self.forwarder.ethertype();
        let found = interfaces().into_iter().find(|i| i.loopback);
        let Some(Ok(mut device)) = found.map(|i| PacketDevice::open(&i, ethertype)) else { return };
        for established in inside {
            let frame = reset_here(&self.forwarder, established);
            let sent = device.send_frames(&mut std::iter::once([frame.as_slice(), &[], &[], &[]]));
            self.presence.counters.resets += sent.done as u64;
        }
    }

    fn flush(&mut self) {
        for (index, link) in self.links.iter_mut().enumerate() {
            let frames = self.batch.frames_for(DeviceId(index as u16));
            let mut frames = frames.map(|(to, frame)| (to, [frame, &[]])).peekable();
            if frames.peek().is_some() || link.is_stalled() {
                link.send(frames, self.forwarder.stats_mut());
            }
        }
        self.batch.clear();
    }
}

/// What it takes to decide about the frames of one link.
struct LinkContext<'a> {
    now: Instant,
    id: DeviceId,
    forwarder: &'a mut Forwarder,
    batch: &'a mut Batch,
    presence: &'a mut OwnReplies,
    probes: &'a mut Vec<ProbeReceived>,
    mismatches: &'a mut SourceMismatches,
}

impl LinkContext<'_> {
    /// Returns how what came from `from` goes on, if it does. A packet for this node itself is
    /// done.
    fn judge(&mut self, from: LinkAddr, bytes: &[u8]) -> Option<Egress> {
        let outcome = self.forwarder.handle_packet(self.id, from, bytes);
        match outcome {
            Outcome::Forward(departure) => return Some(departure),
            Outcome::Local(frame) if is_probe(&frame) => self.take_probe(&frame),
            Outcome::Local(frame) => {
                self.presence.handle(self.now, self.forwarder, &frame, self.batch);
            }
            Outcome::Dropped(ForwardDrop::BadSource, Some(frame)) => {
                // Every number of a UDP address is one of prphosts.
                if let Some(from) = self.forwarder.routes().station(frame.from) {
                    self.mismatches.note(self.now, frame.head.network.src, self.id, from);
                }
            }
            Outcome::Dropped(why, Some(frame)) => {
                if let Some(report) = no_onward_route(self.forwarder, &frame, why) {
                    self.presence.send(self.now, AnswerKind::Refusal, &report, self.batch);
                } else if let Some(reply) = answer(self.forwarder, &frame, Some(why)) {
                    self.presence.send(self.now, AnswerKind::Echo, &reply, self.batch);
                }
            }
            Outcome::Dropped(_, None) => {}
        }
        None
    }

    /// A probe of a neighbour: without a key where one is asked for it does nothing (SPEC
    /// PRP-KEY-13).
    fn take_probe(&mut self, frame: &Frame<'_>) {
        let frame = match self.forwarder.authenticate(frame) {
            Ok(frame) => frame,
            Err(why) => return self.forwarder.stats_mut().drops.count(why.into()),
        };
        let Some(block) = LivenessBlock::of(&frame) else { return };
        let number = LivenessBlock::number(frame.payload).filter(|_| frame.is_authentic());
        if frame.is_authentic() && number.is_none() {
            return self.forwarder.stats_mut().drops.count(ForwardDrop::Replayed);
        }
        let (device, addr) = (self.id, frame.from);
        self.probes.push(ProbeReceived { device, addr, block, number });
    }

    /// Puts what leaves by `egress` into the batch, with `rest` behind its headers.
    fn copy(&mut self, egress: &Egress, rest: &[u8]) {
        self.batch.push(egress.device, egress.to, egress.head(), rest);
    }
}

/// Whether `frame` is one between routers, if a key or its trailer vouches for it.
fn is_probe(frame: &Frame<'_>) -> bool {
    let ports = frame.head.transport;
    frame.flags().contains(Flags::CTL)
        && (ports.src_port, ports.dst_port) == (Port::CONTROL, Port::CONTROL)
        && LivenessBlock::parse(frame.payload).is_some()
}

impl OwnReplies {
    /// A frame for this node: an echo, or a request, grant or probe to a port without an owner. All
    /// else is for others.
    fn handle(
        &mut self,
        now: Instant,
        forwarder: &Forwarder,
        frame: &Frame<'_>,
        batch: &mut Batch,
    ) {
        let port = frame.head.transport.dst_port;
        if port == Port::CONTROL {
            if let Some(reply) = answer(forwarder, frame, None) {
                self.send(now, AnswerKind::Echo, &reply, batch);
            }
            return;
        }
        if ResetBlock::owed_to(frame).is_none() {
            return;
        }
        // The limit comes first: a flood must not cost a check of the port for each frame.
        if !self.refusals.take(now) {
            self.counters.suppressed += 1;
        } else if self.owners.is_free(port)
            && let Some(refusal) = refuse(forwarder, frame)
        {
            self.counters.refusals += 1;
            batch.push(refusal.device, refusal.to, &refusal.bytes, &[]);
        }
    }

    /// Sends `answer`, unless too many of its kind were sent.
    fn send(&mut self, now: Instant, kind: AnswerKind, answer: &Answer, batch: &mut Batch) {
        let (bucket, sent) = match kind {
            AnswerKind::Echo => (&mut self.answers, &mut self.counters.echoes),
            AnswerKind::Refusal => (&mut self.refusals, &mut self.counters.refusals),
        };
        if bucket.take(now) {
            *sent += 1;
            batch.push(answer.device, answer.to, &answer.bytes, &[]);
        } else {
            self.counters.suppressed += 1;
        }
    }
}
