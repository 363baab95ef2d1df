//! Reading and writing: without waiting, and as messages.

use std::io::{self, IoSlice, IoSliceMut};
use std::task::{Context, Poll};

use bytes::BufMut;
use prp_proto::endpoint::{Ending, MessagePart};
use tokio::io::ReadBuf;

use super::{PrpStream, blocked};
use crate::engine::Interest;
use crate::error::PartialMessage;
use crate::stream::{ReadWait, delivered};
use crate::sys::baton::LockClass;

/// Bytes that are copied at a time where the reader's memory may be uninitialised.
const PIECE: usize = 4096;

impl PrpStream {
    /// Reads what is there.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing, and as a read.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        let inner = self.stream.inner()?;
        inner.try_once(&mut ReadWait { conn: inner.conn, buf, filled: 0, expected: None })?
    }

    /// Reads what is there into several buffers.
    ///
    /// # Errors
    /// As [`Self::try_read`].
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.stream.inner()?.read_vectored(true, bufs)
    }

    /// Reads what is there into a buffer that keeps count, as far as it has room without growing.
    ///
    /// # Errors
    /// As [`Self::try_read`].
    pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        let inner = self.stream.inner()?;
        let mut piece = [0; PIECE];
        let room = buf.chunk_mut().len();
        let mut total = 0;
        loop {
            let most = (room - total).min(PIECE);
            let n = if total == 0 {
                self.try_read(&mut piece[..most])?
            } else {
                inner.read_more(&mut piece[..most])
            };
            buf.put_slice(&piece[..n]);
            total += n;
            if n < PIECE {
                return Ok(total);
            }
        }
    }

    /// Writes as much as there is room for.
    ///
    /// # Errors
    /// `WouldBlock` if there is none, and as a write.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.try_write_vectored(&[IoSlice::new(buf)])
    }

    /// Writes as much of several buffers as there is room for.
    ///
    /// # Errors
    /// As [`Self::try_write`].
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.inner()?.write_as(true, bufs, Ending::Write)
    }

    /// Copies received bytes without taking them, waiting for some. Any number of tasks may.
    ///
    /// # Errors
    /// As a read.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.wait(Interest::Read, |core, now, inner| {
            blocked(core.endpoint.peek(*now, inner.conn, buf))
        })
        .await
    }

    /// As [`Self::peek`], for the task that polls; how many bytes there were. Of those that poll
    /// for reading, the last one is woken.
    ///
    /// # Errors
    /// As a read.
    pub fn poll_peek(
        &self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let unfilled = buf.initialize_unfilled();
        let peeked = self.poll_with(LockClass::Short, cx, Interest::Read, |core, now, inner| {
            blocked(core.endpoint.peek(*now, inner.conn, unfilled))
        });
        if let Poll::Ready(Ok(n)) = peeked {
            buf.advance(n);
        }
        peeked
    }

    /// Sends `message` as one message; see [`crate::PrpStream::send_message`]. One task at a time.
    ///
    /// If the future is dropped before it is done, a part of the message may have been accepted,
    /// and it cannot be told how much: use [`Self::send_message_part`] where that may happen.
    ///
    /// # Errors
    /// As a write. If memory runs out when a part of the message was accepted, `WriteZero` with a
    /// [`PartialMessage`] inside.
    pub async fn send_message(&self, message: &[u8]) -> io::Result<()> {
        let mut sent = 0;
        self.wait(Interest::Write, |core, now, inner| {
            loop {
                let left = [IoSlice::new(&message[sent..])];
                match inner.write_some(core, now, &left, Ending::Message)? {
                    Ok(n) => sent += n,
                    Err(_) if sent > 0 && core.endpoint.room(inner.conn).is_some() => {
                        return Some(Err(PartialMessage::new(sent).into()));
                    }
                    Err(e) => return Some(Err(e)),
                }
                if sent == message.len() {
                    return Some(Ok(()));
                }
            }
        })
        .await
    }

    /// Sends bytes of a message, and with `end` its end after them; see
    /// [`crate::PrpStream::send_message_part`]. Waits until some are accepted, and returns how many
    /// are. If the future is dropped before it is done, none are.
    ///
    /// # Errors
    /// As a write; then nothing was accepted.
    pub async fn send_message_part(&self, bytes: &[u8], end: bool) -> io::Result<usize> {
        let ending = if end { Ending::Message } else { Ending::Part };
        self.wait(Interest::Write, |core, now, inner| {
            inner.write_some(core, now, &[IoSlice::new(bytes)], ending)
        })
        .await
    }

    /// Appends the next message, or what is left of it, to `message`. `false` if the stream has
    /// ended. One task at a time.
    ///
    /// If the future is dropped before it is done, what had come is in `message`, and the next call
    /// goes on with what follows.
    ///
    /// # Errors
    /// As [`crate::PrpStream::recv_message`].
    pub async fn recv_message(&self, message: &mut Vec<u8>) -> io::Result<bool> {
        self.wait(Interest::Read, |core, now, inner| {
            let mut piece = [0; PIECE];
            loop {
                let room = inner.message_room(PIECE);
                let read = core.endpoint.read_message(*now, inner.conn, &mut piece[..room]);
                let part = match blocked(read)? {
                    Ok(part) => part,
                    Err(e) => return Some(Err(e)),
                };
                if let Some(settled) = inner.append_part(part, &piece, message).transpose() {
                    return Some(settled);
                }
            }
        })
        .await
    }

    /// Receives bytes of the next message; see [`crate::PrpStream::recv_message_part`].
    ///
    /// # Errors
    /// As a read.
    pub async fn recv_message_part(&self, buf: &mut [u8]) -> io::Result<Option<MessagePart>> {
        self.wait(Interest::Read, |core, now, inner| {
            blocked(core.endpoint.read_message(*now, inner.conn, buf))
        })
        .await
    }

    /// Waits until the peer has acknowledged everything written; see
    /// [`crate::PrpStream::wait_delivered`].
    ///
    /// # Errors
    /// As [`crate::PrpStream::wait_delivered`], without a timeout.
    pub async fn wait_delivered(&self) -> io::Result<()> {
        self.wait(Interest::Flush, |core, _, inner| delivered(core, inner.conn)).await
    }
}
