//! Descriptors that come as numbers.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Owns a descriptor that has just come in an `SCM_RIGHTS` message of a `recvmsg` call of this
/// process.
pub(crate) fn received(number: RawFd) -> OwnedFd {
    // SAFETY: the kernel has made it for this process and told its number in one message, which is
    // read once: nothing else knows it. The caller hands over what `recvmsg` gave it.
    unsafe { OwnedFd::from_raw_fd(number) }
}
