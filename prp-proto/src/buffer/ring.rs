//! A byte queue in one piece of memory that grows to what is used and no further than its owner lets it.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::mem;

use super::stock::Stock;
use crate::time::Instant;

/// Least allocation. One classic segment and a half: a connection that exchanges short messages never
/// grows past it.
const FIRST: usize = 2048;

/// A ring of bytes. Offsets count from the oldest byte held.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring {
    data: Vec<u8>,
    head: usize,
    len: usize,
}

/// Where the bytes lie is not part of what they are.
impl Hash for Ring {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len);
        for piece in self.slices(0, self.len) {
            state.write(piece);
        }
    }
}

impl Ring {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn allocated(&self) -> usize {
        self.data.capacity()
    }

    /// Appends `bytes`; grows if it must.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), TryReserveError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.reserve(bytes.len())?;
        let tail = self.wrap(self.head + self.len);
        self.len += bytes.len();
        if let Some(room) = self.data.get_mut(tail..tail + bytes.len()) {
            room.copy_from_slice(bytes);
            return Ok(());
        }
        let (a, b) = bytes.split_at(self.data.len() - tail);
        self.data[tail..].copy_from_slice(a);
        self.data[..b.len()].copy_from_slice(b);
        Ok(())
    }

    /// `len` bytes from `at` on, in one or two pieces; fewer where the ring ends first.
    pub(super) fn slices(&self, at: usize, len: usize) -> [&[u8]; 2] {
        let at = at.min(self.len);
        let len = len.min(self.len - at);
        let start = self.wrap(self.head + at);
        let first = len.min(self.data.len() - start);
        [&self.data[start..start + first], &self.data[..len - first]]
    }

    /// Copies from the front into `out` and says how much there was; removes nothing.
    pub(super) fn peek(&self, out: &mut [u8]) -> usize {
        if self.len == 0 {
            return 0;
        }
        let [a, b] = self.slices(0, out.len());
        out[..a.len()].copy_from_slice(a);
        out[a.len()..a.len() + b.len()].copy_from_slice(b);
        a.len() + b.len()
    }

    /// Removes `n` bytes from the front.
    pub(super) fn consume(&mut self, n: usize) {
        let n = n.min(self.len);
        self.len -= n;
        // An empty ring starts over, so that what follows lies in one piece and in warm cache lines.
        self.head = if self.len == 0 { 0 } else { self.wrap(self.head + n) };
    }

    /// Gives memory back if nothing is held.
    pub(super) fn release_if_empty(&mut self) {
        if self.len == 0 {
            *self = Self::default();
        }
    }

    /// As [`Self::release_if_empty`], for others to use.
    pub(super) fn give_back(&mut self, now: Instant, stock: &mut Stock) {
        if self.len == 0 && !self.data.is_empty() {
            stock.put(now, mem::take(&mut self.data));
        }
    }

    /// If it has to grow for `more` bytes, does so with memory from `stock`, should there be a piece of no more than
    /// `most` bytes.
    pub(super) fn draw(&mut self, more: usize, most: usize, now: Instant, stock: &mut Stock) {
        let Some(capacity) = self.lacks(more).filter(|capacity| Stock::keeps(*capacity)) else {
            return;
        };
        let Some(mut memory) = stock.take(capacity..=most.max(capacity)) else { return };
        let [a, b] = self.slices(0, self.len);
        memory[..a.len()].copy_from_slice(a);
        memory[a.len()..a.len() + b.len()].copy_from_slice(b);
        self.head = 0;
        stock.put(now, mem::replace(&mut self.data, memory));
    }

    const fn wrap(&self, at: usize) -> usize {
        if at >= self.data.len() { at - self.data.len() } else { at }
    }

    /// What to grow to for `more` bytes, if they do not fit.
    fn lacks(&self, more: usize) -> Option<usize> {
        let need = self.len + more;
        (need > self.data.len()).then(|| need.next_power_of_two().max(FIRST))
    }

    fn reserve(&mut self, more: usize) -> Result<(), TryReserveError> {
        let Some(capacity) = self.lacks(more) else { return Ok(()) };
        let mut grown = Vec::new();
        grown.try_reserve_exact(capacity)?;
        let [a, b] = self.slices(0, self.len);
        grown.extend_from_slice(a);
        grown.extend_from_slice(b);
        grown.resize(capacity, 0);
        self.data = grown;
        self.head = 0;
        Ok(())
    }
}
