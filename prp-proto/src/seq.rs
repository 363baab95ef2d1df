//! Segment numbers and how they travel in 16 or 20 bits (SPEC PRP-SEQ-1, PRP-SEQ-2).
//!
//! A connection counts segments in 32 wrapping bits. The wire carries the low 16 (a classic peer)
//! or the low 20 (sequence field plus EPOCH); the receiver restores the rest from the number it
//! expects.

use core::fmt;
use core::ops::{Add, AddAssign};

/// A segment number: wrapping 32 bits, ordered by the shorter arc of the circle.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Default)]
pub struct Seq(u32);

/// How many low bits of a [`Seq`] the wire carries for a connection (SPEC PRP-SEQ-2).
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub enum SeqWidth {
    /// The paper's 16-bit field alone: classic peers.
    Bits16,
    /// 16-bit field plus the four EPOCH bits of the flags word.
    Bits20,
}

impl SeqWidth {
    const fn bits(self) -> u32 {
        match self {
            Self::Bits16 => 16,
            Self::Bits20 => 20,
        }
    }

    /// The mask of the bits that travel.
    pub const fn mask(self) -> u32 {
        (1 << self.bits()) - 1
    }
}

impl Seq {
    /// A number from its 32 bits.
    pub const fn new(bits: u32) -> Self {
        Self(bits)
    }

    /// All 32 bits.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Segments from `earlier` to `self`; negative when `self` comes first.
    pub const fn since(self, earlier: Self) -> i32 {
        self.0.wrapping_sub(earlier.0).cast_signed()
    }

    /// Whether `self` comes before `other`.
    pub const fn before(self, other: Self) -> bool {
        self.since(other) < 0
    }

    /// The later of the two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if self.before(other) { other } else { self }
    }

    /// The low bits that travel on the wire.
    pub const fn truncate(self, width: SeqWidth) -> u32 {
        self.0 & width.mask()
    }

    /// The number nearest to `near` whose low bits are `low`.
    ///
    /// Right as long as the true number lies within half the width's range of `near`, which windows
    /// below 2^15 segments guarantee (SPEC PRP-SEQ-3).
    #[must_use]
    pub const fn expand(low: u32, width: SeqWidth, near: Self) -> Self {
        let shift = 32 - width.bits();
        // Difference of the low bits, sign-extended from the width to 32 bits.
        let diff = low.wrapping_sub(near.0).wrapping_shl(shift).cast_signed() >> shift;
        Self(near.0.wrapping_add(diff.cast_unsigned()))
    }
}

impl Add<u32> for Seq {
    type Output = Self;

    fn add(self, rhs: u32) -> Self {
        Self(self.0.wrapping_add(rhs))
    }
}

impl AddAssign<u32> for Seq {
    fn add_assign(&mut self, rhs: u32) {
        *self = *self + rhs;
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests;
