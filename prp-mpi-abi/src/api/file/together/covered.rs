//! Which bytes of a window any rank has.

use std::ops::Range;

const BITS: usize = u64::BITS as usize;

/// A set of bytes, by their places in a window.
#[derive(Debug, Default)]
pub(super) struct Covered {
    words: Vec<u64>,
}

impl Covered {
    /// Becomes empty, of a window of `len` bytes.
    pub(super) fn clear(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(BITS), 0);
    }

    /// Adds bytes, which are in the window.
    pub(super) fn add(&mut self, bytes: Range<usize>) {
        if bytes.is_empty() {
            return;
        }
        let (first, last) = (bytes.start / BITS, (bytes.end - 1) / BITS);
        let from = u64::MAX << (bytes.start % BITS);
        let to = u64::MAX >> (BITS - 1 - (bytes.end - 1) % BITS);
        if first == last {
            self.words[first] |= from & to;
            return;
        }
        self.words[first] |= from;
        self.words[first + 1..last].fill(u64::MAX);
        self.words[last] |= to;
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The first place from `at` on that has a byte, or has none.
    fn next(&self, at: usize, is_there: bool) -> Option<usize> {
        let of = |word: u64| if is_there { word } else { !word };
        let mut index = at / BITS;
        let mut word = of(*self.words.get(index)?) & (u64::MAX << (at % BITS));
        while word == 0 {
            index += 1;
            word = of(*self.words.get(index)?);
        }
        Some(index * BITS + word.trailing_zeros() as usize)
    }

    /// The bytes in as few ranges as there can be.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, true)?;
            let end = self.next(start, false).unwrap_or(self.words.len() * BITS);
            at = end;
            Some(start..end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts and ends of ranges.
    type Bounds = &'static [(usize, usize)];

    #[test]
    fn ranges__are_those_that_were_added_and_join_where_they_meet() {
        let mut covered = Covered::default();
        let cases: [(Bounds, Bounds); 6] = [
            (&[], &[]),
            (&[(0, 300)], &[(0, 300)]),
            (&[(3, 5), (5, 9), (200, 201)], &[(3, 9), (200, 201)]),
            (&[(64, 128), (0, 64)], &[(0, 128)]),
            (&[(63, 65), (10, 20), (12, 30)], &[(10, 30), (63, 65)]),
            (&[(299, 300), (128, 192)], &[(128, 192), (299, 300)]),
        ];
        for (added, expected) in cases {
            covered.clear(300);
            added.iter().for_each(|(start, end)| covered.add(*start..*end));
            let ranges: Vec<_> = covered.ranges().map(|range| (range.start, range.end)).collect();
            assert_eq!(ranges, expected, "{added:?}");
            assert_eq!(covered.count(), expected.iter().map(|(s, e)| e - s).sum::<usize>());
        }
    }
}
