//! Descriptors to poll, without allocating.

use std::os::fd::BorrowedFd;

use nix::poll::{PollFd, PollFlags};

/// Descriptors on the stack: a call, the steward, the loopback device, and the links of a node in
/// an eight-dimensional hypercube; beyond that, memory is allocated.
const FEW: usize = 11;

/// The descriptors of one `poll`.
pub(super) struct PollSet<'a> {
    few: [PollFd<'a>; FEW],
    len: usize,
    /// All of them, once there are more.
    many: Vec<PollFd<'a>>,
}

impl<'a> PollSet<'a> {
    /// A set of one.
    pub(super) fn new(first: BorrowedFd<'a>, events: PollFlags) -> Self {
        let few = std::array::from_fn(|_| PollFd::new(first, events));
        Self { few, len: 1, many: Vec::new() }
    }

    /// Adds a descriptor.
    pub(super) fn push(&mut self, fd: BorrowedFd<'a>, events: PollFlags) {
        let fd = PollFd::new(fd, events);
        if let Some(place) = self.few.get_mut(self.len) {
            *place = fd;
            self.len += 1;
        } else {
            if self.many.is_empty() {
                self.many.extend_from_slice(&self.few);
            }
            self.many.push(fd);
        }
    }

    /// All of them, in order.
    pub(super) fn fds(&mut self) -> &mut [PollFd<'a>] {
        if self.many.is_empty() { &mut self.few[..self.len] } else { &mut self.many }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, AsRawFd};

    use super::*;

    #[test]
    fn push__keeps_order_however_many_there_are() {
        let files: Vec<_> = (0..3 * FEW).map(|_| std::io::pipe().unwrap().0).collect();
        for n in 1..files.len() {
            let mut set = PollSet::new(files[0].as_fd(), PollFlags::POLLIN);
            files[1..n].iter().for_each(|f| set.push(f.as_fd(), PollFlags::POLLOUT));
            let got: Vec<_> = set.fds().iter().map(|fd| fd.as_fd().as_raw_fd()).collect();
            let expected: Vec<_> = files[..n].iter().map(AsRawFd::as_raw_fd).collect();
            assert_eq!(got, expected);
            assert_eq!(set.fds()[0].events(), PollFlags::POLLIN);
            assert!(set.fds()[1..].iter().all(|fd| fd.events() == PollFlags::POLLOUT));
        }
    }
}
