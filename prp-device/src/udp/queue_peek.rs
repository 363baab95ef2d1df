//! What waits at a UDP socket, for threads that do not hold the device.

use std::os::fd::BorrowedFd;

use crate::sys::datagram::queued_bytes;

/// The queue of a UDP socket.
#[derive(Copy, Clone, Debug)]
pub struct QueuePeek {
    pub(super) room: usize,
    pub(super) datagram: usize,
}

impl QueuePeek {
    /// Bytes of memory for what waits, as the kernel counts them.
    pub const fn room(self) -> usize {
        self.room
    }

    /// Bytes of the largest datagram.
    pub const fn datagram_bytes(self) -> usize {
        self.datagram
    }

    /// Whether as many bytes wait at `fd`, the device's, as `count` of the largest datagrams have.
    pub fn holds(self, fd: BorrowedFd<'_>, count: u32) -> bool {
        queued_bytes(fd).is_ok_and(|bytes| bytes >= self.datagram * count as usize)
    }
}
