//! What a process and its node's `prp-routed` tell each other (docs/routing.md).
//!
//! A process that connects gets a file in memory, its *ledger*. It writes a row when a connection
//! is established and clears it when the connection is over; the router reads the rows when the
//! process has ended. The router gets no message for a connection, and does nothing for a frame.
//! The router tells which next hops are not to be sent all frames. A process tells the router
//! nothing at all: what a stranger sends is never received. Both are on one machine, and so use its
//! byte order.

mod down_hops;
mod ledger;

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

pub use down_hops::{DownHop, DownHops};
pub use ledger::{Ledger, LedgerReader, MAX_RECORDS};

/// What comes with a ledger: a mark, and the version of this exchange.
const HELLO: [u8; 8] = *b"PRPreg\0\x04";

/// Bytes read at once. A router sends little; what it sends later is read later.
const READ_BYTES: usize = 4096;

/// Gives the process at the other end of `link` its ledger; what the router keeps of it.
///
/// # Errors
/// `WouldBlock` if the process does not read; no descriptor or memory left.
pub fn offer_ledger(link: &UnixStream) -> io::Result<LedgerReader> {
    let (reader, file) = ledger::make()?;
    let fds = [file.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&fds)];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let sent = sendmsg::<()>(link.as_raw_fd(), &[IoSlice::new(&HELLO)], &rights, flags, None)?;
    if sent == HELLO.len() { Ok(reader) } else { Err(ErrorKind::WriteZero.into()) }
}

/// The process's end of its connection to the router. Only a router that is trusted may be at the
/// other end ([`crate::RunDir::connect`]): descriptors are received from it.
#[derive(Debug)]
pub struct Registration {
    link: UnixStream,
    greeted: bool,
    bytes: Vec<u8>,
}

/// What a router has sent.
#[derive(Debug, Default)]
pub struct RouterUpdate {
    /// At first: the ledger to write connections to.
    pub ledger: Option<Ledger>,
    /// The last of what it has sent about next hops.
    pub down: Option<DownHops>,
}

impl Registration {
    /// On a nonblocking connection to the registry.
    pub const fn new(link: UnixStream) -> Self {
        Self { link, greeted: false, bytes: Vec::new() }
    }

    /// Reads some of what the router has sent, without waiting.
    ///
    /// # Errors
    /// The router has ended, or what it sends makes no sense.
    pub fn receive(&mut self) -> io::Result<RouterUpdate> {
        let mut news = RouterUpdate::default();
        let mut buffer = [0; READ_BYTES];
        let (received, file) = match self.receive_bytes(&mut buffer) {
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(news);
            }
            other => other?,
        };
        if received == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.bytes.extend_from_slice(&buffer[..received]);
        if !self.greeted {
            let Some(file) = file else { return Err(ErrorKind::InvalidData.into()) };
            if !self.bytes.starts_with(&HELLO) {
                return Err(ErrorKind::InvalidData.into());
            }
            self.bytes.drain(..HELLO.len());
            self.greeted = true;
            news.ledger = Some(Ledger::new(file));
        }
        while let Some(down) = DownHops::take(&mut self.bytes)? {
            news.down = Some(down);
        }
        Ok(news)
    }

    /// Receives bytes, and the descriptor that comes with the first of them.
    fn receive_bytes(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
        let mut space = cmsg_space!([std::os::fd::RawFd; 1]);
        let mut pieces = [IoSliceMut::new(buffer)];
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(self.link.as_raw_fd(), &mut pieces, Some(&mut space), flags)?;
        let mut file = None;
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(fds) = control {
                file = fds.into_iter().map(crate::sys::descriptor::received).next_back();
            }
        }
        Ok((message.bytes, file))
    }
}

impl AsFd for Registration {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

#[cfg(test)]
mod tests;
