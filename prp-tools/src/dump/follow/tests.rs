use prp_proto::addr::{LinkAddr, MacAddr, NodeId, Port};
use prp_proto::wire::{Flags, Head, NetworkHeader, TransportHeader, sealed};

use super::*;

/// Hands a packet of node 1 with `flags` to `follower`; what is passed on.
fn packet(follower: &mut Follower, seq: u32, flags: Flags, payload: &[&[u8]]) -> String {
    let node = |number| NodeId::new(number).expect("a node");
    let (from, to) = (Port::new(50_000), Port::new(80));
    let mut transport = TransportHeader::new(from, to, Seq::new(seq), SeqWidth::Bits20, 0);
    transport.flags |= flags;
    let network = NetworkHeader { src: node(1), dst: node(2) };
    let bytes = sealed(Head { ethernet: None, network, transport }, payload);
    let from = LinkAddr::from(MacAddr([2, 0, 0, 0, 0, 1]));
    let frame = Frame::parse_datagram(from, &bytes).expect("well formed");
    String::from_utf8(follower.take(&frame)).expect("text")
}

/// The same, of a part of a segment of `total` bytes that begins `at` bytes into it.
fn part(follower: &mut Follower, seq: u32, at: u16, total: u16, text: &str) -> String {
    let head = Part { to: 1, seq: Seq::new(seq), at, total, flags: Flags::EOM };
    packet(follower, seq, Flags::CTL, &[&head.emit(), text.as_bytes()])
}

fn take(direction: &mut SentBytes, segments: &[(u32, &str)]) -> String {
    let mut all = Vec::new();
    for (seq, text) in segments {
        all.extend(direction.take(Seq::new(*seq), text.as_bytes()));
    }
    String::from_utf8(all).expect("text")
}

#[test]
fn take__each_byte_once_and_in_order() {
    let mut direction = SentBytes::default();
    let segments = [(7, "a"), (9, "c"), (8, "b"), (8, "b"), (7, "a"), (11, "e"), (10, "d")];
    assert_eq!(take(&mut direction, &segments), "abcde");
    assert!(direction.kept.is_empty() && direction.missing == 0);
}

#[test]
fn take__goes_on_after_what_a_capture_lacks() {
    let mut direction = SentBytes::default();
    assert_eq!(take(&mut direction, &[(1, "a")]), "a");
    // The second is missing.
    let later = MOST_KEPT as u32 + 1;
    for seq in 0..later {
        let came = direction.take(Seq::new(3 + seq), b"x");
        assert_eq!(came.len(), if seq + 1 == later { later as usize } else { 0 }, "{seq}");
    }
    assert_eq!(direction.missing, 1);
}

#[test]
fn take__a_segment_in_parts_is_passed_on_once_it_is_whole() {
    let mut follower = Follower::new(None);
    assert_eq!(packet(&mut follower, 1, Flags::NONE, &[b"one "]), "one ");
    assert_eq!(part(&mut follower, 2, 0, 8, "two"), "");
    // The segment after it has come meanwhile.
    assert_eq!(packet(&mut follower, 3, Flags::NONE, &[b"end"]), "");
    assert_eq!(part(&mut follower, 2, 6, 8, "e "), "");
    assert_eq!(follower.missing(), 1);
    // In other sizes, since the path has become smaller again.
    assert_eq!(part(&mut follower, 2, 2, 8, "o mo"), "two moe end");
    assert_eq!(part(&mut follower, 2, 0, 8, "two"), "", "it is repeated");
    assert_eq!(follower.missing(), 0);
}

#[test]
fn take__a_segment_that_comes_whole_after_some_of_its_parts() {
    let mut follower = Follower::new(None);
    assert_eq!(part(&mut follower, 1, 0, 4, "ab"), "");
    assert_eq!(packet(&mut follower, 1, Flags::NONE, &[b"abcd"]), "abcd");
    assert_eq!(part(&mut follower, 1, 2, 4, "cd"), "");
    assert_eq!(follower.missing(), 0);
}

#[test]
fn take__parts_without_the_others_are_missing() {
    let mut follower = Follower::new(None);
    assert_eq!(part(&mut follower, 1, 2, 4, "cd"), "");
    assert_eq!(follower.missing(), 1);
    let mut came = String::new();
    for seq in 0..=MOST_KEPT as u32 {
        came += &packet(&mut follower, 2 + seq, Flags::NONE, &[b"x"]);
    }
    // What has come of the first one, and all others.
    assert_eq!((came.len(), follower.missing()), (2 + MOST_KEPT + 1, 1));
    let gap = Gap { at: 0, missing: Missing::Bytes(2) };
    assert_eq!((follower.take_gaps(), follower.end()), (vec![gap], Vec::new()));
}
