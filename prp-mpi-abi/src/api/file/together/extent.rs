//! What each rank accesses, in a few numbers, and whether two phases are worth it.

use std::ffi::c_int;
use std::ops::Range;

use super::hints::{Choice, Hints};
use crate::api::collective::allgather_words;
use crate::api::error::Failure;
use crate::api::file::alone::SPARSE;
use crate::object::{Handle, OpenFile, View};

/// Pieces that are longer on average are accessed by each rank itself: a call of the system costs
/// less than sending so many bytes to another rank.
const LONG: u64 = 64 << 10;

/// What a rank accesses.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(in crate::api::file) struct Extent {
    /// Where the first byte is in the file, and where the byte behind the last one is.
    low: u64,
    high: u64,
    /// How many pieces there are, and how many bytes.
    pieces: u64,
    bytes: u64,
    /// Whether each piece is behind the one before.
    is_ascending: bool,
}

impl Extent {
    const WORDS: usize = 5;

    /// The extent of `len` bytes of a view from byte `first` of it on.
    pub(in crate::api::file) fn of(view: &View, first: u64, len: usize) -> Self {
        let mut all = Self { low: u64::MAX, is_ascending: true, ..Self::default() };
        view.each_piece(first, len, |at, len| {
            all.is_ascending &= at >= all.high;
            all.low = all.low.min(at);
            all.high = all.high.max(at + len as u64);
            all.pieces += 1;
            all.bytes += len as u64;
        });
        all
    }

    fn to_words(self) -> [u64; Self::WORDS] {
        [self.low, self.high, self.pieces, self.bytes, self.is_ascending.into()]
    }

    fn from_words(words: &[u64]) -> Self {
        Self {
            low: words[0],
            high: words[1],
            pieces: words[2],
            bytes: words[3],
            is_ascending: words[4] != 0,
        }
    }
}

/// What all ranks access.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::api::file) struct Extents {
    /// Of those that access anything.
    ranks: Vec<Extent>,
    /// The hints of the first rank.
    pub(super) hints: Hints,
}

/// The extents of all ranks. All ranks fail if one does.
pub(in crate::api::file) fn extents_of_all(
    file: &OpenFile,
    handle: Handle,
    own: Result<Extent, Failure>,
) -> Result<Extents, Failure> {
    const EACH: usize = 1 + Extent::WORDS + Hints::WORDS;
    let code = own.as_ref().map_or_else(|failure| failure.code, |_| 0);
    let mut words = vec![code.cast_unsigned().into()];
    words.extend(own.as_ref().map_or_else(|_| Extent::default(), |own| *own).to_words());
    words.extend(Hints::of(file).to_words());
    let all = allgather_words(&file.comm, handle, &words)?;
    own?;
    if let Some(rank) = all.chunks_exact(EACH).position(|words| words[0] != 0) {
        let text = format!("rank {rank} of the file has failed");
        return Err(Failure::with_code(all[rank * EACH] as c_int, handle, text));
    }
    let extents = all.chunks_exact(EACH).map(|words| Extent::from_words(&words[1..]));
    Ok(Extents {
        ranks: extents.filter(|extent| extent.bytes > 0).collect(),
        hints: Hints::from_words(&all[1 + Extent::WORDS..]),
    })
}

impl Extents {
    /// The part of the file that all pieces are in.
    pub(super) fn range(&self) -> Range<u64> {
        let low = self.ranks.iter().map(|extent| extent.low).min().unwrap_or(0);
        low..self.ranks.iter().map(|extent| extent.high).max().unwrap_or(low)
    }

    /// The bytes of all ranks.
    pub(super) fn bytes(&self) -> u64 {
        self.ranks.iter().fold(0, |sum, extent| sum.saturating_add(extent.bytes))
    }

    /// Whether two phases take less time than if each rank accesses its pieces itself. All ranks
    /// come to the same.
    pub(in crate::api::file) fn are_worth_it(&self, is_write: bool) -> bool {
        let choice = if is_write { self.hints.write } else { self.hints.read };
        if choice == Choice::Never || !self.ranks.iter().all(|extent| extent.is_ascending) {
            return false;
        }
        choice == Choice::Always || (self.is_fragmented() && self.interleave())
    }

    /// Whether there are many short pieces, not too far from each other.
    fn is_fragmented(&self) -> bool {
        let pieces = self.ranks.iter().fold(0_u64, |sum, rank| sum.saturating_add(rank.pieces));
        let range = self.range();
        pieces > self.ranks.len() as u64
            && self.bytes() / pieces <= LONG
            && (range.end - range.start) / SPARSE <= self.bytes()
    }

    /// Whether a rank has pieces between those of another one.
    fn interleave(&self) -> bool {
        let mut ranks: Vec<_> = self.ranks.iter().map(|rank| (rank.low, rank.high)).collect();
        ranks.sort_unstable();
        ranks.windows(2).any(|two| two[1].0 < two[0].1)
    }
}

#[cfg(test)]
pub(super) mod tests;
