//! Nodes of one machine that reach each other by Unix sockets.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::addr::{DeviceId, LinkAddr};
use crate::config::EndpointConfig;
use crate::device::Capabilities;
use crate::endpoint::{Device, Endpoint};
use crate::event::Disposition;
use crate::hosts::Hosts;
use crate::route::RouteTable;
use crate::time::Instant;
use crate::transmit::TransmitBatch;
use crate::wire::{NodeBlock, NodeKind};

const MTU: u32 = 16 * 1024;

/// The node and the number of each process: the last two are of one node.
const PROCESSES: [(u16, u16); 3] = [(1, 11), (2, 21), (2, 22)];

fn unix(number: u16, process: u16) -> LinkAddr {
    LinkAddr::Unix { node: NodeId::new(number).expect("a node"), process }
}

/// Three processes, and what crosses between them.
struct Net {
    ends: [Endpoint; 3],
    time: Instant,
    wire: VecDeque<(LinkAddr, LinkAddr, Vec<u8>)>,
    /// To where datagrams went, in order.
    sent: Vec<LinkAddr>,
}

impl Net {
    fn new() -> Self {
        let end = |at: usize| {
            let hosts = Hosts::parse(b"1 unix:/run/prp\n2 unix:/run/prp\n").expect("well formed");
            let (number, process) = PROCESSES[at];
            let local = NodeId::new(number).expect("a node");
            let routes = RouteTable::build(&hosts, local, |_| Some(DeviceId(0)));
            let device = Device::new(unix(number, 0), Capabilities::datagrams(MTU, 1));
            Endpoint::new(EndpointConfig::default(), routes, vec![device], [process as u8; 32])
        };
        let ends = [end(0), end(1), end(2)];
        Self { ends, time: Instant::ZERO, wire: VecDeque::new(), sent: Vec::new() }
    }

    fn take_out(&mut self) {
        for (end, (node, process)) in self.ends.iter_mut().zip(PROCESSES) {
            let mut batch = TransmitBatch::new(64, 1 << 20);
            while end.poll_transmit(self.time, &mut batch) > 0 {
                for i in 0..batch.len() {
                    let bytes = end.frame(&batch, i).concat();
                    self.sent.push(batch.to(i));
                    self.wire.push_back((unix(node, process), batch.to(i), bytes));
                }
                batch.clear();
            }
        }
    }

    /// Lets datagrams cross until none is in flight: each to its process, or to all of its node.
    fn drive(&mut self) {
        self.take_out();
        while let Some((from, to, bytes)) = self.wire.pop_front() {
            for (at, (node, process)) in PROCESSES.into_iter().enumerate() {
                if [unix(node, process), unix(node, 0)].contains(&to) {
                    self.receive(at, from, &bytes);
                }
            }
            self.take_out();
        }
    }

    fn receive(&mut self, at: usize, from: LinkAddr, bytes: &[u8]) -> Disposition {
        let got = self.ends[at].handle_packet(self.time, DeviceId(0), from, bytes, None);
        self.ends[at].handle_idle(self.time);
        got
    }

    /// A request of the first process for port 80 of node 2.
    fn request(&mut self, config: ConnConfig) -> ConnHandle {
        let server = PrpAddr::new(NodeId::new(2).unwrap(), Port::new(80));
        self.ends[0].connect(self.time, server, None, config, |_| true).unwrap()
    }
}

//= PRP-UNIX-1, type=test
//= PRP-UNIX-4, type=test
#[test]
fn unix__a_request_goes_to_all_processes_of_the_node_and_what_follows_to_one() {
    let mut net = Net::new();
    let listener = net.ends[2].listen(Port::new(80), 16, ConnConfig::default()).unwrap();
    let client = net.request(ConnConfig::default());
    net.drive();
    let server = net.ends[2].accept(net.time, listener).expect("the handshake went through");
    assert_eq!(net.sent[..2], [unix(2, 0), unix(1, 11)], "the request and the answer");
    assert!(net.sent[2..].iter().all(|to| [unix(2, 22), unix(1, 11)].contains(to)));
    net.sent.clear();
    let written = [7; 20_000];
    assert_eq!(net.ends[0].write(net.time, client, &written, Ending::Write), Ok(20_000));
    net.take_out();
    let segments: Vec<_> = net.wire.iter().map(|(_, _, bytes)| bytes.len()).collect();
    assert_eq!(segments.first(), Some(&(MTU as usize)), "no size has to be found out");
    net.drive();
    let mut got = [0; 100_000];
    assert_eq!(net.ends[2].read(net.time, server, &mut got), Ok(20_000));
    assert_eq!(got[..20_000], written);
    assert!(net.sent.iter().all(|to| [unix(2, 22), unix(1, 11)].contains(to)));
}

//= PRP-UNIX-4, type=test
#[test]
fn unix__the_steward_alone_reports_a_port_that_no_process_owns() {
    let mut net = Net::new();
    let client = net.request(ConnConfig::default());
    net.drive();
    assert!(net.ends[1].poll_event().is_none() && net.ends[2].poll_event().is_none());
    net.ends[2].report_unowned_ports(true);
    net.time = net.time + Duration::from_secs(5);
    net.ends[0].handle_timeout(net.time);
    net.drive();
    assert!(net.ends[1].poll_event().is_none());
    let Some(Event::UnownedPort(unowned)) = net.ends[2].poll_event() else { panic!("no event") };
    assert_eq!((unowned.port(), unowned.came_by_udp()), (Port::new(80), false));
    net.ends[2].refuse(&unowned);
    net.drive();
    assert_eq!(net.ends[0].take_error(client), Some(ConnError::Refused));
}

//= PRP-UNIX-5, type=test
#[test]
fn unix__a_request_without_options_is_refused() {
    let mut net = Net::new();
    let config = ConnConfig { classic: Classic::Allow, ..ConnConfig::default() };
    net.ends[1].listen(Port::new(80), 16, config).unwrap();
    net.request(ConnConfig { classic: Classic::Only, ..ConnConfig::default() });
    net.take_out();
    let (from, _, bytes) = net.wire.pop_front().unwrap();
    assert_eq!(net.receive(1, from, &bytes), Disposition::Dropped(DropReason::Refused));
}

//= PRP-NET-4, type=test
#[test]
fn unix__a_node_reaches_itself() {
    let mut net = Net::new();
    let config = ConnConfig::default();
    net.ends[2].listen(Port::new(80), 16, config).unwrap();
    let server = PrpAddr::new(NodeId::new(2).unwrap(), Port::new(80));
    let conn = net.ends[1].connect(net.time, server, None, config, |_| true).unwrap();
    net.drive();
    assert_eq!(net.sent[0], unix(2, 0));
    assert_eq!(net.ends[1].current_path(conn), Some((DeviceId(0), unix(2, 22))));
}

//= PRP-UNIX-4, type=test
#[test]
fn unix__the_steward_alone_answers_an_echo() {
    let mut net = Net::new();
    let [src, dst] = [1, 2].map(|number| NodeId::new(number).expect("a node"));
    let (seq, width) = (crate::seq::Seq::default(), crate::seq::SeqWidth::Bits20);
    let mut transport = TransportHeader::new(Port::new(61_000), Port::CONTROL, seq, width, 0);
    transport.flags |= Flags::CTL;
    let head = Head { ethernet: None, network: NetworkHeader { src, dst }, transport };
    let block = NodeBlock { kind: NodeKind::Echo, hops: 0, sequence: 7, id: 9, stamp: 11 };
    let echo = crate::wire::sealed(head, &[&block.emit()]);
    // All of them answer for ports that they hold.
    net.ends.iter_mut().for_each(|end| end.report_unowned_ports(true));
    net.ends[2].answer_unix_echoes(true);
    for (at, answers) in [(1, 0), (2, 1)] {
        assert_eq!(net.receive(at, unix(1, 11), &echo), Disposition::Accepted);
        net.take_out();
        assert_eq!(net.wire.len(), answers);
    }
    assert_eq!(net.sent, [unix(1, 11)]);
}
