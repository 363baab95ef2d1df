//! What the core costs without devices: frames per second through two endpoints, and a round trip
//! and a connection with 1, 100 and 10,000 established connections.
//!
//! Run with `cargo bench -p prp-proto`; figures are both endpoints together.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use prp_proto::TransmitBatch;
use prp_proto::addr::{DeviceId, MacAddr, NodeId, Port, PrpAddr};
use prp_proto::config::{ConnConfig, EndpointConfig};
use prp_proto::endpoint::{Device, Ending, Endpoint};
use prp_proto::event::{ConnHandle, ListenHandle};
use prp_proto::hosts::Hosts;
use prp_proto::route::RouteTable;
use prp_proto::time::Instant;
use prp_proto::wire::ethernet_source;

/// Bytes of a full segment at MTU 1500.
const SEGMENT: usize = 1484;

/// Full segments of one transfer: what an engine may send in one iteration.
const FRAMES: usize = 32;

/// Connections that are established meanwhile.
const ESTABLISHED: [usize; 3] = [1, 100, 10_000];

/// Round trips, of 20 us by the endpoints' clock, that make a second: what connections do that fall
/// silent is done by then.
const WARM_UP: usize = 50_000;

/// Two endpoints and a wire that delivers at once.
struct Bench {
    now: Instant,
    nodes: [Endpoint; 2],
    batch: TransmitBatch,
    frame: Vec<u8>,
    listener: ListenHandle,
    /// Pairs of a client's and a server's end.
    conns: Vec<(ConnHandle, ConnHandle)>,
}

fn endpoint(number: u16) -> Endpoint {
    let hosts = Hosts::parse(b"1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n");
    let local = NodeId::new(number).expect("a node");
    let routes = RouteTable::build(&hosts.expect("no mistake"), local, |_| Some(DeviceId(0)));
    let mac = MacAddr([2, 0, 0, 0, 0, number as u8]);
    let device = Device::ethernet(mac, 1500);
    Endpoint::new(EndpointConfig::default(), routes, vec![device], [number as u8; 32])
}

impl Bench {
    /// With this many established connections.
    fn new(conns: usize) -> Self {
        let mut nodes = [endpoint(1), endpoint(2)];
        let listener = nodes[1].listen(Port::new(80), 16, ConnConfig::default());
        let mut bench = Self {
            now: Instant::default() + Duration::from_secs(1),
            nodes,
            batch: TransmitBatch::new(FRAMES, 1 << 20),
            frame: Vec::new(),
            listener: listener.expect("the port is free"),
            conns: Vec::new(),
        };
        for _ in 0..conns {
            let pair = bench.connect();
            bench.conns.push(pair);
        }
        bench
    }

    /// A new connection that has carried a message in each direction.
    fn connect(&mut self) -> (ConnHandle, ConnHandle) {
        let node = NodeId::new(2).expect("a node");
        let addr = PrpAddr::new(node, Port::new(80));
        let asked = self.nodes[0].connect(self.now, addr, None, ConnConfig::default(), |_| true);
        let ours = asked.expect("there is a route");
        self.settle();
        let theirs = self.nodes[1].accept(self.now, self.listener).expect("it has arrived");
        let pair = (ours, theirs);
        self.round_trip(pair);
        pair
    }

    /// Closes it on both sides.
    fn close(&mut self, (ours, theirs): (ConnHandle, ConnHandle)) {
        self.nodes[0].release(self.now, ours, false);
        self.settle();
        self.nodes[1].release(self.now, theirs, false);
        self.settle();
    }

    /// A message of 64 bytes in each direction.
    fn round_trip(&mut self, (ours, theirs): (ConnHandle, ConnHandle)) {
        let mut message = [7; 64];
        for (from, to, at) in [(ours, theirs, 0), (theirs, ours, 1)] {
            let wrote = self.nodes[at].write(self.now, from, &message, Ending::Write);
            assert_eq!(wrote.ok(), Some(message.len()));
            self.settle();
            let read = self.nodes[1 - at].read(self.now, to, &mut message);
            assert_eq!(read.ok(), Some(message.len()));
        }
    }

    /// Full segments from client to server.
    fn transfer(&mut self, (ours, theirs): (ConnHandle, ConnHandle), data: &mut [u8]) {
        let wrote = self.nodes[0].write(self.now, ours, data, Ending::Write);
        assert_eq!(wrote.ok(), Some(data.len()));
        self.settle();
        let mut left = data.len();
        while left > 0 {
            left -= self.nodes[1].read(self.now, theirs, black_box(data)).expect("it has arrived");
        }
        self.settle();
    }

    /// Carries frames until there are no more.
    fn settle(&mut self) {
        self.now = self.now + Duration::from_micros(10);
        loop {
            let mut moved = 0;
            for from in 0..2 {
                moved += self.carry(from);
            }
            if moved == 0 {
                return;
            }
        }
    }

    /// Carries a batch away from a node, and whatever else it wants.
    fn carry(&mut self, from: usize) -> usize {
        let Self { now, nodes, batch, frame, .. } = self;
        let [client, server] = nodes;
        let (sender, receiver) = if from == 0 { (client, server) } else { (server, client) };
        if sender.poll_timeout().is_some_and(|at| at <= *now) {
            sender.handle_timeout(*now);
        }
        sender.handle_idle(*now);
        batch.clear();
        let n = sender.poll_transmit(*now, batch);
        for i in 0..n {
            frame.clear();
            sender.frame(batch, i).iter().for_each(|piece| frame.extend_from_slice(piece));
            receiver.handle_packet(*now, DeviceId(0), ethernet_source(frame), frame, None);
        }
        while sender.poll_event().is_some() {}
        while sender.poll_released_port().is_some() {}
        n
    }
}

/// Frames per second of one stream.
fn stream(c: &mut Criterion) {
    let mut group = c.benchmark_group("stream");
    group.throughput(Throughput::Elements(FRAMES as u64));
    group.bench_function("frames of 1484 bytes", |b| {
        let mut bench = Bench::new(1);
        let (conn, mut data) = (bench.conns[0], vec![7; FRAMES * SEGMENT]);
        b.iter(|| bench.transfer(conn, &mut data));
    });
    group.finish();
}

/// A small message in each direction, over each of the established connections one after another,
/// and over one of them alone: the first has nothing of a connection in a cache when its frame
/// comes, the second shows what finding it costs.
fn round_trip(c: &mut Criterion) {
    let mut group = c.benchmark_group("round trip of 64 bytes");
    for established in ESTABLISHED {
        let mut bench = Bench::new(established);
        let mut next = 0;
        group.bench_function(format!("{established} connections"), |b| {
            b.iter(|| {
                bench.round_trip(bench.conns[next]);
                next = (next + 1) % established;
            });
        });
    }
    for established in ESTABLISHED {
        let mut bench = Bench::new(established);
        let one = bench.conns[established / 2];
        // Deadlines of the others, which begin as they are established, are not this one's.
        (0..WARM_UP).for_each(|_| bench.round_trip(one));
        group.bench_function(format!("one of {established} connections"), |b| {
            b.iter(|| bench.round_trip(one));
        });
    }
    group.finish();
}

/// A connection from its request to its end, while others are established.
fn connect(c: &mut Criterion) {
    let mut group = c.benchmark_group("connect, a byte in each direction, close");
    for established in ESTABLISHED {
        let mut bench = Bench::new(established);
        group.bench_function(format!("beside {established} connections"), |b| {
            b.iter(|| {
                let conn = bench.connect();
                bench.close(conn);
            });
        });
    }
    group.finish();
}

criterion_group!(benches, stream, round_trip, connect);
criterion_main!(benches);
