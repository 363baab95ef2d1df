//! Reading and writing: streams, messages, `peek`.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::sync::atomic::Ordering;
use std::time::Duration;

use prp_proto::endpoint::{Ending, MessagePart, Sink};
use prp_proto::error::ReadError;
use prp_proto::event::ConnHandle;
use prp_proto::time::Instant;

use super::{PrpStream, StreamInner, load_timeout};
use crate::engine::{Core, Interest, Wait};
use crate::error::{self, PartialMessage};

impl PrpStream {
    /// Copies received bytes without taking them.
    ///
    /// # Errors
    /// As [`Read::read`].
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        let inner = self.inner()?;
        inner.read_with(&mut PeekWait { conn: inner.conn, buf })
    }

    /// Reads as [`Read::read`] does, but waits for `timeout` at most, whatever the read timeout is
    /// and whether the stream is nonblocking or not.
    ///
    /// This is for a caller that knows that the peer sends `expected` more bytes before it waits
    /// for an answer. A thread that reads a stream at full rate otherwise sleeps through hundreds
    /// of microseconds at a time, to receive more at once, and does not know where the last byte
    /// is. Where fewer come than `expected`, the call takes up to 300 us longer.
    ///
    /// # Errors
    /// As [`Read::read`]; `WouldBlock` if nothing has come in time.
    pub fn read_expected(
        &self,
        buf: &mut [u8],
        expected: usize,
        timeout: Duration,
    ) -> io::Result<usize> {
        let inner = self.inner()?;
        let expected = Some(expected);
        let mut wait = ReadWait { conn: inner.conn, buf, filled: 0, expected };
        inner.read_until(Some(inner.engine.now() + timeout), &mut wait)
    }

    /// Sends `message` as one message: the peer's [`Self::recv_message`] gets these bytes and no
    /// others. Messages and stream writes may be mixed; a stream read runs across the ends of
    /// messages.
    ///
    /// # Errors
    /// As [`Write::write`]: the connection is over, or nothing was accepted.
    ///
    /// `WriteZero` with a [`PartialMessage`] inside, which says how many bytes were accepted, if
    /// the message was cut short: the stream is nonblocking, the write timeout passed or a signal
    /// came, and there was not room for all of it. The message then has no end yet. Send the rest
    /// as a message, and the peer gets both as one. Whatever else is written before belongs to the
    /// message, and if the stream is closed before, the peer's [`Self::recv_message`] fails with
    /// `UnexpectedEof` (SPEC PRP-SEG-6).
    ///
    /// ```no_run
    /// use prp_sock::{PartialMessage, PrpStream};
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # let (message, stream) = (vec![0; 1 << 24], PrpStream::connect("beta:80")?);
    /// let mut left = &message[..];
    /// while let Err(error) = stream.send_message(left) {
    ///     let Some(part) = PartialMessage::of(&error) else { return Err(error) };
    ///     left = &left[part.accepted()..];
    ///     // A nonblocking program does something else here until the stream is writable.
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn send_message(&self, message: &[u8]) -> io::Result<()> {
        let inner = self.inner()?;
        let sent = inner.write_with(&[IoSlice::new(message)], Ending::Message)?;
        if sent == message.len() {
            return Ok(());
        }
        // Where the connection is over there is nothing to go on with.
        inner.write_nothing()?;
        Err(PartialMessage::new(sent).into())
    }

    /// Sends bytes of a message, and with `end` its end after them. Returns how many bytes were
    /// accepted, which may be less than all if the stream is nonblocking, has a write timeout, or a
    /// signal comes; the message ends only if all were. For messages that are made piece by piece;
    /// [`Self::send_message`] says what holds until the message has an end.
    ///
    /// # Errors
    /// As [`Write::write`]; then nothing was accepted.
    pub fn send_message_part(&self, bytes: &[u8], end: bool) -> io::Result<usize> {
        let ending = if end { Ending::Message } else { Ending::Part };
        self.inner()?.write_with(&[IoSlice::new(bytes)], ending)
    }

    /// Appends the next message, or what is left of it, to `message`. `false` if the stream has
    /// ended.
    ///
    /// # Errors
    /// As [`Read::read`]. `InvalidData` if the message is longer than [`Builder::max_message`]
    /// says; `UnexpectedEof` if the stream ends within it. After `WouldBlock`, `Interrupted` and
    /// `InvalidData` what had come is in `message`, and the next call goes on with what follows.
    ///
    /// [`Builder::max_message`]: crate::Builder::max_message
    pub fn recv_message(&self, message: &mut Vec<u8>) -> io::Result<bool> {
        let inner = self.inner()?;
        let mut piece = [0; 4096];
        loop {
            let part = self.recv_message_part(&mut piece[..inner.message_room(4096)])?;
            if let Some(whole) = inner.append_part(part, &piece, message)? {
                return Ok(whole);
            }
        }
    }

    /// Receives bytes of the next message: how many, and whether it ends with them. `None` if the
    /// stream has ended. For messages of unknown size.
    ///
    /// # Errors
    /// As [`Read::read`].
    pub fn recv_message_part(&self, buf: &mut [u8]) -> io::Result<Option<MessagePart>> {
        let inner = self.inner()?;
        inner.read_with(&mut MessageWait { conn: inner.conn, buf })
    }
}

impl StreamInner {
    /// Reads by `wait`: at once, or for as long as the read timeout says.
    pub(crate) fn read_with<T>(&self, wait: &mut impl Wait<Out = io::Result<T>>) -> io::Result<T> {
        self.read_as(self.nonblocking.load(Ordering::Relaxed), wait)
    }

    fn read_as<T>(
        &self,
        nonblocking: bool,
        wait: &mut impl Wait<Out = io::Result<T>>,
    ) -> io::Result<T> {
        if nonblocking {
            return self.try_once(wait)?;
        }
        let deadline = load_timeout(&self.read_timeout).map(|t| self.engine.now() + t);
        self.read_until(deadline, wait)
    }

    /// Reads by `wait`, and waits until `deadline` at most.
    fn read_until<T>(
        &self,
        deadline: Option<Instant>,
        wait: &mut impl Wait<Out = io::Result<T>>,
    ) -> io::Result<T> {
        let interest = Interest::Read(self.conn);
        self.engine.wait(interest, deadline, self.options.waits, wait).map_err(error::wait)?
    }

    /// Fills `bufs` with what is there, waiting for some of it unless `nonblocking`.
    pub(crate) fn read_vectored(
        &self,
        nonblocking: bool,
        bufs: &mut [IoSliceMut<'_>],
    ) -> io::Result<usize> {
        let mut total = 0;
        for buf in bufs.iter_mut().filter(|b| !b.is_empty()) {
            let n = if total == 0 {
                let mut wait = ReadWait { conn: self.conn, buf, filled: 0, expected: None };
                self.read_as(nonblocking, &mut wait)?
            } else {
                self.read_more(buf)
            };
            total += n;
            if n < buf.len() {
                break;
            }
        }
        Ok(total)
    }

    /// Bytes that the message being received may still have, `most` at most.
    pub(crate) fn message_room(&self, most: usize) -> usize {
        let taken = self.message_taken.load(Ordering::Relaxed);
        self.options.max_message.saturating_sub(taken).min(most)
    }

    /// Appends a part of a message, which lies in `piece`, to `message`. `true` if the message is
    /// whole, `false` if the stream has ended, `None` if more of the message is to come.
    pub(crate) fn append_part(
        &self,
        part: Option<MessagePart>,
        piece: &[u8],
        message: &mut Vec<u8>,
    ) -> io::Result<Option<bool>> {
        let Some(part) = part else {
            // A stream that ends within a message is an error once; after that it has ended.
            let is_cut = self.message_taken.swap(0, Ordering::Relaxed) > 0;
            return if is_cut { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(Some(false)) };
        };
        message.extend_from_slice(&piece[..part.len]);
        if part.end {
            self.message_taken.store(0, Ordering::Relaxed);
            return Ok(Some(true));
        }
        self.message_taken.fetch_add(part.len, Ordering::Relaxed);
        // With no room left, a part without bytes says that more of them are to come.
        if part.len == 0 && self.message_room(1) == 0 {
            self.message_taken.store(0, Ordering::Relaxed);
            let limit = self.options.max_message;
            let text = format!("a message of more than {limit} bytes (Builder::max_message)");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        Ok(None)
    }

    /// Reads what is there already. An error is for the next call to report.
    pub(crate) fn read_more(&self, buf: &mut [u8]) -> usize {
        let now = self.engine.now();
        let mut core = self.engine.lock();
        if core.endpoint.unread(self.conn) == 0 {
            return 0;
        }
        let n = core.endpoint.read(now, self.conn, buf).unwrap_or(0);
        core.show(self.conn);
        self.engine.finish(core, now);
        n
    }

    /// One attempt; if it fails, another one after taking in what frames wait.
    pub(crate) fn try_once<W: Wait>(&self, wait: &mut W) -> io::Result<W::Out> {
        let mut now = self.engine.now();
        let mut core = self.engine.lock_as(wait.lock_class());
        let mut out = wait.attempt(&mut core, &mut now);
        if out.is_none() {
            wait.poll_once(&mut core, now);
            out = wait.attempt(&mut core, &mut now);
        }
        if out.is_some() {
            core.show(self.conn);
        } else {
            core.show_blocked(self.conn);
        }
        self.engine.finish(core, now);
        out.ok_or_else(|| self.fd.would_block())
    }
}

/// Waits for bytes, which go straight into the reader's buffer if they arrive meanwhile.
pub(crate) struct ReadWait<'a> {
    pub(crate) conn: ConnHandle,
    pub(crate) buf: &'a mut [u8],
    pub(crate) filled: usize,
    /// Bytes that the peer sends before it waits for an answer, if the caller knows that.
    pub(crate) expected: Option<usize>,
}

impl Wait for ReadWait<'_> {
    type Out = io::Result<usize>;

    fn expected_bytes(&self) -> Option<usize> {
        self.expected
    }

    fn attempt(&mut self, core: &mut Core, now: &mut Instant) -> Option<io::Result<usize>> {
        if self.filled > 0 {
            return Some(Ok(self.filled));
        }
        let read = core.endpoint.read(*now, self.conn, self.buf);
        or_failure(core, read)
    }

    fn poll_once(&mut self, core: &mut Core, now: Instant) -> usize {
        let mut sink = Sink::new(self.conn, self.buf);
        let frames = core.poll_once(now, Some(&mut sink));
        self.filled = sink.filled();
        if self.filled > 0 {
            core.endpoint.note_read(now, self.conn);
        }
        frames
    }
}

struct PeekWait<'a> {
    conn: ConnHandle,
    buf: &'a mut [u8],
}

impl Wait for PeekWait<'_> {
    type Out = io::Result<usize>;

    fn attempt(&mut self, core: &mut Core, now: &mut Instant) -> Option<io::Result<usize>> {
        let read = core.endpoint.peek(*now, self.conn, self.buf);
        or_failure(core, read)
    }
}

struct MessageWait<'a> {
    conn: ConnHandle,
    buf: &'a mut [u8],
}

impl Wait for MessageWait<'_> {
    type Out = io::Result<Option<MessagePart>>;

    fn attempt(&mut self, core: &mut Core, now: &mut Instant) -> Option<Self::Out> {
        let read = core.endpoint.read_message(*now, self.conn, self.buf);
        or_failure(core, read)
    }
}

/// `None` if there is nothing yet and may still be.
fn or_failure<T>(core: &Core, result: Result<T, ReadError>) -> Option<io::Result<T>> {
    match result {
        Err(ReadError::Blocked) => core.check().err().map(Err),
        other => Some(other.map_err(error::read)),
    }
}

impl Read for &PrpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let inner = self.inner()?;
        inner.read_with(&mut ReadWait { conn: inner.conn, buf, filled: 0, expected: None })
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let inner = self.inner()?;
        inner.read_vectored(inner.nonblocking.load(Ordering::Relaxed), bufs)
    }
}

impl Write for &PrpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.inner()?.write_with(&[IoSlice::new(buf)], Ending::Write)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.inner()?.write_with(bufs, Ending::Write)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for PrpStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(bufs)
    }
}

impl Write for PrpStream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&*self).write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
