//! The transport header: ports, segment number, length, flags (paper section 2.4).

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

use super::reader::Reader;
use crate::addr::Port;
use crate::seq::{Seq, SeqWidth};

/// The flags word. The paper names four flags and gives no positions; SPEC PRP-FLAGS-1 places them.
///
/// If you add a flag: give it a line in SPEC PRP-FLAGS-1, a name in the `Debug` below, and say in
/// `etc/wireshark/parmaprp.lua` how it reads.
#[derive(Copy, Clone, Eq, PartialEq, Default, Hash)]
pub struct Flags(u32);

impl Flags {
    /// No flag at all: what a classic peer's data segments carry.
    pub const NONE: Self = Self(0);
    /// Connection request.
    pub const CREQ: Self = Self(1 << 0);
    /// Connection acknowledge.
    pub const CACK: Self = Self(1 << 1);
    /// End of message: the last segment of one write.
    pub const EOM: Self = Self(1 << 2);
    /// End of connection; takes a segment number.
    pub const EOC: Self = Self(1 << 3);
    /// The upper half of the word holds an acknowledgement.
    pub const ACK: Self = Self(1 << 4);
    /// The payload is a control block, not data; takes no segment number.
    pub const CTL: Self = Self(1 << 5);
    /// Refusal or abort; the payload is a reset block.
    pub const RST: Self = Self(1 << 6);
    /// This segment has been sent before (SPEC PRP-FLAGS-3).
    pub const RTX: Self = Self(1 << 7);

    const EPOCH_SHIFT: u32 = 8;
    const HOPS_SHIFT: u32 = 12;
    const NIBBLE: u32 = 0xf;
    const ACKNO_SHIFT: u32 = 16;

    /// Routers a frame may cross; the next one drops it (SPEC PRP-HOPS-2).
    pub const MAX_HOPS: u8 = 15;

    const NAMES: [(Self, &'static str); 8] = [
        (Self::CREQ, "CREQ"),
        (Self::CACK, "CACK"),
        (Self::EOM, "EOM"),
        (Self::EOC, "EOC"),
        (Self::ACK, "ACK"),
        (Self::CTL, "CTL"),
        (Self::RST, "RST"),
        (Self::RTX, "RTX"),
    ];

    /// The word as it travels.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// A word as it came.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Whether every flag of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any flag of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Segment-number bits 16 to 19.
    pub const fn epoch(self) -> u32 {
        (self.0 >> Self::EPOCH_SHIFT) & Self::NIBBLE
    }

    /// Every flag of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Routers crossed so far (SPEC PRP-HOPS-1).
    pub const fn hops(self) -> u8 {
        ((self.0 >> Self::HOPS_SHIFT) & Self::NIBBLE) as u8
    }

    /// The same word with HOPS set to `hops` (at most 15).
    #[must_use]
    pub const fn with_hops(self, hops: u8) -> Self {
        let cleared = self.0 & !(Self::NIBBLE << Self::HOPS_SHIFT);
        Self(cleared | ((hops as u32 & Self::NIBBLE) << Self::HOPS_SHIFT))
    }

    /// Low 16 bits of the next segment number the sender expects; meaningful under [`Self::ACK`].
    pub const fn ackno(self) -> u16 {
        (self.0 >> Self::ACKNO_SHIFT) as u16
    }

    /// The same word with [`Self::ACK`] set and `next` as its acknowledgement.
    #[must_use]
    pub const fn with_ack(self, next: Seq) -> Self {
        let low = self.0 & ((1 << Self::ACKNO_SHIFT) - 1);
        Self(low | Self::ACK.0 | (next.truncate(SeqWidth::Bits16) << Self::ACKNO_SHIFT))
    }

    const fn with_epoch(self, seq: Seq) -> Self {
        let cleared = self.0 & !(Self::NIBBLE << Self::EPOCH_SHIFT);
        Self(cleared | ((seq.truncate(SeqWidth::Bits20) >> 16) << Self::EPOCH_SHIFT))
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, rhs: Self) -> Self {
        self.with(rhs)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, rhs: Self) {
        self.0 |= rhs.0;
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (_, name) in Self::NAMES.iter().filter(|(flag, _)| self.contains(*flag)) {
            if !first {
                f.write_str(" ")?;
            }
            first = false;
            f.write_str(name)?;
        }
        if first { f.write_str("-") } else { Ok(()) }
    }
}

/// Ports, segment number, payload length and flags of a frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct TransportHeader {
    /// The sender's port.
    pub src_port: Port,
    /// The receiver's port.
    pub dst_port: Port,
    /// Low 16 bits of the segment number.
    pub seq: u16,
    /// Payload bytes. Rules over the frame's size, since short frames are padded (SPEC
    /// PRP-FRAME-4).
    pub len: u16,
    /// The flags word.
    pub flags: Flags,
}

impl TransportHeader {
    /// A header that carries `seq` in as many bits as `width` gives it.
    pub fn new(src_port: Port, dst_port: Port, seq: Seq, width: SeqWidth, len: u16) -> Self {
        let flags = match width {
            SeqWidth::Bits16 => Flags::NONE,
            SeqWidth::Bits20 => Flags::NONE.with_epoch(seq),
        };
        Self { src_port, dst_port, seq: seq.truncate(SeqWidth::Bits16) as u16, len, flags }
    }

    /// The segment number nearest to `near` that this header can mean.
    pub fn expand_seq(&self, width: SeqWidth, near: Seq) -> Seq {
        Seq::expand(self.low_seq(width), width, near)
    }

    /// The initial number of a request or its answer: it has no more bits than travel (SPEC
    /// PRP-SEQ-4), so both ends count alike in the 32 bits that acknowledgements carry.
    pub fn first_seq(&self, width: SeqWidth) -> Seq {
        Seq::new(self.low_seq(width))
    }

    /// Whether the header can mean `seq`.
    #[inline]
    pub(crate) const fn names(&self, width: SeqWidth, seq: Seq) -> bool {
        self.low_seq(width) == seq.truncate(width)
    }

    const fn low_seq(&self, width: SeqWidth) -> u32 {
        match width {
            SeqWidth::Bits16 => self.seq as u32,
            SeqWidth::Bits20 => self.flags.epoch() << 16 | self.seq as u32,
        }
    }

    #[inline]
    pub(super) fn parse(r: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            src_port: Port::new(r.u16()?),
            dst_port: Port::new(r.u16()?),
            seq: r.u16()?,
            len: r.u16()?,
            flags: Flags::from_bits(r.u32()?),
        })
    }

    /// The header as one number, whose first byte is the highest.
    #[inline]
    pub(super) fn bits(&self) -> u128 {
        let ports = u32::from(self.src_port.number()) << 16 | u32::from(self.dst_port.number());
        let segment = u32::from(self.seq) << 16 | u32::from(self.len);
        u128::from(ports) << 64 | u128::from(segment) << 32 | u128::from(self.flags.bits())
    }
}
