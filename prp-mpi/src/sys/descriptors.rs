//! Descriptors that one process hands to another over a Unix socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

/// Most descriptors that are handed over at a time: the memory of a pair, and a bell.
pub const MAX_DESCRIPTORS: usize = 2;

/// Sends a number with some descriptors.
///
/// # Errors
/// Those of `sendmsg`.
pub fn send(stream: &UnixStream, number: u32, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = number.to_le_bytes();
    let fds: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&fds)];
    let pieces = [IoSlice::new(&bytes)];
    sendmsg::<()>(stream.as_raw_fd(), &pieces, &rights, MsgFlags::MSG_NOSIGNAL, None)?;
    Ok(())
}

/// Receives a number with the descriptors that came with it.
///
/// # Errors
/// Those of `recvmsg`; `EMFILE` where this process may have no more descriptors; `UnexpectedEof` if
/// the other side has gone.
pub fn receive(stream: &UnixStream) -> io::Result<(u32, Vec<OwnedFd>)> {
    let mut bytes = [0; 4];
    let mut space = nix::cmsg_space!([RawFd; MAX_DESCRIPTORS]);
    let mut pieces = [IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(stream.as_raw_fd(), &mut pieces, Some(&mut space), flags)?;
    let mut fds = Vec::new();
    // The kernel has left out those for which this process has no room.
    for control in message.cmsgs().map_err(|_| Errno::EMFILE)? {
        if let ControlMessageOwned::ScmRights(all) = control {
            // SAFETY: the kernel has just made these descriptors for this process, and nothing else
            // in it knows of them.
            fds.extend(all.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    // A number of four bytes comes in one piece.
    if message.bytes != bytes.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((u32::from_le_bytes(bytes), fds))
}

/// The socket that the launcher of this process has left open under `number`.
///
/// # Errors
/// `EBADF` if nothing is open there.
pub fn inherited(number: RawFd) -> io::Result<UnixStream> {
    if number < 0 {
        return Err(Errno::EBADF.into());
    }
    // SAFETY: the number is no longer used than for this call, which fails if it is of no
    // descriptor.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    Ok(UnixStream::from(fd.try_clone_to_owned()?))
}
