//! Nodes that reach each other over UDP.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::addr::{DeviceId, LinkAddr, MacAddr, UdpPeer};
use crate::config::EndpointConfig;
use crate::endpoint::{Device, Endpoint};
use crate::event::Disposition;
use crate::hosts::{Hosts, UDP_DEVICE};
use crate::route::RouteTable;
use crate::time::Instant;
use crate::transmit::TransmitBatch;
use crate::wire::{NodeBlock, NodeKind, PACKET_HEADER_LEN};

const HOSTS: &str = "1 udp:10.0.0.1\n2 udp:10.0.0.2\n";
/// The UDP ports that the processes of node 1 and node 2 send from.
const PORTS: [u16; 2] = [5233, 5240];

/// Datagrams of a GSO batch, as at the usual MTU.
const GSO_FRAMES: u16 = 44;

/// How long a datagram takes within a rack.
const NEAR: Duration = Duration::from_micros(10);

fn udp(node: usize, port: u16) -> LinkAddr {
    LinkAddr::Udp { peer: UdpPeer(node as u16), port }
}

/// A process of node 1 and one of node 2, and the node's own port, which hands on what comes there.
struct Net {
    ends: [Endpoint; 2],
    time: Instant,
    /// From where, to where, and what.
    wire: VecDeque<(LinkAddr, LinkAddr, Vec<u8>)>,
    /// To where datagrams went, in order.
    sent: Vec<LinkAddr>,
}

impl Net {
    fn new(hosts: &str) -> Self {
        Self::with_window(hosts, Device::WINDOW)
    }

    /// Whose devices have this window.
    fn with_window(hosts: &str, window: usize) -> Self {
        Self::with_gso_batches(hosts, window, GSO_FRAMES)
    }

    /// Whose devices have this window, and GSO batches of `gso_frames`.
    fn with_gso_batches(hosts: &str, window: usize, gso_frames: u16) -> Self {
        let end = |at: usize| {
            let hosts = Hosts::parse(hosts.as_bytes()).expect("well formed");
            let local = NodeId::new(at as u16 + 1).expect("a node");
            let routes = RouteTable::build(&hosts, local, |name| {
                (name == UDP_DEVICE).then_some(DeviceId(0))
            });
            let devices =
                [Device::udp(udp(at, 5230), 1472, gso_frames).with_window(window)].to_vec();
            Endpoint::new(EndpointConfig::default(), routes, devices, [at as u8 + 1; 32])
        };
        let ends = [end(0), end(1)];
        Self { ends, time: Instant::ZERO, wire: VecDeque::new(), sent: Vec::new() }
    }

    fn take_out(&mut self) {
        for (at, port) in PORTS.into_iter().enumerate() {
            let mut batch = TransmitBatch::new(4 * usize::from(GSO_FRAMES), 1 << 20);
            while self.ends[at].poll_transmit(self.time, &mut batch) > 0 {
                for i in 0..batch.len() {
                    let bytes = self.ends[at].frame(&batch, i).concat();
                    self.sent.push(batch.to(i));
                    self.wire.push_back((udp(at, port), batch.to(i), bytes));
                }
                batch.clear();
            }
        }
    }

    /// Lets datagrams cross until none is in flight.
    fn drive(&mut self) {
        self.take_out();
        while let Some((from, to, bytes)) = self.wire.pop_front() {
            let LinkAddr::Udp { peer, port } = to else { panic!("no route over Ethernet") };
            let at = usize::from(peer.0);
            assert!([5230, PORTS[at]].contains(&port), "{to:?}");
            self.receive(at, from, &bytes);
            self.take_out();
        }
    }

    /// As [`Self::drive`], where each datagram takes `delay`.
    fn drive_in(&mut self, delay: Duration) {
        self.take_out();
        while !self.wire.is_empty() {
            self.time = self.time + delay;
            for (from, to, bytes) in core::mem::take(&mut self.wire) {
                let LinkAddr::Udp { peer, .. } = to else { panic!("no route over Ethernet") };
                self.receive(usize::from(peer.0), from, &bytes);
            }
            self.take_out();
        }
    }

    /// Has the congestion window of `client` grown beyond all that fits a window, and full segments
    /// found, where each datagram takes `delay`.
    fn grow(&mut self, (client, server): (ConnHandle, ConnHandle), delay: Duration) {
        for _ in 0..40 {
            let all = vec![0; Device::MAX_WINDOW];
            let mut left = self.ends[0].write(self.time, client, &all, Ending::Write).unwrap();
            while left > 0 {
                self.drive_in(delay);
                left -= self.ends[1].read(self.time, server, &mut vec![0; left]).unwrap();
            }
        }
        self.drive_in(delay);
    }

    /// How many segments leave at once when `client` writes `len` bytes.
    fn segments_at_once(&mut self, client: ConnHandle, len: usize, ending: Ending) -> usize {
        assert_eq!(self.ends[0].write(self.time, client, &vec![7; len], ending), Ok(len));
        self.take_out();
        self.wire.len()
    }

    fn receive(&mut self, at: usize, from: LinkAddr, bytes: &[u8]) -> Disposition {
        let got = self.ends[at].handle_packet(self.time, DeviceId(0), from, bytes, None);
        self.ends[at].handle_idle(self.time);
        got
    }

    fn established(&mut self) -> (ConnHandle, ConnHandle) {
        self.established_with(ConnConfig::default())
    }

    fn established_with(&mut self, config: ConnConfig) -> (ConnHandle, ConnHandle) {
        let listener = self.ends[1].listen(Port::new(80), 16, config).unwrap();
        let server = PrpAddr::new(NodeId::new(2).unwrap(), Port::new(80));
        let conn = self.ends[0].connect(self.time, server, None, config, |_| true).unwrap();
        self.drive();
        let accepted =
            self.ends[1].accept(self.time, listener).expect("the handshake went through");
        (conn, accepted)
    }
}

//= PRP-UDP-1, type=test
//= PRP-UDP-4, type=test
#[test]
fn udp__a_stream_goes_to_the_ports_of_both_processes_and_begins_at_the_nodes_own() {
    let mut net = Net::new(HOSTS);
    let (client, server) = net.established();
    assert_eq!(net.sent[0], udp(1, 5230), "the request");
    assert_eq!(net.sent[1], udp(0, PORTS[0]), "the answer");
    assert!(net.sent[2..].iter().all(|to| [udp(1, PORTS[1]), udp(0, PORTS[0])].contains(to)));
    net.sent.clear();
    let written = [7; 20_000];
    assert_eq!(net.ends[0].write(net.time, client, &written, Ending::Write), Ok(20_000));
    net.drive();
    let mut got = [0; 100_000];
    assert_eq!(net.ends[1].read(net.time, server, &mut got), Ok(20_000));
    assert_eq!(got[..20_000], written);
    assert!(net.sent.iter().all(|to| [udp(1, PORTS[1]), udp(0, PORTS[0])].contains(to)));
    // Expect: other routes do not make it forget the port.
    let routes = net.ends[0].routes().clone();
    net.ends[0].set_routes(routes);
    assert_eq!(net.ends[0].current_path(client), Some((DeviceId(0), udp(1, PORTS[1]))));
}

/// The numbers of UDP addresses are those of one reading of prphosts.
#[test]
fn set_routes__what_is_for_a_node_goes_to_no_other_one() {
    let mut net = Net::new(HOSTS);
    let (client, _) = net.established();
    let read = |net: &mut Net, text: &str| {
        let hosts = Hosts::parse(text.as_bytes()).expect("well formed");
        let device = |name: &str| (name == UDP_DEVICE).then_some(DeviceId(0));
        net.ends[0].set_routes(RouteTable::build(&hosts, NodeId::new(1).unwrap(), device));
        net.ends[0].current_path(client).map(|(_, to)| to)
    };
    // Expect: its address by another number, with the port of the process.
    let moved = "1 udp:10.0.0.1\n3 udp:10.0.0.3\n2 udp:10.0.0.2\n";
    assert_eq!(read(&mut net, moved), Some(udp(2, PORTS[1])));
    // Expect: nowhere, where the number that it had is another node's.
    let gone = "1 udp:10.0.0.1\n4 udp:10.0.0.4\n3 udp:10.0.0.3\n";
    assert_eq!(read(&mut net, gone), Some(LinkAddr::NOBODY));
    net.sent.clear();
    assert_eq!(net.ends[0].write(net.time, client, &[7; 1000], Ending::Write), Ok(1000));
    net.take_out();
    assert!(!net.sent.is_empty() && net.sent.iter().all(|to| *to == LinkAddr::NOBODY));
    // Expect: the node's own port once it is back.
    assert_eq!(read(&mut net, moved), Some(udp(2, 5230)));
}

//= PRP-UDP-1, type=test
#[test]
fn udp__datagrams_have_no_ethernet_header_and_a_trailer_that_routers_leave() {
    let mut net = Net::new(HOSTS);
    let config = ConnConfig::default();
    let server = PrpAddr::new(NodeId::new(2).unwrap(), Port::new(80));
    net.ends[0].connect(net.time, server, None, config, |_| true).unwrap();
    net.take_out();
    let (from, _, bytes) = net.wire.pop_front().unwrap();
    let datagram = Frame::parse_datagram(from, &bytes).unwrap();
    assert_eq!(bytes.len(), PACKET_HEADER_LEN + datagram.payload.len() + 4);
    assert!(datagram.crc_ok(CrcKey::NONE));
    // Expect: behind an Ethernet header it is a frame with a valid trailer.
    let mut frame = [0; 14].to_vec();
    frame[12..].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame.extend_from_slice(&bytes);
    assert!(Frame::parse(&frame, ETHERTYPE).unwrap().crc_ok(CrcKey::NONE));
}

//= PRP-UDP-3, type=test
#[test]
fn udp__other_addresses_and_ports_are_no_node() {
    let mut net = Net::new(HOSTS);
    let (client, _) = net.established();
    net.ends[0].write(net.time, client, b"data", Ending::Write).unwrap();
    net.take_out();
    let (_, _, bytes) = net.wire.pop_front().unwrap();
    let dropped = Disposition::Dropped(DropReason::BadSource);
    for from in [udp(1, 5240), udp(2, 5233), udp(0, 5229), udp(0, 5358), MacAddr::ZERO.into()] {
        assert_eq!(net.receive(1, from, &bytes), dropped, "{from:?}");
    }
    // Expect: any port of the node's is its.
    assert_eq!(net.receive(1, udp(0, 5357), &bytes), Disposition::Accepted);
}

//= PRP-UDP-4, type=test
#[test]
fn udp__a_packet_that_is_not_believed_redirects_no_connection() {
    let mut net = Net::new(HOSTS);
    let (client, _) = net.established();
    net.ends[0].write(net.time, client, b"data", Ending::Write).unwrap();
    net.take_out();
    let (_, _, mut bytes) = net.wire.pop_front().unwrap();
    let server = net.ends[1].handles()[0];
    *bytes.last_mut().unwrap() ^= 1;
    net.receive(1, udp(0, 5300), &bytes);
    assert_eq!(net.ends[1].current_path(server), Some((DeviceId(0), udp(0, PORTS[0]))));
    *bytes.last_mut().unwrap() ^= 1;
    net.receive(1, udp(0, 5300), &bytes);
    assert_eq!(net.ends[1].current_path(server), Some((DeviceId(0), udp(0, 5300))));
}

//= PRP-UDP-5, type=test
#[test]
fn udp__a_request_without_options_is_refused() {
    let mut net = Net::new(HOSTS);
    net.ends[1]
        .listen(Port::new(80), 16, ConnConfig { classic: Classic::Allow, ..Default::default() })
        .unwrap();
    let config = ConnConfig { classic: Classic::Only, ..ConnConfig::default() };
    let server = PrpAddr::new(NodeId::new(2).unwrap(), Port::new(80));
    net.ends[0].connect(net.time, server, None, config, |_| true).unwrap();
    net.take_out();
    let (from, _, bytes) = net.wire.pop_front().unwrap();
    assert_eq!(net.receive(1, from, &bytes), Disposition::Dropped(DropReason::Refused));
}

//= PRP-NET-4, type=test
#[test]
fn udp__a_node_reaches_itself() {
    let mut net = Net::new(HOSTS);
    let config = ConnConfig::default();
    net.ends[0].listen(Port::new(80), 16, config).unwrap();
    let here = PrpAddr::new(NodeId::new(1).unwrap(), Port::new(80));
    let conn = net.ends[0].connect(net.time, here, None, config, |_| true).unwrap();
    net.drive();
    assert_eq!(net.sent[0], udp(0, 5230));
    assert_eq!(net.ends[0].current_path(conn), Some((DeviceId(0), udp(0, PORTS[0]))));
    let from_itself = net.ends[0].terms(conn).is_some_and(|terms| terms.extended);
    assert!(from_itself);
}

//= PRP-UDP-6, type=test
#[test]
fn udp__each_of_several_connections_sends_a_gso_batch_at_a_time() {
    let mut net = Net::new(HOSTS);
    let config = ConnConfig::default();
    let listener = net.ends[1].listen(Port::new(80), 16, config).unwrap();
    let server = PrpAddr::new(NodeId::new(2).unwrap(), Port::new(80));
    let mut conns = Vec::new();
    for _ in 0..2 {
        let conn = net.ends[0].connect(net.time, server, None, config, |_| true).unwrap();
        net.drive();
        let accepted = net.ends[1].accept(net.time, listener).expect("the handshake went through");
        // The congestion window grows beyond a GSO batch, and full segments are found.
        for _ in 0..20 {
            net.ends[0].write(net.time, conn, &[0; 100_000], Ending::Write).unwrap();
            net.time = net.time + MS;
            net.drive();
            assert_eq!(net.ends[1].read(net.time, accepted, &mut [0; 100_000]), Ok(100_000));
        }
        conns.push(conn);
    }
    for conn in conns {
        net.ends[0].write(net.time, conn, &[0; 200_000], Ending::Write).unwrap();
    }
    let mut batch = TransmitBatch::new(128, 1 << 20);
    net.ends[0].poll_transmit(net.time, &mut batch);
    let sender: Vec<_> = (0..batch.len()).map(|i| batch.connection(i)).collect();
    let gso_batches =
        sender.chunk_by(|a, b| a == b).filter(|gso_batch| gso_batch.len() >= 40).count();
    assert!(gso_batches >= 2, "{sender:?}");
}

//= PRP-UDP-6, type=test
#[test]
fn udp__less_than_a_gso_batch_waits_while_an_acknowledgement_is_sure_to_come() {
    // What is written, how long a datagram takes, how many segments leave at once.
    for (len, ending, delay, segments) in [
        (300_000, Ending::Write, NEAR, 4 * 44),
        (300_000, Ending::Message, NEAR, 207),
        (300_000, Ending::Write, MS, 207),
        (200_000, Ending::Write, NEAR, 138),
    ] {
        let mut net = Net::new(HOSTS);
        let (client, server) = net.established();
        net.grow((client, server), delay);
        assert_eq!(
            net.segments_at_once(client, len, ending),
            segments,
            "{len} {ending:?} {delay:?}"
        );
        net.drive_in(delay);
        assert_eq!(net.ends[1].read(net.time, server, &mut vec![0; len]), Ok(len));
    }
}

//= PRP-UDP-6, type=test
#[test]
fn udp__what_is_left_of_gso_batches_of_few_segments_waits() {
    let mut net = Net::with_gso_batches(HOSTS, Device::WINDOW, 7);
    let (client, server) = net.established();
    net.grow((client, server), NEAR);
    net.ends[0].write(net.time, client, &[7; 300_000], Ending::Write).unwrap();
    let mut batch = TransmitBatch::new(1_000, 1 << 20);
    // Of 207, as many as go where each is decided upon.
    assert_eq!(net.ends[0].poll_transmit(net.time, &mut batch), 205);
}

//= PRP-UDP-6, type=test
#[test]
fn udp__what_waits_for_a_gso_batch_goes_with_the_next_write_or_the_end() {
    let mut net = Net::new(HOSTS);
    let (client, server) = net.established();
    net.grow((client, server), NEAR);
    assert_eq!(net.segments_at_once(client, 300_000, Ending::Write), 4 * 44);
    assert_eq!(net.segments_at_once(client, 60_000, Ending::Write), 5 * 44);
    net.ends[0].shutdown_send(net.time, client);
    net.take_out();
    assert_eq!(net.wire.len(), 249, "nothing more comes, but the end");
    net.drive();
    assert_eq!(net.ends[1].read(net.time, server, &mut vec![0; 360_000]), Ok(360_000));
}

//= PRP-WIN-7, type=test
#[test]
fn udp__windows_and_send_buffers_follow_the_devices() {
    for (window, segments) in [(Device::WINDOW, 8 * 44), (Device::MAX_WINDOW, 16 * 44)] {
        let mut net = Net::with_window(HOSTS, window);
        let (client, server) = net.established();
        net.grow((client, server), NEAR);
        assert_eq!(net.segments_at_once(client, window - 10_000, Ending::Write), segments);
    }
    // Expect: what a program has asked for holds, whatever the device says.
    let mut net = Net::with_window(HOSTS, Device::MAX_WINDOW);
    let small = ConnConfig { recv_buffer: Some(200_000), ..ConnConfig::default() };
    let (client, _) = net.established_with(small);
    net.ends[0].write(net.time, client, &[0; 400_000], Ending::Write).unwrap();
    net.drive();
    assert!(net.ends[0].unsent(client) >= 200_000);
}

#[test]
fn udp__a_stream_without_trailers() {
    let mut net = Net::new(HOSTS);
    let (client, server) = net.established_with(ConnConfig { crc: false, ..ConnConfig::default() });
    let written: Vec<u8> = (0..9_000u32).map(|i| i as u8).collect();
    net.ends[0].write(net.time, client, &written, Ending::Write).unwrap();
    net.drive();
    let mut read = [0; 10_000];
    assert_eq!(net.ends[1].read(net.time, server, &mut read), Ok(9_000));
    assert_eq!(read[..9_000], written);
}

#[test]
fn udp__datagrams_of_a_batch_are_whole_and_follow_each_other() {
    let mut net = Net::new(HOSTS);
    let (client, server) = net.established();
    let written: Vec<u8> = (0..9_000u32).map(|i| i as u8).collect();
    net.ends[0].write(net.time, client, &written, Ending::Write).unwrap();
    let mut batch = TransmitBatch::new(64, 1 << 20);
    assert!(net.ends[0].poll_transmit(net.time, &mut batch) > 4);
    let mut end = None;
    let mut datagrams = Vec::new();
    for index in 0..batch.len() {
        let [datagram, rest @ ..] = net.ends[0].frame(&batch, index);
        assert!(rest.iter().all(|piece| piece.is_empty()));
        let range = datagram.as_ptr_range();
        assert!(end.is_none_or(|end| range.start == end), "datagram {index} begins elsewhere");
        end = Some(range.end);
        datagrams.push(datagram.to_vec());
    }
    // Expect: with all that a datagram has, its trailer above all.
    let mut read = [0; 10_000];
    for datagram in datagrams {
        assert_eq!(net.receive(1, udp(0, PORTS[0]), &datagram), Disposition::Accepted);
    }
    let n = net.ends[1].read(net.time, server, &mut read).unwrap();
    assert!(n > 4_000 && read[..n] == written[..n]);
}

//= PRP-ACK-2, type=test
#[test]
fn udp__a_message_of_a_gso_batch_may_be_acknowledged_by_its_answer() {
    let mut net = Net::new(HOSTS);
    let (client, server) = net.established();
    // The congestion window grows beyond a message, and full segments are found.
    for _ in 0..20 {
        net.ends[0].write(net.time, client, &[0; 100_000], Ending::Write).unwrap();
        net.time = net.time + MS;
        net.drive();
        assert_eq!(net.ends[1].read(net.time, server, &mut [0; 100_000]), Ok(100_000));
    }
    net.drive();
    net.time = net.time + MS;
    net.ends[0].write(net.time, client, &[7; 64 * 1024], Ending::Write).unwrap();
    net.take_out();
    let message: Vec<_> = net.wire.drain(..).collect();
    assert!((44..=50).contains(&message.len()), "{} segments", message.len());
    let before = net.sent.len();
    for (from, _, bytes) in message {
        let got = net.ends[1].handle_packet(net.time, DeviceId(0), from, &bytes, None);
        assert_eq!(got, Disposition::Accepted);
        net.take_out();
    }
    assert_eq!(net.sent.len(), before, "an acknowledgement before there can be an answer");
    // Expect: one when the receiver has nothing else to do.
    net.ends[1].handle_idle(net.time);
    net.take_out();
    assert_eq!(net.sent.len(), before + 1);
}

//= PRP-ACK-2, type=test
#[test]
fn udp__a_quarter_of_a_small_window_is_acknowledged() {
    let mut net = Net::new(HOSTS);
    let config = ConnConfig { recv_buffer: Some(24 * 1484), ..ConnConfig::default() };
    let (client, _) = net.established_with(config);
    let mss = usize::from(net.ends[0].terms(client).unwrap().mss);
    let quarter = 24 * 1484 / mss / 4;
    // Messages are segments of their own. The first one confirms the connection.
    for count in [1, quarter - 1, quarter] {
        for _ in 0..count {
            net.ends[0].write(net.time, client, &[7], Ending::Message).unwrap();
        }
        net.take_out();
        let segments: Vec<_> = net.wire.drain(..).collect();
        assert_eq!(segments.len(), count);
        let before = net.sent.len();
        for (from, _, bytes) in segments {
            net.ends[1].handle_packet(net.time, DeviceId(0), from, &bytes, None);
        }
        net.take_out();
        let acknowledged = net.sent.len() > before;
        assert_eq!(acknowledged, count == quarter, "{count} of {quarter}");
        // What is left is acknowledged when there is nothing else to do.
        net.time = net.time + MS;
        net.ends[1].handle_timeout(net.time);
        net.drive();
    }
}

//= PRP-PORT-4, type=test
#[test]
fn unowned_port__is_reported_of_a_datagram_by_any_process() {
    let mut net = Net::new(HOSTS);
    let server = PrpAddr::new(NodeId::new(2).unwrap(), Port::new(81));
    let config = ConnConfig::default();
    let client = net.ends[0].connect(net.time, server, None, config, |_| true).unwrap();
    net.drive();
    // It is not the steward: it was never told to report such ports.
    let Some(Event::UnownedPort(unowned)) = net.ends[1].poll_event() else { panic!("no event") };
    assert_eq!((unowned.port(), unowned.came_by_udp()), (Port::new(81), true));
    net.ends[1].refuse(&unowned);
    net.drive();
    assert_eq!(net.ends[0].take_error(client), Some(ConnError::Refused));
}

/// PRP-NODE-2 and 4: an echo that comes over UDP is answered as it is, and no more than the limit a
/// second.
#[test]
fn echo__is_answered_with_its_padding() {
    let mut net = Net::new(HOSTS);
    let echo = |kind, padding: &[u8]| {
        let [src, dst] = [1, 2].map(|n| NodeId::new(n).expect("a node"));
        let mut transport = TransportHeader::new(
            Port::new(61_000),
            Port::CONTROL,
            crate::seq::Seq::default(),
            crate::seq::SeqWidth::Bits20,
            0,
        );
        transport.flags = (transport.flags | Flags::CTL).with_hops(3);
        let head = Head { ethernet: None, network: NetworkHeader { src, dst }, transport };
        let block = NodeBlock { kind, hops: 0, sequence: 7, id: 9, stamp: 11 };
        crate::wire::sealed(head, &[&block.emit(), padding])
    };
    let ask = |net: &mut Net, bytes: &[u8]| {
        net.ends[1].handle_packet(net.time, DeviceId(0), udp(0, 5233), bytes, None);
        net.wire.clear();
        net.take_out();
        net.wire.drain(..).collect::<Vec<_>>()
    };
    let answers = ask(&mut net, &echo(NodeKind::Echo, b"padding"));
    let [(_, to, bytes)] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(*to, udp(0, 5233), "to the process that asks");
    let frame = Frame::parse_datagram(udp(1, 5240), bytes).expect("well formed");
    let block = NodeBlock::of(&frame).expect("with a trailer");
    assert_eq!((block.kind, block.hops, block.sequence), (NodeKind::EchoReply, 3, 7));
    assert_eq!((block.id, block.stamp, &frame.payload[NodeBlock::LEN..]), (9, 11, &b"padding"[..]));
    // Expect: no answer to an answer, to a bad trailer, and to too many.
    assert!(ask(&mut net, &echo(NodeKind::EchoReply, b"")).is_empty());
    let mut bad = echo(NodeKind::Echo, b"");
    *bad.last_mut().expect("a trailer") ^= 1;
    assert!(ask(&mut net, &bad).is_empty());
    let answered = (0..2000).filter(|_| !ask(&mut net, &echo(NodeKind::Echo, b"")).is_empty());
    assert!(answered.count() < 1500);
}

/// A pair of which both ends have one key, and that of which the client has asked: its connection,
/// and its request.
fn keyed_request() -> (Net, ConnHandle, Vec<u8>) {
    use prp_key::{Aes128Gcm, KeyFile, Keyring, Member, Mode, Secret, Seed};
    let mut net = Net::new(HOSTS);
    let file = KeyFile::new(Mode::Seal, 1, Secret::new([7; 32]));
    for (end, seed) in net.ends.iter_mut().zip([1, 2]) {
        end.set_member(Member::<Aes128Gcm>::new(Keyring::new(&file), Seed::new([seed; 32])));
    }
    let server = PrpAddr::new(NodeId::new(2).unwrap(), Port::new(80));
    let config = ConnConfig::default();
    let c = net.ends[0].connect(net.time, server, None, config, |_| true).unwrap();
    net.take_out();
    let (.., request) = net.wire[0].clone();
    (net, c, request)
}

/// PRP-KEY-17: no probe or answer that anybody can make, from another port of the peer's machine,
/// moves a connection that is being made.
#[test]
fn key__nothing_forged_moves_a_request() {
    use crate::wire::{Control, MAX_CONTROL_LEN};
    let (mut net, c, request) = keyed_request();
    net.ends[1].listen(Port::new(80), 16, ConnConfig::default()).unwrap();
    let (client, server) = net.ends[0].ends(c).unwrap();
    let id = net.ends[0].table.get(c).unwrap().ids.local;
    let forged = |from: PrpAddr, to: PrpAddr, flag: Flags, payload: &[u8]| {
        let frame = hostile::forge(from, to, flag, 0, payload, Some(CrcKey::NONE));
        frame[crate::wire::ETHERNET_LEN..].to_vec()
    };
    let before = net.ends[0].current_path(c);
    let mut block = [0; MAX_CONTROL_LEN];
    let len = Control::Probe { to: id, from: 77, number: 0 }.emit(&mut block);
    let probe = forged(server, client, Flags::CTL, &block[..len]);
    net.receive(0, udp(1, 5299), &probe);
    assert_eq!(net.ends[0].current_path(c), before);

    net.receive(1, udp(0, PORTS[0]), &request);
    let s = net.ends[1].handles()[0];
    let before = net.ends[1].current_path(s);
    let answer = forged(client, server, Flags::CACK, &[]);
    net.receive(1, udp(0, 5299), &answer);
    assert_eq!(net.ends[1].current_path(s), before);

    net.drive();
    assert_eq!(net.ends[0].state(c), State::OPEN);
    assert_eq!(net.ends[0].current_path(c).unwrap().1, udp(1, PORTS[1]), "its answer says so");
}

/// PRP-KEY-17: whoever sends a recorded handshake again from another port of the peer's machine
/// does not get the frames of the connection; an authentic frame moves them.
#[test]
fn key__recorded_handshakes_do_not_move_the_peer_s_port() {
    let (mut net, c, request) = keyed_request();
    let listener = net.ends[1].listen(Port::new(80), 16, ConnConfig::default()).unwrap();
    net.receive(1, udp(0, PORTS[0]), &request);
    net.take_out();
    let (.., answer) = net.wire.back().cloned().unwrap();
    net.drive();
    let s = net.ends[1].accept(net.time, listener).expect("the client has spoken");

    let paths = |net: &Net| [net.ends[0].current_path(c), net.ends[1].current_path(s)];
    let before = paths(&net);
    for (at, frame) in [(1, &request), (0, &answer)] {
        net.receive(at, udp(1 - at, 5299), frame);
        assert_eq!(paths(&net), before);
    }
    net.drive();
    net.ends[0].write(net.time, c, b"moved", Ending::Write).unwrap();
    net.take_out();
    let (.., data) = net.wire.pop_front().unwrap();
    net.receive(1, udp(0, 5299), &data);
    assert_eq!(paths(&net)[1].unwrap().1, udp(0, 5299));
}

/// Lets datagrams cross until none is in flight, and notes each: to which end, from where. What
/// goes to a port of nobody is lost.
fn cross_noted(net: &mut Net, noted: &mut Vec<(usize, LinkAddr, Vec<u8>)>) {
    net.take_out();
    while let Some((from, to, bytes)) = net.wire.pop_front() {
        let LinkAddr::Udp { peer, port } = to else { panic!("no route over Ethernet") };
        let at = usize::from(peer.0);
        if [5230, PORTS[at]].contains(&port) {
            net.receive(at, from, &bytes);
            noted.push((at, from, bytes));
        }
        net.take_out();
    }
}

/// PRP-KEY-10, 12 and 17: who has recorded each datagram of a connection and sends it again, as it
/// was or changed, from the peer's port or from another one of its machine, changes nothing.
#[test]
fn key__recorded_and_changed_datagrams_change_nothing() {
    const STRANGE: u16 = 5299;
    let (mut net, c, _) = keyed_request();
    let listener = net.ends[1].listen(Port::new(80), 16, ConnConfig::default()).unwrap();
    let mut recorded = Vec::new();
    cross_noted(&mut net, &mut recorded);
    let s = net.ends[1].accept(net.time, listener).expect("the client has spoken");
    for (at, from, to) in [(0, c, s), (1, s, c)] {
        assert_eq!(net.ends[at].write(net.time, from, &[7; 5000], Ending::Write), Ok(5000));
        cross_noted(&mut net, &mut recorded);
        assert_eq!(net.ends[1 - at].read(net.time, to, &mut [0; 6000]), Ok(5000));
    }
    cross_noted(&mut net, &mut recorded);
    let paths = |net: &Net| [net.ends[0].current_path(c), net.ends[1].current_path(s)];
    let before = paths(&net);
    for (at, from, bytes) in &recorded {
        let LinkAddr::Udp { peer, port } = *from else { panic!("no route over Ethernet") };
        for port in [port, STRANGE] {
            let from = LinkAddr::Udp { peer, port };
            net.receive(*at, from, bytes);
            // Routers change HOPS.
            let is_taken = |bit: &usize| !(112..116).contains(bit);
            for bit in (0..8 * bytes.len()).step_by(29).filter(is_taken) {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 0x80 >> (bit % 8);
                net.receive(*at, from, &changed);
            }
            assert_eq!(paths(&net), before);
        }
    }
    cross_noted(&mut net, &mut Vec::new());
    assert_eq!(paths(&net), before);
    assert_eq!([&net.ends[0], &net.ends[1]].map(Endpoint::connections), [1, 1]);
    assert!(!net.ends[0].is_readable(c) && !net.ends[1].is_readable(s));
    for (at, from, to) in [(0, c, s), (1, s, c)] {
        assert_eq!(net.ends[at].write(net.time, from, b"alive", Ending::Write), Ok(5));
        net.drive();
        let mut read = [0; 9];
        assert_eq!(net.ends[1 - at].read(net.time, to, &mut read), Ok(5));
        assert_eq!(&read[..5], b"alive");
    }
}
