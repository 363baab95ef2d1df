//! How a capture gets the frames that a process gives to a device past all packet sockets.
//!
//! A capture listens at an abstract Unix name that has the inode of its packet socket, which the
//! kernel shows in `/proc/net/packet`. A process that finds the packet socket there connects, and
//! gets a file in memory into which it copies those frames. It believes a capture of a user whose
//! router it would believe. The capture takes only processes that may do without a packet socket,
//! and receives nothing from them: they could send it descriptors.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use nix::cmsg_space;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

use crate::fork::CloseOnFork;
use crate::is_trusted;
use crate::trust::{Peer, is_always_trusted};

/// What comes with the file: a mark, and the version of this exchange.
const HELLO: [u8; 8] = *b"PRPmir\0\x01";

/// From linux/capability.h: the capability to give frames to a device past packet sockets.
const CAP_NET_ADMIN: u32 = 12;

/// The abstract name of the capture whose packet socket has this inode.
fn name(inode: u64) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("prp/capture/{inode}"))
}

/// Where a capture waits for processes.
#[derive(Debug)]
pub struct MirrorListener {
    listener: UnixListener,
}

impl MirrorListener {
    /// That of the capture whose packet socket has this inode, in this thread's network namespace.
    ///
    /// # Errors
    /// `AddrInUse` if another process has the name; no descriptor left.
    pub fn bind(inode: u64) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&name(inode)?)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }

    /// The next process that has connected, if there is one; others are sent away.
    pub fn accept(&self) -> Option<UnixStream> {
        while let Ok((link, _)) = self.listener.accept() {
            let peer = Peer::of(&link);
            if peer.is_ok_and(|peer| peer.has_capability(CAP_NET_ADMIN))
                && link.set_nonblocking(true).is_ok()
            {
                return Some(link);
            }
        }
        None
    }
}

impl AsFd for MirrorListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// Gives the process at the other end of `link` the `file` for its frames.
///
/// # Errors
/// The process has ended; no memory left.
pub fn offer(link: &UnixStream, file: BorrowedFd<'_>) -> io::Result<()> {
    let fds = [file.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&fds)];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    let sent = sendmsg::<()>(link.as_raw_fd(), &[IoSlice::new(&HELLO)], &rights, flags, None)?;
    if sent == HELLO.len() { Ok(()) } else { Err(ErrorKind::WriteZero.into()) }
}

/// Whether the other end of `link` has ended. Nothing that it sends is received.
pub fn has_ended(link: &UnixStream) -> bool {
    // Without events it says only that there is an end, or an error.
    let mut fds = [PollFd::new(link.as_fd(), PollFlags::empty())];
    poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

/// The process's end of its connection to a capture.
#[derive(Debug)]
pub struct MirrorLink {
    link: CloseOnFork<UnixStream>,
}

impl MirrorLink {
    /// One to the capture whose packet socket has this inode, in this thread's network namespace.
    ///
    /// # Errors
    /// `ConnectionRefused` if no process listens; `PermissionDenied` if it does not trust the user
    /// of the process that does.
    pub fn connect(inode: u64) -> io::Result<Self> {
        let link = UnixStream::connect_addr(&name(inode)?)?;
        link.set_nonblocking(true)?;
        let peer = Peer::of(&link)?;
        let is_equal = || is_trusted(peer.user) && peer.has_our_capabilities();
        if !is_always_trusted(peer.user) && !is_equal() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        Ok(Self { link: CloseOnFork::new(link) })
    }

    /// The file for frames, for which it waits `patience` at most.
    ///
    /// # Errors
    /// `WouldBlock` if none comes, `UnexpectedEof` if the capture has ended, `InvalidData` if what
    /// it sends makes no sense.
    pub fn receive(&self, patience: Duration) -> io::Result<OwnedFd> {
        let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        poll(&mut [PollFd::new(self.link.get_ref().as_fd(), PollFlags::POLLIN)], timeout)?;
        let mut hello = [0; HELLO.len()];
        let mut space = cmsg_space!([RawFd; 1]);
        let mut pieces = [IoSliceMut::new(&mut hello)];
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
        let link = self.link.get_ref().as_raw_fd();
        let received = recvmsg::<()>(link, &mut pieces, Some(&mut space), flags)?;
        let mut file = None;
        for control in received.cmsgs()? {
            if let ControlMessageOwned::ScmRights(fds) = control {
                file = fds.into_iter().map(crate::sys::descriptor::received).next_back();
            }
        }
        match (received.bytes, file) {
            (0, _) => Err(ErrorKind::UnexpectedEof.into()),
            (_, Some(file)) if hello == HELLO => Ok(file),
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }

    /// Whether the capture has ended.
    pub fn has_ended(&self) -> bool {
        has_ended(self.link.get_ref())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use crate::trust::capabilities;

    /// An inode number that no packet socket has.
    fn inode(number: u64) -> u64 {
        (u64::from(std::process::id()) << 32) + number
    }

    #[test]
    fn receive__the_file_that_a_capture_hands_out() {
        let inode = inode(1);
        assert!(MirrorLink::connect(inode).is_err(), "nobody listens");
        let listener = MirrorListener::bind(inode).expect("a name");
        let link = MirrorLink::connect(inode).expect("it listens");
        let nothing = link.receive(Duration::ZERO).expect_err("nothing yet");
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        let admin = capabilities("/proc/self/status", "CapPrm:").expect("some") & 1 << 12;
        let accepted = listener.accept();
        assert_eq!(accepted.is_some(), admin != 0, "only those that may send past packet sockets");
        let Some(peer) = accepted else { return };
        let (file, mut sent) = (tempfile::tempfile().expect("a file"), [0; 4]);
        file.write_all_at(b"text", 0).expect("room");
        offer(&peer, file.as_fd()).expect("it is there");
        let received = std::fs::File::from(link.receive(Duration::from_secs(10)).expect("a file"));
        received.read_exact_at(&mut sent, 0).expect("four bytes");
        assert_eq!(sent, *b"text");
        // Expect: either end sees that the other one has ended.
        assert!(!link.has_ended() && !has_ended(&peer));
        drop((peer, listener));
        assert!(link.has_ended());
    }
}
