//! The two directions of a stream, apart.

use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BufMut;
use prp_proto::addr::PrpAddr;
use prp_proto::endpoint::MessagePart;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

use super::PrpStream;

/// The reading direction, borrowed.
#[derive(Debug)]
pub struct ReadHalf<'a> {
    stream: &'a PrpStream,
}

/// The writing direction, borrowed.
#[derive(Debug)]
pub struct WriteHalf<'a> {
    stream: &'a PrpStream,
}

/// The reading direction, for a task of its own.
#[derive(Debug)]
pub struct OwnedReadHalf {
    stream: Arc<PrpStream>,
}

/// The writing direction, for a task of its own. Dropping it closes the direction.
#[derive(Debug)]
pub struct OwnedWriteHalf {
    stream: Arc<PrpStream>,
    forgotten: bool,
}

/// Two halves that belong to different streams.
#[derive(Debug)]
pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

pub(super) fn borrowed(stream: &mut PrpStream) -> (ReadHalf<'_>, WriteHalf<'_>) {
    (ReadHalf { stream }, WriteHalf { stream })
}

pub(super) fn owned(stream: PrpStream) -> (OwnedReadHalf, OwnedWriteHalf) {
    let stream = Arc::new(stream);
    (OwnedReadHalf { stream: stream.clone() }, OwnedWriteHalf { stream, forgotten: false })
}

impl OwnedReadHalf {
    /// Puts the halves together again.
    ///
    /// # Errors
    /// The halves themselves, if they are not of one stream.
    pub fn reunite(self, other: OwnedWriteHalf) -> Result<PrpStream, ReuniteError> {
        if !Arc::ptr_eq(&self.stream, &other.stream) {
            return Err(ReuniteError(self, other));
        }
        other.forget();
        match Arc::try_unwrap(self.stream) {
            Ok(stream) => Ok(stream),
            Err(_) => unreachable!("there were two halves, and both are here"),
        }
    }
}

impl OwnedWriteHalf {
    /// Puts the halves together again.
    ///
    /// # Errors
    /// The halves themselves, if they are not of one stream.
    pub fn reunite(self, other: OwnedReadHalf) -> Result<PrpStream, ReuniteError> {
        other.reunite(self)
    }

    /// Drops the half without closing its direction: it closes with the stream.
    pub fn forget(mut self) {
        self.forgotten = true;
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if !self.forgotten {
            // No caller is left to receive an error; the peer learns of it.
            let _ = self.stream.shutdown_write();
        }
    }
}

impl fmt::Display for ReuniteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the halves belong to different streams")
    }
}

impl Error for ReuniteError {}

/// Implements what both kinds of half have.
macro_rules! half {
    ($half:ty) => {
        impl $half {
            /// The address of the peer.
            ///
            /// # Errors
            /// As [`PrpStream::peer_addr`].
            pub fn peer_addr(&self) -> io::Result<PrpAddr> {
                self.stream.peer_addr()
            }

            /// The address of this end.
            ///
            /// # Errors
            /// None; a `Result` as with `TcpStream`.
            pub fn local_addr(&self) -> io::Result<PrpAddr> {
                self.stream.local_addr()
            }

            /// Waits until the stream is ready for some of `interest`; see [`PrpStream::ready`].
            ///
            /// # Errors
            /// As [`PrpStream::ready`].
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.stream.ready(interest).await
            }
        }

        impl AsRef<PrpStream> for $half {
            fn as_ref(&self) -> &PrpStream {
                &self.stream
            }
        }
    };
}

/// Implements reading by the stream behind a half.
macro_rules! read_half {
    ($half:ty) => {
        half!($half);

        impl $half {
            /// Waits until reading would not wait.
            ///
            /// # Errors
            /// None that reading would not report.
            pub async fn readable(&self) -> io::Result<()> {
                self.stream.readable().await
            }

            /// Reads what is there.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing, and as a read.
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.stream.try_read(buf)
            }

            /// Reads what is there into several buffers.
            ///
            /// # Errors
            /// As [`Self::try_read`].
            pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.stream.try_read_vectored(bufs)
            }

            /// Reads what is there into a buffer that keeps count; see [`PrpStream::try_read_buf`].
            ///
            /// # Errors
            /// As [`Self::try_read`].
            pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                self.stream.try_read_buf(buf)
            }

            /// Copies received bytes without taking them, waiting for some.
            ///
            /// # Errors
            /// As a read.
            pub async fn peek(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                self.stream.peek(buf).await
            }

            /// As [`Self::peek`], for the task that polls; how many bytes there were.
            ///
            /// # Errors
            /// As a read.
            pub fn poll_peek(
                &mut self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<usize>> {
                self.stream.poll_peek(cx, buf)
            }

            /// Appends the next message to `message`; see [`PrpStream::recv_message`].
            ///
            /// # Errors
            /// As [`PrpStream::recv_message`].
            pub async fn recv_message(&mut self, message: &mut Vec<u8>) -> io::Result<bool> {
                self.stream.recv_message(message).await
            }

            /// Receives bytes of the next message; see [`PrpStream::recv_message_part`].
            ///
            /// # Errors
            /// As a read.
            pub async fn recv_message_part(
                &mut self,
                buf: &mut [u8],
            ) -> io::Result<Option<MessagePart>> {
                self.stream.recv_message_part(buf).await
            }
        }

        impl AsyncRead for $half {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.stream.poll_read_shared(cx, buf)
            }
        }
    };
}

/// Implements writing by the stream behind a half.
macro_rules! write_half {
    ($half:ty) => {
        half!($half);

        impl $half {
            /// Waits until writing would not wait.
            ///
            /// # Errors
            /// None that writing would not report.
            pub async fn writable(&self) -> io::Result<()> {
                self.stream.writable().await
            }

            /// Writes as much as there is room for.
            ///
            /// # Errors
            /// `WouldBlock` if there is none, and as a write.
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.stream.try_write(buf)
            }

            /// Writes as much of several buffers as there is room for.
            ///
            /// # Errors
            /// As [`Self::try_write`].
            pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                self.stream.try_write_vectored(bufs)
            }

            /// Sends `message` as one message; see [`PrpStream::send_message`].
            ///
            /// # Errors
            /// As [`PrpStream::send_message`].
            pub async fn send_message(&mut self, message: &[u8]) -> io::Result<()> {
                self.stream.send_message(message).await
            }

            /// Sends bytes of a message; see [`PrpStream::send_message_part`].
            ///
            /// # Errors
            /// As a write; then nothing was accepted.
            pub async fn send_message_part(
                &mut self,
                bytes: &[u8],
                end: bool,
            ) -> io::Result<usize> {
                self.stream.send_message_part(bytes, end).await
            }

            /// Waits until the peer has acknowledged everything written; see
            /// [`PrpStream::wait_delivered`].
            ///
            /// # Errors
            /// As [`PrpStream::wait_delivered`].
            pub async fn wait_delivered(&self) -> io::Result<()> {
                self.stream.wait_delivered().await
            }
        }

        impl AsyncWrite for $half {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.stream.poll_write_shared(cx, &[IoSlice::new(buf)])
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.stream.poll_write_shared(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.stream.shutdown_write())
            }
        }
    };
}

read_half!(ReadHalf<'_>);
read_half!(OwnedReadHalf);
write_half!(WriteHalf<'_>);
write_half!(OwnedWriteHalf);
