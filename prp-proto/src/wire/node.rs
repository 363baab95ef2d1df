//! Node blocks: the payload of CTL frames from or to a node's control port (SPEC PRP-NODE-1 to 4).

use alloc::vec::Vec;
use core::fmt;

use prp_key::{Keyring, TRAILER_BYTES};

use super::crc::{CrcKey, checksum, packet_header};
use super::frame::{Frame, Head};
use super::reader::Reader;
use super::transport::Flags;

/// What a node block says.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// "Are you there?", to the control port.
    Echo,
    /// "I am", from it.
    EchoReply,
    /// A router dropped the echo: it had crossed as many routers as it may.
    TimeExceeded,
    /// A router dropped the echo, or a request: it has no route to its destination.
    Unreachable,
    /// A router dropped the echo: the next link does not take frames of its size.
    TooBig,
}

impl NodeKind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Echo, Self::EchoReply, Self::TimeExceeded, Self::Unreachable, Self::TooBig];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::EchoReply => "reply",
            Self::TimeExceeded => "hop_limit",
            Self::Unreachable => "no_route",
            Self::TooBig => "too_big",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Echo => 16,
            Self::EchoReply => 17,
            Self::TimeExceeded => 18,
            Self::Unreachable => 19,
            Self::TooBig => 20,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            16 => Self::Echo,
            17 => Self::EchoReply,
            18 => Self::TimeExceeded,
            19 => Self::Unreachable,
            20 => Self::TooBig,
            _ => return None,
        })
    }
}

/// The words of SPEC PRP-NODE-1.
impl fmt::Display for NodeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Echo => "echo",
            Self::EchoReply => "echo reply",
            Self::TimeExceeded => "time exceeded",
            Self::Unreachable => "unreachable",
            Self::TooBig => "too big",
        })
    }
}

/// A node block. In answers to echoes all but `kind` and `hops` is the asker's own, and comes back
/// as it was. Of a request that was dropped they name the port (`sequence`), the request's id and
/// the node (`stamp`). Behind one of kind unreachable is a
/// [`UnreachableCause`](super::UnreachableCause).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NodeBlock {
    /// What it says.
    pub kind: NodeKind,
    /// In answers: the HOPS the echo arrived with.
    pub hops: u8,
    /// The asker's count.
    pub sequence: u16,
    /// Which asker.
    pub id: u32,
    /// When it was asked, by the asker's clock.
    pub stamp: u64,
}

impl NodeBlock {
    /// Bytes of the block.
    pub const LEN: usize = 16;

    /// The block's bytes.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0] = self.kind.code();
        out[1] = self.hops;
        out[2..4].copy_from_slice(&self.sequence.to_be_bytes());
        out[4..8].copy_from_slice(&self.id.to_be_bytes());
        out[8..].copy_from_slice(&self.stamp.to_be_bytes());
        out
    }

    /// Reads a block; `None` if it is too short or of unknown kind. What follows it is padding.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        Some(Self {
            kind: NodeKind::from_code(r.u8()?)?,
            hops: r.u8()?,
            sequence: r.u16()?,
            id: r.u32()?,
            stamp: r.u64()?,
        })
    }

    /// The block `frame` carries, if it is a genuine CTL frame with one: the trailer is not
    /// optional.
    pub fn of(frame: &Frame<'_>) -> Option<Self> {
        (frame.flags().contains(Flags::CTL) && frame.is_whole())
            .then(|| Self::parse(frame.payload))?
    }
}

/// A whole frame of headers and payload, or a datagram if `head` has no Ethernet header, with a
/// trailer under the zero key. `head`'s length field is set.
///
/// # Panics
/// If the payload is longer than 65535 bytes.
pub fn sealed(head: Head, payload: &[&[u8]]) -> Vec<u8> {
    sealed_by(None, head, payload)
}

/// As [`sealed`], but signed with `keyring` in place of the trailer, if there is one (SPEC
/// PRP-KEY-13).
///
/// # Panics
/// If the payload is longer than 65535 bytes.
pub fn sealed_by(keyring: Option<&Keyring>, mut head: Head, payload: &[&[u8]]) -> Vec<u8> {
    let len: usize = payload.iter().map(|p| p.len()).sum();
    assert!(len <= usize::from(u16::MAX), "no payload is longer");
    head.transport.len = len as u16;
    let bytes = head.emit();
    let begin = if head.ethernet.is_some() { 0 } else { super::ETHERNET_LEN };
    let mut frame = Vec::with_capacity(bytes.len() + len + TRAILER_BYTES);
    frame.extend_from_slice(&bytes[begin..]);
    let payload_at = frame.len();
    payload.iter().for_each(|piece| frame.extend_from_slice(piece));
    let (header, payload) = (packet_header(&bytes), &frame[payload_at..]);
    match keyring {
        Some(keyring) => frame.extend(keyring.sign(header, payload)),
        None => frame.extend(checksum(CrcKey::NONE, header, [payload, &[]])),
    }
    frame
}
