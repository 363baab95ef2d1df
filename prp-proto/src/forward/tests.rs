mod edges;

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::addr::{MacAddr, Port};
use crate::hosts::Hosts;
use crate::seq::{Seq, SeqWidth};
use crate::wire::{
    Control, CrcKey, DeviceName, ETHERTYPE, EthernetHeader, MAX_CONTROL_LEN, NetworkHeader,
    NodeBlock, NodeKind, Offer, ReliabilitySet, ResetBlock, ResetReason, TransportHeader,
    UnreachableCause, ethernet_source, sealed,
};

fn node(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

fn mac(last: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, last])
}

/// Our hardware address on `eth0` is `…:a0`, on `eth1` `…:a1`.
fn router(text: &str, local: u16) -> Forwarder {
    let hosts = Hosts::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    let routes = RouteTable::build(&hosts, node(local), |name| match name {
        "eth0" => Some(DeviceId(0)),
        "eth1" => Some(DeviceId(1)),
        _ => None,
    });
    let device = |last| Device::ethernet(mac(last), 1500);
    Forwarder::new(ETHERTYPE, routes, vec![device(0xa0), device(0xa1)])
}

/// Node 5 between 1 and 2 on the left and 3 on the right; 9 is behind either of them.
const MIDDLE: &str = "
5 02:00:00:00:00:a0 eth0
1 02:00:00:00:00:01 eth0
2 02:00:00:00:00:02 eth0
3 02:00:00:00:00:03 eth1
7 via 3
9 via 3, via 2 metric 4
";

fn head(src: u16, dst: u16, from: MacAddr, to: MacAddr, hops: u8) -> Head {
    let ports = (Port::new(70), Port::new(80));
    let mut transport = TransportHeader::new(ports.0, ports.1, Seq::new(3), SeqWidth::Bits20, 0);
    transport.flags = (transport.flags | Flags::EOM).with_hops(hops);
    Head {
        ethernet: Some(EthernetHeader { dst: to, src: from, ethertype: ETHERTYPE }),
        network: NetworkHeader { src: node(src), dst: node(dst) },
        transport,
    }
}

/// A frame from 1 by its own hand, on `eth0`.
fn from_1(dst: u16, hops: u8) -> Vec<u8> {
    sealed(head(1, dst, mac(1), mac(0xa0), hops), &[b"some data"])
}

fn sent_on(departure: Egress, frame: &[u8]) -> Vec<u8> {
    [departure.head(), &frame[HEADER_LEN..]].concat()
}

#[track_caller]
fn forwarded(router: &mut Forwarder, device: u16, frame: &[u8]) -> (u16, Vec<u8>) {
    match router.handle_packet(DeviceId(device), ethernet_source(frame), frame) {
        Outcome::Forward(departure) => (departure.device.0, sent_on(departure, frame)),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn dropped(router: &mut Forwarder, device: u16, frame: &[u8]) -> ForwardDrop {
    match router.handle_packet(DeviceId(device), ethernet_source(frame), frame) {
        Outcome::Dropped(why, _) => why,
        other => panic!("{other:?}"),
    }
}

//= PRP-FWD-2, PRP-HOPS-2, PRP-CRC-2, type=test
#[test]
fn handle_packet__goes_on_with_new_addresses_one_hop_more_and_its_trailer_valid() {
    let mut router = router(MIDDLE, 5);
    for hops in 0..Flags::MAX_HOPS {
        let frame = from_1(7, hops);
        let (device, out) = forwarded(&mut router, 0, &frame);
        assert_eq!(device, 1);
        let parsed = Frame::parse(&out, ETHERTYPE).unwrap();
        assert_eq!(parsed.head, head_with_len(1, 7, mac(0xa1), mac(3), hops + 1, parsed.payload));
        assert!(parsed.crc_ok(CrcKey::NONE));
        assert_eq!(parsed.payload, b"some data");
    }
    assert_eq!(dropped(&mut router, 0, &from_1(7, 15)), ForwardDrop::HopLimit);
    assert_eq!(router.stats().frames, 15);
    assert_eq!(router.stats().drops[ForwardDrop::HopLimit], 1);
    assert_eq!(router.stats().drops.total(), 1);
}

fn head_with_len(src: u16, dst: u16, from: MacAddr, to: MacAddr, hops: u8, data: &[u8]) -> Head {
    let mut head = head(src, dst, from, to, hops);
    head.transport.len = data.len() as u16;
    head
}

//= PRP-FWD-1, type=test
#[test]
fn handle_packet__believes_only_sources_it_would_send_to_by_that_hop() {
    let mut router = router(MIDDLE, 5);
    let cases = [
        // Node 1 from node 2's address, and by the other device.
        (0, head(1, 7, mac(2), mac(0xa0), 0), ForwardDrop::BadSource),
        (1, head(1, 7, mac(1), mac(0xa1), 0), ForwardDrop::BadSource),
        // A node that is not listed, and ourselves.
        (0, head(77, 7, mac(1), mac(0xa0), 0), ForwardDrop::BadSource),
        (0, head(5, 7, mac(1), mac(0xa0), 0), ForwardDrop::BadSource),
        // For another host on the segment, and from a device we have not.
        (0, head(1, 7, mac(1), mac(0xa1), 0), ForwardDrop::NotOurMac),
        (9, head(1, 7, mac(1), mac(0xa0), 0), ForwardDrop::NotOurMac),
    ];
    for (device, head, why) in cases {
        assert_eq!(dropped(&mut router, device, &sealed(head, &[])), why, "{head:?}");
    }
    // A backup route is a route: 9 may come from 2.
    let (device, _) = forwarded(&mut router, 0, &sealed(head(9, 3, mac(2), mac(0xa0), 1), &[]));
    assert_eq!(device, 1);
}

#[test]
fn handle_packet__knows_its_own() {
    let mut router = router(MIDDLE, 5);
    let frame = from_1(5, 3);
    assert!(matches!(
        router.handle_packet(DeviceId(0), ethernet_source(&frame), &frame),
        Outcome::Local(_)
    ));
    assert_eq!((router.stats().local, router.stats().frames), (1, 0));
}

#[test]
fn handle_packet__without_a_route_or_room_drops() {
    let mut router = router(MIDDLE, 5);
    assert_eq!(dropped(&mut router, 0, &from_1(12, 0)), ForwardDrop::NoRoute);
    let long = sealed(head(1, 7, mac(1), mac(0xa0), 0), &[&[0; 1484]]);
    assert_eq!(dropped(&mut router, 0, &long), ForwardDrop::TooBig, "1484 and a trailer");
    let full = &long[..1514];
    assert_eq!(forwarded(&mut router, 0, full).1.len(), 1514);
}

//= PRP-FWD-3, type=test
#[test]
fn next_hop__takes_the_best_that_is_usable() {
    let mut router = router(MIDDLE, 5);
    assert_eq!(forwarded(&mut router, 0, &from_1(9, 0)).0, 1);
    assert!(router.set_use(DeviceId(1), mac(3), HopUse::LastResort));
    assert!(!router.set_use(DeviceId(1), mac(3), HopUse::LastResort), "nothing new");
    let (device, out) = forwarded(&mut router, 0, &from_1(9, 0));
    assert_eq!((device, &out[..6]), (0, &mac(2).0[..]));
    assert_eq!(dropped(&mut router, 0, &from_1(7, 0)), ForwardDrop::AllDown);
    assert_eq!(forwarded(&mut router, 0, &from_1(3, 0)).0, 1, "3 itself may be alive");
    assert!(router.set_use(DeviceId(1), mac(3), HopUse::All));
    assert_eq!(forwarded(&mut router, 0, &from_1(9, 0)).0, 1);
    // Without a link nothing reaches 3.
    assert!(router.set_link_up(DeviceId(1), false) && !router.set_link_up(DeviceId(1), false));
    for (dst, expected) in [(9, Ok(2)), (7, Err(())), (3, Err(()))] {
        let flow = Flow { src: 1, dst, src_port: 1, dst_port: 2 };
        let next = router.next_hop(node(dst), flow, None).map(|hop| hop.node.number());
        assert_eq!(next.map_err(drop), expected, "{dst}");
    }
    assert!(router.set_link_up(DeviceId(1), true));
    assert_eq!(forwarded(&mut router, 0, &from_1(9, 0)).0, 1);
}

/// Where node 3 is reached directly, and by 2 as a backup.
const DETOUR: &str = "5 02:00:00:00:00:a0 eth0\n1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n\
                      3 02:00:00:00:00:03 eth1, via 2 metric 1\n9 via 3, via 2 metric 1\n";

//= PRP-FWD-3, type=test
#[test]
fn next_hop__a_neighbour_whose_router_has_stopped_gets_its_own_frames_and_no_others() {
    let mut router = router(DETOUR, 5);
    let next = |router: &Forwarder, dst, from| {
        let flow = Flow { src: 1, dst, src_port: 1, dst_port: 2 };
        router.next_hop(node(dst), flow, from).map(|hop| hop.node.number())
    };
    let by_2 = Some((DeviceId(0), mac(2).into()));
    // Expect: the route round for what it would forward, in each case.
    for (hop_use, itself) in [(HopUse::Itself, 3), (HopUse::LastResort, 2)] {
        router.set_use(DeviceId(1), mac(3), hop_use);
        let found = [(3, None), (9, None), (3, by_2)].map(|(dst, from)| next(&router, dst, from));
        // What 2 has sent here does not go back: 3 itself may be alive.
        assert_eq!(found, [Ok(itself), Ok(2), Ok(3)], "{hop_use:?}");
    }
    router.set_link_up(DeviceId(1), false);
    assert_eq!(next(&router, 3, by_2), Ok(2), "nothing reaches 3 from here");
}

//= PRP-FWD-3, type=test
#[test]
fn next_hop__goes_back_only_where_no_other_is_left() {
    let mut router = router(MIDDLE, 5);
    // 3 sends us what is for 9: our best route is 3 itself.
    let frame = sealed(head(7, 9, mac(3), mac(0xa1), 1), &[]);
    let (device, out) = forwarded(&mut router, 1, &frame);
    assert_eq!((device, &out[..6]), (0, &mac(2).0[..]));
    router.set_use(DeviceId(0), mac(2), HopUse::LastResort);
    let (device, out) = forwarded(&mut router, 1, &frame);
    assert_eq!((device, &out[..6]), (1, &mac(3).0[..]));
}

//= PRP-FWD-4, type=test
#[test]
fn next_hop__spreads_flows_over_equals_and_keeps_each_on_its_path() {
    let text = "5 02:00:00:00:00:a0 eth0\n1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n\
                3 02:00:00:00:00:03 eth1\n9 via 2 metric 1, via 3 metric 1, via 1 metric 2\n";
    let router = router(text, 5);
    let mut taken = [0; 4];
    for src_port in 0..256 {
        let flow = Flow { src: 1, dst: 9, src_port, dst_port: 80 };
        let hop = router.next_hop(node(9), flow, None).unwrap();
        assert_eq!(router.next_hop(node(9), flow, None).unwrap(), hop);
        taken[usize::from(hop.node.number())] += 1;
    }
    assert_eq!((taken[1], taken[2] + taken[3]), (0, 256), "the worse one is none of the equals");
    assert!(taken[2].min(taken[3]) > 64, "{taken:?}");
}

//= PRP-FWD-4, type=test
#[test]
fn next_hop__routers_in_a_row_do_not_divide_alike() {
    // The same neighbours, seen from two routers: were they to agree, the second one would see only
    // flows that have one next hop for it.
    let others = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n3 02:00:00:00:00:03 eth1\n\
                  9 via 2 metric 1, via 3 metric 1\n";
    let routers: Vec<_> = (10..26)
        .map(|own| router(&alloc::format!("{own} 02:00:00:00:00:a0 eth0\n{others}"), own))
        .collect();
    let next = |at: usize, src_port| {
        let flow = Flow { src: 1, dst: 9, src_port, dst_port: 80 };
        routers[at].next_hop(node(9), flow, None).unwrap().node
    };
    for first in 0..routers.len() {
        for second in 0..first {
            let alike = (0..256).filter(|port| next(first, *port) == next(second, *port)).count();
            assert!((64..192).contains(&alike), "{first} and {second}: {alike} of 256");
        }
    }
}

/// Frames between routers whose prphosts send them round in circles end after 15 of them.
fn circles(routers: &mut [Forwarder], mut at: usize, mut frame: Vec<u8>) -> usize {
    let mut crossed = 0;
    loop {
        match routers[at].handle_packet(DeviceId(0), ethernet_source(&frame), &frame) {
            Outcome::Forward(departure) => {
                frame = sent_on(departure, &frame);
                at = routers
                    .iter()
                    .position(|r| r.devices()[0].addr.mac().unwrap().0 == frame[..6])
                    .expect("to one of them");
                crossed += 1;
            }
            Outcome::Dropped(ForwardDrop::HopLimit, _) => return crossed,
            other => panic!("{other:?}"),
        }
    }
}

//= PRP-HOPS-2, type=test
#[test]
fn handle_packet__circles_end_at_the_hop_limit() {
    for size in [2u16, 3] {
        let mut routers: Vec<_> = (0..size)
            .map(|i| {
                let (own, next) = (i + 1, (i + 1) % size + 1);
                // Every router thinks the next one leads to 9, and that 1 may come from anywhere.
                let everyone: String = (1..=size)
                    .filter(|n| *n != own)
                    .map(|n| alloc::format!(", 02:00:00:00:00:{n:02x} eth0 metric 1"))
                    .collect();
                let text = alloc::format!(
                    "{own} 02:00:00:00:00:{own:02x} eth0\n8 02:00:00:00:00:08 eth0{everyone}\n\
                     9 02:00:00:00:00:{next:02x} eth0\n"
                );
                let hosts = Hosts::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
                let routes = RouteTable::build(&hosts, node(own), |_| Some(DeviceId(0)));
                let device = Device::ethernet(mac(own as u8), 1500);
                Forwarder::new(ETHERTYPE, routes, vec![device])
            })
            .collect();
        let frame = sealed(head(8, 9, mac(8), mac(1), 0), &[b"lost"]);
        assert_eq!(circles(&mut routers, 0, frame), 15, "{size} routers");
    }
}

fn echo(dst: u16, hops: u8) -> Vec<u8> {
    let mut head = head(1, dst, mac(1), mac(0xa0), hops);
    head.transport.dst_port = Port::CONTROL;
    head.transport.flags = Flags::CTL.with_hops(hops);
    let block = NodeBlock { kind: NodeKind::Echo, hops: 0, sequence: 7, id: 8, stamp: 9 };
    sealed(head, &[&block.emit(), b"padding"])
}

fn answer_to(router: &mut Forwarder, frame: &[u8]) -> Option<(Head, NodeBlock, Vec<u8>)> {
    let answered = match router.handle_packet(DeviceId(0), ethernet_source(frame), frame) {
        Outcome::Local(frame) => answer(router, &frame, None),
        Outcome::Dropped(why, Some(frame)) => answer(router, &frame, Some(why)),
        _ => None,
    }?;
    assert_eq!(answered.device, DeviceId(0));
    let parsed = Frame::parse(&answered.bytes, ETHERTYPE).unwrap();
    let block = NodeBlock::of(&parsed).expect("a genuine node block");
    Some((parsed.head, block, parsed.payload[NodeBlock::LEN..].to_vec()))
}

//= PRP-NODE-2, type=test
#[test]
fn answer__echoes_come_back_whole() {
    let (head, block, rest) = answer_to(&mut router(MIDDLE, 5), &echo(5, 2)).unwrap();
    assert_eq!((head.network.src, head.network.dst), (node(5), node(1)));
    let ethernet = head.ethernet.unwrap();
    assert_eq!((ethernet.src, ethernet.dst), (mac(0xa0), mac(1)));
    assert_eq!((head.transport.src_port, head.transport.dst_port), (Port::CONTROL, Port::new(70)));
    assert_eq!(head.transport.flags.hops(), 0);
    let expected = NodeBlock { kind: NodeKind::EchoReply, hops: 2, sequence: 7, id: 8, stamp: 9 };
    assert_eq!((block, &rest[..]), (expected, &b"padding"[..]));
}

//= PRP-NODE-3, type=test
#[test]
fn answer__routers_report_where_echoes_ended() {
    let mut router = router(MIDDLE, 5);
    let kind = |router: &mut Forwarder, frame: &[u8]| answer_to(router, frame).map(|a| a.1.kind);
    assert_eq!(kind(&mut router, &echo(7, 15)), Some(NodeKind::TimeExceeded));
    assert_eq!(kind(&mut router, &echo(12, 0)), Some(NodeKind::Unreachable));
    router.set_use(DeviceId(1), mac(3), HopUse::LastResort);
    assert_eq!(kind(&mut router, &echo(7, 0)), Some(NodeKind::Unreachable));
}

//= PRP-NODE-4, type=test
#[test]
fn answer__nothing_but_genuine_echoes_makes_a_router_speak() {
    let mut router = router(MIDDLE, 5);
    // Data that crossed too many routers, an echo with a broken trailer, an answer, another port.
    assert_eq!(answer_to(&mut router, &from_1(7, 15)), None);
    let mut broken = echo(5, 0);
    let last = broken.len() - 1;
    broken[last] ^= 1;
    assert_eq!(answer_to(&mut router, &broken), None);
    let mut reply = head(1, 5, mac(1), mac(0xa0), 0);
    reply.transport.dst_port = Port::CONTROL;
    reply.transport.flags = Flags::CTL;
    let block = NodeBlock { kind: NodeKind::EchoReply, hops: 0, sequence: 1, id: 1, stamp: 1 };
    assert_eq!(answer_to(&mut router, &sealed(reply, &[&block.emit()])), None);
    let echo = NodeBlock { kind: NodeKind::Echo, ..block };
    reply.transport.dst_port = Port::new(80);
    assert_eq!(answer_to(&mut router, &sealed(reply, &[&echo.emit()])), None);
}

//= PRP-NODE-5, type=test
#[test]
fn no_onward_route__is_reported_to_clients_that_ask_for_a_node_unknown() {
    let mut router = router(MIDDLE, 5);
    let reliability = ReliabilitySet::ALL;
    let offer = Offer { id: 0xabcd, echo: 0, reliability, crc: false, mss: 1484, window: 64 };
    let of = |dst, flags: Flags, payload: &[u8]| {
        let mut head = head(1, dst, mac(1), mac(0xa0), 0);
        head.transport.flags = flags.with_hops(2);
        sealed(head, &[payload])
    };
    let answered = |router: &mut Forwarder, frame: &[u8]| match router.handle_packet(
        DeviceId(0),
        ethernet_source(frame),
        frame,
    ) {
        Outcome::Dropped(why, Some(frame)) => no_onward_route(router, &frame, why),
        _ => None,
    };
    let request = of(12, Flags::CREQ, &offer.emit());
    let answer = answered(&mut router, &request).expect("an answer");
    let parsed = Frame::parse(&answer.bytes, ETHERTYPE).unwrap();
    let (network, transport) = (parsed.head.network, parsed.head.transport);
    assert_eq!((network.src, network.dst), (node(5), node(1)));
    assert_eq!((transport.src_port, transport.dst_port), (Port::CONTROL, Port::new(70)));
    let kind = NodeKind::Unreachable;
    let expected = NodeBlock { kind, hops: 2, sequence: 80, id: 0xabcd, stamp: 12 };
    assert_eq!(NodeBlock::of(&parsed), Some(expected));
    // A classic peer's request, a grant, data, and a broken trailer.
    for frame in [
        of(12, Flags::CREQ, &[]),
        of(12, Flags::CACK, &offer.emit()),
        of(12, Flags::ACK, b"data"),
        [&request[..request.len() - 1], &[!request[request.len() - 1]]].concat(),
    ] {
        assert_eq!(answered(&mut router, &frame), None);
    }
    // Expect: so are those whose route is known, and down.
    router.set_use(DeviceId(1), mac(3), HopUse::LastResort);
    let answer = answered(&mut router, &of(7, Flags::CREQ, &offer.emit())).expect("an answer");
    assert_eq!(cause_of(&answer.bytes), Some(UnreachableCause::RouterDown(node(3))));
    // A frame that is too large, and one that has crossed too many routers.
    for why in [ForwardDrop::TooBig, ForwardDrop::HopLimit] {
        let request = Frame::parse(&request, ETHERTYPE).unwrap();
        assert_eq!(no_onward_route(&router, &request, why), None, "{why:?}");
    }
}

/// Why an answer says that there is no route on.
fn cause_of(answer: &[u8]) -> Option<UnreachableCause> {
    let frame = Frame::parse(answer, ETHERTYPE).unwrap();
    UnreachableCause::of(&frame, &NodeBlock::of(&frame)?)
}

//= PRP-NODE-6, type=test
#[test]
fn answer__has_the_cause_of_the_best_route() {
    let mut router = router(MIDDLE, 5);
    router.add_device(Device::ethernet(mac(9), 1500), "eth2");
    let why = |router: &mut Forwarder, dst| {
        let bytes = echo(dst, 0);
        let Outcome::Dropped(why, Some(frame)) =
            router.handle_packet(DeviceId(0), ethernet_source(&bytes), &bytes)
        else {
            return None;
        };
        cause_of(&answer(router, &frame, Some(why)).unwrap().bytes)
    };
    assert_eq!(why(&mut router, 12), Some(UnreachableCause::NoRoute));
    assert_eq!(why(&mut router, 7), None, "there is a route");
    router.set_use(DeviceId(1), mac(3), HopUse::LastResort);
    assert_eq!(why(&mut router, 7), Some(UnreachableCause::RouterDown(node(3))));
    router.set_link_up(DeviceId(1), false);
    assert_eq!(why(&mut router, 7), Some(UnreachableCause::DeviceDown(DeviceName::default())));
    // Expect: the name of a device that has one.
    let hosts = format!("{MIDDLE}8 02:00:00:00:00:08 eth2\n");
    let hosts = Hosts::parse(hosts.as_bytes()).unwrap();
    let number = |name: &str| match name {
        "eth0" => Some(DeviceId(0)),
        "eth1" => Some(DeviceId(1)),
        _ => Some(DeviceId(2)),
    };
    router.set_routes(RouteTable::build(&hosts, node(5), number));
    router.set_link_up(DeviceId(2), false);
    assert_eq!(why(&mut router, 8), Some(UnreachableCause::DeviceDown(DeviceName::new("eth2"))));
}

//= PRP-RST-2, type=test
#[test]
fn refuse__answers_every_frame_that_asks_for_one() {
    let mut router = router(MIDDLE, 5);
    let offer = Offer {
        id: 0xabcd,
        echo: 0,
        reliability: ReliabilitySet::ALL,
        crc: false,
        mss: 1484,
        window: 64,
    };
    let mut block = [0; MAX_CONTROL_LEN];
    let len = Control::Probe { to: 7, from: 0xabcd, number: 0 }.emit(&mut block);
    let of = |flags, payload: &[u8]| {
        let mut head = head(1, 5, mac(1), mac(0xa0), 0);
        head.transport.flags = flags;
        sealed(head, &[payload])
    };
    let frames = [
        (of(Flags::CREQ, &offer.emit()), Some(ResetReason::Refused)),
        (of(Flags::CACK, &offer.emit()), Some(ResetReason::NoConnection)),
        (of(Flags::CTL, &block[..len]), Some(ResetReason::NoConnection)),
        (of(Flags::CREQ, &[]), None),
        (of(Flags::CACK, &[]), None),
        (of(Flags::CTL, &block[..len - 1]), None),
        (of(Flags::RST | Flags::CACK, &offer.emit()), None),
        (from_1(5, 0), None),
    ];
    for (frame, refused) in frames {
        let Outcome::Local(parsed) =
            router.handle_packet(DeviceId(0), ethernet_source(&frame), &frame)
        else {
            panic!()
        };
        let answer = refuse(&router, &parsed);
        assert_eq!(answer.is_some(), refused.is_some());
        let Some((answer, reason)) = answer.zip(refused) else { continue };
        let reset = Frame::parse(&answer.bytes, ETHERTYPE).unwrap();
        assert!(reset.flags().contains(Flags::RST) && reset.crc_ok(CrcKey::NONE));
        let ports = (reset.head.transport.src_port, reset.head.transport.dst_port);
        assert_eq!(ports, (Port::new(80), Port::new(70)));
        let block = ResetBlock::parse(reset.payload).unwrap();
        assert_eq!((block.reason, block.receiver), (reason, 0xabcd));
    }
}

/// Bytes that get past some of the checks: random ones rarely do.
fn arb_frame() -> impl Strategy<Value = Vec<u8>> {
    let nodes = prop_oneof![Just(1u16), Just(3), Just(5), Just(9), any::<u16>()];
    let macs = prop_oneof![Just(1u8), Just(2), Just(3), Just(0xa0), Just(0xa1)];
    let ends = (nodes.clone(), nodes, macs.clone(), macs);
    (ends, any::<u32>(), any::<u16>(), proptest::collection::vec(any::<u8>(), 0..80), 0..120usize)
        .prop_map(|((src, dst, from, to), flags, len, payload, cut)| {
            let mut frame = [&mac(to).0[..], &mac(from).0[..], &ETHERTYPE.to_be_bytes()].concat();
            frame.extend(src.to_be_bytes());
            frame.extend(dst.to_be_bytes());
            frame.extend([0, 70, 0, 0, 0, 3]);
            frame.extend((len % 90).to_be_bytes());
            frame.extend(flags.to_be_bytes());
            frame.extend(payload);
            frame.truncate(cut.max(1));
            frame
        })
}

proptest! {
    //= PRP-FRAME-5, type=test
    #[test]
    fn handle_packet__survives_any_bytes(
        frame in prop_oneof![arb_frame(), proptest::collection::vec(any::<u8>(), 0..64)],
        device in 0..3u16,
    ) {
        let mut router = router(MIDDLE, 5);
        match router.handle_packet(DeviceId(device), ethernet_source(&frame), &frame) {
            Outcome::Forward(departure) => {
                let out = sent_on(departure, &frame);
                let (old, new) = (
                    Frame::parse(&frame, ETHERTYPE).unwrap(),
                    Frame::parse(&out, ETHERTYPE).unwrap(),
                );
                prop_assert_eq!(old.head.network, new.head.network);
                prop_assert_eq!(old.payload, new.payload);
                prop_assert_eq!(old.flags().hops() + 1, new.flags().hops());
                prop_assert_eq!(old.flags().with_hops(0), new.flags().with_hops(0));
            }
            Outcome::Local(frame) => {
                let _ = (answer(&router, &frame, None), refuse(&router, &frame));
            }
            Outcome::Dropped(why, frame) => {
                let _ = frame.map(|frame| answer(&router, &frame, Some(why)));
                prop_assert_eq!(router.stats().drops[why], 1);
            }
        }
        let stats = router.stats();
        prop_assert_eq!(stats.frames + stats.local + stats.drops.total(), 1);
    }
}

/// A router with random routes to 9 by 1, 2, 3 and 4, of which some are down: metrics, and the
/// frames that each is sent; and whether each device has a link.
fn arb_hops() -> impl Strategy<Value = ([(u16, HopUse); 4], [bool; 2])> {
    let hop_use = prop_oneof![
        4 => Just(HopUse::All),
        1 => Just(HopUse::Itself),
        1 => Just(HopUse::LastResort),
    ];
    (
        proptest::array::uniform4((0..3u16, hop_use)),
        proptest::array::uniform2(proptest::bool::weighted(0.9)),
    )
}

fn router_by((hops, links_up): ([(u16, HopUse); 4], [bool; 2]), mtu: u32) -> Forwarder {
    let via: Vec<String> =
        (1..).zip(hops).map(|(n, (metric, _))| alloc::format!("via {n} metric {metric}")).collect();
    let text = alloc::format!(
        "5 02:00:00:00:00:a0 eth0\n1 02:00:00:00:00:01 eth0, via 3 metric 1\n\
         2 02:00:00:00:00:02 eth0\n3 02:00:00:00:00:03 eth1, via 2 metric 1\n\
         4 02:00:00:00:00:04 eth1 mtu={mtu}\n9 {}\n",
        via.join(", ")
    );
    let mut router = router(&text, 5);
    for (n, (_, hop_use)) in (1..).zip(hops) {
        router.set_use(DeviceId(u16::from(n > 2)), mac(n), hop_use);
    }
    for (device, link_up) in (0..).zip(links_up) {
        router.set_link_up(DeviceId(device), link_up);
    }
    router
}

proptest! {
    //= PRP-FWD-3, PRP-FWD-4, type=test
    #[test]
    fn settled__is_what_every_frame_gets(
        hops in arb_hops(),
        mtu in 1000..2000u32,
        src_port in any::<u16>(),
    ) {
        let router = router_by(hops, mtu);
        for dst in [1, 2, 3, 4, 5, 9, 12] {
            let flow = Flow { src: 1, dst, src_port, dst_port: 80 };
            let hop = |from| router.next_hop(node(dst), flow, from).ok();
            let sources = [(0, 1), (0, 2), (1, 3), (1, 4)].map(|(d, n)| (DeviceId(d), LinkAddr::Ethernet(mac(n))));
            let Some(settled) = router.settled(node(dst)) else {
                prop_assert_eq!(hop(None), None);
                continue;
            };
            let chosen = settled.hops[flow.hash(node(5)) as usize % settled.hops.len()];
            prop_assert_eq!(hop(None), Some(chosen));
            for from in sources {
                // Expect: a sender that is no next hop changes nothing; one that is does only if
                // there is another.
                let among = settled.hops.iter().any(|hop| (hop.device, hop.addr) == from);
                if !among || settled.back {
                    prop_assert_eq!(hop(Some(from)), Some(chosen), "{} from {:?}", dst, from);
                } else {
                    let next = hop(Some(from)).map(|hop| (hop.device, hop.addr));
                    prop_assert!(next != Some(from), "{} from {:?}", dst, from);
                }
            }
            let room = |hop: &NextHop| if hop.addr == mac(4).into() { mtu.min(1500) } else { 1500 };
            let room = settled.hops.iter().map(room).min().unwrap_or_default();
            prop_assert_eq!(settled.longest, room as usize + ETHERNET_LEN);
        }
    }
}

#[test]
fn revision__tells_of_every_change_and_of_nothing_else() {
    let mut router = router(MIDDLE, 5);
    let mut seen = router.revision();
    let mut is_new =
        |router: &Forwarder| core::mem::replace(&mut seen, router.revision()) != router.revision();
    forwarded(&mut router, 0, &from_1(7, 0));
    router.set_use(DeviceId(1), mac(3), HopUse::All);
    router.set_link_up(DeviceId(1), true);
    assert!(!is_new(&router));
    router.set_use(DeviceId(1), mac(3), HopUse::Itself);
    assert!(is_new(&router));
    router.set_use(DeviceId(1), mac(3), HopUse::LastResort);
    assert!(is_new(&router));
    router.set_link_up(DeviceId(1), false);
    assert!(is_new(&router));
    let routes = router.routes().clone();
    router.set_routes(routes);
    assert!(is_new(&router));
    router.add_device(Device::ethernet(mac(9), 1500), "eth2");
    assert!(is_new(&router));
}
