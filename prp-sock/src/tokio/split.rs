//! The two directions of a stream, apart.

use std::error::Error;
use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::PrpStream;

/// The reading direction, borrowed.
#[derive(Debug)]
pub struct ReadHalf<'a>(&'a PrpStream);

/// The writing direction, borrowed.
#[derive(Debug)]
pub struct WriteHalf<'a>(&'a PrpStream);

/// The reading direction, for a task of its own.
#[derive(Debug)]
pub struct OwnedReadHalf(Arc<PrpStream>);

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
    (ReadHalf(stream), WriteHalf(stream))
}

pub(super) fn owned(stream: PrpStream) -> (OwnedReadHalf, OwnedWriteHalf) {
    let stream = Arc::new(stream);
    (OwnedReadHalf(stream.clone()), OwnedWriteHalf { stream, forgotten: false })
}

impl OwnedReadHalf {
    /// Puts the halves together again.
    ///
    /// # Errors
    /// The halves themselves, if they are not of one stream.
    pub fn reunite(self, other: OwnedWriteHalf) -> Result<PrpStream, ReuniteError> {
        if !Arc::ptr_eq(&self.0, &other.stream) {
            return Err(ReuniteError(self, other));
        }
        other.forget();
        match Arc::try_unwrap(self.0) {
            Ok(stream) => Ok(stream),
            Err(_) => unreachable!("there were two halves, and both are here"),
        }
    }
}

impl OwnedWriteHalf {
    /// Drops the half without closing its direction: it closes with the stream.
    pub fn forget(mut self) {
        self.forgotten = true;
    }
}

impl Drop for OwnedWriteHalf {
    fn drop(&mut self) {
        if !self.forgotten {
            // Nobody is left to hear of an error; the peer will.
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

/// Implements `AsyncRead` by the stream behind a half.
macro_rules! read_half {
    ($half:ty, $stream:ident, $of:expr) => {
        impl AsyncRead for $half {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let $stream = self;
                $of.poll_read_shared(cx, buf)
            }
        }
    };
}

/// Implements `AsyncWrite` by the stream behind a half.
macro_rules! write_half {
    ($half:ty, $stream:ident, $of:expr) => {
        impl AsyncWrite for $half {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                let $stream = self;
                $of.poll_write_shared(cx, &[IoSlice::new(buf)])
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                let $stream = self;
                $of.poll_write_shared(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $stream = self;
                Poll::Ready($of.shutdown_write())
            }
        }
    };
}

read_half!(ReadHalf<'_>, half, half.0);
read_half!(OwnedReadHalf, half, half.0);
write_half!(WriteHalf<'_>, half, half.0);
write_half!(OwnedWriteHalf, half, half.stream);
