//! Two well-behaved nodes, a wire between them, and a third node whose frames the fuzzer makes.

use std::collections::VecDeque;
use std::time::Duration;

use prp_proto::TransmitBatch;
use prp_proto::addr::{DeviceId, MacAddr, NodeId, Port, PrpAddr};
use prp_proto::config::{ConnConfig, EndpointConfig, Keepalive};
use prp_proto::endpoint::{BorrowedWrite, Device, Ending, Endpoint, Sink};
use prp_proto::event::{ConnHandle, Event, ListenHandle};
use prp_proto::hosts::Hosts;
use prp_proto::route::RouteTable;
use prp_proto::time::Instant;
use prp_proto::wire::{ETHERTYPE, Frame, Offer, Reliability, ReliabilitySet, ethernet_source};

/// The node whose connection must not be touched.
pub(super) const FRIEND: u16 = 1;
/// The node under attack.
pub(super) const TARGET: u16 = 2;
/// The node that sends what it likes.
pub(super) const STRANGER: u16 = 3;

/// The friend's ends.
pub(super) const FRIEND_PORT: u16 = 70;
pub(super) const FRIEND_SERVICE: u16 = 80;
/// The port that strangers may connect to.
pub(super) const OPEN_SERVICE: u16 = 81;

/// Connections that may wait for `accept`.
pub(super) const BACKLOG: usize = 4;

const HOSTS: &str =
    "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n3 02:00:00:00:00:03 eth0\n";

pub(super) fn node(number: u16) -> NodeId {
    NodeId::new(number).expect("1 to 3 are nodes")
}

pub(super) const fn mac(node: u16) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, node as u8])
}

pub(super) fn addr(node_number: u16, port: u16) -> PrpAddr {
    PrpAddr::new(node(node_number), Port::new(port))
}

/// Small buffers, so that windows close, and short timers, so that they fire.
pub(super) fn config(reliability: ReliabilitySet) -> ConnConfig {
    ConnConfig {
        reliability,
        send_buffer: 8 * 1024,
        send_buffer_max: 16 * 1024,
        recv_buffer: Some(8 * 1024),
        keepalive: Some(Keepalive {
            idle: Duration::from_millis(300),
            interval: Duration::from_millis(100),
            probes: 3,
        }),
        connect_timeout: Duration::from_secs(1),
        // What a stranger can do to an endpoint that checks nothing but numbers.
        crc: false,
        ..ConnConfig::default()
    }
}

fn endpoint(local: u16) -> Endpoint {
    let hosts = Hosts::parse(HOSTS.as_bytes()).expect("the text above is well formed");
    let routes = RouteTable::build(&hosts, node(local), |_| Some(DeviceId(0)));
    let devices = vec![Device::ethernet(mac(local), 1500), Device::loopback(65536)];
    Endpoint::new(EndpointConfig::default(), routes, devices, [local as u8; 32])
}

/// The connection that must go on whatever the stranger does.
#[derive(Copy, Clone, Debug)]
pub(super) struct Friends {
    /// The friend's end.
    pub(super) near: ConnHandle,
    /// The target's end.
    pub(super) far: ConnHandle,
    /// Both ids, which the stranger never sees.
    pub(super) ids: [u32; 2],
}

/// What the wire between the two does to its next frames.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum Fault {
    Drop,
    Duplicate,
}

/// Nodes, wire and clock.
pub(super) struct Harness {
    pub(super) now: Instant,
    pub(super) friend: Endpoint,
    pub(super) target: Endpoint,
    /// Frames the target sent to the stranger.
    pub(super) caught: Vec<Vec<u8>>,
    pub(super) faults: VecDeque<Fault>,
    pub(super) listener: Option<ListenHandle>,
    /// Where the friend asked for its connection, which accepts no other.
    service: Option<ListenHandle>,
    ids: [u32; 2],
}

impl Harness {
    pub(super) fn new(reliability: Reliability) -> (Self, Friends) {
        let mut harness = Self {
            now: Instant::ZERO,
            friend: endpoint(FRIEND),
            target: endpoint(TARGET),
            caught: Vec::new(),
            faults: VecDeque::new(),
            listener: None,
            service: None,
            ids: [0; 2],
        };
        let config = config(ReliabilitySet::only(reliability));
        let service = harness
            .target
            .listen(Port::new(FRIEND_SERVICE), BACKLOG, config)
            .expect("the port is free");
        let near = harness
            .friend
            .connect(
                harness.now,
                addr(TARGET, FRIEND_SERVICE),
                Some(Port::new(FRIEND_PORT)),
                config,
                |_| true,
            )
            .expect("the path is there");
        harness.settle();
        let far = harness.target.accept(harness.now, service).expect("nothing was lost");
        harness.service = Some(service);
        harness.listen();
        let friends = Friends { near, far, ids: harness.ids };
        (harness, friends)
    }

    /// Opens the port for strangers.
    pub(super) fn listen(&mut self) {
        if self.listener.is_none() {
            let config = config(ReliabilitySet::ALL);
            self.listener = self.target.listen(Port::new(OPEN_SERVICE), BACKLOG, config).ok();
        }
    }

    pub(super) fn unlisten(&mut self) {
        if let Some(listener) = self.listener.take() {
            self.target.unlisten(self.now, listener);
        }
    }

    /// Closes the port of the friend's connection, and lets go of what strangers left there.
    pub(super) fn end_service(&mut self) {
        if let Some(service) = self.service.take() {
            self.target.unlisten(self.now, service);
        }
    }

    /// A frame of the stranger's, given to the target; a reader may lend its buffer.
    pub(super) fn attack(&mut self, bytes: &[u8], sink: Option<&mut Sink<'_>>) {
        self.target.handle_packet(self.now, DeviceId(0), ethernet_source(bytes), bytes, sink);
    }

    /// Exchanges frames until none is in flight.
    pub(super) fn settle(&mut self) {
        loop {
            for endpoint in [&mut self.friend, &mut self.target] {
                endpoint.handle_idle(self.now);
                while let Some(event) = endpoint.poll_event() {
                    if let Event::UnownedPort(unowned) = event {
                        endpoint.refuse(&unowned);
                    }
                }
                while endpoint.poll_released_port().is_some() {}
            }
            if !self.exchange(None) {
                return;
            }
        }
    }

    /// The frames that both have ready go to the other, or get caught, while `lent` is lent;
    /// whether there were any.
    fn exchange(&mut self, lent: Option<&BorrowedWrite<'_>>) -> bool {
        let to_target = take_frames(&mut self.friend, self.now, lent);
        let from_target = take_frames(&mut self.target, self.now, lent);
        let any = !to_target.is_empty() || !from_target.is_empty();
        for frame in to_target {
            self.carry(&frame, TARGET);
        }
        for frame in from_target {
            let parsed = Frame::parse(&frame, ETHERTYPE).expect("we sent what we cannot parse");
            if parsed.head.network.dst == node(STRANGER) {
                self.caught.push(frame);
            } else {
                self.carry(&frame, FRIEND);
            }
        }
        any
    }

    /// Has the friend write `bytes` by lending them for some exchanges; how many were taken.
    pub(super) fn write_borrowed(
        &mut self,
        near: ConnHandle,
        bytes: &[u8],
        exchanges: usize,
    ) -> usize {
        let mut lent = BorrowedWrite::new(near, bytes);
        for _ in 0..exchanges {
            // What does not fit may do so once something has arrived.
            let _ = self.friend.write_borrowed(self.now, &mut lent, Ending::Write);
            self.exchange(Some(&lent));
        }
        let taken = lent.taken();
        self.friend.end_borrow(self.now, lent);
        taken
    }

    fn carry(&mut self, frame: &[u8], to: u16) {
        if let Ok(parsed) = Frame::parse(frame, ETHERTYPE)
            && let Ok(offer) = Offer::parse(parsed.payload)
            && self.ids[usize::from(to == FRIEND)] == 0
        {
            self.ids[usize::from(to == FRIEND)] = offer.id;
        }
        let copies = match self.faults.pop_front() {
            None => 1,
            Some(Fault::Drop) => 0,
            Some(Fault::Duplicate) => 2,
        };
        let endpoint = if to == FRIEND { &mut self.friend } else { &mut self.target };
        for _ in 0..copies {
            endpoint.handle_packet(self.now, DeviceId(0), ethernet_source(frame), frame, None);
        }
    }

    /// Lets time pass, each timer at its hour.
    pub(super) fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        self.settle();
        while let Some(at) = self.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.friend.handle_timeout(self.now);
            self.target.handle_timeout(self.now);
            self.settle();
        }
        self.now = end;
    }

    /// Lets time pass until the next timer has fired.
    pub(super) fn next_timer(&mut self) {
        let span = self.next_deadline().map_or(Duration::ZERO, |at| at.since(self.now));
        self.pass(span);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let (a, b) = (self.friend.poll_timeout(), self.target.poll_timeout());
        a.into_iter().chain(b).min()
    }
}

fn take_frames(
    endpoint: &mut Endpoint,
    now: Instant,
    lent: Option<&BorrowedWrite<'_>>,
) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    loop {
        let mut batch = TransmitBatch::new(32, 1 << 20);
        if endpoint.poll_transmit(now, &mut batch) == 0 {
            return frames;
        }
        frames.extend(
            (0..batch.len()).map(|i| endpoint.frame_with_borrowed(&batch, i, lent).concat()),
        );
    }
}
