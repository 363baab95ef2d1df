//! A byte queue that holds no more memory than what is in it needs.
//!
//! Few bytes lie in one small chunk of the queue's own. More lie in a row of chunks of one size,
//! which all queues of an endpoint take from a common buffer pool when bytes come and give back
//! when they are gone, the last one first: what is written next goes where a processor's cache
//! still is, however many connections there are.

use alloc::collections::{TryReserveError, VecDeque};
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::{iter, mem};

use super::pool::{self, BufferPool, CHUNK};
use crate::time::Instant;

/// Least allocation. One classic segment and a half: a connection that exchanges short messages
/// never grows past it.
const FIRST: usize = 2048;

/// Bytes for which it is worth while to take a whole chunk: those of a segment.
const MIN_CHUNK_DATA: usize = 1024;

/// A queue of bytes. Offsets count from the oldest byte held.
#[derive(Clone, Debug, Default)]
pub(super) struct ByteQueue {
    /// The chunk with the oldest bytes, of any size up to [`CHUNK`].
    front: Vec<u8>,
    /// What follows, all of them of [`CHUNK`] bytes. The last ones may have nothing in them.
    rest: VecDeque<Vec<u8>>,
    /// Where in `front` the oldest byte is.
    head: usize,
    len: usize,
}

/// Where the bytes lie is not part of what they are.
impl Hash for ByteQueue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len);
        self.chunks(self.len).for_each(|chunk| state.write(chunk));
    }
}

impl ByteQueue {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) fn allocated(&self) -> usize {
        self.front.capacity()
            + self.rest.len() * CHUNK
            + self.rest.capacity() * size_of::<Vec<u8>>()
    }

    /// Appends `bytes`; grows if it must.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), TryReserveError> {
        let tail = self.head + self.len;
        let Some(room) = self.front.get_mut(tail..tail + bytes.len()) else {
            return self.push_far(bytes);
        };
        room.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    /// Appends `bytes` that do not fit into the first chunk.
    #[inline(never)]
    fn push_far(&mut self, bytes: &[u8]) -> Result<(), TryReserveError> {
        self.reserve(bytes.len())?;
        self.fill(bytes);
        Ok(())
    }

    /// Appends what there is room for of `bytes`: all of them, after [`Self::reserve`].
    pub(super) fn fill(&mut self, bytes: &[u8]) {
        let mut bytes = &bytes[..bytes.len().min(self.spare())];
        while !bytes.is_empty() {
            let (index, at) = self.place(self.len);
            let chunk = if index == 0 { &mut self.front } else { &mut self.rest[index - 1] };
            let n = bytes.len().min(chunk.len() - at);
            let (now, later) = bytes.split_at(n);
            chunk[at..at + n].copy_from_slice(now);
            self.len += n;
            bytes = later;
        }
    }

    /// `len` bytes from `at` on, in one or two chunks; fewer where the queue ends first, or a third
    /// chunk begins: after the first one each has as much as the longest segment.
    pub(super) fn slices(&self, at: usize, len: usize) -> [&[u8]; 2] {
        let at = at.min(self.len);
        let len = len.min(self.len - at);
        let first = self.chunk(at, len);
        if first.len() == len {
            return [first, &[]];
        }
        [first, self.chunk(at + first.len(), len - first.len())]
    }

    /// Copies from the front into `out` and says how much there was; removes nothing.
    pub(super) fn peek(&self, out: &mut [u8]) -> usize {
        // Readers ask before they wait, and mostly there is nothing yet.
        if self.len == 0 {
            return 0;
        }
        let len = out.len().min(self.len);
        let mut at = 0;
        for chunk in self.chunks(len) {
            out[at..at + chunk.len()].copy_from_slice(chunk);
            at += chunk.len();
        }
        len
    }

    /// Removes `n` bytes from the front.
    #[inline]
    pub(super) fn consume(&mut self, n: usize) {
        let n = n.min(self.len);
        self.len -= n;
        self.head += n;
        if self.len == 0 {
            // What follows lies in one chunk and in warm cache lines.
            self.head = 0;
        } else if self.head >= self.front.len() {
            self.recycle_front();
        }
    }

    /// Has the chunks in which nothing is held any more follow the others.
    #[inline(never)]
    fn recycle_front(&mut self) {
        while self.head >= self.front.len()
            && let Some(next) = self.rest.pop_front()
        {
            self.head -= self.front.len();
            let empty = mem::replace(&mut self.front, next);
            // One of another size is of no use there.
            if empty.len() == CHUNK {
                self.rest.push_back(empty);
            }
        }
    }

    /// Gives memory back if nothing is held.
    pub(super) fn release_if_empty(&mut self) {
        if self.len == 0 {
            *self = Self::default();
        }
    }

    /// Whether there are chunks in which nothing is held.
    #[inline]
    pub(super) fn has_left(&self) -> bool {
        (self.front.len() == CHUNK || !self.rest.is_empty()) && self.spare() >= CHUNK
    }

    /// Hands the chunks in which nothing is held to `pool`.
    #[inline]
    pub(super) fn release_chunks(&mut self, now: Instant, pool: &mut BufferPool) {
        // Mostly there are none.
        if self.has_left() {
            self.release_all_chunks(now, pool);
        }
    }

    #[inline(never)]
    fn release_all_chunks(&mut self, now: Instant, pool: &mut BufferPool) {
        while self.spare() >= CHUNK
            && let Some(chunk) = self.rest.pop_back()
        {
            pool.put(now, chunk);
        }
        if self.len == 0 && self.front.len() == CHUNK {
            pool.put(now, mem::take(&mut self.front));
        }
    }

    /// If there is no room for `more` bytes, makes some with chunks from `pool`, as far as there
    /// are any, for an owner who may have `limit` bytes.
    #[inline]
    pub(super) fn acquire(&mut self, more: usize, limit: usize, pool: &mut BufferPool) {
        let fits = self.head + self.len + more <= self.front.len();
        // A chunk is more than some need, and more than some may have.
        if !fits && self.len + more > MIN_CHUNK_DATA && limit >= CHUNK {
            self.acquire_chunks(more, pool);
        }
    }

    #[inline(never)]
    fn acquire_chunks(&mut self, more: usize, pool: &mut BufferPool) {
        while self.spare() < more && self.rest.try_reserve(1).is_ok() {
            let Some(chunk) = pool.take() else { return };
            if self.front.is_empty() {
                self.front = chunk;
            } else {
                self.rest.push_back(chunk);
            }
        }
    }

    /// Bytes that fit behind what is held.
    #[inline]
    fn spare(&self) -> usize {
        self.front.len() + self.rest.len() * CHUNK - self.head - self.len
    }

    /// Which chunk, and where in it, the byte at offset `at` lies or would.
    fn place(&self, at: usize) -> (usize, usize) {
        let at = self.head + at;
        match at.checked_sub(self.front.len()) {
            None => (0, at),
            Some(beyond) => (1 + beyond / CHUNK, beyond % CHUNK),
        }
    }

    /// The first `len` bytes, which are held, chunk by chunk.
    #[inline]
    fn chunks(&self, len: usize) -> impl Iterator<Item = &[u8]> {
        let mut at = 0;
        iter::from_fn(move || {
            let chunk = self.chunk(at, len - at);
            at += chunk.len();
            (!chunk.is_empty()).then_some(chunk)
        })
    }

    /// At most `len` bytes from `at` on that lie in one chunk.
    #[inline]
    fn chunk(&self, at: usize, len: usize) -> &[u8] {
        let start = self.head + at;
        match self.front.get(start..start + len) {
            Some(bytes) => bytes,
            None => self.far_chunk(at, len),
        }
    }

    #[inline(never)]
    fn far_chunk(&self, at: usize, len: usize) -> &[u8] {
        let (index, at) = self.place(at);
        let chunk = if index == 0 { Some(&self.front) } else { self.rest.get(index - 1) };
        let bytes = chunk.map_or(&[][..], |chunk| &chunk[at..]);
        &bytes[..len.min(bytes.len())]
    }

    /// Makes room for `more` bytes, which stays as long as none is given back.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), TryReserveError> {
        if self.spare() < more && self.rest.is_empty() && self.front.len() < CHUNK {
            self.grow(more)?;
        }
        while self.spare() < more {
            self.rest.try_reserve(1)?;
            self.rest.push_back(pool::fresh(CHUNK)?);
        }
        Ok(())
    }

    /// Makes the only chunk longer, or moves what is held to its beginning.
    fn grow(&mut self, more: usize) -> Result<(), TryReserveError> {
        let need = self.len + more;
        let held = self.head..self.head + self.len;
        if need <= self.front.len() / 2 {
            self.front.copy_within(held, 0);
        } else {
            let capacity = need.next_power_of_two().clamp(FIRST, CHUNK);
            let mut grown = pool::fresh(capacity)?;
            grown[..self.len].copy_from_slice(&self.front[held]);
            self.front = grown;
        }
        self.head = 0;
        Ok(())
    }
}
