//! Written bytes, from `write` until the peer has them.

use alloc::collections::{TryReserveError, VecDeque};

use super::pool::BufferPool;
use super::queue::ByteQueue;
use crate::time::Instant;

/// What a write says about the end of its bytes.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub enum Ending {
    /// More of the same write follows at once: a short last segment may wait for it.
    More,
    /// One write of a stream ends here. Marked EOM if it happens to end a segment; later writes may
    /// still join the last segment while it is unsent.
    Write,
    /// More of the same message follows, perhaps much later: no segment is marked EOM until the
    /// message is ended by [`Self::Message`], and what is written meanwhile belongs to it.
    Part,
    /// A message ends here: the segment is cut and marked EOM whatever follows.
    Message,
}

impl Ending {
    /// Returns what holds after bytes that are not the last of what is written.
    #[must_use]
    pub const fn continued(self) -> Self {
        match self {
            Self::More | Self::Write => Self::More,
            Self::Part | Self::Message => Self::Part,
        }
    }
}

/// The bytes of one segment, by stream offset.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) struct Span {
    pub(crate) at: u64,
    pub(crate) len: u16,
    pub(crate) eom: bool,
}

/// Bytes written and not yet released.
///
/// The last ones may be lent: they are not here, but where the writer has them, and there is room
/// for them here.
///
/// `base ≤ unsent ≤ end`: before `unsent` lie bytes that belong to numbered segments, after it
/// bytes that can still be cut anywhere. Every entry of `ends` lies in `unsent..=end`, in rising
/// order.
#[derive(Clone, Debug, Hash)]
pub(crate) struct SendBuffer {
    bytes: ByteQueue,
    lent: usize,
    limit: usize,
    base: u64,
    unsent: u64,
    ends: VecDeque<u64>,
    /// The rest of the last write follows at once.
    more_follows: bool,
    /// The last bytes are of a message that has no end yet (SPEC PRP-SEG-6).
    in_message: bool,
}

impl SendBuffer {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            bytes: ByteQueue::default(),
            lent: 0,
            limit,
            base: 0,
            unsent: 0,
            ends: VecDeque::new(),
            more_follows: false,
            in_message: false,
        }
    }

    /// Whether there is room that is worth waking a writer for: half of the limit, or it would be
    /// woken for every acknowledgement.
    pub(crate) fn has_worthwhile_room(&self) -> bool {
        self.room() >= (self.limit / 2).max(1)
    }

    /// Bytes kept at most.
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }

    /// Keeps at least `limit` bytes from now on.
    pub(crate) fn raise_limit(&mut self, limit: usize) {
        self.limit = self.limit.max(limit);
    }

    /// Keeps twice as much from now on, or `most`, if that takes `spare` bytes at most.
    pub(crate) fn grow(&mut self, most: usize, spare: usize) {
        let step = self.limit.min(most.saturating_sub(self.limit));
        if step <= spare {
            self.limit += step;
        }
    }

    /// Keeps `limit` bytes from now on, if nothing is held.
    pub(crate) fn shrink_if_empty(&mut self, limit: usize) {
        if self.bytes.len() == 0 && self.lent == 0 {
            self.limit = limit;
        }
    }

    /// Bytes that may still be written. The ends of messages take room too, or any number of
    /// messages without bytes could be written.
    pub(crate) fn room(&self) -> usize {
        let held = self.bytes.len() + self.lent;
        self.limit.saturating_sub(held + self.ends.len() * size_of::<u64>())
    }

    /// Bytes held.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + self.lent
    }

    /// Memory held.
    pub(crate) fn allocated(&self) -> usize {
        self.bytes.allocated() + self.ends.capacity() * size_of::<u64>()
    }

    /// Whether a message ends in what is unsent.
    pub(crate) fn ends_message(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Whether a segment could be cut now, be it an empty message.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.unsent < self.end() || !self.ends.is_empty()
    }

    /// Takes what fits of `bytes`. `ending` holds if all of it fits; what fits in part goes on.
    pub(crate) fn write(&mut self, bytes: &[u8], ending: Ending) -> Result<usize, TryReserveError> {
        let (taken, ending) = self.fit(bytes.len(), ending)?;
        self.bytes.push(&bytes[..taken])?;
        self.end_write(taken, ending);
        Ok(taken)
    }

    /// Takes `bytes` as a segment of their own, if nothing is held, and leaves room that is worth
    /// waking a writer for.
    pub(crate) fn write_segment(&mut self, bytes: &[u8], ending: Ending) -> Option<Span> {
        let is_empty = self.bytes.len() == 0 && self.lent == 0 && self.ends.is_empty();
        if !is_empty || bytes.len() > self.limit / 2 || self.bytes.push(bytes).is_err() {
            return None;
        }
        self.note_ending(ending);
        let eom = !(self.more_follows || self.in_message);
        let span = Span { at: self.unsent, len: bytes.len() as u16, eom };
        self.unsent = self.end();
        Some(span)
    }

    /// As [`Self::write`], of `len` bytes that stay with the writer until [`Self::end_borrow`].
    pub(crate) fn write_borrowed(
        &mut self,
        len: usize,
        ending: Ending,
    ) -> Result<usize, TryReserveError> {
        let (taken, ending) = self.fit(len, ending)?;
        self.bytes.reserve(self.lent + taken)?;
        self.lent += taken;
        self.end_write(taken, ending);
        Ok(taken)
    }

    /// Whether something is lent, which is the end of what was written then.
    pub(crate) const fn is_lent(&self) -> bool {
        self.lent > 0
    }

    /// How many of `len` bytes fit, and what holds after them.
    fn fit(&mut self, len: usize, ending: Ending) -> Result<(usize, Ending), TryReserveError> {
        let taken = len.min(self.room());
        let ending = if taken == len { ending } else { ending.continued() };
        // Memory for the ends first, that of a stream write before a message included: where there
        // is none, nothing is taken.
        if matches!(ending, Ending::Part | Ending::Message) {
            self.ends.try_reserve(2)?;
        }
        Ok((taken, ending))
    }

    fn end_write(&mut self, taken: usize, ending: Ending) {
        let begin = self.end() - taken as u64;
        let begins_message = matches!(ending, Ending::Part | Ending::Message)
            && !(self.in_message || self.more_follows);
        // A message begins with a segment of its own.
        if begins_message && self.unsent < begin && self.ends.back() != Some(&begin) {
            self.ends.push_back(begin);
        }
        self.note_ending(ending);
        if ending == Ending::Message {
            self.ends.push_back(self.end());
        }
    }

    fn note_ending(&mut self, ending: Ending) {
        self.more_follows = matches!(ending, Ending::More | Ending::Part);
        self.in_message = match ending {
            Ending::Part => true,
            Ending::Message => false,
            Ending::More | Ending::Write => self.in_message,
        };
    }

    /// Takes what is lent and not released yet: the end of `bytes`, which were lent.
    pub(crate) fn end_borrow(&mut self, bytes: &[u8]) {
        let lent = core::mem::take(&mut self.lent);
        self.bytes.fill(&bytes[bytes.len().saturating_sub(lent)..]);
    }

    /// Says that the rest of an unfinished write does not follow at once, if ever. A message stays
    /// without an end.
    pub(crate) const fn finish_write(&mut self) {
        self.more_follows = false;
    }

    /// The next segment of at most `mss` bytes, if there is one to send now. `idle` says that
    /// nothing is in flight, so that waiting for more of a write would be waiting for nothing.
    pub(crate) fn peek_segment(&self, mss: u16, idle: bool) -> Option<Span> {
        let message = self.ends.front().copied();
        let until = message.unwrap_or_else(|| self.end());
        let left = until - self.unsent;
        if left == 0 && message.is_none() {
            return None;
        }
        let len = self.cut(left.min(u64::from(mss)) as u16);
        let last = u64::from(len) == left;
        if last && message.is_none() && self.more_follows && len < mss && !idle {
            return None;
        }
        let eom = last && (message.is_some() || !(self.more_follows || self.in_message));
        Some(Span { at: self.unsent, len, eom })
    }

    /// The longest segment of at most `len` bytes that begins with what is unsent and lies in two
    /// pieces.
    fn cut(&self, len: u16) -> u16 {
        let held = self.held_until().saturating_sub(self.unsent) as usize;
        if self.lent == 0 || held == 0 || usize::from(len) <= held {
            return len;
        }
        let [_, second] = self.bytes.slices(self.bytes.len() - held, held);
        if second.is_empty() { len } else { held as u16 }
    }

    /// Stream offset after the last byte held here.
    const fn held_until(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// Returns how many segments of `mss` bytes in one or two pieces follow each other in what is
    /// unsent before one that ends a message, or all that was written.
    pub(crate) fn full_segments(&self, mss: u16) -> usize {
        let until = self.ends.front().copied().unwrap_or_else(|| self.end());
        let mut bytes = (until - self.unsent).saturating_sub(1);
        if self.lent > 0 {
            // The one that begins here and goes on in what is lent may have to be shorter.
            let held = self.held_until().saturating_sub(self.unsent);
            bytes = if held > 0 { bytes.min(held) } else { bytes };
        }
        (bytes / u64::from(mss)) as usize
    }

    /// Stream offset of the first byte that belongs to no segment yet.
    pub(crate) const fn unsent_from(&self) -> u64 {
        self.unsent
    }

    /// Makes `span`, as [`Self::peek_segment`] gave it, belong to a numbered segment.
    pub(crate) fn commit_segment(&mut self, span: Span) {
        self.unsent = span.at + u64::from(span.len);
        if span.eom && self.ends.front() == Some(&self.unsent) {
            self.ends.pop_front();
        }
    }

    /// The bytes of `len` from stream offset `at` on, which must not be released yet; those that
    /// are lent are the last of `lent`.
    pub(crate) fn slices<'a>(&'a self, at: u64, len: u16, lent: &'a [u8]) -> [&'a [u8]; 2] {
        let pieces = self.bytes.slices((at.saturating_sub(self.base)) as usize, usize::from(len));
        if self.lent == 0 {
            return pieces;
        }
        let end = at + u64::from(len);
        let from = at.max(self.held_until());
        if end <= from {
            return pieces;
        }
        let index = |at| lent.len().saturating_sub((self.end() - at) as usize);
        let lent = lent.get(index(from)..index(end)).unwrap_or_default();
        if pieces[0].is_empty() { [lent, &[]] } else { [pieces[0], lent] }
    }

    /// Gives up the bytes before stream offset `to`.
    pub(crate) fn release(&mut self, to: u64) {
        let n = to.min(self.unsent).saturating_sub(self.base);
        let held = self.bytes.len().min(n as usize);
        self.bytes.consume(held);
        self.lent -= n as usize - held;
        self.base += n;
    }

    /// Drops everything but the memory: the connection is over.
    pub(crate) fn clear(&mut self) {
        let mut bytes = core::mem::take(&mut self.bytes);
        bytes.consume(bytes.len());
        *self = Self { bytes, ..Self::new(self.limit) };
    }

    /// Makes room for `more` bytes with memory from `pool`, if there has to be more and some is
    /// there.
    pub(crate) fn acquire(&mut self, more: usize, pool: &mut BufferPool) {
        self.bytes.acquire(self.lent + more.min(self.room()), self.limit, pool);
    }

    /// Gives memory that nothing is held in any more to `pool`.
    #[inline]
    pub(crate) fn release_chunks(&mut self, now: Instant, pool: &mut BufferPool) {
        // What is lent has room here.
        if self.lent == 0 {
            self.bytes.release_chunks(now, pool);
        }
    }

    /// Gives memory back if nothing is held.
    pub(crate) fn trim(&mut self) {
        if self.lent == 0 {
            self.bytes.release_if_empty();
        }
        if self.ends.is_empty() {
            self.ends = VecDeque::new();
        }
    }

    /// Bytes that belong to no segment yet.
    pub(crate) fn unsent(&self) -> u64 {
        self.end() - self.unsent
    }

    /// Stream offset after the last byte written.
    pub(crate) const fn end(&self) -> u64 {
        self.held_until() + self.lent as u64
    }
}
