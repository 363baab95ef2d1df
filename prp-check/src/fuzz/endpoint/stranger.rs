//! Frames of the third node: from plain noise to what a peer that keeps to the protocol would send.

use arbitrary::{Result, Unstructured};

use prp_proto::addr::Port;
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{
    AckBlock, Bitmap, Control, CrcKey, ETHERTYPE, Echo, EthernetHeader, Flags, Frame, Head,
    MAX_CONTROL_LEN, NetworkHeader, Offer, Part, Reliability, ReliabilitySet, ResetBlock,
    ResetReason, TransportHeader, checksum, packet_header,
};

use super::harness::{
    FRIEND, FRIEND_PORT, FRIEND_SERVICE, OPEN_SERVICE, STRANGER, TARGET, mac, node,
};

/// What the stranger has learnt of a connection of its own from the target's frames.
#[derive(Copy, Clone, Default, Debug)]
struct Observed {
    /// Our port and the target's.
    ports: (u16, u16),
    ours: u32,
    theirs: u32,
    /// The number of our next segment, and of theirs.
    next: Seq,
    expected: Seq,
    crc: bool,
}

/// The third node.
#[derive(Default)]
pub(super) struct Stranger {
    observed: Vec<Observed>,
}

/// Connections the stranger keeps in mind.
const MAX_OBSERVED: usize = 8;

/// The id in the requests it makes: it needs no secret one.
const OWN_ID: u32 = 0x5555;

impl Stranger {
    /// Reads a frame the target sent us.
    pub(super) fn learn(&mut self, bytes: &[u8]) {
        let Ok(frame) = Frame::parse(bytes, ETHERTYPE) else { return };
        let transport = &frame.head.transport;
        let ports = (transport.dst_port.number(), transport.src_port.number());
        if let Ok(offer) = Offer::parse(frame.payload)
            && frame.flags().intersects(Flags::CREQ | Flags::CACK)
        {
            let expected = transport.first_seq(SeqWidth::Bits20);
            self.observed.retain(|observed| observed.ports != ports);
            if self.observed.len() == MAX_OBSERVED {
                self.observed.remove(0);
            }
            let theirs = offer.id;
            let crc = offer.crc;
            let next = Seq::new(0);
            self.observed.push(Observed { ports, ours: OWN_ID, theirs, next, expected, crc });
        } else if let Some(observed) =
            self.observed.iter_mut().find(|observed| observed.ports == ports)
        {
            let data = !frame.flags().intersects(Flags::CTL | Flags::RST);
            if data {
                let seq = transport.expand_seq(SeqWidth::Bits20, observed.expected);
                observed.expected = observed.expected.max(seq + 1);
            }
        }
    }

    /// A frame of the stranger's own, more or less like a peer's.
    pub(super) fn frame(&mut self, u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
        let observed = if self.observed.is_empty() || u.ratio(1, 4)? {
            let target = *u.choose(&[OPEN_SERVICE, OPEN_SERVICE, FRIEND_SERVICE, 82, 0])?;
            let ours = u.int_in_range(1..=4)?;
            let fresh = Observed { ports: (ours, target), ours: OWN_ID, ..Observed::default() };
            self.observed
                .iter()
                .find(|observed| observed.ports == fresh.ports)
                .copied()
                .unwrap_or(fresh)
        } else {
            *u.choose(&self.observed)?
        };
        let offset: i8 = if u.ratio(1, 3)? { u.arbitrary()? } else { 0 };
        let seq = observed.next + i32::from(offset).cast_unsigned();
        let (flags, payload) = body(u, &observed)?;
        let mut header = TransportHeader::new(
            Port::new(observed.ports.0),
            Port::new(observed.ports.1),
            seq,
            SeqWidth::Bits20,
            payload.len() as u16,
        );
        header.flags |= flags;
        let numbered = !flags.intersects(Flags::CREQ | Flags::CACK | Flags::CTL | Flags::RST);
        if numbered && u.ratio(7, 8)? {
            let late: u8 = if u.ratio(1, 4)? { u.arbitrary()? } else { 0 };
            header.flags =
                header.flags.with_ack(observed.expected + u32::from(late).wrapping_neg());
        }
        if u.ratio(1, 32)? {
            header.flags = Flags::from_bits(header.flags.bits() ^ u.arbitrary::<u32>()?);
        }
        if numbered && offset == 0 {
            let known = self.observed.iter_mut().find(|l| l.ports == observed.ports);
            if let Some(known) = known {
                known.next += 1;
            }
        }
        let key = if flags.intersects(Flags::CREQ | Flags::CACK | Flags::RST) {
            Some(CrcKey::NONE)
        } else {
            observed.crc.then_some(CrcKey { sender: observed.ours, receiver: observed.theirs })
        };
        Ok(seal(STRANGER, header, &payload, key))
    }

    /// A frame in the friend's name, made without knowledge of the connection's ids: a blind attack
    /// on what ids protect (SPEC PRP-CONN-7, PRP-RST-3, PRP-CTL-1).
    pub(super) fn forgery(u: &mut Unstructured<'_>, ids: [u32; 2]) -> Result<Vec<u8>> {
        let id = u.arbitrary::<u32>()?;
        let id = if ids.contains(&id) { 0 } else { id };
        let observed = Observed {
            ports: (FRIEND_PORT, FRIEND_SERVICE),
            ours: id,
            theirs: id,
            next: Seq::new(u.arbitrary()?),
            ..Observed::default()
        };
        let (flags, payload) = match u.int_in_range(0..=3)? {
            0 => (Flags::CREQ, offer(u, id, 0)?),
            1 => (Flags::CACK, offer(u, id, id)?),
            2 => (Flags::RST, reset(u, id)?),
            _ => (Flags::CTL, control(u, &observed)?),
        };
        let (ours, target) = (Port::new(observed.ports.0), Port::new(observed.ports.1));
        let len = payload.len() as u16;
        let mut header = TransportHeader::new(ours, target, observed.next, SeqWidth::Bits20, len);
        header.flags |= flags;
        Ok(seal(FRIEND, header, &payload, Some(CrcKey::NONE)))
    }
}

/// Flags and payload of some kind of frame.
fn body(u: &mut Unstructured<'_>, observed: &Observed) -> Result<(Flags, Vec<u8>)> {
    Ok(match u.int_in_range(0..=9)? {
        0 => (Flags::CREQ, if u.ratio(1, 8)? { Vec::new() } else { offer(u, OWN_ID, 0)? }),
        1 => {
            let echo = if u.ratio(1, 2)? { observed.theirs } else { u.arbitrary()? };
            (Flags::CACK, offer(u, OWN_ID, echo)?)
        }
        2 => (Flags::RST, reset(u, observed.theirs)?),
        3 | 4 => (Flags::CTL, control(u, observed)?),
        5 => (Flags::EOC, Vec::new()),
        6 => (Flags::EOM, Vec::new()),
        7 => {
            let len = u.int_in_range(0..=1484)?;
            (Flags::NONE, vec![u.arbitrary()?; len])
        }
        _ => (Flags::EOM, vec![u.arbitrary()?; u.int_in_range(0..=64)?]),
    })
}

fn offer(u: &mut Unstructured<'_>, id: u32, echo: u32) -> Result<Vec<u8>> {
    let one = *u.choose(&Reliability::STRONGEST_FIRST)?;
    let reliability = if u.ratio(1, 2)? { ReliabilitySet::ALL } else { ReliabilitySet::only(one) };
    let mss = if u.ratio(1, 4)? { u.arbitrary()? } else { 1484 };
    let window = if u.ratio(1, 4)? { u.arbitrary()? } else { 8 };
    let mut bytes =
        Offer { id, echo, reliability, crc: u.ratio(1, 8)?, mss, window }.emit().to_vec();
    if u.ratio(1, 8)? {
        bytes.extend_from_slice(u.bytes(u.len().min(6))?);
    }
    Ok(bytes)
}

fn reset(u: &mut Unstructured<'_>, receiver: u32) -> Result<Vec<u8>> {
    let receiver = if u.ratio(1, 2)? { receiver } else { 0 };
    let reasons = [ResetReason::Aborted, ResetReason::NoConnection, ResetReason::Gap];
    let reason = *u.choose(&reasons)?;
    Ok(ResetBlock { reason, receiver, sender: OWN_ID }.emit().to_vec())
}

fn control(u: &mut Unstructured<'_>, observed: &Observed) -> Result<Vec<u8>> {
    let to = observed.theirs;
    let control = match u.int_in_range(0..=6)? {
        0 => Control::Probe { to, from: observed.ours, number: u.arbitrary()? },
        1 => Control::SizeProbe { to, size: u.arbitrary()? },
        2 => Control::SizeProbeAck { to, size: u.arbitrary()? },
        3 => return part(u, observed),
        _ => Control::Ack { to, ack: acknowledgement(u, observed)? },
    };
    let mut block = [0; MAX_CONTROL_LEN];
    let len = control.emit(&mut block);
    Ok(block[..len].to_vec())
}

/// A part of a segment about to come, or of one long past.
fn part(u: &mut Unstructured<'_>, observed: &Observed) -> Result<Vec<u8>> {
    let seq = observed.next + i32::from(u.int_in_range(-2i8..=2)?).cast_unsigned();
    let (at, len) = (u.int_in_range(0..=2)? * 8, u.int_in_range(0..=16)?);
    let total = if u.ratio(1, 4)? { u.arbitrary()? } else { at + len };
    let flags = *u.choose(&[Flags::NONE, Flags::EOM, Flags::EOC])?;
    let head = Part { to: observed.theirs, seq, at, total, flags }.emit();
    Ok([&head[..], &vec![u.arbitrary()?; usize::from(len)]].concat())
}

fn acknowledgement(u: &mut Unstructured<'_>, observed: &Observed) -> Result<AckBlock> {
    let late: i8 = if u.ratio(1, 3)? { u.arbitrary()? } else { 0 };
    let mut received = Bitmap::EMPTY;
    for _ in 0..u.int_in_range(0..=4)? {
        received.set(u.int_in_range(0..=Bitmap::SPAN)?);
    }
    let echo = Echo {
        seq: observed.expected + i32::from(u.arbitrary::<i8>()?).cast_unsigned(),
        retransmitted: u.arbitrary()?,
        held_ns: u.arbitrary()?,
    };
    Ok(AckBlock {
        next: observed.expected + i32::from(late).cast_unsigned(),
        window: if u.ratio(1, 3)? { u.arbitrary()? } else { 8 },
        gap: u.arbitrary()?,
        echo: u.arbitrary::<bool>()?.then_some(echo),
        probe: u.arbitrary()?,
        received,
        finished: u.arbitrary()?,
        leaves: u.arbitrary()?,
    })
}

fn seal(from: u16, transport: TransportHeader, payload: &[u8], key: Option<CrcKey>) -> Vec<u8> {
    let head = Head {
        ethernet: Some(EthernetHeader { dst: mac(TARGET), src: mac(from), ethertype: ETHERTYPE }),
        network: NetworkHeader { src: node(from), dst: node(TARGET) },
        transport,
    }
    .emit();
    let trailer = key.map(|key| checksum(key, packet_header(&head), [payload, &[]]));
    [&head[..], payload, trailer.as_ref().map_or(&[][..], |t| t)].concat()
}
