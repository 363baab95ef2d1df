//! What a rank has in a window, as it tells the aggregator.

use std::ops::Range;

use crate::object::View;

/// Bits of a number that go into a byte.
const BITS: u32 = 7;

/// There is more of the number in the next byte.
const MORE: u8 = 1 << BITS;

/// The part of an access that is in a window.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Share {
    /// Which bytes of the access these are.
    pub(super) bytes: Range<usize>,
    /// Where they are in the window, as [`Places`] describes it.
    pub(super) places: Vec<u8>,
}

impl Share {
    /// The part of `len` bytes of a view from byte `first` of it on. The pieces of the view are in
    /// the order of the file.
    pub(super) fn of(view: &View, (first, len): (u64, usize), window: &Range<u64>) -> Self {
        let bytes =
            behind(view, (first, len), window.start)..behind(view, (first, len), window.end);
        let mut places = Places::default();
        view.each_piece(first + bytes.start as u64, bytes.len(), |at, len| {
            places.push(at - window.start, len as u64);
        });
        Self { bytes, places: places.finish() }
    }
}

/// How many bytes of an access are before a place in the file.
fn behind(view: &View, (first, len): (u64, usize), place: u64) -> usize {
    let is_before = |byte: usize| {
        let mut found = 0;
        view.each_piece(first + byte as u64, 1, |at, _| found = at);
        found < place
    };
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Pieces that follow each other, in few bytes: of those that are as long and as far from each
/// other the distance from the end of the one before, the length, and how many there are.
#[derive(Debug, Default)]
struct Places {
    text: Vec<u8>,
    end: u64,
    gap: u64,
    len: u64,
    count: u64,
}

impl Places {
    fn push(&mut self, at: u64, len: u64) {
        let gap = at - self.end;
        self.end = at + len;
        if (gap, len) == (self.gap, self.len) {
            self.count += 1;
            return;
        }
        self.put_series();
        (self.gap, self.len, self.count) = (gap, len, 1);
    }

    fn put_series(&mut self) {
        if self.count > 0 {
            for number in [self.gap, self.len, self.count] {
                put_number(&mut self.text, number);
            }
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.put_series();
        self.text
    }
}

fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= MORE.into() {
        to.push(number as u8 | MORE);
        number >>= BITS;
    }
    to.push(number as u8);
}

fn take_number(from: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & !MORE).checked_shl(shift)?;
        if byte & MORE == 0 {
            return Some(number);
        }
        shift += BITS;
    }
}

/// Names the pieces of [`Share::places`], as far as they are in a window of `window` bytes.
pub(super) fn each_place(
    mut places: &[u8],
    window: usize,
    mut piece: impl FnMut(Range<usize>),
) -> Option<()> {
    let mut end = 0;
    while !places.is_empty() {
        let mut number = || usize::try_from(take_number(&mut places)?).ok();
        let (gap, len, count) = (number()?, number()?, number()?);
        for _ in 0..count {
            let start = gap.checked_add(end)?;
            end = start.checked_add(len).filter(|end| start < *end && *end <= window)?;
            piece(start..end);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
