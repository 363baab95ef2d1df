//! One line of text for one frame.

use core::fmt;

use super::control::Control;
use super::frame::Frame;
use super::liveness::LivenessBlock;
use super::node::{NodeBlock, NodeKind};
use super::options::{Offer, Reliability};
use super::part::Part;
use super::reset::ResetBlock;
use super::transport::Flags;
use crate::addr::Port;

/// Prints a frame for people: `Pretty::new(bytes, ETHERTYPE).to_string()`.
///
/// ```
/// # use prp_proto::wire::{ETHERTYPE, Pretty};
/// assert_eq!(Pretty::new(b"short", ETHERTYPE).to_string(), "5 bytes: frame shorter than the headers");
/// ```
#[derive(Copy, Clone, Debug)]
pub struct Pretty<'a> {
    bytes: &'a [u8],
    ethertype: u16,
}

impl<'a> Pretty<'a> {
    /// A printer of `bytes`, which should be a frame of `ethertype`.
    pub const fn new(bytes: &'a [u8], ethertype: u16) -> Self {
        Self { bytes, ethertype }
    }
}

impl fmt::Display for Pretty<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Frame::parse(self.bytes, self.ethertype) {
            Ok(frame) => frame.fmt(f),
            Err(why) => write!(f, "{} bytes: {why}", self.bytes.len()),
        }
    }
}

/// In a line; one that came in a datagram without addresses.
impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_headers(f)?;
        payload(f, self)
    }
}

/// A frame of a connection in mode seal: prints as a [`Frame`] does, but of a control block only
/// what stays readable (SPEC PRP-KEY-10).
#[derive(Copy, Clone, Debug)]
pub struct SealedFrame<'a>(pub &'a Frame<'a>);

impl fmt::Display for SealedFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_headers(f)?;
        if !self.0.flags().contains(Flags::CTL) {
            return Ok(());
        }
        match Control::front(self.0.payload) {
            Some((kind, to)) => write!(f, " | to {to:08x} {kind} sealed"),
            None => f.write_str(" | malformed control block"),
        }
    }
}

impl Frame<'_> {
    fn fmt_headers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, t) = (self.head.network, self.head.transport);
        if let Some(e) = self.head.ethernet {
            write!(f, "{} > {} ", e.src, e.dst)?;
        }
        write!(f, "{}:{} > {}:{} [{:?}]", n.src, t.src_port, n.dst, t.dst_port, t.flags)?;
        write!(f, " seq {}+{} len {}", t.flags.epoch(), t.seq, t.len)?;
        if t.flags.contains(Flags::ACK) {
            write!(f, " ack {}", t.flags.ackno())?;
        }
        if t.flags.hops() > 0 {
            write!(f, " hops {}", t.flags.hops())?;
        }
        Ok(())
    }
}

fn payload(f: &mut fmt::Formatter<'_>, frame: &Frame<'_>) -> fmt::Result {
    let (flags, payload) = (frame.flags(), frame.payload);
    if flags.contains(Flags::RST) {
        match ResetBlock::parse(payload) {
            Some(r) => write!(f, " | {} (to {:08x} from {:08x})", r.reason, r.receiver, r.sender),
            None => f.write_str(" | malformed reset"),
        }
    } else if flags.intersects(Flags::CREQ | Flags::CACK) {
        if payload.is_empty() {
            return f.write_str(" | classic");
        }
        match Offer::parse(payload) {
            Ok(o) => offer(f, &o),
            Err(_) => f.write_str(" | malformed options"),
        }
    } else if flags.contains(Flags::CTL) {
        let t = frame.head.transport;
        if [t.src_port, t.dst_port].contains(&Port::CONTROL) {
            return between_nodes(f, payload);
        }
        if let Some((part, bytes)) = Part::of(frame) {
            let (to, seq, end) = (part.to, part.seq, usize::from(part.at) + bytes.len());
            let (at, total) = (part.at, part.total);
            return write!(f, " | to {to:08x} part {at}..{end} of {total} of segment {seq}");
        }
        match Control::parse(payload) {
            Some(c) => control(f, &c),
            None => f.write_str(" | malformed control block"),
        }
    } else {
        Ok(())
    }
}

/// What the control port of a node sends or gets (SPEC PRP-NODE-1, PRP-LIVE-1).
fn between_nodes(f: &mut fmt::Formatter<'_>, payload: &[u8]) -> fmt::Result {
    if let Some(block) = LivenessBlock::parse(payload) {
        let LivenessBlock { state, multiplier, passive, mine, yours, interval_us, least_us } =
            block;
        let passive = if passive { " passive" } else { "" };
        write!(f, " | liveness {}{passive} number {mine:08x} peer's {yours:08x}", state.name())?;
        return write!(f, " every {interval_us} us times {multiplier} takes {least_us} us");
    }
    let Some(NodeBlock { kind, hops, sequence, id, .. }) = NodeBlock::parse(payload) else {
        return f.write_str(" | malformed node block");
    };
    write!(f, " | {kind} {sequence} id {id:08x}")?;
    match kind {
        NodeKind::Echo => Ok(()),
        _ => write!(f, " arrived with hops {hops}"),
    }
}

fn offer(f: &mut fmt::Formatter<'_>, o: &Offer) -> fmt::Result {
    let Offer { id, echo, reliability, crc, mss, window } = o;
    write!(f, " | id {id:08x} echo {echo:08x} mss {mss} window {window}")?;
    for r in Reliability::STRONGEST_FIRST.into_iter().filter(|r| reliability.contains(*r)) {
        write!(f, " {r}")?;
    }
    if *crc { f.write_str(" crc") } else { Ok(()) }
}

fn control(f: &mut fmt::Formatter<'_>, c: &Control) -> fmt::Result {
    match c {
        Control::Ack { to, ack } => {
            write!(f, " | to {to:08x} next {} window {}", ack.next, ack.window)?;
            if ack.gap {
                f.write_str(" gap")?;
            }
            if let Some(echo) = ack.echo {
                let again = if echo.retransmitted { " (again)" } else { "" };
                write!(f, " echo {}{again} held {} ns", echo.seq, echo.held_ns)?;
            }
            if let Some(number) = ack.probe {
                write!(f, " answers {number}")?;
            }
            if ack.finished {
                f.write_str(" finished")?;
            }
            if ack.leaves {
                f.write_str(" leaves")?;
            }
            for index in ack.received.iter() {
                write!(f, " +{}", index + 1)?;
            }
            Ok(())
        }
        Control::Probe { to, from, number } => {
            write!(f, " | to {to:08x} probe {number} from {from:08x}")
        }
        Control::SizeProbe { to, size } => write!(f, " | to {to:08x} size probe {size}"),
        Control::SizeProbeAck { to, size } => write!(f, " | to {to:08x} size probe answer {size}"),
    }
}
