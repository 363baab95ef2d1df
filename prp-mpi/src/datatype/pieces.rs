//! The pieces of memory that hold the bytes of elements, as many at a time as can be told at once.

use super::layout::Part;

/// Rows whose pieces are told together: what they are in stays in the cache of the first level
/// until all of their pieces are copied.
const BLOCK: usize = 64;

/// Pieces of memory that are as long, and as far from each other, also where they are packed.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Pieces {
    /// Where the first is, in bytes from the address of the buffer.
    pub at: isize,
    /// Bytes of each.
    pub len: usize,
    /// How many, one at least.
    pub count: usize,
    /// From one to the next, in bytes.
    pub stride: isize,
    /// From one to the next, in packed bytes.
    pub packed_stride: usize,
}

impl Pieces {
    /// A single one.
    pub(crate) const fn one(at: isize, len: usize) -> Self {
        Self { at, len, count: 1, stride: 0, packed_stride: len }
    }

    /// Packed bytes from the first byte of the first one to the last byte of the last one.
    pub(crate) const fn reach(&self) -> usize {
        (self.count - 1) * self.packed_stride + self.len
    }
}

/// What can be told at once. One follows the other where they are packed.
#[derive(Copy, Clone, Debug)]
pub(super) enum Places<'a> {
    /// Pieces that are packed one behind the other.
    Pieces(Pieces),
    /// Several different ones again and again.
    Rows(Rows<'a>),
}

impl Places<'_> {
    /// Packed bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Pieces(pieces) => pieces.len * pieces.count,
            Self::Rows(rows) => rows.each * rows.count,
        }
    }
}

/// Parts, each of which is in one piece, again and again.
#[derive(Copy, Clone, Debug)]
pub(super) struct Rows<'a> {
    /// What the parts of the first row are seen from.
    pub(super) at: isize,
    pub(super) parts: &'a [Part],
    /// Packed bytes of a row.
    pub(super) each: usize,
    pub(super) count: usize,
    /// From one to the next, in bytes.
    pub(super) stride: isize,
}

impl Rows<'_> {
    /// Names the pieces of the rows in blocks of rows, with the number of packed bytes before the
    /// first.
    pub(super) fn blocks(&self, mut pieces: impl FnMut(usize, Pieces)) {
        for row in (0..self.count).step_by(BLOCK) {
            let count = BLOCK.min(self.count - row);
            let Self { each, stride, .. } = *self;
            self.row(row, |before, at, len| {
                pieces(before, Pieces { at, len, count, stride, packed_stride: each });
            });
        }
    }

    /// Names the pieces one at a time, in the order of packing.
    pub(super) fn in_order(&self, piece: &mut impl FnMut(isize, usize)) {
        for row in 0..self.count {
            self.row(row, |_, at, len| piece(at, len));
        }
    }

    /// Names the pieces of a row: packed bytes of all rows before each, its place and its length.
    /// Parts that follow each other in memory as well are one.
    fn row(&self, row: usize, mut piece: impl FnMut(usize, isize, usize)) {
        let base = self.at + row as isize * self.stride;
        let mut before = row * self.each;
        let mut last: Option<(isize, usize)> = None;
        for (at, len) in self.parts.iter().filter_map(Part::piece) {
            match &mut last {
                Some((start, bytes)) if *start + *bytes as isize == at => *bytes += len,
                _ => {
                    if let Some((start, bytes)) = last.replace((at, len)) {
                        piece(before, base + start, bytes);
                        before += bytes;
                    }
                }
            }
        }
        if let Some((start, bytes)) = last {
            piece(before, base + start, bytes);
        }
    }
}
