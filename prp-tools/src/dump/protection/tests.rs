use prp_proto::addr::{LinkAddr, MacAddr, NodeId};
use prp_proto::key::{
    Aes128Gcm, Member, NodeKeyFile, NodeKeys, NodeSecret, Nonce, OPTION_BYTES, Secret, Seed,
};
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{Head, NetworkHeader, SealedFrame, TransportHeader, packet_header};

use super::*;

/// The header of a packet from one node to another, between ports 70 and 80.
fn header(from: u16, to: u16, flags: Flags, len: usize) -> [u8; HEADER_BYTES] {
    let node = |number| NodeId::new(number).expect("a node");
    let port = |node| Port::new(if node == 1 { 70 } else { 80 });
    let (seq, width) = (Seq::default(), SeqWidth::Bits20);
    let mut transport = TransportHeader::new(port(from), port(to), seq, width, len as u16);
    transport.flags |= flags;
    let network = NetworkHeader { src: node(from), dst: node(to) };
    *packet_header(&Head { ethernet: None, network, transport }.emit())
}

fn keyring(mode: Mode, secret: u8) -> Keyring {
    Keyring::new(&KeyFile::new(mode, 1, Secret::new([secret; 32])))
}

/// What a connection of `mode` begins with: its request, its answer, and a control block.
fn packets(mode: Mode) -> [Vec<u8>; 3] {
    packets_of([1, 2].map(|_| keyring(mode, 7)))
}

/// As [`packets`], of ends with these keys.
fn packets_of(rings: [Keyring; 2]) -> [Vec<u8>; 3] {
    let [client, server] = rings;
    let client = Member::<Aes128Gcm>::new(client, Seed::new([1; 32]));
    let mut server = Member::<Aes128Gcm>::new(server, Seed::new([2; 32]));
    let options = |id: u8| vec![1, 4, 1, 0, 0, 0, 0, id, 0, 0, 0, 0, 5, 204, 0, 0, 0, 0, 1, 0];
    let (mut block, mut answer) = (options(11), options(12));
    let len = block.len() + OPTION_BYTES;
    let (asks, answers) = (header(1, 2, Flags::CREQ, len), header(2, 1, Flags::CACK, len));
    client.ask(&asks, Nonce::new([3; 16]), &mut block);
    let (nonce, said) = (Nonce::new([4; 16]), (&answers, &mut answer));
    let session = server.answer((&asks, &block), nonce, said, || true);
    let mut probe = vec![2, 0, 0, 5, 0, 0, 0, 11, 0, 0, 0, 12, 1, 2, 3, 4];
    let head = header(2, 1, Flags::CTL, probe.len());
    let trailer = session.expect("a member asks").protect(&head, &mut probe).expect("the first");
    [
        [&asks[..], &block, &[0; 4]].concat(),
        [&answers[..], &answer, &[0; 4]].concat(),
        [&head[..], &probe, &trailer].concat(),
    ]
}

fn parsed(bytes: &[u8]) -> Frame<'_> {
    Frame::parse_datagram(LinkAddr::Ethernet(MacAddr::ZERO), bytes).expect("a packet")
}

fn reader(keyring: Option<Keyring>) -> ProtectionReader {
    ProtectionReader { keyring, ..ProtectionReader::default() }
}

fn said(reader: &mut ProtectionReader, packets: &[Vec<u8>]) -> Vec<String> {
    let read = |bytes: &Vec<u8>| reader.read(&parsed(bytes), false);
    packets.iter().map(read).map(|it| it.expect("it has a key").to_string()).collect()
}

#[test]
fn read__mode_secret_and_counter_of_each_packet() {
    for mode in [Mode::Sign, Mode::Seal] {
        let packets = packets(mode);
        let [asks, agrees, frame] = [
            format!("asks for {mode} key 1"),
            format!("agrees on {mode} key 1"),
            format!("{mode} key 1 epoch 0 frame 0"),
        ];
        for (secret, word) in [(7, "right"), (8, "wrong")] {
            let mut reader = reader(Some(keyring(mode, secret)));
            let tags = [format!("{asks} tag {word}"), format!("{agrees} tag {word}")];
            assert_eq!(
                said(&mut reader, &packets),
                [&tags[..], std::slice::from_ref(&frame)].concat()
            );
        }
        // Nothing says of a handshake of which not all is here who has made it.
        let mut cut = reader(Some(keyring(mode, 7)));
        for (packet, says) in packets[..2].iter().zip([&asks, &agrees]) {
            let protection = cut.read(&parsed(packet), true).expect("it has a key");
            assert_eq!(protection.to_string(), format!("{says} tag unchecked"));
        }
        assert_eq!(said(&mut reader(None), &packets), [asks, agrees, frame]);
        // A capture that began later, or that has not all of the frame.
        assert_eq!(said(&mut reader(None), &packets[2..]), ["a key epoch 0 frame 0"]);
        let mut cut = reader(None);
        said(&mut cut, &packets[..2]);
        let protection = cut.read(&parsed(&packets[2]), true).expect("it is known");
        assert_eq!(protection.to_string(), format!("{mode} key 1"));
        assert_eq!(protection.is_sealed(), mode == Mode::Seal);
    }
}

/// The keys of a node, of those on the lines of nodes 1 and 2.
fn of_node(node: u16) -> Keyring {
    let secret = |node: u16| Secret::new([10 + node as u8; 32]);
    let lines = [1, 2].map(|node| (node, vec![NodeSecret::new(&secret(node)).key()]));
    let file = NodeKeyFile::new(secret(node));
    let keys = NodeKeys::new(node, lines.into(), Some(&file)).expect("it is on its line");
    keyring(Mode::Seal, 7).with_nodes(keys)
}

#[test]
fn read__what_node_keys_vouch_for() {
    let packets = packets_of([1, 2].map(of_node));
    let frame = "seal key 1 epoch 0 frame 0";
    let lines = |word| {
        let tags = ["asks for", "agrees on"].map(|does| format!("{does} seal key 1 tag {word}"));
        [&tags[..], &[frame.to_owned()]].concat()
    };
    for (ring, word) in
        [(of_node(1), "right"), (of_node(2), "right"), (keyring(Mode::Seal, 7), "unchecked")]
    {
        assert_eq!(said(&mut reader(Some(ring)), &packets), lines(word));
    }
}

#[test]
fn unchecked__counts_by_reason() {
    let counted = |ring: Option<Keyring>, packets: &[Vec<u8>]| {
        let (mut reader, mut unchecked) = (reader(ring), Unchecked::default());
        for packet in packets {
            unchecked.note(&reader.read(&parsed(packet), false).expect("it has a key"));
        }
        unchecked.lines().collect::<Vec<_>>().join("\n")
    };
    let with_nodes = packets_of([1, 2].map(of_node));
    let text = counted(Some(keyring(Mode::Seal, 7)), &with_nodes);
    assert!(text.contains("1 packet of connections") && text.contains("2 packets for"), "{text}");
    let text = counted(Some(of_node(1)), &with_nodes);
    assert!(text.contains("no key file checks") && !text.contains('\n'), "{text}");
    // Another secret, and an answer to what was not captured.
    let other = Keyring::new(&KeyFile::new(Mode::Seal, 2, Secret::new([7; 32])));
    let text = counted(Some(other), &packets(Mode::Seal)[..2]);
    assert!(text.starts_with("not checked: 2 packets which name a secret"), "{text}");
    let text = counted(Some(keyring(Mode::Seal, 7)), &packets(Mode::Seal)[1..2]);
    assert!(text.starts_with("not checked: 1 packet which"), "{text}");
    assert_eq!(counted(None, &with_nodes), "");
}

#[test]
fn read__frames_outside_connections() {
    let (ring, head) = (keyring(Mode::Sign, 7), header(1, 2, Flags::RST, 12));
    let signed = [&head[..], &[0; 12], &ring.sign(&head, &[0; 12])].concat();
    let mut knows = reader(Some(ring));
    assert_eq!(said(&mut knows, std::slice::from_ref(&signed)), ["sign key 1 tag right"]);
    let mut other = reader(Some(keyring(Mode::Sign, 8)));
    assert_eq!(said(&mut other, &[signed]), ["sign key 1 tag wrong"]);
}

/// What is behind the ids of a control block is not for a capture.
#[test]
fn sealed_frame__only_what_stays_readable() {
    let [.., frame] = packets(Mode::Seal);
    let text = SealedFrame(&parsed(&frame)).to_string();
    assert!(text.ends_with("| to 0000000b probe sealed"), "{text}");
}
