//! `decode_capture FILE` decodes each frame of a capture file with prp-proto and prints one line
//! per frame, values separated by tabs. `decode_capture --fields` prints the names of these values
//! in Wireshark's dissector (`etc/wireshark/parmaprp.lua`), in the same order, so that a script can
//! compare both.

use std::collections::HashMap;
use std::io::{self, Write};

use prp_proto::addr::{LinkAddr, MacAddr};
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{
    CRC_LEN, Control, CrcKey, ETHERTYPE, Flags, Frame, FrameError, LivenessBlock, NodeBlock,
    NodeKind, Offer, PACKET_HEADER_LEN, Part, Reliability, ResetBlock, ResetReason,
};
use prp_tests::capture::{datagram, frames, has_one_address};

const FIELDS: [&str; 46] = [
    "frame.number",
    "parmaprp.expert.malformed",
    "parmaprp.src",
    "parmaprp.dst",
    "parmaprp.srcport",
    "parmaprp.dstport",
    "parmaprp.seq",
    "parmaprp.len",
    "parmaprp.flags",
    "parmaprp.flags.hops",
    "parmaprp.flags.ackno",
    "parmaprp.options.policies",
    "parmaprp.options.wishes",
    "parmaprp.options.id",
    "parmaprp.options.answers",
    "parmaprp.options.largest",
    "parmaprp.options.window",
    "parmaprp.control.kind",
    "parmaprp.control.flags",
    "parmaprp.control.to",
    "parmaprp.control.next",
    "parmaprp.control.window",
    "parmaprp.control.arrived",
    "parmaprp.control.held",
    "parmaprp.control.received",
    "parmaprp.control.from",
    "parmaprp.control.size",
    "parmaprp.control.part_of",
    "parmaprp.control.part_at",
    "parmaprp.control.part_total",
    "parmaprp.reset.reason",
    "parmaprp.reset.to",
    "parmaprp.reset.from",
    "parmaprp.echo.hops",
    "parmaprp.echo.sequence",
    "parmaprp.echo.id",
    "parmaprp.echo.stamp",
    "parmaprp.liveness.state",
    "parmaprp.liveness.multiplier",
    "parmaprp.liveness.mine",
    "parmaprp.liveness.yours",
    "parmaprp.liveness.interval",
    "parmaprp.crc.status",
    "parmaprp.seq_relative",
    "parmaprp.ack",
    "parmaprp.ack_relative",
];

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut out = io::stdout().lock();
    match &words[..] {
        [word] if word == "--fields" => writeln!(out, "{}", FIELDS.join("\n")),
        [path] => {
            let file = std::fs::read(path)?;
            let mut ends = Ends::default();
            for (bytes, number) in frames(&file)?.iter().zip(1u32..) {
                let mut line = Line::new(number);
                read(bytes, &mut ends, &mut line);
                writeln!(out, "{}", line.0.join("\t"))?;
            }
            Ok(())
        }
        _ => Err(io::Error::other("usage: decode_capture FILE | --fields")),
    }
}

/// One value for each field, empty where a frame has none.
struct Line(Vec<String>);

impl Line {
    fn new(number: u32) -> Self {
        let mut line = Self(vec![String::new(); FIELDS.len()]);
        line.0[0] = number.to_string();
        line
    }

    #[allow(clippy::needless_pass_by_value, reason = "numbers and texts, at each place a new one")]
    fn set(&mut self, field: &str, value: impl ToString) {
        let name = format!("parmaprp.{field}");
        let at = FIELDS.iter().position(|f| *f == name).expect("one of FIELDS");
        self.0[at] = value.to_string();
    }

    fn set_hex(&mut self, field: &str, value: u32) {
        self.set(field, format!("0x{value:08x}"));
    }

    fn set_byte(&mut self, field: &str, value: u8) {
        self.set(field, format!("0x{value:02x}"));
    }
}

/// The state of an end as the handshake and later frames show it.
#[derive(Copy, Clone, Default)]
struct End {
    id: u32,
    first: Option<Seq>,
    latest: Seq,
    /// Whether its frames have a trailer; known after the grant.
    trailer: Option<bool>,
    /// One of both ends is classic: sequence numbers have 16 bits.
    classic: bool,
}

/// The sending end, identified by its address and that of its peer.
#[derive(Default)]
struct Ends(HashMap<(String, String), End>);

/// A node's own UDP port, and the bytes in front of a packet that the port's owner hands on (SPEC
/// PRP-UDP-2).
const UDP_PORT: u16 = 5230;
const HANDED_ON_LEN: usize = 18;

/// Whether one process of a node has handed on the datagram in `frame` to another one: from the
/// node's own port to another port of the same IP address.
fn is_handed_on(frame: &[u8], source: u16, destination: u16) -> bool {
    source == UDP_PORT && destination != UDP_PORT && has_one_address(frame)
}

/// The packet in a frame, by itself or in a UDP datagram.
fn parse(bytes: &[u8]) -> Result<Frame<'_>, FrameError> {
    let Some((source, destination, payload)) = datagram(bytes) else {
        return Frame::parse(bytes, ETHERTYPE);
    };
    let packet = if is_handed_on(bytes, source, destination) {
        payload.get(HANDED_ON_LEN..)
    } else {
        Some(payload)
    };
    // The sender's address does not matter here.
    Frame::parse_datagram(LinkAddr::Ethernet(MacAddr([0; 6])), packet.unwrap_or_default())
}

/// The first bytes of a message between devices (SPEC PRP-UDP-7), which prp-proto does not decode.
const MESSAGE_MARK: [u8; 4] = [0; 4];

fn read(bytes: &[u8], ends: &mut Ends, line: &mut Line) {
    if datagram(bytes).is_some_and(|(source, destination, payload)| {
        !is_handed_on(bytes, source, destination) && payload.starts_with(&MESSAGE_MARK)
    }) {
        return;
    }
    let Ok(frame) = parse(bytes) else {
        return line.set("expert.malformed", 1);
    };
    let (n, t, flags) = (frame.head.network, frame.head.transport, frame.flags());
    line.set("src", n.src.number());
    line.set("dst", n.dst.number());
    line.set("srcport", t.src_port.number());
    line.set("dstport", t.dst_port.number());
    line.set("seq", t.first_seq(SeqWidth::Bits20).bits());
    line.set("len", t.len);
    line.set_hex("flags", flags.bits());
    line.set("flags.hops", flags.hops());
    if flags.contains(Flags::ACK) {
        line.set("flags.ackno", flags.ackno());
    }
    if t.src_port.number() == 0 || t.dst_port.number() == 0 {
        let understood = node_block(frame.payload, line);
        line.set("crc.status", u8::from(frame.crc_ok(CrcKey::NONE)));
        if !understood {
            line.set("expert.malformed", 1);
        }
        return;
    }
    let from = format!("{}:{}", n.src, t.src_port.number());
    let to = format!("{}:{}", n.dst, t.dst_port.number());
    let understood = blocks(&frame, line);
    if !understood {
        line.set("expert.malformed", 1);
    }
    match trailer_of(&frame, ends, &(from.clone(), to.clone())) {
        Trailer::Under(key) => {
            let right = frame.crc_ok(key);
            line.set("crc.status", u8::from(right));
            if !right {
                return;
            }
        }
        Trailer::Unknown
            if frame.packet().len() >= PACKET_HEADER_LEN + frame.payload.len() + CRC_LEN =>
        {
            line.set("crc.status", 2);
        }
        Trailer::Unknown | Trailer::None => {}
    }
    if understood {
        numbers(&frame, ends, from, to, line);
    }
}

/// The trailer of a frame.
enum Trailer {
    None,
    Under(CrcKey),
    /// The capture does not have the grant that negotiated it.
    Unknown,
}

/// Whether the frame must have a trailer, and its key (SPEC PRP-CRC-1 and 3).
fn trailer_of(frame: &Frame<'_>, ends: &Ends, pair: &(String, String)) -> Trailer {
    let flags = frame.flags();
    if flags.intersects(Flags::CREQ | Flags::CACK | Flags::RST) {
        let classic = frame.payload.is_empty() && !flags.contains(Flags::RST);
        return if classic { Trailer::None } else { Trailer::Under(CrcKey::NONE) };
    }
    let own = ends.0.get(pair).copied().unwrap_or_default();
    let other = ends.0.get(&(pair.1.clone(), pair.0.clone())).copied().unwrap_or_default();
    match own.trailer {
        Some(true) => Trailer::Under(CrcKey { sender: own.id, receiver: other.id }),
        Some(false) => Trailer::None,
        None => Trailer::Unknown,
    }
}

/// Updates the state of the end that sent the frame, and expands its sequence numbers.
fn numbers(frame: &Frame<'_>, ends: &mut Ends, from: String, to: String, line: &mut Line) {
    let (t, flags) = (frame.head.transport, frame.flags());
    let back = (to.clone(), from.clone());
    let own = ends.0.entry((from, to)).or_default();
    if flags.intersects(Flags::CREQ | Flags::CACK) && !flags.contains(Flags::RST) {
        let offer = Offer::parse(frame.payload).ok();
        let first = t.first_seq(SeqWidth::Bits20);
        let id = offer.map_or(0, |o| o.id);
        if own.first.is_none() || own.id != id {
            let classic = offer.is_none();
            *own = End { id, first: Some(first), latest: first, trailer: None, classic };
        }
        if flags.contains(Flags::CACK) {
            let trailer = Some(offer.is_some_and(|o| o.crc));
            own.trailer = trailer;
            ends.0.entry(back.clone()).or_default().trailer = trailer;
        }
    }
    let own = ends.0.entry((back.1.clone(), back.0.clone())).or_default();
    let width = if own.classic { SeqWidth::Bits16 } else { SeqWidth::Bits20 };
    // Without the handshake in the capture, numbers count from the first captured frame.
    let near = if own.first.is_some() { own.latest } else { t.first_seq(width) };
    let seq = t.expand_seq(width, near);
    if !flags.intersects(Flags::CREQ | Flags::CACK | Flags::CTL | Flags::RST) {
        let known = own.first.replace(own.first.unwrap_or(seq));
        own.latest = known.map_or(seq, |_| own.latest.max(seq));
    }
    if let Some(first) = own.first.filter(|first| !seq.before(*first)) {
        line.set("seq_relative", seq.since(first));
    }
    let other = ends.0.get(&back).copied().unwrap_or_default();
    if let (true, Some(first)) = (flags.contains(Flags::ACK), other.first) {
        let ack = Seq::expand(u32::from(flags.ackno()), SeqWidth::Bits16, other.latest);
        line.set("ack", ack.bits());
        if !ack.before(first) {
            line.set("ack_relative", ack.since(first));
        }
    }
}

fn blocks(frame: &Frame<'_>, line: &mut Line) -> bool {
    let flags = frame.flags();
    if flags.contains(Flags::RST) {
        return ResetBlock::parse(frame.payload).map(|block| reset_block(block, line)).is_some();
    }
    if flags.intersects(Flags::CREQ | Flags::CACK) {
        let Ok(offer) = Offer::parse(frame.payload) else { return frame.payload.is_empty() };
        let bits = [Reliability::Detect, Reliability::GoBackN, Reliability::SelectiveRepeat];
        let has = |(policy, bit)| if offer.reliability.contains(policy) { 1u8 << bit } else { 0 };
        line.set_byte("options.policies", bits.into_iter().zip(0..).map(has).sum());
        line.set_byte("options.wishes", offer.crc.into());
        line.set_hex("options.id", offer.id);
        line.set_hex("options.answers", offer.echo);
        line.set("options.largest", offer.mss);
        line.set("options.window", offer.window);
        return true;
    }
    if flags.contains(Flags::CTL) {
        if let Some((part, _)) = Part::of(frame) {
            part_block(&part, line);
            return true;
        }
        let control = Control::parse(frame.payload);
        return control.map(|control| control_block(&control, line)).is_some();
    }
    true
}

fn reset_block(block: ResetBlock, line: &mut Line) {
    let reason = match block.reason {
        ResetReason::Refused => 1,
        ResetReason::Aborted => 2,
        ResetReason::NoConnection => 3,
        ResetReason::Gap => 4,
        ResetReason::NoCommonPolicy => 5,
        ResetReason::TimedOut => 6,
        ResetReason::Unknown(code) => code,
    };
    line.set("reset.reason", reason);
    line.set_hex("reset.to", block.receiver);
    line.set_hex("reset.from", block.sender);
}

fn control_block(control: &Control, line: &mut Line) {
    line.set_hex("control.to", control.to());
    let mut flags = 0;
    let kind = match control {
        Control::Ack { ack, .. } => {
            let echo = ack.echo;
            let set = [
                ack.gap,
                echo.is_some(),
                echo.is_some_and(|echo| echo.retransmitted),
                ack.probe.is_some(),
                ack.finished,
                ack.leaves,
            ];
            flags = set.iter().zip(0..).map(|(set, bit)| u8::from(*set) << bit).sum();
            line.set("control.next", ack.next.bits());
            line.set("control.window", ack.window);
            line.set("control.arrived", echo.map_or(0, |echo| echo.seq.bits()));
            line.set("control.held", echo.map_or(0, |echo| echo.held_ns));
            let next = ack.next.bits().wrapping_add(1);
            let received: Vec<_> =
                ack.received.iter().map(|i| next.wrapping_add(i).to_string()).collect();
            line.set("control.received", received.join(","));
            1
        }
        Control::Probe { from, .. } => {
            line.set_hex("control.from", *from);
            2
        }
        Control::SizeProbe { size, .. } => {
            line.set("control.size", size);
            3
        }
        Control::SizeProbeAck { size, .. } => {
            line.set("control.size", size);
            4
        }
    };
    line.set("control.kind", kind);
    line.set_byte("control.flags", flags);
}

fn part_block(part: &Part, line: &mut Line) {
    line.set("control.kind", Part::KIND);
    line.set_byte("control.flags", part.bits());
    line.set_hex("control.to", part.to);
    line.set("control.part_of", part.seq.bits());
    line.set("control.part_at", part.at);
    line.set("control.part_total", part.total);
}

fn node_block(payload: &[u8], line: &mut Line) -> bool {
    if let Some(block) = LivenessBlock::parse(payload) {
        line.set("control.kind", 24);
        line.set("liveness.state", block.state.code());
        line.set("liveness.multiplier", block.multiplier);
        line.set("liveness.mine", block.mine);
        line.set("liveness.yours", block.yours);
        line.set("liveness.interval", block.interval_us);
        return true;
    }
    let Some(block) = NodeBlock::parse(payload) else { return false };
    let kind = match block.kind {
        NodeKind::Echo => 16,
        NodeKind::EchoReply => 17,
        NodeKind::TimeExceeded => 18,
        NodeKind::Unreachable => 19,
        NodeKind::TooBig => 20,
    };
    line.set("control.kind", kind);
    line.set("echo.hops", block.hops);
    line.set("echo.sequence", block.sequence);
    line.set_hex("echo.id", block.id);
    line.set("echo.stamp", block.stamp);
    true
}
