//! A frame as it was captured.

use std::io::{self, Write};
use std::time::Duration;

use clap::ValueEnum;
use prp_device::raw::CaptureSocket;
use prp_node::printable;
use prp_proto::addr::Port;
use prp_proto::hosts::Tag;
use prp_proto::wire::{
    Control, ETHERNET_LEN, Flags, Frame, GsoProbe, LivenessBlock, NodeBlock, Part, SealedFrame,
};
use serde::Serialize;

use super::decode::{Content, DecodedPacket, Ends};
use super::protection::Protection;
use crate::print::json;

/// What a tagged frame has before its EtherType, and how long the tag is.
const VLAN: [u8; 2] = [0x81, 0];
const TAG_LEN: usize = 4;

/// Bytes of both hardware addresses.
const ADDRESSES: usize = 12;

/// A frame as it was captured.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Packet {
    /// Since the beginning of 1970, UTC.
    pub(super) time: Duration,
    /// The device, if that is known.
    pub(super) device: String,
    /// Its tag; that of no VLAN and no priority if it had none.
    pub(super) tag: Tag,
    /// From the Ethernet header on without a tag, with zeros in place of what was not captured.
    pub(super) bytes: Vec<u8>,
    /// How many of them were captured.
    pub(super) captured: usize,
}

/// What a frame is for.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(super) enum PacketKind {
    /// A segment of data
    Data,
    /// The end of a direction
    End,
    /// A request for a connection
    Request,
    /// The grant of one
    Grant,
    /// A refusal, or the end of a connection by force
    Reset,
    /// An acknowledgement by itself
    Ack,
    /// A question whether the peer is there, or whether a size gets through
    Probe,
    /// What ping and trace send and get
    Echo,
    /// What routers say to their neighbours
    Liveness,
    /// What devices send over UDP to find out whether GSO batches get through
    GsoProbe,
    /// None of these
    Unknown,
}

impl PacketKind {
    /// Of what a frame carries.
    pub(super) fn of(content: &Content<'_>) -> Self {
        match content {
            Content::Packet(Ok(frame)) => Self::of_packet(frame),
            Content::Packet(Err(_)) | Content::GsoProbe(GsoProbe::Malformed) => Self::Unknown,
            Content::GsoProbe(_) => Self::GsoProbe,
        }
    }

    /// Of a packet.
    pub(super) fn of_packet(frame: &Frame<'_>) -> Self {
        let flags = frame.head.transport.flags;
        if flags.contains(Flags::RST) {
            Self::Reset
        } else if flags.contains(Flags::CREQ) {
            Self::Request
        } else if flags.contains(Flags::CACK) {
            Self::Grant
        } else if flags.contains(Flags::CTL) {
            if is_between_nodes(frame) {
                return if LivenessBlock::parse(frame.payload).is_some() {
                    Self::Liveness
                } else if NodeBlock::parse(frame.payload).is_some() {
                    Self::Echo
                } else {
                    Self::Unknown
                };
            }
            if Part::of(frame).is_some() {
                return Self::Data;
            }
            match Control::parse(frame.payload) {
                Some(Control::Ack { .. }) => Self::Ack,
                Some(_) => Self::Probe,
                None => Self::Unknown,
            }
        } else if flags.contains(Flags::EOC) {
            Self::End
        } else {
            Self::Data
        }
    }
}

/// Whether `frame` carries a block of a node and not of a connection (SPEC PRP-NODE-1).
fn is_between_nodes(frame: &Frame<'_>) -> bool {
    let t = frame.head.transport;
    t.flags.contains(Flags::CTL) && [t.src_port, t.dst_port].contains(&Port::CONTROL)
}

/// A packet, for programs.
#[derive(Debug, Serialize)]
struct PacketRow<'a> {
    /// Seconds since the beginning of 1970, UTC.
    time: f64,
    device: &'a str,
    vlan: Option<u16>,
    underlay: &'static str,
    source_address: String,
    destination_address: String,
    bytes: usize,
    gso_batch: Option<usize>,
    source_node: Option<u16>,
    source_port: Option<u16>,
    destination_node: Option<u16>,
    destination_port: Option<u16>,
    kind: PacketKind,
    sequence: Option<u16>,
    length: Option<u16>,
    hops: Option<u8>,
    echo: Option<&'static str>,
    liveness: Option<&'static str>,
    security: Option<String>,
    key_id: Option<u16>,
    key_epoch: Option<u8>,
    key_frame: Option<u32>,
    key_tag: Option<&'static str>,
}

impl Packet {
    /// A frame of `len` bytes as it was captured, without a VLAN's tag.
    pub(super) fn untagged(time: Duration, device: &str, bytes: &[u8], len: usize) -> Self {
        let mut packet = Self { time, ..Self::default() };
        packet.set(time, device, bytes, len);
        packet
    }

    /// Makes it another one, in the same memory.
    pub(super) fn set(&mut self, time: Duration, device: &str, bytes: &[u8], len: usize) {
        self.time = time;
        self.tag = Tag::default();
        if self.device != device {
            self.device.clear();
            self.device.push_str(device);
        }
        // The zeros of the frame before it serve for this one, where it is as long: those of a
        // stream are.
        if self.captured == bytes.len()
            && self.bytes.len() == len
            && bytes.get(ADDRESSES..ETHERNET_LEN) != Some(&VLAN[..])
        {
            self.bytes[..bytes.len()].copy_from_slice(bytes);
            return;
        }
        self.bytes.clear();
        let is_tagged = bytes.get(ADDRESSES..ETHERNET_LEN) == Some(&VLAN[..]);
        match bytes.split_at_checked(ADDRESSES + TAG_LEN).filter(|_| is_tagged) {
            Some((head, rest)) => {
                if let [.., high, low] = *head {
                    self.tag = Tag::of(u16::from_be_bytes([high, low]));
                }
                self.bytes.extend_from_slice(&head[..ADDRESSES]);
                self.bytes.extend_from_slice(rest);
            }
            None => self.bytes.extend_from_slice(bytes),
        }
        self.captured = self.bytes.len();
        // A capture file may say anything.
        let missing = len.saturating_sub(bytes.len()).min(CaptureSocket::LONGEST as usize);
        self.bytes.resize(self.captured + missing, 0);
    }

    /// The bytes that were captured, with the tag in its place: what is before it, itself if there
    /// is one, and what is behind it.
    pub(super) fn wire(&self) -> (&[u8], Vec<u8>, &[u8]) {
        let bytes = &self.bytes[..self.captured];
        let (addresses, rest) = bytes.split_at(ADDRESSES.min(bytes.len()));
        let is_cut = addresses.len() < ADDRESSES;
        let tag = self.tag.bytes().filter(|_| !is_cut).map_or_else(Vec::new, Vec::from);
        (addresses, tag, rest)
    }

    /// Adds what is carried in it to `text`, for people: a line without its end. Nothing but the
    /// device's name can have control characters, so that a line is not searched for them.
    pub(super) fn add_line(
        &self,
        packet: &DecodedPacket<'_>,
        protection: Option<&Protection>,
        text: &mut Vec<u8>,
    ) -> io::Result<()> {
        let seconds = self.time.as_secs() % 86_400;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let (seconds, micros) = (seconds % 60, self.time.subsec_micros());
        write!(text, "{hours:02}:{minutes:02}:{seconds:02}.{micros:06} ")?;
        if !self.device.is_empty() {
            write!(text, "{} ", printable(&self.device))?;
        }
        if let Some(vlan) = self.tag.vlan() {
            write!(text, "vlan {vlan} ")?;
        }
        let (ends, bytes) = (&packet.ends, packet.bytes);
        let frame = match &packet.content {
            Content::Packet(Ok(frame)) => frame,
            Content::Packet(Err(why)) => return write!(text, "{ends} {bytes} bytes: {why}"),
            Content::GsoProbe(message) => return write!(text, "{ends} {message}"),
        };
        let is_datagram = matches!(ends, Ends::Udp { .. });
        // A frame has its addresses itself.
        if is_datagram {
            write!(text, "{ends} ")?;
        }
        match protection {
            Some(protection) if protection.is_sealed() => {
                write!(text, "{} | {protection}", SealedFrame(frame))?;
            }
            Some(protection) => write!(text, "{frame} | {protection}")?,
            None => write!(text, "{frame}")?,
        }
        match packet.gso_batch {
            None if is_datagram => write!(text, " | the first of {bytes} bytes"),
            _ => Ok(()),
        }
    }

    /// What is carried in it, for programs, in a line.
    pub(super) fn json(
        &self,
        packet: &DecodedPacket<'_>,
        protection: Option<&Protection>,
    ) -> String {
        let frame = packet.packet();
        let (network, transport) = frame.map(|f| (f.head.network, f.head.transport)).unzip();
        let block = frame.filter(|frame| is_between_nodes(frame)).map(|frame| frame.payload);
        let (echo, liveness) =
            block.map(|it| (NodeBlock::parse(it), LivenessBlock::parse(it))).unzip();
        let [source_address, destination_address] = packet.ends.addresses();
        let row = PacketRow {
            time: self.time.as_secs_f64(),
            device: &self.device,
            vlan: self.tag.vlan(),
            underlay: packet.ends.underlay(),
            source_address,
            destination_address,
            bytes: packet.bytes,
            gso_batch: packet.gso_batch,
            source_node: network.map(|n| n.src.number()),
            source_port: transport.map(|t| t.src_port.number()),
            destination_node: network.map(|n| n.dst.number()),
            destination_port: transport.map(|t| t.dst_port.number()),
            kind: PacketKind::of(&packet.content),
            sequence: transport.map(|t| t.seq),
            length: transport.map(|t| t.len),
            hops: transport.map(|t| t.flags.hops()),
            echo: echo.flatten().map(|block| block.kind.name()),
            liveness: liveness.flatten().map(|block| block.state.name()),
            security: protection.and_then(|it| it.mode).map(|mode| mode.to_string()),
            key_id: protection.and_then(|it| it.key),
            key_epoch: protection.and_then(|it| it.counter).map(|(epoch, _)| epoch),
            key_frame: protection.and_then(|it| it.counter).map(|(_, place)| place),
            key_tag: protection.and_then(Protection::tag),
        };
        json(&row, false).unwrap_or_default()
    }
}
