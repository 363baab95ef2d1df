//! Descriptors that come with bytes of a Unix socket.
#![allow(unsafe_code, reason = "descriptors by their numbers")]

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::libc;

/// Words of the memory for control messages: a descriptor takes three.
const ROOM: usize = 8;

/// Receives bytes, and a descriptor if one comes along. All others are closed, whoever has sent
/// them: also those of a message from which the kernel has cut some, for want of memory here or of
/// descriptors.
///
/// # Errors
/// Those of recvmsg(2).
pub(crate) fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut room = [0_usize; ROOM];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all zeros is a value of this type.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = room.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&room) as _;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the message and what it points to live for as long as the call.
    let count = unsafe { libc::recvmsg(fd, &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let count = Errno::result(count)?;
    let mut files = Vec::new();
    // SAFETY: the kernel has written the control messages and how long they are, and made the
    // descriptors in them for this process.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(control) = at.as_ref() {
            if (control.cmsg_level, control.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let length: usize = control.cmsg_len as _;
                let fds = libc::CMSG_DATA(at).cast::<RawFd>();
                let all = 0..(length - libc::CMSG_LEN(0) as usize) / size_of::<RawFd>();
                files.extend(all.map(|at| OwnedFd::from_raw_fd(fds.add(at).read_unaligned())));
            }
            at = libc::CMSG_NXTHDR(&raw const message, at);
        }
    }
    Ok((count as usize, files.pop()))
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::os::unix::net::UnixStream;

    use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

    use super::*;

    #[test]
    fn receive__keeps_one_descriptor_of_all_that_come() {
        for sent in [0, 1, 3, 100] {
            let (held, other) = UnixStream::pair().expect("descriptors");
            // An end of file shows when the last copy is closed.
            let (watched, watching) = UnixStream::pair().expect("descriptors");
            watching.set_nonblocking(true).expect("a socket");
            let fds = vec![watched.as_raw_fd(); sent];
            let rights = [ControlMessage::ScmRights(&fds)];
            let rights = if sent == 0 { &[][..] } else { &rights };
            sendmsg::<()>(
                other.as_raw_fd(),
                &[IoSlice::new(b"x")],
                rights,
                MsgFlags::empty(),
                None,
            )
            .expect("room");
            drop(watched);
            let (count, file) = receive(&held, &mut [0; 8]).expect("a message");
            assert_eq!((count, file.is_some()), (1, sent > 0));
            drop(file);
            let end = io::Read::read(&mut &watching, &mut [0]).expect("it is closed");
            assert_eq!(end, 0, "of {sent}");
        }
    }
}
