//! What carries messages: memory that two ranks share, or a stream of PRP.

use std::io::{self, IoSlice, Read, Write};

use prp_sock::PrpStream;

use crate::sys::shared::SharedEnd;

/// A stream that carries messages.
#[derive(Debug)]
pub enum Stream {
    /// To a rank on the same node.
    Local(SharedEnd),
    /// To a rank on another node.
    Remote(PrpStream),
}

impl Stream {
    pub(super) fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Local(s) => s.read(buf),
            Self::Remote(s) => (&*s).read(buf),
        }
    }

    pub(super) fn write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Local(s) => s.write(bufs),
            Self::Remote(s) => (&*s).write_vectored(bufs),
        }
    }

    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Local(_) => Ok(()),
            Self::Remote(s) => s.set_nonblocking(true),
        }
    }
}
