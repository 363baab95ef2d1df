//! ethtool's questions to the driver of a device (ioctl(2), linux/ethtool.h).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::cvt;

/// What a driver is asked: a number that the kernel knows, and 32-bit words that it fills in behind
/// it.
///
/// # Errors
/// `InvalidInput` if no device has such a name; `EOPNOTSUPP` from a driver that has no answer, and
/// what else the kernel says.
pub(crate) fn ask<const WORDS: usize>(
    socket: BorrowedFd<'_>,
    name: &str,
    question: u32,
) -> io::Result<[u32; WORDS]> {
    // SAFETY: all-zero bytes are a valid `ifreq`: it is made of integers and a null pointer.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    let room = request.ifr_name.len() - 1;
    if name.is_empty() || name.len() > room {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as _;
    }
    let mut words = [0; WORDS];
    *words.first_mut().ok_or(io::ErrorKind::InvalidInput)? = question;
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: `request` names a buffer that outlives the call. The kernel reads the question, and
    // writes as many words as its structure for this question has, which is `WORDS` (`card`).
    let asked =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    cvt(asked).map(|_| words)
}
