use alloc::string::ToString;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::addr::{LinkAddr, MacAddr, NodeId, Port};
use crate::liveness::LivenessState;
use crate::seq::{Seq, SeqWidth};

fn arb_node() -> impl Strategy<Value = NodeId> {
    (1u16..65535).prop_filter_map("reserved", NodeId::new)
}

prop_compose! {
    fn arb_head()(
        dst: [u8; 6], src: [u8; 6], from in arb_node(), to in arb_node(),
        sport: u16, dport: u16, seq: u16, flags: u32,
    ) -> Head {
        Head {
            ethernet: Some(EthernetHeader { dst: MacAddr(dst), src: MacAddr(src), ethertype: ETHERTYPE }),
            network: NetworkHeader { src: from, dst: to },
            transport: TransportHeader {
                src_port: Port::new(sport), dst_port: Port::new(dport), seq, len: 0,
                flags: Flags::from_bits(flags),
            },
        }
    }
}

fn arb_bitmap() -> impl Strategy<Value = Bitmap> {
    proptest::collection::vec(0..Bitmap::SPAN, 0..40).prop_map(|marks| {
        let mut b = Bitmap::EMPTY;
        marks.into_iter().for_each(|m| b.set(m));
        b
    })
}

prop_compose! {
    fn arb_ack()(
        next: u32, window: u32, gap: bool, received in arb_bitmap(),
        echo in proptest::option::of((any::<u32>(), any::<bool>(), any::<u32>())),
        probe: Option<u8>, finished: bool, leaves: bool,
    ) -> AckBlock {
        let echo = echo.map(|(s, retransmitted, held_ns)| Echo { seq: Seq::new(s), retransmitted, held_ns });
        AckBlock { next: Seq::new(next), window, gap, echo, probe, finished, leaves, received }
    }
}

fn arb_control() -> impl Strategy<Value = Control> {
    prop_oneof![
        (any::<u32>(), arb_ack()).prop_map(|(to, ack)| Control::Ack { to, ack }),
        (any::<u32>(), any::<u32>(), any::<u8>()).prop_map(|(to, from, number)| Control::Probe {
            to,
            from,
            number
        }),
        (any::<u32>(), any::<u16>()).prop_map(|(to, size)| Control::SizeProbe { to, size }),
        (any::<u32>(), any::<u16>()).prop_map(|(to, size)| Control::SizeProbeAck { to, size }),
    ]
}

prop_compose! {
    fn arb_offer()(
        id in 1u32.., echo: u32, bits in 0u8..8, crc: bool, mss in Offer::MIN_MSS.., window: u32,
    ) -> Offer {
        let all = [Reliability::Detect, Reliability::GoBackN, Reliability::SelectiveRepeat];
        let mut bytes = Offer {
            id, echo, reliability: ReliabilitySet::only(all[0]), crc, mss, window,
        }.emit();
        bytes[1] = bits;
        Offer::parse(&bytes).unwrap()
    }
}

/// A frame of `head` and `payload` as the driver would put it on the wire.
fn assemble(mut head: Head, payload: &[u8], crc: Option<CrcKey>, padding: usize) -> Vec<u8> {
    head.transport.len = payload.len() as u16;
    let bytes = head.emit();
    let mut frame = bytes.to_vec();
    frame.extend_from_slice(payload);
    if let Some(key) = crc {
        frame.extend_from_slice(&checksum(key, packet_header(&bytes), [payload, &[]]));
    }
    frame.resize(frame.len() + padding, 0);
    frame
}

proptest! {
    #[test]
    fn frame__emits_and_parses_back(
        head in arb_head(), payload in proptest::collection::vec(any::<u8>(), 0..1484), padding in 0usize..40,
    ) {
        let frame = assemble(head, &payload, None, padding);
        let parsed = Frame::parse(&frame, ETHERTYPE).unwrap();
        prop_assert_eq!(parsed.payload, &payload[..]);
        prop_assert_eq!(parsed.head.transport.len as usize, payload.len());
        prop_assert_eq!(parsed.head.ethernet, head.ethernet);
        prop_assert_eq!(parsed.head.network, head.network);
        prop_assert_eq!(parsed.flags(), head.transport.flags);
        let emitted = parsed.head.emit();
        prop_assert_eq!(packet_header(&emitted), parsed.packet_header());
    }

    /// A second implementation of Ethernet II reads what we write.
    #[test]
    fn ethernet__agrees_with_etherparse(head in arb_head()) {
        let frame = assemble(head, b"x", None, 29);
        let (other, rest) = etherparse::Ethernet2Header::from_slice(&frame).unwrap();
        prop_assert_eq!(other.destination, head.ethernet.unwrap().dst.0);
        prop_assert_eq!(other.source, head.ethernet.unwrap().src.0);
        prop_assert_eq!(other.ether_type.0, ETHERTYPE);
        prop_assert_eq!(rest.len(), frame.len() - ETHERNET_LEN);
    }

    #[test]
    fn control__emits_and_parses_back(control in arb_control(), padding in 0usize..20) {
        let mut out = [0xaa; MAX_CONTROL_LEN];
        let len = control.emit(&mut out);
        let mut bytes = out[..len].to_vec();
        bytes.resize(len + padding, 0);
        prop_assert_eq!(Control::parse(&bytes), Some(control));
    }

    //= PRP-CTL-5, type=test
    #[test]
    fn part__emits_and_parses_back(
        to: u32, seq: u32, at in 0u16..1000, beyond in 0u16..100, eom: bool, eoc: bool,
        bytes in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut flags = if eom { Flags::EOM } else { Flags::NONE };
        if eoc {
            flags |= Flags::EOC;
        }
        let total = at + bytes.len() as u16 + beyond;
        let part = Part { to, seq: Seq::new(seq), at, total, flags };
        let block = [&part.emit()[..], &bytes].concat();
        let frame = assemble(head(Flags::CTL), &block, None, 0);
        let parsed = Frame::parse(&frame, ETHERTYPE).unwrap();
        prop_assert_eq!(Part::of(&parsed), Some((part, &bytes[..])));
        // Beyond the end of its segment, and cut off in its head.
        let longer = [&block[..], &[0; 100]].concat();
        for bad in [&longer[..], &block[..Part::LEN - 1]] {
            let frame = assemble(head(Flags::CTL), bad, None, 0);
            prop_assert_eq!(Part::of(&Frame::parse(&frame, ETHERTYPE).unwrap()), None);
        }
    }

    #[test]
    fn offer__emits_and_parses_back(offer in arb_offer()) {
        prop_assert_eq!(Offer::parse(&offer.emit()), Ok(offer));
    }

    /// SPEC PRP-OPT-6: options of later versions are skipped if well formed, refused if not.
    #[test]
    fn offer__ignores_well_formed_extensions(offer in arb_offer(), kind: u8, body in proptest::collection::vec(any::<u8>(), 0..255)) {
        let mut bytes = offer.emit().to_vec();
        bytes.push(kind);
        bytes.push(body.len() as u8);
        bytes.extend(&body);
        prop_assert_eq!(Offer::parse(&bytes), Ok(offer));
        bytes.push(kind);
        prop_assert_eq!(Offer::parse(&bytes), Err(OfferError::Malformed));
    }

    #[test]
    fn reset__emits_and_parses_back(code: u16, receiver: u32, sender: u32) {
        let mut bytes = [0; ResetBlock::LEN];
        bytes[..2].copy_from_slice(&code.to_be_bytes());
        bytes[4..8].copy_from_slice(&receiver.to_be_bytes());
        bytes[8..].copy_from_slice(&sender.to_be_bytes());
        prop_assert_eq!(ResetBlock::parse(&bytes).unwrap().emit(), bytes);
    }

    #[test]
    fn bitmap__iterates_what_was_set(mut marks in proptest::collection::vec(0..Bitmap::SPAN, 0..60)) {
        let mut b = Bitmap::EMPTY;
        marks.iter().for_each(|m| b.set(*m));
        marks.sort_unstable();
        marks.dedup();
        prop_assert_eq!(b.iter().collect::<Vec<_>>(), marks);
    }

    /// PRP-FRAME-5: arbitrary bytes are a frame or an error, never a panic; so is their text.
    #[test]
    fn parse__never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), typed: bool) {
        let mut bytes = bytes;
        if typed && bytes.len() >= 14 {
            bytes[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        }
        let _ = Frame::parse(&bytes, ETHERTYPE).map(|f| f.crc_ok(CrcKey::NONE));
        let _ = Control::parse(&bytes);
        let _ = Offer::parse(&bytes);
        let _ = ResetBlock::parse(&bytes);
        prop_assert!(!Pretty::new(&bytes, ETHERTYPE).to_string().is_empty());
    }

    /// PRP-CRC-2: routers raise HOPS without touching the trailer.
    #[test]
    fn crc__survives_routers_and_catches_one_bit(
        head in arb_head(), payload in proptest::collection::vec(any::<u8>(), 1..300), hops in 0u8..16,
        at: prop::sample::Index, bit in 0u8..8, sender: u32, receiver: u32, split: prop::sample::Index,
    ) {
        let key = CrcKey { sender, receiver };
        let mut frame = assemble(head, &payload, Some(key), 3);
        let parsed = Frame::parse(&frame, ETHERTYPE).unwrap();
        prop_assert!(parsed.crc_ok(key));
        let (a, b) = payload.split_at(split.index(payload.len()));
        prop_assert_eq!(checksum(key, parsed.packet_header(), [a, b]), checksum(key, parsed.packet_header(), [&payload, &[]]));
        let crossed = parsed.flags().with_hops(hops).bits().to_be_bytes();
        frame[26..30].copy_from_slice(&crossed);
        prop_assert!(Frame::parse(&frame, ETHERTYPE).unwrap().crc_ok(key));
        let other = CrcKey { sender: !sender, receiver };
        prop_assert!(!Frame::parse(&frame, ETHERTYPE).unwrap().crc_ok(other));

        // Any single bit between the network header and the trailer, HOPS and `length` aside.
        let index = ETHERNET_LEN + at.index(frame.len() - 3 - ETHERNET_LEN);
        let in_hops = index == 28 && bit >= 4;
        let in_length = (24..26).contains(&index);
        prop_assume!(!in_hops && !in_length);
        frame[index] ^= 1 << bit;
        prop_assert!(Frame::parse(&frame, ETHERTYPE).map_or(true, |f| !f.crc_ok(key)));
    }
}

fn head(flags: Flags) -> Head {
    let node = |n| NodeId::new(n).unwrap();
    let mut transport =
        TransportHeader::new(Port::new(5), Port::new(80), Seq::new(0x5_4321), SeqWidth::Bits20, 0);
    transport.flags |= flags;
    Head {
        ethernet: Some(EthernetHeader {
            dst: MacAddr([2, 0, 0, 0, 0, 2]),
            src: MacAddr([2, 0, 0, 0, 0, 1]),
            ethertype: ETHERTYPE,
        }),
        network: NetworkHeader { src: node(1), dst: node(2) },
        transport,
    }
}

/// The layout byte for byte, so that a change of it cannot pass as a change of both directions.
#[test]
fn frame__bytes_are_where_the_spec_puts_them() {
    let flags = (Flags::EOM | Flags::NONE.with_ack(Seq::new(0x9_abcd))).with_hops(3);
    let bytes = assemble(head(flags), b"hi", None, 0);
    let expected = [
        &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5][..], // Ethernet
        &[0, 1, 0, 2],                                         // node 1 to node 2
        &[0, 5, 0, 80, 0x43, 0x21, 0, 2],                      // ports, seq, length
        &[0xab, 0xcd, 0x35, 0x14],                             // ACKNO, HOPS and EPOCH, ACK and EOM
        b"hi",
    ]
    .concat();
    assert_eq!(bytes, expected);
}

#[test]
fn ethernet_source__zeros_where_the_frame_ends_before_it() {
    let frame: Vec<u8> = (0..14).collect();
    for len in 0..=frame.len() {
        let mac = if len < 12 { MacAddr::ZERO } else { MacAddr([6, 7, 8, 9, 10, 11]) };
        assert_eq!(ethernet_source(&frame[..len]), LinkAddr::Ethernet(mac), "of {len} bytes");
    }
}

/// A classic peer's header has nothing but the paper's fields and four flags
/// (PRP-FLAGS-2).
#[test]
fn transport__classic_headers_carry_no_extension_bits() {
    let t =
        TransportHeader::new(Port::new(1), Port::new(2), Seq::new(0xf_ffff), SeqWidth::Bits16, 9);
    assert_eq!((t.seq, t.flags), (0xffff, Flags::NONE));
}

#[test]
fn parse__each_malformation_has_its_name() {
    let good = assemble(head(Flags::NONE), &[7; 10], None, 0);
    let err = |bytes: &[u8]| Frame::parse(bytes, ETHERTYPE).err();
    assert_eq!(err(&good), None);
    assert_eq!(err(&good[..13]), Some(FrameError::Truncated));
    assert_eq!(err(&good[..29]), Some(FrameError::Truncated));
    assert_eq!(err(&good[..39]), Some(FrameError::Length));
    assert_eq!(Frame::parse(&good, 0x88b6).err(), Some(FrameError::EtherType));
    for (at, reserved) in [(14, [0, 0]), (14, [0xff, 0xff]), (16, [0, 0]), (16, [0xff, 0xff])] {
        let mut bad = good.clone();
        bad[at..at + 2].copy_from_slice(&reserved);
        assert_eq!(err(&bad), Some(FrameError::Node));
    }
}

#[test]
fn control__unknown_kinds_and_short_blocks_are_refused() {
    let mut out = [0; MAX_CONTROL_LEN];
    let len = Control::Probe { to: 1, from: 2, number: 3 }.emit(&mut out);
    assert_eq!(Control::parse(&out[..len - 1]), None);
    out[0] = 99;
    assert_eq!(Control::parse(&out[..len]), None);
    // A bitmap longer than the format allows.
    out[0] = 1;
    out[2] = MAX_BITMAP_WORDS as u8 + 1;
    assert_eq!(Control::parse(&[&out[..], &[0; 8]].concat()), None);
}

#[test]
fn offer__unusable_values_are_refused() {
    let good = Offer {
        id: 7,
        echo: 0,
        reliability: ReliabilitySet::RELIABLE,
        crc: false,
        mss: 1484,
        window: 10,
    };
    assert_eq!(Offer::parse(&good.emit()), Ok(good));
    assert!(Offer::parse(&good.emit()[..19]).is_err());
    for bad in [Offer { id: 0, ..good }, Offer { mss: Offer::MIN_MSS - 1, ..good }] {
        assert!(Offer::parse(&bad.emit()).is_err(), "{bad:?}");
    }
    let mut version_0 = good.emit();
    version_0[0] = 0;
    assert!(Offer::parse(&version_0).is_err());
}

#[test]
fn reliability__strongest_common_policy_wins() {
    use Reliability::*;
    let all = ReliabilitySet::ALL;
    assert_eq!(all.strongest_common(ReliabilitySet::RELIABLE), Some(SelectiveRepeat));
    assert_eq!(all.strongest_common(ReliabilitySet::only(GoBackN)), Some(GoBackN));
    assert_eq!(ReliabilitySet::RELIABLE.strongest_common(ReliabilitySet::only(Detect)), None);
}

#[test]
fn mss__follows_the_mtu() {
    assert_eq!(mss_for_mtu(1500, false), Some(CLASSIC_MSS));
    assert_eq!(mss_for_mtu(1500, true), Some(CLASSIC_MSS - 4));
    assert_eq!(mss_for_mtu(65536, false), Some(65520));
    assert_eq!(mss_for_mtu(100, false), None);
}

#[test]
fn pretty__one_line_a_frame() {
    let offer = Offer {
        id: 0xdead_beef,
        echo: 0,
        reliability: ReliabilitySet::RELIABLE,
        crc: true,
        mss: 1484,
        window: 176,
    };
    let mut received = Bitmap::EMPTY;
    received.set(0);
    received.set(70);
    let echo = Some(Echo { seq: Seq::new(9), retransmitted: true, held_ns: 50 });
    let (next, probe) = (Seq::new(7), Some(4));
    let (gap, finished, leaves) = (true, true, true);
    let ack = AckBlock { next, window: 30, gap, echo, probe, finished, leaves, received };
    let mut out = [0; MAX_CONTROL_LEN];
    let control = |c: Control, out: &mut [u8; MAX_CONTROL_LEN]| {
        let len = c.emit(out);
        assemble(head(Flags::CTL), &out[..len], None, 0)
    };
    let between_nodes = |block: &[u8]| {
        let mut head = head(Flags::CTL);
        head.transport.src_port = Port::CONTROL;
        assemble(head, block, None, 0)
    };
    let node_block = |kind| NodeBlock { kind, hops: 2, sequence: 7, id: 8, stamp: 9 }.emit();
    let liveness = LivenessBlock {
        state: LivenessState::AdminDown,
        multiplier: 3,
        passive: false,
        mine: 1,
        yours: 2,
        interval_us: 100_000,
        least_us: 50_000,
    };
    let reset = ResetBlock { reason: ResetReason::Refused, receiver: 1, sender: 0 };
    let part = Part { to: 5, seq: Seq::new(9), at: 1000, total: 1004, flags: Flags::EOM };
    let frames = [
        assemble(head(Flags::CREQ), &offer.emit(), None, 0),
        assemble(head(Flags::CREQ), b"", None, 0),
        assemble(
            head((Flags::EOM | Flags::NONE.with_ack(Seq::new(3))).with_hops(2)),
            b"data",
            None,
            0,
        ),
        control(Control::Ack { to: 5, ack }, &mut out),
        control(Control::Probe { to: 5, from: 6, number: 7 }, &mut out),
        control(Control::SizeProbe { to: 5, size: 2000 }, &mut out),
        control(Control::SizeProbeAck { to: 5, size: 2000 }, &mut out),
        assemble(head(Flags::CTL), &[&part.emit()[..], b"last"].concat(), None, 0),
        assemble(head(Flags::RST), &reset.emit(), None, 0),
        assemble(head(Flags::RST), b"?", None, 0),
        between_nodes(&liveness.emit()),
        between_nodes(b"?"),
    ];
    let node_blocks = NodeKind::ALL.into_iter().map(|kind| between_nodes(&node_block(kind)));
    let frames: Vec<_> = frames.into_iter().chain(node_blocks).collect();
    let text: Vec<_> = frames.iter().map(|f| Pretty::new(f, ETHERTYPE).to_string()).collect();
    insta::assert_snapshot!(text.join("\n"));
}
