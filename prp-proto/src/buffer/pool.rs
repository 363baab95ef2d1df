//! Memory of buffers, between the one in which nothing is held any more and the next one.
//!
//! Fresh memory is dear: the kernel clears it page by page as it is touched, and it is in no cache.
//! Hundreds of streams spend 10 % of their time on that.

use alloc::collections::TryReserveError;
use alloc::vec::Vec;
use core::hint::black_box;
use core::time::Duration;

use crate::time::Instant;

/// Bytes of a chunk: no less than the longest segment, so that one lies in two chunks at most, and
/// what a connection sends before the next one may.
pub(super) const CHUNK: usize = 64 * 1024;

/// Most bytes kept: what 256 streams with buffers of the default size leave.
const MAX_POOL_BYTES: usize = 128 * 1024 * 1024;

/// Memory that was not wanted for this time is freed: longer than the pause between two rounds of
/// the same work, shorter than an operator waits to see what an idle process holds.
const KEEP_FREE: Duration = Duration::from_secs(1);

/// From this number of bytes on a fresh chunk costs time: connections that exchange short messages
/// have less.
const MATTERS: usize = 16 * 1024;

/// Memory that must be left when a chunk is fresh: buffers say so when there is none, but the
/// queues and lists of whatever is sent and received cannot.
const SPARED: usize = 512 * 1024;

/// Memory of `len` bytes that was not in use before.
pub(super) fn fresh(len: usize) -> Result<Vec<u8>, TryReserveError> {
    if len >= MATTERS {
        let mut more = Vec::<u8>::new();
        more.try_reserve_exact(len + SPARED)?;
        // Or the compiler would see that nothing is done with it, and not ask for it.
        drop(black_box(more));
    }
    let mut memory = Vec::new();
    memory.try_reserve_exact(len)?;
    memory.resize(len, 0);
    Ok(memory)
}

/// Pieces of memory that no connection uses, each of [`CHUNK`] initialised bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferPool {
    /// Those used last are at the end.
    chunks: Vec<Vec<u8>>,
    /// Least number held since the last check.
    surplus: usize,
    /// When to check again.
    due: Option<Instant>,
    /// Bytes freed since they were counted last.
    freed: usize,
}

impl BufferPool {
    /// Bytes held.
    pub(crate) const fn held(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    /// When [`Self::expire`] wants to be called.
    pub(crate) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Keeps `chunk` for the next one, or frees it.
    pub(super) fn put(&mut self, now: Instant, chunk: Vec<u8>) {
        // Without memory for the list, freeing is what helps.
        if self.held() + CHUNK > MAX_POOL_BYTES || self.chunks.try_reserve(1).is_err() {
            self.freed += chunk.len();
            return;
        }
        self.chunks.push(chunk);
        if self.due.is_none() {
            self.surplus = 0;
            self.due = Some(now + KEEP_FREE);
        }
    }

    /// The chunk that was used last.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let chunk = self.chunks.pop()?;
        self.surplus = self.surplus.min(self.chunks.len());
        Some(chunk)
    }

    /// Counts `bytes` that were freed without coming here.
    pub(crate) const fn note_freed(&mut self, bytes: usize) {
        self.freed += bytes;
    }

    /// Whether `bytes` have been freed since this was last the case.
    pub(crate) const fn take_freed(&mut self, bytes: usize) -> bool {
        let much = self.freed >= bytes;
        if much {
            self.freed = 0;
        }
        much
    }

    /// Frees what was not wanted since the last check, if it is time for one.
    pub(crate) fn expire(&mut self, now: Instant) {
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        self.freed += self.surplus * CHUNK;
        self.chunks.drain(..self.surplus);
        self.surplus = self.chunks.len();
        self.due = (self.surplus > 0).then(|| now + KEEP_FREE);
    }
}

#[cfg(test)]
mod tests;
