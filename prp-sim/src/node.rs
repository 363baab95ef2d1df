//! A node: an endpoint, its devices, and a process that runs when its scheduler lets it.

mod apps;

use core::time::Duration;
use std::collections::{BTreeSet, VecDeque};

use prp_proto::addr::{DeviceId, Port};
use prp_proto::config::EndpointConfig;
use prp_proto::endpoint::{Device, Endpoint, Sink};
use prp_proto::event::Disposition;
use prp_proto::forward::{Forwarder, Outcome};
use prp_proto::hosts::{Hosts, UDP_DEVICE};
use prp_proto::key::{Member, Seed};
use prp_proto::route::RouteTable;
use prp_proto::time::Instant;
use prp_proto::{TransmitBatch, joins_gso_batch, wire};

use crate::datagram;
use crate::link::QueueLimit;
use crate::plan::{NodePlan, Plan, Underlay};
use crate::topology::{PortRef, VertexIndex, mac, node_id};
use crate::world::{SimEvent, World};
use apps::Apps;

/// Frames a process takes from its devices before it does anything else, and frames it hands to
/// them at once: as the engine of prp-sock does.
const BATCH_FRAMES: usize = 32;

/// Bytes of a batch of frames.
const BATCH_BYTES: usize = 128 * 1024;

/// Bytes that a GSO batch of datagrams has at most.
const GSO_BATCH_BYTES: usize = 65_507;

/// Datagrams that a GSO batch has at most.
const GSO_BATCH_DATAGRAMS: usize = 64;

/// The UDP sockets, where packets travel in datagrams: no node has more than one link then.
const UDP: DeviceId = DeviceId(0);

/// Rounds of events and frames that one call may take. An endpoint that always has one more of
/// either would never let its driver sleep.
const ROUNDS: usize = 10_000;

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    index: usize,
    underlay: Underlay,
    plan: NodePlan,
    pub(crate) endpoint: Endpoint,
    /// What becomes of frames for other nodes; routes and devices, too.
    forwarder: Forwarder,
    ring: VecDeque<(DeviceId, Vec<u8>)>,
    /// Ports the process owns against others of its node.
    claims: BTreeSet<Port>,
    apps: Apps,
    wake_at: Option<Instant>,
    busy_until: Instant,
    batch: TransmitBatch,
    /// Most frames in it.
    batch_frames: usize,
    /// Checks of memory so far: each is of another connection.
    memory_checks: usize,
}

impl Node {
    pub(crate) fn new(index: usize, plan: &Plan, world: &mut World) -> Self {
        let node_plan = plan.nodes[index].clone();
        let hosts = Hosts::parse(node_plan.hosts.as_bytes());
        let hosts = hosts.unwrap_or_else(|e| panic!("prphosts of node {}: {e}", index + 1));
        let device_of = |name: &str| {
            let number = name.strip_prefix("eth").and_then(|number| number.parse().ok());
            if name == UDP_DEVICE { Some(UDP) } else { number.map(DeviceId) }
        };
        let routes = RouteTable::build(&hosts, node_id(index), device_of);
        let mut devices = Vec::new();
        while let Some(config) = world.network.config(index, devices.len()) {
            devices.push(match plan.underlay {
                Underlay::Ethernet => Device::ethernet(mac(index, devices.len()), config.mtu),
                Underlay::Udp => udp_device(index, config.mtu),
            });
        }
        if plan.underlay == Underlay::Ethernet {
            devices.push(Device::loopback(65536));
        }
        // Its GSO batches as well.
        let most = devices.iter().map(|device| usize::from(device.gso_frames)).max();
        let batch_frames = most.unwrap_or(1).max(BATCH_FRAMES);
        let mut forwarder = Forwarder::new(wire::ETHERTYPE, routes, devices);
        forwarder.set_keyring(plan.keys.as_ref().map(|keys| keys.keyring(index, Instant::ZERO)));
        let endpoint = endpoint(&forwarder, world.seeds.seed());
        Self {
            index,
            underlay: plan.underlay,
            plan: node_plan,
            endpoint,
            forwarder,
            ring: VecDeque::new(),
            claims: BTreeSet::new(),
            apps: Apps::default(),
            wake_at: None,
            busy_until: Instant::ZERO,
            batch: TransmitBatch::new(batch_frames, BATCH_BYTES),
            batch_frames,
            memory_checks: 0,
        }
    }

    /// A frame has come in by `device`.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        device: usize,
        frame: Vec<u8>,
        world: &mut World,
    ) {
        if self.ring.len() >= self.plan.ring {
            world.tally.ring_lost += 1;
            world.tally.in_flight -= 1;
            world.recorder.note(now, 1, format_args!("node{} ring full", self.index + 1));
            return;
        }
        self.ring.push_back((DeviceId(device as u16), frame));
        let delay = self.delay(world);
        self.schedule(now + delay, world);
    }

    /// How long the process takes to run once it could.
    fn delay(&self, world: &mut World) -> Duration {
        let (least, most) = self.plan.wakes_in;
        let delay = world.scheduler.span(least, most);
        if world.scheduler.chance(self.plan.preempted) {
            return delay + world.scheduler.span(least, self.plan.preempted_for);
        }
        delay
    }

    /// When the process runs, if it wants to at `at`.
    pub(crate) fn not_before(&self, at: Instant) -> Instant {
        let at = at.max(self.busy_until);
        let absent = self.plan.absences.iter().find(|(from, until)| (*from..*until).contains(&at));
        absent.map_or(at, |(_, until)| *until)
    }

    fn schedule(&mut self, at: Instant, world: &mut World) {
        let at = self.not_before(at);
        if self.wake_at.is_none_or(|wake| at < wake) {
            self.wake_at = Some(at);
            world.queue.push(at, SimEvent::Wake { node: self.index });
        }
    }

    /// The process runs, if it wants to at this time.
    pub(crate) fn wake(
        &mut self,
        now: Instant,
        plan: &Plan,
        world: &mut World,
    ) -> Result<(), String> {
        if self.wake_at != Some(now) {
            return Ok(());
        }
        self.wake_at = None;
        let frames = self.take_frames(now, plan, world)?;
        self.busy_until = now + self.plan.per_frame * frames;
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        self.drain(now, plan, world)?;
        if self.ring.is_empty() {
            self.endpoint.handle_idle(now);
            self.transmit(now, world);
        }
        self.check_memory()?;
        self.sleep(now, world);
        Ok(())
    }

    /// Hands frames to the endpoint, with the buffer of an application that waits for them.
    fn take_frames(&mut self, now: Instant, plan: &Plan, world: &mut World) -> Result<u32, String> {
        let lender = self.apps.lender(plan);
        let mut lent = vec![0; lender.map_or(0, |(_, size)| size)];
        let mut sink = lender.map(|(conn, _)| Sink::new(conn, &mut lent));
        let mut count = 0;
        while count < BATCH_FRAMES as u32
            && let Some((device, frame)) = self.ring.pop_front()
        {
            count += 1;
            world.tally.in_flight -= 1;
            let disposition = match self.underlay {
                Underlay::Ethernet => {
                    let from = wire::ethernet_source(&frame);
                    self.endpoint.handle_packet(now, device, from, &frame, sink.as_mut())
                }
                Underlay::Udp => {
                    let Some((from, datagram)) = datagram::read(self.index, &frame) else {
                        continue;
                    };
                    // What it sends itself comes back to the same sockets.
                    self.endpoint.handle_packet(now, UDP, from, datagram, sink.as_mut())
                }
            };
            match disposition {
                // A bit has changed that says for whom it is.
                Disposition::Transit(_) if self.underlay == Underlay::Udp => {
                    self.not_forwarded(now, "udp", world);
                }
                Disposition::Transit(_) => self.forward(now, device, frame, world),
                Disposition::Dropped(why) => {
                    let what = format_args!("node{} dropped a frame: {why}", self.index + 1);
                    world.recorder.note(now, 3 + why as u64, what);
                }
                Disposition::Accepted => {}
            }
        }
        let filled = sink.as_ref().map_or(0, Sink::filled);
        if let Some((conn, _)) = lender.filter(|_| filled > 0) {
            self.endpoint.note_read(now, conn);
            self.apps.take_lent(now, conn, &lent[..filled], plan)?;
        }
        Ok(count)
    }

    /// Forwards a frame for another node (SPEC PRP-FWD, PRP-HOPS).
    fn forward(&self, now: Instant, device: DeviceId, mut frame: Vec<u8>, world: &mut World) {
        match self.forwarder.decide(device, wire::ethernet_source(&frame), &frame) {
            Outcome::Forward(egress) => {
                frame[..wire::HEADER_LEN].copy_from_slice(egress.head());
                world.tally.routed += 1;
                world.send(now, self.port_ref(egress.device), frame);
            }
            Outcome::Dropped(why, _) => self.not_forwarded(now, why.name(), world),
            // The endpoint has said that it is not for this node.
            Outcome::Local(_) => self.not_forwarded(now, "local", world),
        }
    }

    fn not_forwarded(&self, now: Instant, why: &'static str, world: &mut World) {
        *world.tally.route_drops.entry(why).or_default() += 1;
        world.recorder.note(now, 2, format_args!("node{} {why}", self.index + 1));
    }

    /// Lets applications and endpoint go on until neither has anything to do.
    fn drain(&mut self, now: Instant, plan: &Plan, world: &mut World) -> Result<(), String> {
        self.run_apps(now, plan, world)?;
        for _ in 0..ROUNDS {
            let happened = self.take_events(now, plan, world)?;
            let sent = self.transmit(now, world);
            if !happened && !sent {
                return Ok(());
            }
        }
        Err(format!("node {}'s endpoint never runs dry", self.index + 1))
    }

    /// Sends what the devices take; whether there was anything.
    fn transmit(&mut self, now: Instant, world: &mut World) -> bool {
        let mut sent = false;
        while self.room_at(now, world).is_none() {
            self.batch.clear();
            if self.endpoint.poll_transmit(now, &mut self.batch) == 0 {
                break;
            }
            sent = true;
            world.tally.frames += self.batch.len() as u64;
            if self.underlay == Underlay::Udp {
                self.send_gso_batches(now, world);
                continue;
            }
            for i in 0..self.batch.len() {
                let frame = self.endpoint.frame(&self.batch, i).concat();
                world.tally.repeats += u64::from(is_repeat(&frame));
                world.send(now, self.port_ref(self.batch.device(i)), frame);
            }
        }
        sent
    }

    /// Sends the batch in GSO batches, as the device of prp-device does: datagrams of one size for
    /// one neighbour, of which the last may be shorter.
    fn send_gso_batches(&self, now: Instant, world: &mut World) {
        let mut next = 0;
        while next < self.batch.len() {
            let to = self.batch.to(next);
            let mut gso_batch: Vec<Vec<u8>> = Vec::new();
            let (mut bytes, mut size, mut is_last) = (0, 0, false);
            while next < self.batch.len() && self.batch.to(next) == to && !is_last {
                let datagram = self.endpoint.frame(&self.batch, next).concat();
                let frame = datagram::on_link(self.index, to, &datagram);
                if gso_batch.is_empty() {
                    size = datagram.len();
                }
                let fits = bytes + datagram.len() <= GSO_BATCH_BYTES
                    && gso_batch.len() < GSO_BATCH_DATAGRAMS;
                if !joins_gso_batch(size, datagram.len()) || !fits {
                    break;
                }
                is_last = datagram.len() < size;
                bytes += datagram.len();
                world.tally.repeats += u64::from(is_repeat(&frame));
                gso_batch.push(frame);
                next += 1;
            }
            // A port without a link is the path to the node itself.
            let port = usize::from(to.is_same_host(datagram::own_addr(self.index)));
            world.send_gso_batch(
                now,
                PortRef { vertex: VertexIndex::Node(self.index), port },
                gso_batch,
            );
        }
    }

    /// When a device that is full now will have room; none if all have some.
    fn room_at(&self, now: Instant, world: &mut World) -> Option<Instant> {
        if !self.plan.backpressure {
            return None;
        }
        let full = |device| {
            let link = world.network.link(self.index, device)?;
            let QueueLimit::Frames(limit) = link.config.queue else { return None };
            // A whole batch must fit.
            let enough = limit.saturating_sub(self.batch_frames);
            (link.waiting(now) > enough).then(|| link.waits_no_more_than(enough / 2))
        };
        (0..self.forwarder.devices().len()).filter_map(full).max()
    }

    /// Decides when to run next.
    fn sleep(&mut self, now: Instant, world: &mut World) {
        if !self.ring.is_empty() {
            self.schedule(now, world);
        }
        let due = [self.endpoint.poll_timeout(), self.apps.wakes_at()].into_iter().flatten().min();
        if let Some(due) = due {
            let delay = self.delay(world);
            self.schedule(due.max(now) + delay, world);
        }
        if self.endpoint.wants_transmit()
            && let Some(room) = self.room_at(now, world)
        {
            let delay = self.delay(world);
            self.schedule(room.max(now) + delay, world);
        }
    }

    fn port_ref(&self, device: DeviceId) -> PortRef {
        PortRef { vertex: VertexIndex::Node(self.index), port: usize::from(device.0) }
    }

    /// The process is replaced by one that knows nothing.
    pub(crate) fn restart(&mut self, now: Instant, restart: usize, plan: &Plan, world: &mut World) {
        let what = format_args!("node{} restarts", self.index + 1);
        world.recorder.note(now, 100, what);
        self.kill_apps(world);
        world.tally.add_endpoint(self.endpoint.stats());
        self.endpoint = endpoint(&self.forwarder, world.seeds.seed());
        world.tally.in_flight -= self.ring.len() as u64;
        world.tally.ring_lost += self.ring.len() as u64;
        self.ring.clear();
        self.claims.clear();
        self.wake_at = None;
        let (_, back_after) = self.plan.restarts[restart];
        let open = |at: Instant, until: Option<Instant>| at <= now && until.is_none_or(|u| now < u);
        for (listener, l) in plan.listeners.iter().enumerate() {
            if l.node == self.index && open(l.from, l.until) {
                world.queue.push(now + back_after, SimEvent::Listen { listener });
            }
        }
    }

    /// The node has the key file of this time.
    pub(crate) fn rekey(&mut self, now: Instant, plan: &Plan) {
        if let Some(keyring) = plan.keys.as_ref().map(|keys| keys.keyring(self.index, now)) {
            self.forwarder.set_keyring(Some(keyring.clone()));
            self.endpoint.set_keyring(keyring);
        }
    }

    /// A connection holds no more than its buffers may: checks one connection a time.
    fn check_memory(&mut self) -> Result<(), String> {
        self.memory_checks += 1;
        // Every thirty-second call: it costs a walk over the table.
        if !self.memory_checks.is_multiple_of(32) {
            return Ok(());
        }
        let handles = self.endpoint.handles();
        let Some(conn) = handles.get(self.memory_checks / 32 % handles.len().max(1)) else {
            return Ok(());
        };
        let Some((_, held)) = self.endpoint.memory(*conn) else { return Ok(()) };
        let Some(config) = self.endpoint.conn_config(*conn) else { return Ok(()) };
        let mss = self.endpoint.terms(*conn).map_or(0, |t| usize::from(t.mss));
        let send = config.send_buffer.max(config.send_buffer_max);
        let limit = memory_limit(send, config.recv_buffer.unwrap_or(Device::WINDOW), mss);
        if held > limit {
            return Err(format!("a connection of node {} holds {held} bytes", self.index + 1));
        }
        Ok(())
    }
}

/// Most memory of a connection with these buffers: rings of the next power of two, a receive
/// buffer's worth kept beyond a gap, and what a window of segments costs to remember.
fn memory_limit(send: usize, recv: usize, mss: usize) -> usize {
    const PER_SEGMENT: usize = 256;
    let least = prp_proto::config::ConnConfig::MIN_BUFFER;
    let (send, recv) = (send.max(least), recv.max(least));
    let window = prp_proto::config::MAX_WINDOW as usize;
    // The last segment taken may go past the limit by its own size.
    (send + mss).next_power_of_two()
        + 2 * (recv + mss).next_power_of_two()
        + window * PER_SEGMENT
        + send.max(recv)
}

/// The UDP sockets of a node, for datagrams of `mtu` bytes.
fn udp_device(node: usize, mtu: u32) -> Device {
    let gso_frames = (GSO_BATCH_BYTES / mtu as usize).clamp(1, GSO_BATCH_DATAGRAMS);
    Device::udp(datagram::own_addr(node), mtu, gso_frames as u16)
}

fn endpoint(forwarder: &Forwarder, seed: [u8; 32]) -> Endpoint {
    let (routes, devices) = (forwarder.routes().clone(), forwarder.devices().to_vec());
    let config = EndpointConfig::default();
    let mut endpoint = Endpoint::new(config, routes, devices, seed);
    // The only process of its node answers for all of its ports.
    endpoint.report_unowned_ports(true);
    if let Some(keyring) = forwarder.keyring() {
        endpoint.set_member(Member::new(keyring.clone(), Seed::new(seed)));
    }
    endpoint
}

/// Whether a frame is a segment that was sent before.
fn is_repeat(frame: &[u8]) -> bool {
    let flags = frame.get(wire::HEADER_LEN - 4..wire::HEADER_LEN);
    flags
        .and_then(|f| f.try_into().ok())
        .is_some_and(|f| wire::Flags::from_bits(u32::from_be_bytes(f)).contains(wire::Flags::RTX))
}
