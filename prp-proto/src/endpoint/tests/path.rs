//! Two nodes with two links between them, of which one may be dead.

use super::*;
use crate::TransmitBatch;
use crate::addr::{DeviceId, MacAddr};
use crate::config::EndpointConfig;
use crate::endpoint::{Device, Endpoint, TracePoint};
use crate::hosts::Hosts;
use crate::route::{HopUse, RouteTable, UnusableHops};
use crate::time::Instant;
use crate::wire::{NodeBlock, NodeKind, sealed};

const HOSTS: &str = "1 02:00:00:00:00:01 eth0, 02:00:00:00:01:01 eth1 metric 5\n\
    2 02:00:00:00:00:02 eth0, 02:00:00:00:01:02 eth1 metric 5\n";

pub(super) struct Net {
    pub(super) ends: [Endpoint; 2],
    pub(super) dead: [bool; 2],
    pub(super) time: Instant,
    /// Frames that left by each link.
    pub(super) sent: [usize; 2],
}

/// The endpoint of `node`.
fn end(hosts: &str, node: u16, mtu: [u32; 2]) -> Endpoint {
    let hosts = Hosts::parse(hosts.as_bytes()).expect("well formed");
    let local = NodeId::new(node).expect("a node");
    let routes = RouteTable::build(&hosts, local, |name| Some(DeviceId(u16::from(name == "eth1"))));
    let device =
        |at: u8| Device::ethernet(MacAddr([2, 0, 0, 0, at, node as u8]), mtu[usize::from(at)]);
    let devices = [0, 1].map(device).to_vec();
    Endpoint::new(EndpointConfig::default(), routes, devices, [node as u8; 32])
}

impl Net {
    pub(super) fn new(mtu: [u32; 2]) -> Self {
        let ends = [1, 2].map(|node| end(HOSTS, node, mtu));
        Self { ends, dead: [false; 2], time: Instant::ZERO, sent: [0; 2] }
    }

    /// Lets frames cross, and time pass up to the next deadline once none is left; whether anything
    /// happened.
    pub(super) fn step(&mut self) -> bool {
        let mut moved = false;
        for from in 0..2 {
            let mut batch = TransmitBatch::new(32, 1 << 20);
            while self.ends[from].poll_transmit(self.time, &mut batch) > 0 {
                moved = true;
                for i in 0..batch.len() {
                    let device = batch.device(i);
                    let link = usize::from(device.0);
                    self.sent[link] += 1;
                    let frame = self.ends[from].frame(&batch, i).concat();
                    if !self.dead[link] {
                        self.ends[1 - from].handle_frame(self.time, device, &frame, None);
                    }
                }
                batch.clear();
            }
            self.ends[from].handle_idle(self.time);
            while self.ends[from].poll_event().is_some() {}
        }
        if !moved {
            let next = self.ends.iter().filter_map(Endpoint::poll_timeout).min();
            let Some(next) = next else { return false };
            self.time = self.time.max(next);
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.time));
        }
        true
    }

    pub(super) fn until(
        &mut self,
        span: Duration,
        mut done: impl FnMut(&mut Self) -> bool,
    ) -> bool {
        let end = self.time + span;
        while self.time <= end {
            if done(self) {
                return true;
            }
            if !self.step() {
                return done(self);
            }
        }
        false
    }

    pub(super) fn established(&mut self) -> (ConnHandle, ConnHandle) {
        self.established_with(ConnConfig::default())
    }

    fn established_with(&mut self, config: ConnConfig) -> (ConnHandle, ConnHandle) {
        let now = self.time;
        let listener = self.ends[1].listen(Port::new(80), 4, config).expect("free");
        let asked = self.ends[0].connect(now, Pair::server_addr(80), None, config, |_| true);
        let ours = asked.expect("a path");
        assert!(self.until(Duration::from_secs(9), |net| net.ends[1].pending(listener) > 0));
        let theirs = self.ends[1].accept(self.time, listener).expect("pending");
        (ours, theirs)
    }

    /// Sends `len` bytes from the end `from`; whether they all arrive within two seconds.
    pub(super) fn transfer(
        &mut self,
        from: usize,
        ours: ConnHandle,
        theirs: ConnHandle,
        len: usize,
    ) -> bool {
        let bytes = pattern(len);
        let (mut at, mut got) = (0, Vec::new());
        self.until(Duration::from_secs(2), |net| {
            let now = net.time;
            at += net.ends[from].write(now, ours, &bytes[at..], Ending::Write).unwrap_or(0);
            let mut buf = [0; 4096];
            while let Ok(n @ 1..) = net.ends[1 - from].read(now, theirs, &mut buf) {
                got.extend_from_slice(&buf[..n]);
            }
            got == bytes
        })
    }

    /// Where the end's connections have gone, each time that they took another path.
    fn path_changes(&mut self, end: usize) -> Vec<u16> {
        core::iter::from_fn(|| self.ends[end].poll_connection_trace())
            .filter(|trace| trace.point == TracePoint::PathChanged)
            .map(|trace| trace.device.0)
            .collect()
    }

    pub(super) fn current_path(&self, end: usize, conn: ConnHandle) -> u16 {
        self.ends[end].current_path(conn).expect("it stands").0.0
    }
}

/// PRP-PATH-1: the best path, and no other.
#[test]
fn path__the_best_as_long_as_it_works() {
    let mut net = Net::new([1500; 2]);
    let (c, s) = net.established();
    assert!(net.transfer(0, c, s, 100_000));
    assert_eq!(net.sent[1], 0);
}

/// PRP-PATH-2, 3: the sender finds the other path, and the receiver answers by it.
#[test]
fn path__a_dead_one_is_left_by_both_ends() {
    for from in 0..2 {
        let mut net = Net::new([1500; 2]);
        net.ends.iter_mut().for_each(Endpoint::trace_connections);
        let (c, s) = net.established();
        let (ours, theirs) = if from == 0 { (c, s) } else { (s, c) };
        assert!(net.transfer(from, ours, theirs, 100_000));
        net.dead[0] = true;
        assert!(net.transfer(from, ours, theirs, 100_000), "from {from}");
        assert_eq!(
            (net.current_path(from, ours), net.current_path(1 - from, theirs)),
            (1, 1),
            "from {from}"
        );
        for end in 0..2 {
            assert_eq!(net.path_changes(end), [1], "from {from}");
        }
        // Expect: and back again, when that one dies.
        net.dead = [false, true];
        assert!(net.transfer(1 - from, theirs, ours, 100_000), "back from {from}");
    }
}

#[test]
fn path__a_request_finds_the_one_that_is_not_dead() {
    let mut net = Net::new([1500; 2]);
    net.dead[0] = true;
    let (c, s) = net.established();
    assert!(net.transfer(0, c, s, 100_000));
    assert!(net.transfer(1, s, c, 100_000));
}

fn without_repeats() -> ConnConfig {
    ConnConfig { reliability: ReliabilitySet::only(Reliability::Detect), ..ConnConfig::default() }
}

/// PRP-PATH-6: a request goes by both paths, one after the other. The answer comes when the client
/// is at the one that is dead, or about to die.
#[test]
fn path__without_repeats_the_one_after_a_request_is_asked_for() {
    let mut net = Net::new([1500; 2]);
    net.dead = [true; 2];
    let listener = net.ends[1].listen(Port::new(80), 4, without_repeats()).expect("free");
    let to = Pair::server_addr(80);
    let c = net.ends[0].connect(net.time, to, None, without_repeats(), |_| true).expect("a path");
    assert!(net.until(Duration::from_secs(1), |net| net.current_path(0, c) == 1));
    // Its request passes, and nothing else by that path.
    net.dead = [false; 2];
    assert!(net.until(Duration::from_secs(9), |net| net.ends[1].pending(listener) > 0));
    net.dead = [false, true];
    assert!(net.until(Duration::from_secs(9), |net| net.ends[0].state(c) != State::ConnWait));
    let s = net.ends[1].accept(net.time, listener).expect("pending");
    assert_eq!(net.current_path(0, c), 1, "at the path that is dead");
    assert!(net.transfer(0, c, s, 100_000));
    assert_eq!(net.current_path(0, c), 0);
}

/// PRP-PATH-6: with nothing in flight, a dead path is left as any other connection leaves it.
#[test]
fn path__without_repeats_a_dead_one_is_left_while_nothing_is_in_flight() {
    for from in 0..2 {
        let mut net = Net::new([1500; 2]);
        let keepalive = Keepalive { idle: 50 * MS, interval: 20 * MS, probes: 20 };
        let config = ConnConfig { keepalive: Some(keepalive), ..without_repeats() };
        let (c, s) = net.established_with(config);
        assert!(net.transfer(0, c, s, 10_000) && net.transfer(1, s, c, 10_000));
        let (ours, theirs) = if from == 0 { (c, s) } else { (s, c) };
        assert!(net.until(Duration::from_secs(1), |net| {
            net.ends[0].is_flushed(c) && net.ends[1].is_flushed(s)
        }));
        net.dead[0] = true;
        assert!(net.until(Duration::from_secs(2), |net| {
            (net.current_path(0, c), net.current_path(1, s)) == (1, 1)
        }));
        assert!(net.transfer(from, ours, theirs, 100_000), "from {from}");
    }
}

/// PRP-PATH-6: while a segment is in flight the path stays.
#[test]
fn path__without_repeats_stays_while_a_segment_is_in_flight() {
    let mut net = Net::new([1500; 2]);
    let (c, s) = net.established_with(without_repeats());
    assert!(net.transfer(0, c, s, 10_000));
    net.dead[0] = true;
    assert!(!net.transfer(0, c, s, 10));
    assert_eq!((net.current_path(0, c), net.sent[1]), (0, 0));
    net.dead[0] = false;
    let gone = |net: &mut Net| net.ends[0].state(c) == State::Close;
    assert!(net.until(Duration::from_secs(5), gone), "the loss is found");
}

/// PRP-PATH-1, 4: what is known is followed at once, without a loss; and without a path, the best
/// will do.
#[test]
fn path__next_hops_that_are_down_are_not_used_until_they_are_back() {
    let mut net = Net::new([1500; 2]);
    let (c, s) = net.established();
    let mac = MacAddr([2, 0, 0, 0, 0, 2]);
    let hop = (DeviceId(0), mac.into(), HopUse::LastResort);
    for unusable in [
        UnusableHops::without([hop].to_vec(), Vec::new()),
        UnusableHops::without(Vec::new(), [DeviceId(0)].to_vec()),
    ] {
        net.ends[0].set_unusable_hops(unusable);
        assert_eq!(net.current_path(0, c), 1);
        net.sent[0] = 0;
        assert!(net.transfer(0, c, s, 100_000));
        let resent = net.ends[0].conn_stats(c).expect("it stands").retransmitted;
        assert_eq!(resent, 0);
        net.ends[0].set_unusable_hops(UnusableHops::default());
        assert_eq!(net.current_path(0, c), 0);
    }
    net.ends[0]
        .set_unusable_hops(UnusableHops::without(Vec::new(), [DeviceId(0), DeviceId(1)].to_vec()));
    assert_eq!(net.current_path(0, c), 0);
    assert!(net.transfer(0, c, s, 100_000));
}

/// PRP-PATH-2: the router of a neighbour is dead, and what goes round does not arrive. The
/// neighbour itself is alive.
#[test]
fn path__a_neighbour_whose_router_is_dead_is_tried_last() {
    for from in 0..2 {
        let mut net = Net::new([1500; 2]);
        let (c, s) = net.established();
        let (ours, theirs) = if from == 0 { (c, s) } else { (s, c) };
        let hop = (DeviceId(0), net.ends[from].current_path(ours).unwrap().1, HopUse::LastResort);
        net.ends[from].set_unusable_hops(UnusableHops::without([hop].to_vec(), Vec::new()));
        assert_eq!(net.current_path(from, ours), 1, "from {from}");
        net.dead[1] = true;
        assert!(net.transfer(from, ours, theirs, 100_000), "from {from}");
        assert_eq!(net.current_path(from, ours), 0, "from {from}");
        // Expect: also if only the peer's frames say that it is alive (PRP-PATH-3).
        net.ends[from].set_unusable_hops(UnusableHops::default());
        net.ends[from].set_unusable_hops(UnusableHops::without([hop].to_vec(), Vec::new()));
        assert!(net.transfer(1 - from, theirs, ours, 100_000), "from {from}");
        assert_eq!(net.current_path(from, ours), 0, "from {from}");
    }
}

/// PRP-PATH-5: a path that takes less is no trap.
#[test]
fn path__segments_fit_every_one() {
    let mut net = Net::new([9000, 1500]);
    let (c, s) = net.established();
    assert!(net.transfer(0, c, s, 1_000_000));
    assert!(net.ends[0].terms(c).expect("it stands").mss < 1500);
    net.dead[0] = true;
    assert!(net.transfer(0, c, s, 1_000_000));
}

/// PRP-PATH-3: a repeat that is not believed, stale or forged, changes no path.
#[test]
fn path__is_not_changed_by_a_repeat_that_is_not_believed() {
    for crc in [false, true] {
        let mut net = Net::new([1500; 2]);
        let (c, s) = net.established_with(ConnConfig { crc, ..ConnConfig::default() });
        // A segment of the client's that passes, as it leaves.
        net.ends[0].write(net.time, c, b"x", Ending::Write).expect("room");
        let mut batch = TransmitBatch::new(1, 1 << 20);
        assert_eq!(net.ends[0].poll_transmit(net.time, &mut batch), 1);
        let genuine = net.ends[0].frame(&batch, 0).concat();
        // ... and as a repeat that comes by the other path.
        let repeat = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = genuine.clone();
            frame[..6].copy_from_slice(&[2, 0, 0, 0, 1, 2]);
            frame[6..12].copy_from_slice(&[2, 0, 0, 0, 1, 1]);
            frame[29] |= Flags::RTX.bits() as u8;
            change(&mut frame);
            frame
        };
        let number = u16::from_be_bytes([genuine[22], genuine[23]]);
        let numbered = |number: u16| repeat(&|f| f[22..24].copy_from_slice(&number.to_be_bytes()));
        let mut forged = [
            numbered(number.wrapping_add(2000)),
            numbered(number.wrapping_sub(2000)),
            repeat(&|f| f[26] ^= 0x40),
            repeat(&|f| f[30] ^= 1),
        ]
        .to_vec();
        if !crc {
            // Without a trailer an end cannot tell that a byte was changed.
            forged.pop();
        }
        net.time = net.time + 20 * MS;
        for frame in forged {
            net.ends[1].handle_frame(net.time, DeviceId(1), &frame, None);
            assert_eq!(net.current_path(1, s), 0, "trailer {crc}");
        }
        // Expect: neither does a request that is not the one that was granted.
        let (from, to) = net.ends[0].ends(c).expect("it stands");
        let offer = Offer {
            id: 5,
            echo: 0,
            reliability: ReliabilitySet::RELIABLE,
            crc: false,
            mss: 1484,
            window: 10,
        };
        let key = Some(CrcKey::NONE);
        let mut request = hostile::forge(from, to, Flags::CREQ, 1, &offer.emit(), key);
        request[..6].copy_from_slice(&[2, 0, 0, 0, 1, 2]);
        request[6..12].copy_from_slice(&[2, 0, 0, 0, 1, 1]);
        net.ends[1].handle_frame(net.time, DeviceId(1), &request, None);
        assert_eq!(net.current_path(1, s), 0);
        if !crc {
            // RTX is covered by the trailer, so it cannot be added behind the sender's back.
            let again = repeat(&|_| {});
            net.ends[1].handle_frame(net.time, DeviceId(1), &again, None);
            assert_eq!(net.current_path(1, s), 1, "what is believed turns it");
        }
    }
}

/// Node 2 is a router, and says so of node 3.
//= PRP-NODE-5, type=test
#[test]
fn no_onward_route__ends_a_request_that_has_one_next_hop() {
    let one_hop = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n3 via 2\n";
    let two_hops = "1 02:00:00:00:00:01 eth0, 02:00:00:00:01:01 eth1\n2 02:00:00:00:00:02 eth0\n\
        4 02:00:00:00:01:04 eth1\n3 via 2, via 4\n";
    let node = |n| NodeId::new(n).unwrap();
    let error = ConnError::NoOnwardRoute { node: node(3), router: node(2) };
    for (hosts, expected) in [(one_hop, Some(error)), (two_hops, None)] {
        let mut client = end(hosts, 1, [1500; 2]);
        let server = PrpAddr::new(node(3), Port::new(80));
        let config = ConnConfig::default();
        let conn = client.connect(Instant::ZERO, server, None, config, |_| true).unwrap();
        let mut batch = TransmitBatch::new(1, 1 << 20);
        assert_eq!(client.poll_transmit(Instant::ZERO, &mut batch), 1);
        let request = client.frame(&batch, 0).concat();
        let request = Frame::parse(&request, ETHERTYPE).unwrap();
        let (asked, offer) = (request.head, Offer::parse(request.payload).unwrap());
        let mut receive = |id: u32, port: u16, stamp: u64| {
            let block =
                NodeBlock { kind: NodeKind::Unreachable, hops: 0, sequence: port, id, stamp };
            let ethertype = ETHERTYPE;
            let (dst, src) = (MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2]));
            let ethernet = Some(EthernetHeader { dst, src, ethertype });
            let network = NetworkHeader { src: node(2), dst: node(1) };
            let mut transport =
                TransportHeader { dst_port: asked.transport.src_port, ..asked.transport };
            (transport.src_port, transport.flags) = (Port::CONTROL, Flags::CTL);
            let frame = sealed(Head { ethernet, network, transport }, &[&block.emit()]);
            client.handle_frame(Instant::ZERO, DeviceId(0), &frame, None);
            client.take_error(conn)
        };
        assert_eq!(receive(offer.id ^ 1, 80, 3), None);
        assert_eq!(receive(offer.id, 81, 3), None);
        assert_eq!(receive(offer.id, 80, 2), None);
        assert_eq!(receive(offer.id, 80, u64::MAX), None);
        assert_eq!(receive(offer.id, 80, 3), expected);
    }
}
