//! The part of a file that a rank sees.

use std::sync::Arc;

use prp_mpi::datatype::Datatype;

use super::representation::Representation;
use crate::object::Handle;

/// The part of a file that a rank sees: from a place on, the elements of a datatype again and
/// again.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// Where it begins, in bytes from the beginning of the file.
    pub(crate) start: u64,
    /// The datatypes as the program has told them, with the handles that they had then.
    pub(crate) etype: (Handle, Arc<Datatype>),
    pub(crate) filetype: (Handle, Arc<Datatype>),
    pub(crate) representation: Representation,
    /// Bytes that a unit has in the file.
    pub(crate) unit: u64,
    /// What repeats, as it lies in the file.
    pub(crate) tile: Arc<Datatype>,
}

/// Bytes of a file that follow each other: where they are, and how many.
pub(crate) type Piece = (u64, usize);

impl View {
    /// The whole file, as bytes.
    pub(crate) fn bytes(byte: Handle) -> Self {
        let of = Datatype::bytes();
        Self {
            start: 0,
            etype: (byte, of.clone()),
            filetype: (byte, of.clone()),
            representation: Representation::Native,
            unit: 1,
            tile: of,
        }
    }

    /// Where the view begins, if `len` bytes of it from byte `offset` on are no further on than a
    /// file reaches.
    fn checked_start(&self, offset: u64, len: usize) -> Option<isize> {
        let start = isize::try_from(self.start).ok()?;
        let end = usize::try_from(offset.checked_add(len as u64)?).ok()?;
        let tiles = end.div_ceil(self.tile.size().max(1));
        start.checked_add(self.tile.span(tiles)?.1)?;
        Some(start)
    }

    /// Whether `len` bytes of the view from byte `offset` of it on can be in a file.
    pub(crate) fn reaches(&self, offset: u64, len: usize) -> bool {
        self.checked_start(offset, len).is_some()
    }

    /// The pieces that hold these bytes. `None` if they are further on than a file reaches.
    pub(crate) fn pieces(&self, offset: u64, len: usize) -> Option<Vec<Piece>> {
        self.checked_start(offset, len)?;
        let mut pieces = Vec::new();
        self.each_piece(offset, len, |at, len| pieces.push((at, len)));
        Some(pieces)
    }

    /// Names the pieces that hold these bytes, in the order of the view: where they are in the
    /// file, and how long. The view [reaches](Self::reaches) the bytes.
    pub(crate) fn each_piece(&self, offset: u64, len: usize, mut piece: impl FnMut(u64, usize)) {
        if len == 0 || self.tile.size() == 0 {
            return;
        }
        // A view has no bytes before its beginning.
        let place = |at: isize| self.start.wrapping_add_signed(at as i64);
        if self.tile.is_contiguous() {
            return piece(place(self.tile.first_byte()) + offset, len);
        }
        let mut last: Option<Piece> = None;
        self.tile.each_piece(offset as usize, len, |at, len| {
            let at = place(at);
            match &mut last {
                Some((before, more)) if *before + *more as u64 == at => *more += len,
                Some(last) => {
                    piece(last.0, last.1);
                    *last = (at, len);
                }
                None => last = Some((at, len)),
            }
        });
        if let Some((at, len)) = last {
            piece(at, len);
        }
    }

    /// Where a unit of the view begins in the file. `None` if that is further on than a file
    /// reaches.
    pub(crate) fn place_of(&self, unit: u64) -> Option<u64> {
        let pieces = self.pieces(unit.checked_mul(self.unit)?, 1)?;
        Some(pieces.first().map_or(self.start, |(at, _)| *at))
    }

    /// How many units of the view begin before byte `end` of the file.
    pub(crate) fn units_before(&self, end: u64) -> u64 {
        let size = self.tile.size() as u64;
        let Some(reach) = end.checked_sub(self.start).filter(|_| size > 0) else { return 0 };
        let extent = u64::try_from(self.tile.extent()).unwrap_or(0);
        // Elements of which every byte is before the end. They may reach beyond their extent.
        let reached = self.tile.true_bounds().1.max(0).cast_unsigned() as u64;
        let whole = match reach.checked_sub(reached) {
            Some(behind) if extent > 0 => behind.div_ceil(extent),
            _ => 0,
        };
        // Negative behind an element that ends in a hole.
        let rest = reach.wrapping_sub(whole * extent).cast_signed() as isize;
        let mut bytes = 0;
        self.tile.each_piece(0, self.tile.size(), |at, len| {
            bytes += (rest - at).clamp(0, len as isize).cast_unsigned() as u64;
        });
        (whole * size + bytes).div_ceil(self.unit)
    }
}

#[cfg(test)]
mod tests {
    use prp_mpi::datatype::Class;

    use super::*;

    /// Two numbers of every four, from byte 100 on.
    fn strided() -> View {
        let number = Datatype::basic(Class::Signed, 4);
        let two = Datatype::blocks(&number, [(4, 2)]).unwrap().resized(0, 16).unwrap();
        let (etype, tile) = (Arc::new(number), Arc::new(two));
        View {
            start: 100,
            unit: 4,
            etype: (Handle(0), etype),
            filetype: (Handle(0), tile.clone()),
            tile,
            representation: Representation::Native,
        }
    }

    #[test]
    fn pieces__skip_what_the_view_leaves_out() {
        let view = strided();
        assert_eq!(view.pieces(0, 8), Some(vec![(104, 8)]));
        assert_eq!(view.pieces(4, 12), Some(vec![(108, 4), (120, 8)]));
        assert_eq!(view.pieces(6, 4), Some(vec![(110, 2), (120, 2)]));
        assert_eq!(view.pieces(u64::MAX, 1), None);
        assert_eq!(view.pieces(1 << 62, 1), None);
        let whole = View::bytes(Handle(0));
        assert_eq!(whole.pieces(7, 1000), Some(vec![(7, 1000)]));
        assert_eq!(whole.pieces(i64::MAX as u64, 1), None);
    }

    #[test]
    fn units_before__count_what_begins_before_the_end_of_a_file() {
        let view = strided();
        let cases = [(0, 0), (104, 0), (105, 1), (108, 1), (109, 2), (116, 2), (120, 2), (121, 3)];
        for (end, units) in cases {
            assert_eq!(view.units_before(end), units, "{end} bytes");
        }
        let ends_in_a_hole = [(113, 2), (119, 2)];
        for (end, units) in ends_in_a_hole {
            assert_eq!(view.units_before(end), units, "{end} bytes");
        }
        assert_eq!(View::bytes(Handle(0)).units_before(1 << 40), 1 << 40);
    }

    #[test]
    fn units_before__elements_reach_beyond_their_extent_if_they_begin_behind_their_place() {
        let number = Datatype::basic(Class::Signed, 4);
        let tile = Arc::new(Datatype::blocks(&number, [(4, 2)]).unwrap());
        assert_eq!((tile.extent(), tile.true_bounds()), (8, (4, 12)));
        let view = View { tile, ..strided() };
        let cases =
            [(104, 0), (105, 1), (108, 1), (109, 2), (112, 2), (113, 3), (116, 3), (120, 4)];
        for (end, units) in cases {
            assert_eq!(view.units_before(end), units, "{end} bytes");
        }
    }

    #[test]
    fn place_of__of_a_unit_is_where_its_first_byte_is() {
        let view = strided();
        assert_eq!([0, 1, 2, 5].map(|unit| view.place_of(unit).unwrap()), [104, 108, 120, 140]);
    }
}
