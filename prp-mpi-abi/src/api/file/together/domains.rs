//! Which aggregator has which part of the file.

use std::ops::Range;

use super::extent::Extents;

/// What the bounds of parts are multiples of: the bytes of a page, which no two ranks should write.
const ALIGNMENT: u64 = 4096;

/// Aggregators on a node, unless a hint says how many there are: more write no faster.
const ON_A_NODE: usize = 2;

/// The parts of a file that aggregators have: one after the other, of which each is accessed window
/// by window.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Domains {
    start: u64,
    end: u64,
    /// Bytes of a part.
    each: u64,
    /// Bytes of a window.
    window: u64,
    /// The ranks that are aggregators, in the order of their parts.
    pub(super) aggregators: Vec<usize>,
}

impl Domains {
    /// Divides what all ranks access evenly among aggregators: of `size` ranks on `nodes` nodes.
    pub(super) fn new(all: &Extents, size: usize, nodes: usize) -> Self {
        let Range { start, end } = all.range();
        let start = start - start % ALIGNMENT;
        let wanted = all.hints.aggregators.unwrap_or((nodes * ON_A_NODE) as u64);
        let wanted = usize::try_from(wanted).unwrap_or(size).clamp(1, size);
        let each = (end - start).div_ceil(wanted as u64).next_multiple_of(ALIGNMENT).max(ALIGNMENT);
        // No aggregator is without a part, and they are as far from each other as ranks can be.
        let count = ((end - start).div_ceil(each) as usize).max(1);
        let aggregators = (0..count).map(|a| a * size / count).collect();
        let mut window = all.hints.buffer;
        if all.bytes() > end - start {
            // Where ranks access the same bytes each of them has a copy in the aggregator's memory.
            window /= size as u64;
        }
        let window = window.next_multiple_of(ALIGNMENT).clamp(ALIGNMENT, each);
        Self { start, end, each, window, aggregators }
    }

    /// How often aggregators access a window.
    pub(super) fn rounds(&self) -> u64 {
        self.each.div_ceil(self.window)
    }

    /// The bytes of the file that an aggregator has in a round: the how-manieth it is.
    pub(super) fn window(&self, aggregator: usize, round: u64) -> Range<u64> {
        let first = self.start + aggregator as u64 * self.each;
        let end = (first + self.each).min(self.end);
        let start = (first + round * self.window).min(end);
        start..(start + self.window).min(end)
    }
}

#[cfg(test)]
mod tests;
