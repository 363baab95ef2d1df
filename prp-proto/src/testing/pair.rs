//! Two nodes and a wire.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::addr::{DeviceId, MacAddr, NodeId, Port, PrpAddr};
use crate::buffer::Sink;
use crate::config::{ConnConfig, EndpointConfig};
use crate::device::Device;
use crate::endpoint::{Ending, Endpoint};
use crate::event::{ConnHandle, Disposition, Event, ListenHandle};
use crate::hosts::Hosts;
use crate::route::RouteTable;
use crate::stats::DropReason;
use crate::time::Instant;
use crate::transmit::TransmitBatch;
use crate::wire::{ETHERTYPE, Frame, Pretty, ethernet_source};

/// The direction of a frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// What the wire does with a frame.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum FrameAction {
    /// Delivers it after the usual latency.
    Pass,
    /// Loses it.
    Drop,
    /// Delivers it twice.
    Duplicate,
    /// Delivers it later than usual by this much.
    Delay(Duration),
    /// Delivers these bytes instead.
    Replace(Vec<u8>),
}

/// A decision about every frame, given its direction and bytes.
pub type Rule = Box<dyn FnMut(Direction, &[u8]) -> FrameAction + Send>;

/// One of the two nodes.
#[derive(Debug)]
pub struct Side {
    /// Its endpoint.
    pub endpoint: Endpoint,
    /// Events not yet checked.
    pub events: Vec<Event>,
    /// Ports the simulated node's other processes own.
    pub foreign: Vec<Port>,
}

impl Side {
    fn new(node: u16, seed: u8, config: EndpointConfig, mtu: u32) -> Self {
        let hosts = "1 02:00:00:00:00:01 eth0 client\n2 02:00:00:00:00:02 eth0 server\n";
        let local = NodeId::new(node).expect("1 and 2 are nodes");
        let hosts = Hosts::parse(hosts.as_bytes()).expect("the text above is well formed");
        let routes = RouteTable::build(&hosts, local, |_| Some(DeviceId(0)));
        let mac = MacAddr([2, 0, 0, 0, 0, node as u8]);
        let devices = vec![Device::ethernet(mac, mtu), Device::loopback(65536)];
        let endpoint = Endpoint::new(config, routes, devices, [seed; 32]);
        Self { endpoint, events: Vec::new(), foreign: Vec::new() }
    }
}

impl Endpoint {
    /// Takes an Ethernet frame, whose source is in it, as [`Self::handle_packet`].
    pub fn handle_frame(
        &mut self,
        now: Instant,
        device: DeviceId,
        frame: &[u8],
        sink: Option<&mut Sink<'_>>,
    ) -> Disposition {
        self.handle_packet(now, device, ethernet_source(frame), frame, sink)
    }
}

/// Two endpoints, node 1 the client and node 2 the server, on a wire with a latency and a rule, in
/// virtual time that starts at zero and jumps from one event to the next.
pub struct Pair {
    /// Now.
    pub time: Instant,
    /// Node 1.
    pub client: Side,
    /// Node 2.
    pub server: Side,
    /// What the wire does.
    pub rule: Rule,
    /// How long a frame takes, from its last bit in to its last bit out.
    pub latency: Duration,
    /// Bits that the link takes in a second, in each direction, and bytes that it takes at once
    /// before that (a token bucket); others wait. All at once if none.
    pub rate: Option<(u64, u64)>,
    /// Bytes put on the link, in each direction.
    pub carried: [u64; 2],
    /// Every frame put on the wire, as text, if switched on.
    pub trace: Option<Vec<String>>,
    /// What became of frames, counted by reason.
    pub drops: Vec<DropReason>,
    wire: BTreeMap<(Instant, u64), (Direction, DeviceId, Vec<u8>)>,
    /// When the link has taken what waits for it, in each direction.
    busy_until: [Instant; 2],
    order: u64,
    config: EndpointConfig,
    mtu: u32,
    restarts: u8,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("time", &self.time).finish_non_exhaustive()
    }
}

impl Default for Pair {
    fn default() -> Self {
        Self::new(1500)
    }
}

impl Pair {
    /// A pair whose wire takes `mtu` bytes and loses nothing.
    pub fn new(mtu: u32) -> Self {
        Self::with_config(EndpointConfig::default(), mtu)
    }

    /// A pair with settings.
    pub fn with_config(config: EndpointConfig, mtu: u32) -> Self {
        Self {
            time: Instant::ZERO,
            client: Side::new(1, 1, config, mtu),
            server: Side::new(2, 2, config, mtu),
            rule: Box::new(|_, _| FrameAction::Pass),
            latency: Duration::from_micros(10),
            rate: None,
            carried: [0; 2],
            trace: None,
            drops: Vec::new(),
            wire: BTreeMap::new(),
            busy_until: [Instant::ZERO; 2],
            order: 0,
            config,
            mtu,
            restarts: 0,
        }
    }

    /// Replaces a side's process: everything it knew is gone.
    pub fn restart(&mut self, direction: Direction) {
        self.restarts += 1;
        let (node, seed) = match direction {
            Direction::ToServer => (1, 100 + self.restarts),
            Direction::ToClient => (2, 200 + self.restarts),
        };
        *self.sender(direction) = Side::new(node, seed, self.config, self.mtu);
    }

    /// The same pair, keeping a line of text for every frame.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.trace = Some(Vec::new());
        self
    }

    /// The address of `port` on the server.
    pub fn server_addr(port: u16) -> PrpAddr {
        PrpAddr::new(NodeId::new(2).expect("2 is a node"), Port::new(port))
    }

    /// Makes the server listen.
    pub fn listen(&mut self, port: u16, config: ConnConfig) -> ListenHandle {
        let listening = self.server.endpoint.listen(Port::new(port), 16, config);
        listening.expect("the port is free in a test")
    }

    /// Lets the client ask for a connection.
    pub fn connect(&mut self, port: u16, config: ConnConfig) -> ConnHandle {
        let remote = Self::server_addr(port);
        let asked = self.client.endpoint.connect(self.time, remote, None, config, |_| true);
        asked.expect("the route is there in a test")
    }

    /// An established connection with default settings: the client's end and the server's.
    pub fn established(&mut self) -> (ConnHandle, ConnHandle) {
        self.established_with(ConnConfig::default(), ConnConfig::default())
    }

    /// An established connection: the client's end and the server's.
    pub fn established_with(
        &mut self,
        client: ConnConfig,
        server: ConnConfig,
    ) -> (ConnHandle, ConnHandle) {
        let listener = self.listen(80, server);
        let conn = self.connect(80, client);
        self.drive();
        let accepted = self.server.endpoint.accept(self.time, listener);
        self.server.endpoint.unlisten(self.time, listener);
        (conn, accepted.expect("the handshake went through"))
    }

    /// Writes everything, running the pair while the buffer is full.
    pub fn write_all(&mut self, direction: Direction, conn: ConnHandle, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let now = self.time;
            let endpoint = &mut self.sender(direction).endpoint;
            match endpoint.write(now, conn, bytes, Ending::Write) {
                Ok(n) => bytes = &bytes[n..],
                Err(crate::error::WriteError::Blocked) => assert!(self.step(), "stuck"),
                Err(e) => panic!("write: {e:?}"),
            }
        }
    }

    /// Reads what is there.
    pub fn read_available(&mut self, direction: Direction, conn: ConnHandle) -> Vec<u8> {
        let now = self.time;
        let endpoint = &mut self.receiver(direction).endpoint;
        let mut all = Vec::new();
        let mut buf = [0; 4096];
        while let Ok(n @ 1..) = endpoint.read(now, conn, &mut buf) {
            all.extend_from_slice(&buf[..n]);
        }
        all
    }

    /// The side that sends in `direction`.
    pub fn sender(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::ToServer => &mut self.client,
            Direction::ToClient => &mut self.server,
        }
    }

    /// The side that receives in `direction`.
    pub fn receiver(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::ToServer => &mut self.server,
            Direction::ToClient => &mut self.client,
        }
    }

    /// Puts bytes on the wire as if a stranger had sent them.
    pub fn inject(&mut self, direction: Direction, bytes: &[u8]) {
        self.enqueue(self.time + self.latency, direction, DeviceId(0), bytes.to_vec());
    }

    /// Runs events until no frame is in flight and none wants to go: timers wait.
    pub fn drive(&mut self) {
        self.flush();
        while let Some((at, _)) = self.wire.keys().next().copied() {
            self.run_to(at);
        }
    }

    /// Lets `span` pass.
    pub fn drive_for(&mut self, span: Duration) {
        let end = self.time + span;
        self.flush();
        while let Some(at) = self.next_at().filter(|at| *at <= end) {
            self.run_to(at);
        }
        self.time = end;
    }

    /// Runs events, timers included, until `done` says so; whether it did within ten minutes of
    /// virtual time.
    pub fn drive_until(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.time + Duration::from_secs(600);
        self.flush();
        loop {
            if done(self) {
                return true;
            }
            self.flush();
            match self.next_at() {
                Some(at) if at <= end => self.run_to(at),
                _ => return false,
            }
        }
    }

    /// Moves to the next event; whether there was one.
    pub fn step(&mut self) -> bool {
        self.flush();
        let next = self.next_at();
        if let Some(at) = next {
            self.run_to(at);
        }
        next.is_some()
    }

    fn next_at(&self) -> Option<Instant> {
        let wire = self.wire.keys().next().map(|(at, _)| *at);
        let client = self.client.endpoint.poll_timeout();
        let server = self.server.endpoint.poll_timeout();
        [wire, client, server].into_iter().flatten().min()
    }

    fn run_to(&mut self, at: Instant) {
        self.time = self.time.max(at);
        while let Some(entry) = self.wire.first_entry().filter(|e| e.key().0 <= self.time) {
            let (direction, device, bytes) = entry.remove();
            let now = self.time;
            let side = self.receiver(direction);
            let disposition = side.endpoint.handle_frame(now, device, &bytes, None);
            if let Disposition::Dropped(why) = disposition {
                self.drops.push(why);
            }
        }
        for direction in [Direction::ToServer, Direction::ToClient] {
            let now = self.time;
            let endpoint = &mut self.sender(direction).endpoint;
            endpoint.handle_timeout(now);
            endpoint.handle_idle(now);
        }
        self.flush();
    }

    /// Takes everything out of both endpoints.
    fn flush(&mut self) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            self.take_events(direction);
            loop {
                let mut batch = TransmitBatch::new(32, 1 << 20);
                let now = self.time;
                let endpoint = &mut self.sender(direction).endpoint;
                if endpoint.poll_transmit(now, &mut batch) == 0 {
                    break;
                }
                let frames: Vec<(DeviceId, Vec<u8>)> = (0..batch.len())
                    .map(|i| (batch.device(i), endpoint.frame(&batch, i).concat()))
                    .collect();
                for (device, frame) in frames {
                    self.put_on_link(direction, device, frame);
                }
                self.take_events(direction);
            }
        }
    }

    fn take_events(&mut self, direction: Direction) {
        let side = self.sender(direction);
        while let Some(event) = side.endpoint.poll_event() {
            if let Event::UnownedPort(unowned) = event
                && !side.foreign.contains(&unowned.port())
            {
                side.endpoint.refuse(&unowned);
            }
            side.events.push(event);
        }
    }

    fn put_on_link(&mut self, direction: Direction, device: DeviceId, frame: Vec<u8>) {
        assert!(Frame::parse(&frame, ETHERTYPE).is_ok(), "we sent what we cannot parse");
        let at = self.time + self.latency;
        if device == DeviceId(1) {
            // The loopback device hands a node its own frames.
            let back = match direction {
                Direction::ToServer => Direction::ToClient,
                Direction::ToClient => Direction::ToServer,
            };
            return self.enqueue(at, back, device, frame);
        }
        let at = self.pass_link(direction, frame.len()) + self.latency;
        let verdict = (self.rule)(direction, &frame);
        if let Some(trace) = &mut self.trace {
            let text = Pretty::new(&frame, ETHERTYPE).to_string();
            let mark = match &verdict {
                FrameAction::Pass => "",
                FrameAction::Drop => " (dropped)",
                FrameAction::Duplicate => " (duplicated)",
                FrameAction::Delay(_) => " (delayed)",
                FrameAction::Replace(_) => " (replaced)",
            };
            // Hardware addresses say nothing here that nodes do not.
            let text =
                text.split_once(" > ").and_then(|(_, t)| t.split_once(' ')).map_or("", |(_, t)| t);
            trace.push(alloc::format!("{:?} {text}{mark}", self.time));
        }
        match verdict {
            FrameAction::Pass => self.enqueue(at, direction, device, frame),
            FrameAction::Drop => {}
            FrameAction::Duplicate => {
                self.enqueue(at, direction, device, frame.clone());
                self.enqueue(at, direction, device, frame);
            }
            FrameAction::Delay(by) => self.enqueue(at + by, direction, device, frame),
            FrameAction::Replace(other) => self.enqueue(at, direction, device, other),
        }
    }

    /// When a frame of `len` bytes that is sent now has passed the link.
    fn pass_link(&mut self, direction: Direction, len: usize) -> Instant {
        let index = usize::from(direction == Direction::ToClient);
        self.carried[index] += len as u64;
        let Some((rate, burst)) = self.rate else { return self.time };
        let time = |bytes: u64| Duration::from_nanos(bytes * 8 * 1_000_000_000 / rate);
        let until = self.busy_until[index].max(self.time) + time(len as u64);
        self.busy_until[index] = until;
        self.time.max(until - time(burst))
    }

    fn enqueue(&mut self, at: Instant, direction: Direction, device: DeviceId, bytes: Vec<u8>) {
        self.order += 1;
        self.wire.insert((at, self.order), (direction, device, bytes));
    }
}
