use etherparse::PacketBuilder;
use prp_proto::addr::{NodeId, Port};
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{CrcKey, Head, NetworkHeader, TransportHeader, checksum, packet_header};

use super::*;

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// A packet from node 1 to port 80 of node 2, as it goes in a datagram.
fn packet(seq: u32, payload: &[u8]) -> Vec<u8> {
    let node = |number| NodeId::new(number).expect("a node");
    let len = payload.len() as u16;
    let transport = TransportHeader::new(
        Port::new(50_000),
        Port::new(80),
        Seq::new(seq),
        SeqWidth::Bits20,
        len,
    );
    let network = NetworkHeader { src: node(1), dst: node(2) };
    let head = Head { ethernet: None, network, transport };
    let emitted = head.emit();
    let header = packet_header(&emitted);
    let trailer = checksum(CrcKey::NONE, header, [payload, &[]]);
    [&header[..], payload, &trailer].concat()
}

/// A frame with a datagram.
fn frame(from: &str, to: &str, payload: &[u8]) -> Vec<u8> {
    let [from, to] = [from, to].map(|addr| addr.parse::<SocketAddr>().expect("an address"));
    let link = PacketBuilder::ethernet2(A, B);
    let ip = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => link.ipv4(from.octets(), to.octets(), 64),
        (IpAddr::V6(from), IpAddr::V6(to)) => link.ipv6(from.octets(), to.octets(), 64),
        _ => panic!("of one family"),
    };
    let mut bytes = Vec::new();
    ip.udp(from.port(), to.port()).write(&mut bytes, payload).expect("room");
    bytes
}

fn numbers() -> ProtocolNumbers {
    ProtocolNumbers { ethertype: ETHERTYPE, own_ports: vec![5230, 6000] }
}

/// What `frame` carries, as it is printed.
fn lines(frame: &[u8]) -> Vec<String> {
    lines_of_cut(frame, frame.len())
}

/// The same, of a frame of which the first `captured` bytes were captured.
fn lines_of_cut(frame: &[u8], captured: usize) -> Vec<String> {
    let mut lines = Vec::new();
    each(frame, captured, &numbers(), &mut |packet| {
        let content = match &packet.content {
            Content::Packet(Ok(frame)) => frame.to_string(),
            Content::Packet(Err(why)) => why.to_string(),
            Content::GsoProbe(message) => message.to_string(),
        };
        let DecodedPacket { ends, bytes, gso_batch, .. } = packet;
        let gso_batch =
            gso_batch.map_or("unknown length".into(), |count: usize| format!("{count}"));
        lines.push(format!("{ends} [{bytes} bytes, GSO batch of {gso_batch}] {content}"));
        true
    });
    lines
}

#[test]
fn each__a_packet_in_a_datagram_of_either_ip() {
    let packet = packet(7, b"text");
    for (from, to, headers) in
        [("10.0.0.1:5231", "10.0.0.2:5230", 42), ("[fd00::1]:6005", "[fd00::2]:6000", 62)]
    {
        let bytes = headers + 16 + 4 + 4;
        let text = "1:50000 > 2:80 [-] seq 0+7 len 4";
        let expected = format!("{from} > {to} [{bytes} bytes, GSO batch of 1] {text}");
        assert_eq!(lines(&frame(from, to, &packet)), [expected]);
    }
}

#[test]
fn each__packets_of_a_gso_batch() {
    let gso_batch = [packet(1, &[0; 100]), packet(2, &[0; 100]), packet(3, &[0; 5])].concat();
    let lines = lines(&frame("10.0.0.1:5231", "10.0.0.2:5232", &gso_batch));
    assert_eq!(lines.len(), 3);
    for (line, (bytes, seq)) in lines.iter().zip([(162, 1), (162, 2), (67, 3)]) {
        assert!(line.contains(&format!("[{bytes} bytes, GSO batch of 3]")), "{line}");
        assert!(line.contains(&format!("seq 0+{seq} ")), "{line}");
    }
}

#[test]
fn each__ends_when_no_more_is_wanted() {
    let gso_batch = [packet(1, &[0; 100]), packet(2, &[0; 100])].concat();
    let mut count = 0;
    let frame = frame("10.0.0.1:5231", "10.0.0.2:5232", &gso_batch);
    let wants_more = each(&frame, frame.len(), &numbers(), &mut |_| {
        count += 1;
        false
    });
    assert_eq!((wants_more, count), (false, 1));
}

/// A capture of headers says that it does not know whether packets follow.
#[test]
fn each__the_first_packet_of_a_gso_batch_that_was_cut() {
    let ends = ["10.0.0.1:5231", "10.0.0.2:5232"];
    let cut = |payload: &[u8]| {
        let mut frame = frame(ends[0], ends[1], payload);
        frame[100..].fill(0);
        lines_of_cut(&frame, 100).join("")
    };
    let gso_batch = [packet(1, &[0; 100]), packet(2, &[0; 100]), packet(3, &[0; 5])].concat();
    let found = cut(&gso_batch);
    assert!(found.contains("[307 bytes, GSO batch of unknown length]"), "{found}");
    assert!(found.ends_with("seq 0+1 len 100"), "{found}");
    let found = cut(&packet(1, &[0; 100]));
    assert!(found.contains("[162 bytes, GSO batch of 1]"), "{found}");
    let probe = [&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 9][..], &[3; 200]].concat();
    assert!(cut(&probe).contains("GSO batch of unknown length"));
}

#[test]
fn each__what_a_node_s_port_hands_on() {
    let front = [&[0; 10][..], &[0xff, 0xff, 10, 0, 0, 1], &5231u16.to_be_bytes()].concat();
    let payload = [&front[..], &packet(7, b"text")].concat();
    let lines = lines(&frame("10.0.0.2:5230", "10.0.0.2:5233", &payload));
    let ends = "10.0.0.2:5230 > 10.0.0.2:5233 (came from 10.0.0.1:5231)";
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with(ends) && lines[0].ends_with("seq 0+7 len 4"), "{lines:?}");
}

#[test]
fn each__messages_between_devices() {
    let ends = ["10.0.0.1:5231", "10.0.0.2:5232"];
    let message = |kind: u8, index: u8, field: [u8; 2], len: usize| {
        let mut bytes = vec![3; len];
        bytes[..12].copy_from_slice(&[0, 0, 0, 0, kind, index, field[0], field[1], 0, 0, 0, 9]);
        bytes
    };
    let read = |payload: &[u8]| lines(&frame(ends[0], ends[1], payload));
    let probes = [message(1, 0, [0; 2], 64), message(1, 1, [0; 2], 64)].concat();
    let found = read(&probes);
    assert!(
        found.len() == 2 && found[1].ends_with("GSO test 9: probe 1, of a GSO batch"),
        "{found:?}"
    );
    let found = read(&message(2, 0, [0xff, 1], 12));
    assert!(found[0].ends_with("came 00000001 of a GSO batch, 11111111 alone"), "{found:?}");
}

#[test]
fn each__nothing_of_others() {
    let packet = packet(7, b"text");
    assert!(lines(&frame("10.0.0.1:53", "10.0.0.2:5230", &packet)).is_empty());
    assert!(lines(&frame("10.0.0.1:5230", "10.0.0.2:5358", &packet)).is_empty());
    let mut other = frame("10.0.0.1:5230", "10.0.0.2:5230", &packet);
    other[12] = 0x99;
    assert!(lines(&other).is_empty());
    assert!(lines(&[]).is_empty() && lines(&[0; 14]).is_empty());
}

/// A capture may end anywhere in a frame, and anything may be in it.
#[test]
fn each__any_part_of_a_frame() {
    let gso_batch = [packet(1, &[0; 100]), packet(2, &[0; 100])].concat();
    let frame = frame("10.0.0.1:5231", "10.0.0.2:5232", &gso_batch);
    for len in 0..frame.len() {
        assert!(lines(&frame[..len]).len() <= 2, "{len}");
    }
    let mut seed = 1u32;
    for _ in 0..2000 {
        let mut changed = frame.clone();
        for _ in 0..4 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [at, to, ..] = seed.to_le_bytes();
            changed[usize::from(at)] = to;
        }
        assert!(lines(&changed).len() <= 20, "{changed:?}");
    }
}

#[test]
fn of__all_ports_of_a_prphosts() {
    let text = b"1 udp:10.0.0.1\n2 udp:[fd00::2]:7000\n3 udp:10.0.0.3:40000\n";
    let hosts = Hosts::parse(text).expect("a prphosts");
    let numbers = ProtocolNumbers::of(Some(&hosts));
    assert_eq!(numbers.own_ports, [5230, 7000, 40000]);
    assert_eq!(numbers.udp_ports(), 5230..=40127);
    assert_eq!(ProtocolNumbers::of(None).udp_ports(), 5230..=5357);
}
