//! `make_capture FILE` writes a capture of frames that rarely occur in a real capture: lost, late
//! and changed segments, numbers that wrap, classic peers, later versions, and frames that no end
//! accepts. For each frame it prints a line with the notes that Wireshark's dissector
//! (`etc/wireshark/parmaprp.lua`) must attach to it, or `-`. With `--udp` the same packets are in
//! UDP datagrams.

use std::io::{self, Write};

use prp_proto::addr::{MacAddr, NodeId, Port};
use prp_proto::liveness::LivenessState;
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{
    AckBlock, Bitmap, Control, CrcKey, ETHERNET_LEN, ETHERTYPE, Echo, EthernetHeader, Flags, Head,
    LivenessBlock, MAX_CONTROL_LEN, NetworkHeader, NodeBlock, NodeKind, Offer, Part, Reliability,
    ReliabilitySet, ResetBlock, ResetReason, TransportHeader, checksum, packet_header,
};
use prp_tests::capture::datagram_frame;

/// Ethernet's shortest frame without FCS, to which shorter ones are padded.
const SHORTEST: usize = 60;

/// The first of a node's UDP ports: its own.
const FIRST_PORT: u16 = 5230;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (path, is_udp) = match &words[..] {
        [path] => (path, false),
        [path, option] if option == "--udp" => (path, true),
        _ => return Err(io::Error::other("usage: make_capture FILE [--udp]")),
    };
    let mut made = Made::default();
    established(&mut made);
    losses(&mut made);
    control_blocks(&mut made);
    handshakes(&mut made);
    node_blocks(&mut made);
    resets(&mut made);
    broken(&mut made);
    if is_udp {
        made = over_udp(&made);
    }
    std::fs::write(path, prp_tests::capture::file(&made.frames))?;
    let mut out = io::stdout().lock();
    made.notes.iter().try_for_each(|notes| writeln!(out, "{notes}"))
}

/// The same packets in datagrams, and packets that a node's own port hands on to one of its
/// processes.
fn over_udp(made: &Made) -> Made {
    let mut udp = Made::default();
    for (frame, notes) in made.frames.iter().zip(&made.notes) {
        let (head, packet) = frame.split_at(ETHERNET_LEN);
        // The last bytes of the addresses. Wireshark calls no dissector for an empty datagram.
        if !packet.is_empty() {
            let (from, to) = (mac(head[11].into()), mac(head[5].into()));
            udp.add(notes, datagram_frame((from, FIRST_PORT + 1), (to, FIRST_PORT + 2), packet));
        }
    }
    let mut handed_on = Made::default();
    open(&mut handed_on, CLIENT.port(40009));
    // From 10.99.0.1:5231, handed on by the own port of the node at 10.99.0.2.
    let front =
        [&[0; 10][..], &[0xff, 0xff, 10, 99, 0, 1], &(FIRST_PORT + 1).to_be_bytes()].concat();
    let hand_on = |packet: &[u8]| {
        let (from, to) = ((mac(2), FIRST_PORT), (mac(2), FIRST_PORT + 2));
        datagram_frame(from, to, &[&front, packet].concat())
    };
    for (frame, notes) in handed_on.frames.iter().zip(&handed_on.notes) {
        udp.add(notes, hand_on(&frame[ETHERNET_LEN..]));
    }
    udp.add("malformed", hand_on(&[]));
    udp.add("malformed", hand_on(&[0; 15]));
    udp
}

/// Frames, and the notes that each must get.
#[derive(Default)]
struct Made {
    frames: Vec<Vec<u8>>,
    notes: Vec<&'static str>,
}

impl Made {
    fn add(&mut self, notes: &'static str, frame: Vec<u8>) {
        self.frames.push(frame);
        self.notes.push(notes);
    }
}

/// A frame before its payload is known.
#[derive(Copy, Clone)]
struct Plan {
    from: (u16, u16),
    to: (u16, u16),
    flags: Flags,
    seq: u32,
    width: SeqWidth,
    hops: u8,
    key: Option<CrcKey>,
}

/// A frame from the client's end of a connection to the server's.
const CLIENT: Plan = Plan {
    from: (1, 40000),
    to: (2, 80),
    flags: Flags::NONE,
    seq: 100,
    width: SeqWidth::Bits20,
    hops: 0,
    key: Some(CrcKey { sender: 0xa, receiver: 0xb }),
};

impl Plan {
    fn back(self) -> Self {
        let swap = |key: CrcKey| CrcKey { sender: key.receiver, receiver: key.sender };
        Self { from: self.to, to: self.from, key: self.key.map(swap), ..self }
    }

    fn flags(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }

    fn seq(self, seq: u32) -> Self {
        Self { seq, ..self }
    }

    fn port(self, port: u16) -> Self {
        Self { from: (self.from.0, port), ..self }
    }

    fn key(self, key: Option<CrcKey>) -> Self {
        Self { key, ..self }
    }

    fn frame(self, payload: &[u8]) -> Vec<u8> {
        let node = |number| NodeId::new(number).expect("not a reserved number");
        let (src_port, dst_port) = (Port::new(self.from.1), Port::new(self.to.1));
        let mut transport = TransportHeader::new(
            src_port,
            dst_port,
            Seq::new(self.seq),
            self.width,
            payload.len() as u16,
        );
        transport.flags = transport.flags.with(self.flags).with_hops(self.hops);
        let head = Head {
            ethernet: Some(EthernetHeader {
                dst: mac(self.to.0),
                src: mac(self.from.0),
                ethertype: ETHERTYPE,
            }),
            network: NetworkHeader { src: node(self.from.0), dst: node(self.to.0) },
            transport,
        }
        .emit();
        let mut frame = head.to_vec();
        frame.extend_from_slice(payload);
        if let Some(key) = self.key {
            frame.extend(checksum(key, packet_header(&head), [payload, &[]]));
        }
        frame
    }
}

/// The hardware address of a node.
const fn mac(node: u16) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, node as u8])
}

fn offer(id: u32, echo: u32) -> Offer {
    let reliability = ReliabilitySet::only(Reliability::SelectiveRepeat);
    Offer { id, echo, reliability, crc: true, mss: 1484, window: 44 }
}

/// Opens the connection of `client`, whose ids are derived from its key.
fn open(made: &mut Made, client: Plan) {
    let Some(key) = client.key else { return };
    let request = client.flags(Flags::CREQ).key(Some(CrcKey::NONE));
    made.add("opened", request.frame(&offer(key.sender, 0).emit()));
    let grant = client.back().flags(Flags::CACK.with_ack(Seq::new(client.seq)));
    let grant = grant.seq(500).key(Some(CrcKey::NONE));
    made.add("opened", grant.frame(&offer(key.receiver, key.sender).emit()));
}

/// A regular connection whose numbers wrap, behind a router; the capture has both of its sides.
fn established(made: &mut Made) {
    let client = CLIENT.port(40001).seq(0xf_fffe);
    open(made, client);
    for ahead in 0..4 {
        let data = client.flags(Flags::EOM).seq(client.seq + ahead);
        made.add("-", data.frame(b"data"));
        made.add("-", Plan { hops: 1, ..data }.frame(b"data"));
    }
    made.add("closed", client.flags(Flags::EOC).seq(client.seq + 4).frame(&[]));
}

fn losses(made: &mut Made) {
    open(made, CLIENT);
    made.add("-", CLIENT.frame(b"one"));
    made.add("gap", CLIENT.seq(103).frame(b"four"));
    made.add("late", CLIENT.seq(102).frame(b"three"));
    made.add("repeated", CLIENT.seq(101).flags(Flags::RTX).frame(b"two"));
    made.add("repeated", CLIENT.seq(101).flags(Flags::RTX).frame(b"two"));
    let mut changed = CLIENT.seq(104).frame(b"five");
    changed[32] ^= 1;
    made.add("crc", changed);
    made.add("-", CLIENT.seq(104).frame(b"five"));
    let mut without = CLIENT.seq(105).key(None).frame(b"six");
    made.add("crc", without.clone());
    without.resize(SHORTEST, 0);
    made.add("crc", without);
}

fn acknowledgement(window: u32, received: Bitmap) -> AckBlock {
    let echo = Echo { seq: Seq::new(104), retransmitted: true, held_ns: 7_000 };
    let gap = !received.is_empty();
    AckBlock {
        next: Seq::new(105),
        window,
        gap,
        echo: Some(echo),
        probe: Some(9),
        finished: !gap,
        leaves: !gap,
        received,
    }
}

/// Frames of the connection that [`losses`] has opened.
fn control_blocks(made: &mut Made) {
    let server = CLIENT.back().flags(Flags::CTL).seq(500);
    let emitted = |control: Control| {
        let mut block = [0; MAX_CONTROL_LEN];
        let len = control.emit(&mut block);
        block[..len].to_vec()
    };
    let mut bitmap = Bitmap::EMPTY;
    [0, 1, 63, 64, 200, 1023].into_iter().for_each(|at| bitmap.set(at));
    let full = emitted(Control::Ack { to: 0xa, ack: acknowledgement(44, bitmap) });
    made.add("reported_gap", server.frame(&full));
    let closed = emitted(Control::Ack { to: 0xa, ack: acknowledgement(0, Bitmap::EMPTY) });
    made.add("closed_window", server.frame(&closed));
    made.add("-", server.frame(&emitted(Control::Probe { to: 0xa, from: 0xb, number: 3 })));
    let mut probe = emitted(Control::SizeProbe { to: 0xa, size: 2000 });
    probe.resize(2000, 0);
    made.add("-", server.frame(&probe));
    made.add("-", server.frame(&emitted(Control::SizeProbeAck { to: 0xa, size: 2000 })));
    let changed = |at: usize, value: u8| {
        let mut block = closed.clone();
        block[at] = value;
        block
    };
    let part = Part { to: 0xa, seq: Seq::new(499), at: 1000, total: 1004, flags: Flags::EOM };
    made.add("-", server.frame(&[&part.emit()[..], b"last"].concat()));
    made.add("-", server.frame(&Part { at: 0, total: 0, flags: Flags::EOC, ..part }.emit()));
    made.add("malformed", server.frame(&[&part.emit()[..], b"beyond"].concat()));
    made.add("malformed,unknown", server.frame(&changed(0, 9)));
    made.add("malformed", server.frame(&changed(2, 17)));
    made.add("malformed", server.frame(&full[..full.len() - 1]));
    made.add("malformed", server.frame(&full[..11]));
    made.add("malformed", server.frame(&[]));
    made.add(
        "unknown",
        server.frame(&[emitted(Control::SizeProbeAck { to: 0xa, size: 1 }), vec![0]].concat()),
    );
}

fn handshakes(made: &mut Made) {
    let request = CLIENT.port(40002).flags(Flags::CREQ).key(Some(CrcKey::NONE));
    let block = offer(0xc, 0).emit().to_vec();
    let mut later = block.clone();
    later[0] = 2;
    later.extend([200, 3, 1, 2, 3]);
    made.add("opened,unknown", request.frame(&later));
    let mut beyond = block.clone();
    beyond.extend([200, 3, 1, 2]);
    made.add("malformed,opened", request.frame(&beyond));
    made.add("malformed,opened", request.frame(&block[..19]));
    made.add("malformed,opened", request.frame(&offer(0, 0).emit()));
    let mut wrong = request.frame(&block);
    wrong[40] ^= 1;
    made.add("crc,opened", wrong);
    // Classic peers have no options, no trailer and sequence numbers of 16 bits.
    let classic = Plan { width: SeqWidth::Bits16, key: None, ..CLIENT.port(900).seq(0xffff) };
    made.add("opened", padded(&classic.flags(Flags::CREQ).frame(&[])));
    made.add("opened", padded(&classic.back().flags(Flags::CACK).seq(7).frame(&[])));
    made.add("-", padded(&classic.frame(b"one")));
    made.add("-", padded(&classic.seq(0).flags(Flags::EOM).frame(b"two")));
    made.add("gap", padded(&classic.seq(2).frame(b"four")));
}

fn padded(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame.resize(frame.len().max(SHORTEST), 0);
    frame
}

/// Frames between the control ports of nodes.
fn node_blocks(made: &mut Made) {
    let plan = Plan { from: (3, 0), to: (1, 0), ..CLIENT }.flags(Flags::CTL);
    let plan = plan.key(Some(CrcKey::NONE));
    for kind in NodeKind::ALL {
        let block = NodeBlock { kind, hops: 2, sequence: 7, id: 8, stamp: u64::MAX };
        made.add("-", plan.frame(&block.emit()));
    }
    let mut block = LivenessBlock {
        state: LivenessState::AdminDown,
        multiplier: 3,
        passive: false,
        mine: 1,
        yours: 2,
        interval_us: 100_000,
        least_us: 50_000,
    };
    for state in
        [LivenessState::Up, LivenessState::Init, LivenessState::Down, LivenessState::AdminDown]
    {
        block.state = state;
        made.add("-", plan.frame(&block.emit()));
    }
    let mut unknown = block.emit();
    unknown[1] = 9;
    made.add("malformed,unknown", plan.frame(&unknown));
    unknown[0] = 99;
    made.add("malformed,unknown", plan.frame(&unknown));
    made.add("malformed", plan.frame(&block.emit()[..7]));
    made.add("crc", plan.key(None).frame(&block.emit()));
}

fn resets(made: &mut Made) {
    let plan = CLIENT.back().flags(Flags::RST).key(Some(CrcKey::NONE));
    let block = |reason| ResetBlock { reason, receiver: 0xa, sender: 0xb }.emit();
    made.add("reset,unknown", plan.frame(&block(ResetReason::Unknown(77))));
    made.add("malformed,reset", plan.frame(&block(ResetReason::Gap)[..5]));
    made.add("reset", padded(&plan.frame(&block(ResetReason::Aborted))));
}

/// Frames that every end drops.
fn broken(made: &mut Made) {
    let whole = CLIENT.frame(b"data");
    for len in [14, 15, 29] {
        made.add("malformed", whole[..len].to_vec());
    }
    made.add("malformed", whole[..31].to_vec());
    let mut reserved = whole;
    reserved[14..16].fill(0);
    made.add("malformed", reserved.clone());
    reserved[14..16].fill(0xff);
    made.add("malformed", reserved);
}
