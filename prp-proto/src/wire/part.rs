//! A part of a segment: what goes over a path that carries no segment of its size any more (SPEC
//! PRP-SIZE-5).

use super::control::Control;
use super::frame::Frame;
use super::reader::Reader;
use super::transport::Flags;
use crate::seq::Seq;

/// The head of a control block that carries bytes of a segment.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Part {
    /// Receiver's connection id.
    pub to: u32,
    /// The segment.
    pub seq: Seq,
    /// Bytes of it before this part.
    pub at: u16,
    /// Bytes of the segment.
    pub total: u16,
    /// EOM and EOC, as the segment has them.
    pub flags: Flags,
}

impl Part {
    /// Bytes before those of the segment.
    pub const LEN: usize = 16;
    /// The kind of control block, beside those of [`Control`].
    pub const KIND: u8 = 5;
    const EOM: u8 = 1;
    const EOC: u8 = 2;

    /// Its flags, as they are in the block.
    pub fn bits(&self) -> u8 {
        let bit = |flag, bit| if self.flags.contains(flag) { bit } else { 0 };
        bit(Flags::EOM, Self::EOM) | bit(Flags::EOC, Self::EOC)
    }

    /// The head.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0] = Self::KIND;
        out[1] = self.bits();
        out[4..8].copy_from_slice(&self.to.to_be_bytes());
        out[8..12].copy_from_slice(&self.seq.bits().to_be_bytes());
        out[12..14].copy_from_slice(&self.at.to_be_bytes());
        out[14..].copy_from_slice(&self.total.to_be_bytes());
        out
    }

    /// Reads the part that `frame` carries, and its bytes; none if it carries none, or one that
    /// reaches beyond its segment.
    pub fn of<'a>(frame: &Frame<'a>) -> Option<(Self, &'a [u8])> {
        if !frame.flags().contains(Flags::CTL) || frame.payload.first() != Some(&Self::KIND) {
            return None;
        }
        let (head, bytes) = frame.payload.split_first_chunk::<{ Self::LEN }>()?;
        let mut r = Reader::new(head);
        let (_, bits, _, _) = (r.u8()?, r.u8()?, r.u8()?, r.u8()?);
        let (to, seq) = (r.u32()?, Seq::new(r.u32()?));
        let (at, total) = (r.u16()?, r.u16()?);
        let mut flags = Flags::NONE;
        if bits & Self::EOM != 0 {
            flags |= Flags::EOM;
        }
        if bits & Self::EOC != 0 {
            flags |= Flags::EOC;
        }
        let fits = usize::from(at) + bytes.len() <= usize::from(total);
        fits.then_some((Self { to, seq, at, total, flags }, bytes))
    }
}

const _: () = assert!(Part::LEN < super::MAX_CONTROL_LEN, "it fits wherever control blocks do");
const _: () = assert!(Part::KIND > Control::PROBE, "a kind of its own");
