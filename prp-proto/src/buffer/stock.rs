//! Memory of large buffers, between the connection that has ended and the next one.
//!
//! Fresh memory is dear: the kernel clears it page by page as it is touched, and a buffer that grows copies what it
//! holds at every step. Hundreds of streams that come and go spend a tenth of their time on that.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use core::time::Duration;

use crate::time::Instant;

/// Smaller pieces are not kept: allocators keep those themselves, and give larger ones back to the system.
const LEAST: usize = 64 * 1024;

/// Most bytes kept: what 256 streams with buffers of the default size leave.
const MOST: usize = 128 * 1024 * 1024;

/// Memory that nobody has wanted for so long is freed: longer than the pause between two rounds of the same work,
/// shorter than anybody looks at what an idle process holds.
const KEPT: Duration = Duration::from_secs(1);

/// Pieces of memory that no connection uses, by length. All of a piece is initialised.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stock {
    pieces: BTreeMap<usize, Vec<Vec<u8>>>,
    held: usize,
    /// Least bytes held since the last look.
    unwanted: usize,
    /// When to look again.
    due: Option<Instant>,
}

impl Stock {
    /// Whether pieces of `len` bytes are kept at all.
    pub(super) const fn keeps(len: usize) -> bool {
        len >= LEAST
    }

    /// Bytes held.
    pub(crate) const fn held(&self) -> usize {
        self.held
    }

    /// When [`Self::expire`] wants to be called.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Keeps `memory` for the next one, or frees it.
    pub(super) fn put(&mut self, now: Instant, memory: Vec<u8>) {
        if !Self::keeps(memory.len()) || self.held + memory.len() > MOST {
            return;
        }
        let pieces = self.pieces.entry(memory.len()).or_default();
        // Without memory for the list, freeing is what helps.
        if pieces.try_reserve(1).is_err() {
            return;
        }
        self.held += memory.len();
        pieces.push(memory);
        if self.due.is_none() {
            self.unwanted = 0;
            self.due = Some(now + KEPT);
        }
    }

    /// The smallest piece whose length is in `lengths`.
    pub(super) fn take(&mut self, lengths: RangeInclusive<usize>) -> Option<Vec<u8>> {
        let (_, pieces) = self.pieces.range_mut(lengths).find(|(_, pieces)| !pieces.is_empty())?;
        let memory = pieces.pop()?;
        self.held -= memory.len();
        self.unwanted = self.unwanted.min(self.held);
        Some(memory)
    }

    /// Frees what nobody has wanted since the last look, if it is time for one.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        let keep = self.held - self.unwanted;
        while self.held > keep
            && let Some(mut last) = self.pieces.last_entry()
        {
            self.held -= last.get_mut().pop().map_or(0, |memory| memory.len());
            if last.get().is_empty() {
                last.remove();
            }
        }
        self.unwanted = self.held;
        self.due = (self.held > 0).then(|| now + KEPT);
    }
}

#[cfg(test)]
mod tests;
