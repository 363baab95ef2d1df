//! Descriptors on their way from process to process, and who is at the other end.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::packet::get;

/// Descriptors one message may carry: a socket for each device of a node in a hypercube of many
/// dimensions.
pub(crate) const MAX_FDS: usize = 32;

/// Room for a control message with [`MAX_FDS`] descriptors, aligned as its header must be.
type Control = [u64; 24];

/// Sends `bytes` with `fds`, without blocking; all or nothing.
///
/// # Errors
/// `WouldBlock` if the peer does not read, `InvalidInput` for too many descriptors.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    if fds.len() > MAX_FDS {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut control: Control = [0; 24];
    let mut piece =
        libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let len = size_of_val(fds) as libc::c_uint;
    // SAFETY: all-zero bytes are a valid `msghdr`: integers and null pointers.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    if !fds.is_empty() {
        header.msg_control = control.as_mut_ptr().cast();
        // SAFETY: CMSG_SPACE only computes; for MAX_FDS descriptors it is 16 + 128 bytes, which fit.
        header.msg_controllen = unsafe { libc::CMSG_SPACE(len) } as _;
        // SAFETY: `control` is there, aligned and large enough for one control message of `len` bytes, so
        // CMSG_FIRSTHDR gives a pointer into it that is not null, and `len` bytes follow its header. A
        // `BorrowedFd` is a descriptor number.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(len) as _;
            let numbers = fds.as_ptr().cast::<u8>();
            std::ptr::copy_nonoverlapping(numbers, libc::CMSG_DATA(first), len as usize);
        }
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: `header` describes `piece`, `bytes` and `control`, which outlive the call; it only reads.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, flags) };
    match usize::try_from(sent) {
        Ok(n) if n == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Receives bytes and the descriptors that came with them, without blocking; no bytes is the end.
///
/// # Errors
/// `WouldBlock` if there is nothing.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut control: Control = [0; 24];
    let mut piece = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all-zero bytes are a valid `msghdr`: integers and null pointers.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: `header` describes `piece`, which describes `bytes`, and `control`; all are live, writable
    // and as long as it says.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) };
    let Ok(received) = usize::try_from(received) else { return Err(io::Error::last_os_error()) };
    let mut fds = Vec::new();
    // SAFETY: the kernel has filled `control` as `header` says; CMSG_FIRSTHDR and CMSG_NXTHDR stay inside
    // it or give null. A message of descriptors holds as many as its length says, which are new, ours and
    // nobody else's.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&raw const header);
        while let Some(head) = message.as_ref() {
            if head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_RIGHTS {
                let len: usize = head.cmsg_len as _;
                let count = (len - libc::CMSG_LEN(0) as usize) / size_of::<OwnedFd>();
                let numbers = libc::CMSG_DATA(message).cast::<libc::c_int>();
                fds.extend(
                    (0..count).map(|i| OwnedFd::from_raw_fd(numbers.add(i).read_unaligned())),
                );
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    Ok((received, fds))
}

/// The user who runs the process at the other end of a Unix connection.
pub(crate) fn peer_user(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    // SAFETY: it is made of integers.
    let (peer, _) = unsafe { get(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, peer) }?;
    Ok(peer.uid)
}
