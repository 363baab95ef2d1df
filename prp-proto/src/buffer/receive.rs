//! Bytes in order, from arrival until `read`.

use alloc::collections::{TryReserveError, VecDeque};

use super::pool::BufferPool;
use super::queue::ByteQueue;
use crate::event::ConnHandle;
use crate::time::Instant;

/// A reader's own buffer, lent for the time its thread runs the endpoint: what arrives in order for
/// its connection goes straight there instead of through the receive buffer.
#[derive(Debug)]
pub struct Sink<'a> {
    conn: ConnHandle,
    buf: &'a mut [u8],
    filled: usize,
}

impl<'a> Sink<'a> {
    /// A sink for `conn` into `buf`.
    pub fn new(conn: ConnHandle, buf: &'a mut [u8]) -> Self {
        Self { conn, buf, filled: 0 }
    }

    /// Bytes that went into the reader's buffer so far.
    pub const fn filled(&self) -> usize {
        self.filled
    }

    pub(crate) fn is_for(&self, conn: ConnHandle) -> bool {
        self.conn == conn
    }

    const fn room(&self) -> usize {
        self.buf.len() - self.filled
    }

    /// Takes as many of `bytes` as there is room for; how many.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> usize {
        let n = bytes.len().min(self.room());
        self.buf[self.filled..self.filled + n].copy_from_slice(&bytes[..n]);
        self.filled += n;
        n
    }
}

/// A piece of a message.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct MessagePart {
    /// Bytes put into the reader's buffer.
    pub len: usize,
    /// Whether the message ends with them.
    pub end: bool,
}

/// Bytes received in order and not yet read, with the ends of messages among them.
///
/// `ends` holds offsets among the bytes that have come through `bytes`, after `consumed` (or at it,
/// for an empty message not yet read), rising.
#[derive(Clone, Debug, Hash)]
pub(crate) struct RecvBuffer {
    bytes: ByteQueue,
    limit: usize,
    /// Bytes of that which the peer may send.
    advertised: usize,
    consumed: u64,
    ends: VecDeque<u64>,
    /// How many of `ends`, all at `consumed`, a stream read has passed over: they are left for
    /// those who read messages, and are no news to anyone.
    passed: usize,
}

impl RecvBuffer {
    pub(crate) fn new(limit: usize) -> Self {
        let (bytes, ends) = (ByteQueue::default(), VecDeque::new());
        Self { bytes, limit, advertised: limit, consumed: 0, ends, passed: 0 }
    }

    /// Advertises `bytes` bytes from now on, and no more than the limit. What was advertised before
    /// may still come.
    pub(crate) fn set_advertised(&mut self, bytes: usize) {
        self.advertised = bytes.min(self.limit);
    }

    /// Bytes waiting.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is something to read, be it only a message without bytes (SPEC PRP-SEG-7).
    #[inline]
    pub(crate) fn is_readable(&self) -> bool {
        self.bytes.len() > 0 || self.ends.len() > self.passed
    }

    /// Whether nothing waits, be it only the end of a message.
    #[inline]
    fn holds_nothing(&self) -> bool {
        self.bytes.len() == 0 && self.ends.is_empty()
    }

    /// Bytes that may still come.
    pub(crate) fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes.len())
    }

    /// Bytes to advertise: what is held beside the bytes counts too, or a peer could send any
    /// number of messages without bytes.
    pub(crate) fn spare(&self) -> usize {
        self.advertised.saturating_sub(self.held())
    }

    /// Bytes that wait, with what the ends of messages among them take.
    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<u64>()
    }

    /// Memory held.
    pub(crate) fn allocated(&self) -> usize {
        self.bytes.allocated() + self.ends.capacity() * size_of::<u64>()
    }

    /// Appends the payload of the next segment in order, past the queue if the reader's buffer is
    /// at hand and nothing waits before it; whether it left anything to read.
    pub(crate) fn push(
        &mut self,
        payload: &[u8],
        eom: bool,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<bool, TryReserveError> {
        let direct = match sink {
            Some(sink) if self.holds_nothing() => sink.take(payload),
            _ => 0,
        };
        let rest = &payload[direct..];
        if rest.is_empty() && direct > 0 {
            return Ok(false);
        }
        // Something is left, or nothing came: if a message ends with it, its end is left to read
        // too.
        if eom {
            self.ends.try_reserve(1)?;
        }
        self.bytes.push(rest)?;
        if eom {
            self.ends.push_back(self.consumed + self.bytes.len() as u64);
        }
        Ok(eom || !rest.is_empty())
    }

    /// Whether a whole payload may pass to the reader: it has bytes, nothing waits before it, and
    /// all of it fits there. Nothing is left to read of it then, nor of a message that it ends.
    #[inline]
    pub(crate) fn passes(&self, payload: &[u8], sink: &Sink<'_>) -> bool {
        !payload.is_empty() && payload.len() <= sink.room() && self.holds_nothing()
    }

    /// Moves bytes to the reader, across the ends of messages. Messages without bytes behind them
    /// are left.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> usize {
        let n = self.bytes.peek(out);
        if n == 0 {
            return 0;
        }
        self.advance(n);
        while self.ends.front().is_some_and(|end| *end < self.consumed) {
            self.ends.pop_front();
        }
        // The end of what was read last; any further ones here are of messages without bytes.
        if self.ends.front() == Some(&self.consumed) {
            self.ends.pop_front();
        }
        self.passed = 0;
        n
    }

    /// Copies bytes to the reader and keeps them.
    pub(crate) fn peek(&self, out: &mut [u8]) -> usize {
        self.bytes.peek(out)
    }

    /// A stream read has found no bytes: passes over messages without any. They are kept, unless
    /// they take half of the room there is, since bytes could not come then (SPEC PRP-SEG-7).
    /// Returns if that has made room.
    pub(crate) fn pass_empty_messages(&mut self) -> bool {
        let makes_room = self.held() > self.advertised / 2;
        if makes_room {
            self.ends.clear();
        }
        self.passed = self.ends.len();
        makes_room
    }

    /// Moves bytes of the first message to the reader; `None` if there is nothing of it yet.
    pub(crate) fn read_message(&mut self, out: &mut [u8]) -> Option<MessagePart> {
        let end = self.ends.front().copied();
        let until = end.map_or(self.bytes.len(), |end| (end - self.consumed) as usize);
        if until == 0 && end.is_none() {
            return None;
        }
        let len = until.min(out.len());
        let n = self.bytes.peek(&mut out[..len]);
        self.advance(n);
        let end = end == Some(self.consumed);
        if end {
            self.ends.pop_front();
            self.passed = self.passed.saturating_sub(1);
        }
        Some(MessagePart { len: n, end })
    }

    /// Gives memory back if nothing is held.
    pub(crate) fn trim(&mut self) {
        self.bytes.release_if_empty();
        if self.ends.is_empty() {
            self.ends = VecDeque::new();
        }
    }

    /// Makes room for what `sink` does not take of `more` bytes, with memory from `pool`, if there
    /// has to be more and some is there.
    pub(crate) fn acquire(&mut self, more: usize, sink: Option<&Sink<'_>>, pool: &mut BufferPool) {
        let direct = sink.filter(|_| self.holds_nothing()).map_or(0, Sink::room);
        let more = more.saturating_sub(direct).min(self.room());
        self.bytes.acquire(more, self.limit, pool);
    }

    /// Gives memory that nothing is held in any more to `pool`.
    #[inline]
    pub(crate) fn release_chunks(&mut self, now: Instant, pool: &mut BufferPool) {
        self.bytes.release_chunks(now, pool);
    }

    fn advance(&mut self, n: usize) {
        self.bytes.consume(n);
        self.consumed += n as u64;
    }
}
