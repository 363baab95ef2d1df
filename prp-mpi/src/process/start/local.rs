//! How two ranks of a node come to share memory: they meet at a Unix socket, and hand over the
//! memory and the bells by which they wake each other.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::sys::descriptors::{receive, send};
use crate::sys::shared::{Bell, SharedEnd};

/// As rank `me` of `ranks` on this node, with the rank that listens at the other end of `stream`.
pub(in crate::process) fn introduce(
    stream: &UnixStream,
    me: usize,
    ranks: usize,
    bell: &Bell,
) -> io::Result<SharedEnd> {
    let memory = SharedEnd::memory(ranks)?;
    send(stream, me as u32, &[memory.as_fd(), bell.as_fd()])?;
    let [peer] = exactly(receive(stream)?.1)?;
    SharedEnd::new(memory, true, peer)
}

/// As the rank that listens; which rank the other one is.
pub(in crate::process) fn welcome(
    stream: &UnixStream,
    me: usize,
    bell: &Bell,
) -> io::Result<(usize, SharedEnd)> {
    let (rank, fds) = receive(stream)?;
    let [memory, peer] = exactly(fds)?;
    send(stream, me as u32, &[bell.as_fd()])?;
    Ok((rank as usize, SharedEnd::new(memory, false, peer)?))
}

fn exactly<const N: usize>(fds: Vec<OwnedFd>) -> io::Result<[OwnedFd; N]> {
    fds.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::thread;

    use super::*;

    #[test]
    fn introduce__both_ends_share_the_memory() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (first, second) = (Bell::new().unwrap(), Bell::new().unwrap());
        thread::scope(|scope| {
            let other = scope.spawn(|| welcome(&theirs, 0, &second).unwrap());
            let end = introduce(&ours, 3, 4, &first).unwrap();
            let (rank, other) = other.join().unwrap();
            assert_eq!(rank, 3);
            end.write(&[IoSlice::new(b"x")]).unwrap();
            assert_eq!(other.read(&mut [0; 9]).unwrap(), 1);
        });
    }

    #[test]
    fn welcome__a_stranger_without_memory_is_an_error() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        send(&ours, 3, &[ours.as_fd()]).unwrap();
        let bell = Bell::new().unwrap();
        assert_eq!(welcome(&theirs, 0, &bell).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(ours);
        assert_eq!(welcome(&theirs, 0, &bell).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
