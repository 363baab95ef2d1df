use proptest::prelude::*;

use super::*;
use crate::addr::{DeviceId, MacAddr};
use crate::seq::{Seq, SeqWidth};

/// A frame a stranger on the segment makes, with the right hardware addresses.
pub(super) fn forge(
    from: PrpAddr,
    to: PrpAddr,
    flags: Flags,
    seq: u16,
    payload: &[u8],
    crc: Option<CrcKey>,
) -> Vec<u8> {
    let mac = |node: NodeId| MacAddr([2, 0, 0, 0, 0, node.number() as u8]);
    let head = Head {
        ethernet: Some(EthernetHeader {
            dst: mac(to.node),
            src: mac(from.node),
            ethertype: ETHERTYPE,
        }),
        network: NetworkHeader { src: from.node, dst: to.node },
        transport: TransportHeader {
            src_port: from.port,
            dst_port: to.port,
            seq,
            len: payload.len() as u16,
            flags,
        },
    }
    .emit();
    let mut frame = head.to_vec();
    frame.extend_from_slice(payload);
    if let Some(key) = crc {
        frame.extend_from_slice(&checksum(key, packet_header(&head), [payload, &[]]));
    }
    frame
}

/// PRP-NET-3: a frame whose source address is not the one its node is reached by goes no further.
#[test]
fn source__other_hardware_address_is_dropped() {
    let mut pair = Pair::default();
    let (c, _) = pair.established();
    let (from, to) = pair.client.endpoint.ends(c).unwrap();
    let mut frame = forge(from, to, Flags::NONE, 0, b"x", None);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 99]);
    pair.inject(ToServer, &frame);
    pair.drive();
    assert_eq!(pair.drops, [DropReason::BadSource]);
    // Nor may a frame claim to come from ourselves over a wire.
    let own = forge(to, to, Flags::NONE, 0, b"x", None);
    pair.inject(ToServer, &own);
    pair.drive();
    assert_eq!(pair.drops[1], DropReason::BadSource);
}

#[test]
fn destination__other_address_or_node_is_dropped() {
    let mut pair = Pair::default();
    let (c, _) = pair.established();
    let (from, to) = pair.client.endpoint.ends(c).unwrap();
    let mut frame = forge(from, to, Flags::NONE, 0, b"x", None);
    frame[..6].copy_from_slice(&[0xff; 6]);
    pair.inject(ToServer, &frame);
    pair.drive();
    assert_eq!(pair.drops, [DropReason::NotOurMac]);
}

/// PRP-RST-3: a reset that does not name our id ends nothing, however many come.
#[test]
fn reset__blind_ones_end_nothing_and_are_asked_about_sparingly() {
    let mut pair = Pair::default().traced();
    let (c, s) = pair.established();
    let (from, to) = pair.client.endpoint.ends(c).unwrap();
    for id in 0..1000 {
        let block = ResetBlock { reason: ResetReason::Aborted, receiver: id, sender: 0 };
        let frame = forge(from, to, Flags::RST, 0, &block.emit(), Some(CrcKey::NONE));
        pair.inject(ToServer, &frame);
        pair.drive();
    }
    assert_eq!(pair.server.endpoint.state(s), State::OPEN);
    // 1000 forgeries in 20 ms: four questions, four answers.
    let frames = pair.trace.take().unwrap().len() - 2;
    assert!(frames <= 10, "{frames}");
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"alive"), b"alive");
}

/// PRP-ACK-8: acknowledgements of what was never sent, and control blocks with a wrong id, are
/// dropped.
#[test]
fn acknowledgement__made_up_ones_are_dropped() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(plain(), plain());
    let (from, to) = pair.client.endpoint.ends(c).unwrap();
    let frame = forge(from, to, Flags::NONE.with_ack(Seq::new(0x7777)), 0, b"x", None);
    pair.inject(ToServer, &frame);
    let mut block = [0; crate::wire::MAX_CONTROL_LEN];
    let len = crate::wire::Control::Probe { to: 77, from: 0, number: 0 }.emit(&mut block);
    let frame = forge(from, to, Flags::CTL, 0, &block[..len], None);
    pair.inject(ToServer, &frame);
    pair.drive();
    assert!(pair.drops.contains(&DropReason::BadAck) && pair.drops.contains(&DropReason::BadId));
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"alive"), b"alive");
}

/// An established connection, and the first number of each end, as a host knows that has read the
/// handshake.
fn overheard(pair: &mut Pair, server: ConnConfig) -> (ConnHandle, ConnHandle, [Seq; 2]) {
    let first = std::sync::Arc::new(std::sync::Mutex::new([Seq::default(); 2]));
    let seen = first.clone();
    pair.rule = Box::new(move |d, bytes| {
        let frame = Frame::parse(bytes, ETHERTYPE).unwrap();
        if frame.flags().intersects(Flags::CREQ | Flags::CACK) {
            let number = frame.head.transport.first_seq(SeqWidth::Bits20);
            seen.lock().unwrap()[usize::from(d == ToClient)] = number;
        }
        FrameAction::Pass
    });
    let (c, s) = pair.established_with(ConnConfig::default(), server);
    let numbers = *first.lock().unwrap();
    (c, s, numbers)
}

/// Data from the client in segment `seq`, acknowledging `ack`.
fn forge_data(pair: &Pair, c: ConnHandle, seq: Seq, ack: Seq, data: &[u8]) -> Vec<u8> {
    let (from, to) = pair.client.endpoint.ends(c).unwrap();
    let header = TransportHeader::new(from.port, to.port, seq, SeqWidth::Bits20, 0);
    forge(from, to, header.flags.with_ack(ack), header.seq, data, None)
}

/// PRP-ACK-8: one number too many is too many.
#[test]
fn acknowledgement__of_the_next_segment_is_dropped() {
    let mut pair = Pair::default();
    let (c, s, [ours, theirs]) = overheard(&mut pair, plain());
    pair.inject(ToServer, &forge_data(&pair, c, ours, theirs + 1, b"x"));
    pair.drive();
    assert_eq!(pair.drops, [DropReason::BadAck]);
    assert_eq!(pair.server.endpoint.unread(s), 0);
    // Expect: with the right one it passes, as SPEC section 13 says.
    pair.inject(ToServer, &forge_data(&pair, c, ours, theirs, b"x"));
    pair.drive();
    assert_eq!(pair.server.endpoint.unread(s), 1);
}

/// PRP-ACK-8: what was acknowledged before is a late acknowledgement, but not from longer ago than
/// a window can be.
#[test]
fn acknowledgement__of_what_was_long_ago_is_dropped() {
    let mut pair = Pair::default();
    let (c, _, [ours, theirs]) = overheard(&mut pair, plain());
    let beyond = ours + crate::config::MAX_WINDOW;
    for ack in 0..=u16::MAX {
        let frame = forge_data(&pair, c, beyond, theirs + u32::from(ack), b"x");
        pair.server.endpoint.handle_frame(pair.time, DeviceId(0), &frame, None);
    }
    // Expect: the one that is right, and a window of late ones, as SPEC section 13 counts.
    let drops = &pair.server.endpoint.stats().drops;
    assert_eq!(drops[DropReason::OutOfWindow], 1 + 1024);
    assert_eq!(drops[DropReason::BadAck], (1 << 16) - 1 - 1024);
}

/// PRP-SEG-4: the first number that was not offered is beyond the window, the last one is not.
#[test]
fn window__ends_where_it_was_announced() {
    let mut pair = Pair::default();
    let small = ConnConfig { recv_buffer: Some(10 * 1484), ..plain() };
    let (c, s, [ours, theirs]) = overheard(&mut pair, small);
    pair.inject(ToServer, &forge_data(&pair, c, ours + 10, theirs, b"x"));
    pair.drive();
    assert_eq!(pair.drops, [DropReason::OutOfWindow]);
    pair.inject(ToServer, &forge_data(&pair, c, ours + 9, theirs, b"x"));
    pair.drive();
    assert_eq!(pair.drops.len(), 1);
    assert_eq!(pair.server.endpoint.conn_stats(s).unwrap().segments_received, 1);
}

/// PRP-SEG-5: a segment is no longer than both ends agreed on.
#[test]
fn segment__longer_than_agreed_is_dropped() {
    let mut pair = Pair::default();
    let (c, s, [ours, theirs]) = overheard(&mut pair, plain());
    pair.inject(ToServer, &forge_data(&pair, c, ours, theirs, &[7; 1485]));
    pair.drive();
    assert_eq!(pair.drops, [DropReason::TooLong]);
    pair.inject(ToServer, &forge_data(&pair, c, ours, theirs, &[7; 1484]));
    pair.drive();
    assert_eq!(pair.server.endpoint.unread(s), 1484);
}

/// PRP-RST-5: a reset is not answered, whatever else its flags say it is.
#[test]
fn reset__is_never_answered() {
    let mut pair = Pair::default().traced();
    pair.listen(80, ConnConfig::default());
    let from = PrpAddr::new(NodeId::new(1).unwrap(), Port::new(7));
    let grant = Offer {
        id: 1,
        echo: 2,
        reliability: ReliabilitySet::RELIABLE,
        crc: false,
        mss: 1484,
        window: 10,
    };
    for flags in [Flags::RST, Flags::RST | Flags::CACK, Flags::RST | Flags::ACK] {
        let frame = forge(from, Pair::server_addr(80), flags, 0, &grant.emit(), Some(CrcKey::NONE));
        pair.inject(ToServer, &frame);
        pair.drive();
    }
    assert_eq!(pair.drops, [DropReason::NoConnection; 3]);
    assert_eq!(pair.trace.unwrap(), Vec::<alloc::string::String>::new());
}

/// PRP-CONN-6: a flood of requests costs a bounded number of connections.
#[test]
fn flood__of_requests_is_bounded_by_the_peer_limit() {
    let mut pair = Pair::default();
    let now = pair.time;
    let listener =
        pair.server.endpoint.listen(Port::new(80), 100_000, ConnConfig::default()).unwrap();
    let offer = Offer {
        id: 1,
        echo: 0,
        reliability: ReliabilitySet::RELIABLE,
        crc: false,
        mss: 1484,
        window: 10,
    };
    let node = NodeId::new(1).unwrap();
    for port in 1..20_000 {
        let from = PrpAddr::new(node, Port::new(port));
        let to = Pair::server_addr(80);
        let frame = forge(from, to, Flags::CREQ, 0, &offer.emit(), Some(CrcKey::NONE));
        pair.server.endpoint.handle_frame(now, DeviceId(0), &frame, None);
    }
    assert_eq!(pair.server.endpoint.connections(), 128);
    assert_eq!(pair.server.endpoint.pending(listener), 128);
    assert_eq!(pair.server.endpoint.stats().drops[DropReason::PeerLimit], 20_000 - 1 - 128);
}

/// A stream of requests, from ports that answer nothing, keeps their node out for two seconds at
/// most.
#[test]
fn flood__of_requests_does_not_keep_their_node_out() {
    let mut pair = Pair::default();
    let server = pair.server.endpoint.listen(Port::new(80), 1000, ConnConfig::default()).unwrap();
    let offer = Offer {
        id: 1,
        echo: 0,
        reliability: ReliabilitySet::RELIABLE,
        crc: false,
        mss: 1484,
        window: 10,
    };
    let node = NodeId::new(1).unwrap();
    let mut ports = 2000..;
    let mut request = |pair: &mut Pair| {
        let from = PrpAddr::new(node, Port::new(ports.next().unwrap()));
        let key = Some(CrcKey::NONE);
        let frame = forge(from, Pair::server_addr(80), Flags::CREQ, 0, &offer.emit(), key);
        pair.inject(ToServer, &frame);
    };
    (0..128).for_each(|_| request(&mut pair));
    pair.drive();
    let c = pair.connect(80, ConnConfig::default());
    for _ in 0..600 {
        pair.drive_for(50 * MS);
        request(&mut pair);
    }
    assert_eq!(pair.client.endpoint.state(c), State::OPEN);
    assert_eq!(pair.client.endpoint.stats().connected, 1);
    // Expect: a client that confirmed in time stays, whichever others come after.
    assert_eq!(pair.client.endpoint.take_error(c), None);
    assert!(pair.server.endpoint.connections() <= 129);
    let accepted = core::iter::from_fn(|| pair.server.endpoint.accept(pair.time, server)).count();
    assert!(accepted <= 129, "{accepted}");
}

/// Refusals are rationed, so that a flood is not answered by a flood.
#[test]
fn flood__of_strays_is_answered_sparingly() {
    let mut pair = Pair::default().traced();
    pair.listen(80, ConnConfig::default());
    let flags = Flags::NONE.with_ack(Seq::new(0));
    for port in 1..10_000 {
        let from = PrpAddr::new(NodeId::new(1).unwrap(), Port::new(port));
        let frame = forge(from, Pair::server_addr(80), flags, 0, b"x", None);
        pair.server.endpoint.handle_frame(pair.time, DeviceId(0), &frame, None);
        pair.drive();
    }
    // A thousand at once, and a thousand a second in the tenth of a second that this takes.
    assert!((1000..=1100).contains(&pair.trace.as_ref().unwrap().len()));
}

fn arb_frame() -> impl Strategy<Value = Vec<u8>> {
    let flags =
        prop_oneof![any::<u32>(), (0u32..128), (0u32..8).prop_map(|bit| 1 << bit), Just(0x10),];
    let payload = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..60),
        Just(
            Offer {
                id: 3,
                echo: 0,
                reliability: ReliabilitySet::ALL,
                crc: false,
                mss: 100,
                window: 4
            }
            .emit()
            .to_vec()
        ),
        Just(ResetBlock { reason: ResetReason::Aborted, receiver: 0, sender: 0 }.emit().to_vec()),
    ];
    (flags, 0u16..4, 79u16..82, any::<u16>(), payload, any::<bool>()).prop_map(
        |(flags, sport, dport, seq, payload, crc)| {
            let from = PrpAddr::new(NodeId::new(1).unwrap(), Port::new(sport));
            let key = crc.then_some(CrcKey::NONE);
            forge(from, Pair::server_addr(dport), Flags::from_bits(flags), seq, &payload, key)
        },
    )
}

proptest! {
    /// Whatever comes from the wire, nothing panics, nothing leaks, and another connection keeps
    /// working.
    #[test]
    fn garbage__does_no_harm(
        frames in proptest::collection::vec(
            prop_oneof![arb_frame(), proptest::collection::vec(any::<u8>(), 0..80)], 0..60,
        ),
    ) {
        let mut pair = Pair::default();
        // The client's port is beyond those the frames claim, as is its server's.
        let config = ConnConfig::default();
        let now = pair.time;
        let listener = pair.server.endpoint.listen(Port::new(300), 4, config).unwrap();
        let remote = Pair::server_addr(300);
        let port = Some(Port::new(200));
        let c = pair.client.endpoint.connect(now, remote, port, config, |_| true).unwrap();
        pair.drive();
        let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
        pair.listen(80, ConnConfig { reliability: ReliabilitySet::ALL, ..config });
        for frame in &frames {
            pair.inject(ToServer, frame);
        }
        pair.drive();
        let data = pattern(20_000);
        prop_assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
        pair.client.endpoint.release(pair.time, c, false);
        pair.server.endpoint.release(pair.time, s, false);
        // Expect: what the garbage opened is gone after a while.
        let gone = pair.drive_until(|p| p.server.endpoint.connections() == 0);
        prop_assert!(gone);
    }
}
