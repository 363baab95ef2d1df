//! A pair of Unix sockets: the program's end, which takes the place of a socket, and the holder's.
//!
//! A Unix socket that is closed with bytes unread gives its peer `ECONNRESET`, and one without an
//! end of file. So one byte always stays in the holder's queue, until the connection has ended in
//! order.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::socket::sockopt::{OobInline, SndBuf};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, bind, getsockopt, recv, send,
    setsockopt, socketpair,
};
use prp_run::{PairName, SEND_BUFFER};

use crate::sys::pair::set_peek_offset;

/// What the kernel counts of a send buffer at least for that: four times 65 KiB and what each has
/// beside its bytes.
const LEAST_ROOM: usize = 2 * LEAST_BUFFER;

/// The least send buffer with which a sender is woken, as it is asked for: half of what the kernel
/// counts.
const LEAST_BUFFER: usize = 135_000;

/// Checks that this machine has send buffers with which no program waits for ever.
///
/// # Errors
/// It has none, or there are no descriptors.
pub(in crate::run) fn check_buffers() -> io::Result<()> {
    check_buffer(SEND_BUFFER)
}

/// Checks that a send buffer of `size` bytes, as far as the kernel grants them, is large enough.
fn check_buffer(size: usize) -> io::Result<()> {
    let (end, _) = UnixStream::pair()?;
    setsockopt(&end, SndBuf, &size)?;
    if getsockopt(&end, SndBuf)? >= LEAST_ROOM {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "send buffers are too small; set net.core.wmem_max (sysctl) to at least {SEND_BUFFER}"
    )))
}

/// A pair.
#[derive(Debug)]
pub(super) struct Pair {
    /// The holder's end.
    pub(super) held: UnixStream,
    /// The program's end.
    pub(super) end: OwnedFd,
}

/// A pair whose program's end is not writable yet.
#[derive(Debug)]
pub(super) struct PendingPair {
    pub(super) pair: Pair,
    /// Bytes in the holder's queue.
    filling: usize,
}

impl Pair {
    fn new(name: &PairName) -> io::Result<Self> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let (held, end) = socketpair(AddressFamily::Unix, SockType::Stream, None, flags)?;
        bind(end.as_raw_fd(), &UnixAddr::new_abstract(&name.to_bytes())?)?;
        // PRP has no urgent data: the byte is one of the others, and not lost.
        setsockopt(&held, OobInline, &true)?;
        Ok(Self { held: held.into(), end })
    }

    /// Returns a pair for a connection that is there.
    ///
    /// # Errors
    /// There are no descriptors.
    pub(super) fn open(name: &PairName) -> io::Result<Self> {
        let pair = Self::new(name)?;
        setsockopt(&pair.end, SndBuf, &SEND_BUFFER)?;
        send(pair.end.as_raw_fd(), &[0], MsgFlags::MSG_NOSIGNAL)?;
        set_peek_offset(&pair.held, 1)?;
        Ok(pair)
    }
}

impl PendingPair {
    /// Returns a pair for a connection that is to come.
    ///
    /// # Errors
    /// There are no descriptors.
    pub(super) fn open(name: &PairName) -> io::Result<Self> {
        let pair = Pair::new(name)?;
        // The kernel raises it to its least.
        setsockopt(&pair.end, SndBuf, &1)?;
        let mut filling = 0;
        loop {
            match send(pair.end.as_raw_fd(), &[0], MsgFlags::MSG_DONTWAIT) {
                Ok(_) => filling += 1,
                Err(Errno::EAGAIN) => return Ok(Self { pair, filling }),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Makes the program's end writable: the connection is there.
    ///
    /// # Errors
    /// None that the kernel has for this.
    pub(super) fn settle(self) -> io::Result<Pair> {
        let Self { pair, filling } = self;
        setsockopt(&pair.end, SndBuf, &SEND_BUFFER)?;
        let mut left = vec![0; filling - 1];
        while !left.is_empty() {
            let count = recv(pair.held.as_raw_fd(), &mut left, MsgFlags::MSG_DONTWAIT)?;
            left.truncate(left.len() - count);
        }
        set_peek_offset(&pair.held, 1)?;
        Ok(pair)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::Shutdown;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;

    use super::*;

    fn name(number: u64) -> PairName {
        let [local, peer] = ["198.18.0.1:1", "198.18.0.2:2"].map(|a| a.parse().expect("one"));
        PairName { session: std::process::id(), number, local, peer }
    }

    fn shown(end: &impl AsFd) -> PollFlags {
        let wanted = PollFlags::POLLIN | PollFlags::POLLOUT;
        let mut fds = [PollFd::new(end.as_fd(), wanted)];
        poll(&mut fds, PollTimeout::ZERO).expect("a descriptor");
        fds[0].revents().expect("known flags")
    }

    #[test]
    fn check_buffer__tells_what_to_set() {
        check_buffer(LEAST_BUFFER).expect("a machine as they come");
        let error = check_buffer(LEAST_BUFFER - 1).expect_err("too small");
        assert!(error.to_string().contains("net.core.wmem_max"), "{error}");
    }

    #[test]
    fn open__gives_the_program_a_reset_unless_the_byte_is_taken() {
        let Pair { mut held, end } = Pair::open(&name(1)).expect("descriptors");
        let mut end = UnixStream::from(end);
        held.write_all(b"last").expect("room");
        drop(held);
        let mut all = Vec::new();
        let error = end.read_to_end(&mut all).expect_err("a reset");
        assert_eq!((error.kind(), &all[..]), (io::ErrorKind::ConnectionReset, &b"last"[..]));

        let Pair { mut held, end } = Pair::open(&name(2)).expect("descriptors");
        let mut end = UnixStream::from(end);
        held.shutdown(Shutdown::Write).expect("a pair");
        held.read_exact(&mut [0]).expect("the byte");
        drop(held);
        assert_eq!(end.read(&mut [0]).expect("an end"), 0);
    }

    #[test]
    fn pending__is_not_writable_until_it_settles() {
        let pending = PendingPair::open(&name(3)).expect("descriptors");
        let end = UnixStream::from(pending.pair.end.try_clone().expect("descriptors"));
        end.set_nonblocking(true).expect("a socket");
        assert_eq!(shown(&end), PollFlags::empty());
        let error = (&end).write(b"x").expect_err("no room");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let Pair { mut held, .. } = pending.settle().expect("room");
        assert_eq!(shown(&end), PollFlags::POLLOUT);
        (&end).write_all(b"xy").expect("room");
        let mut bytes = [9; 3];
        held.read_exact(&mut bytes).expect("the byte that stays, and those of the program");
        assert_eq!(&bytes, b"\0xy");
    }

    #[test]
    fn pending__shows_an_error_when_it_is_dropped() {
        let pending = PendingPair::open(&name(4)).expect("descriptors");
        let end = UnixStream::from(pending.pair.end.try_clone().expect("descriptors"));
        drop(pending);
        assert!(shown(&end).contains(PollFlags::POLLERR | PollFlags::POLLHUP));
        let error = end.take_error().expect("a socket").expect("an error");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }
}
