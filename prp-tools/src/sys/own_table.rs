//! Sets of epoll whose members have numbers of another process.
#![allow(unsafe_code, reason = "descriptors by their numbers")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;

use nix::libc;

/// What happens to a member of a set.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum SetOperation {
    /// It is added.
    Add {
        /// The events that are waited for.
        events: u32,
        /// What tells of it.
        data: u64,
    },
    /// It is removed.
    Remove,
}

/// Has each of `sets` add or remove `file` under the number `number`, which need not be one of this
/// process. Returns of each whether it did: what is to be removed may not be there.
///
/// # Errors
/// There are no descriptors, there is no memory, or no room for a thread.
pub(crate) fn change_sets(
    sets: &[(BorrowedFd<'_>, SetOperation)],
    file: BorrowedFd<'_>,
    number: c_int,
) -> io::Result<Vec<bool>> {
    thread::scope(|scope| {
        let changing = thread::Builder::new().spawn_scoped(scope, || {
            // SAFETY: no memory is involved. This thread has a copy of the table of descriptors
            // from now on, and ends with it.
            checked(unsafe { libc::unshare(libc::CLONE_FILES) })?;
            change_in_own_table(sets, file, number)
        })?;
        changing.join().map_err(|_| io::ErrorKind::Other)?
    })
}

/// Changes the sets in a table of descriptors that nobody else uses.
fn change_in_own_table(
    sets: &[(BorrowedFd<'_>, SetOperation)],
    file: BorrowedFd<'_>,
    number: c_int,
) -> io::Result<Vec<bool>> {
    // Whatever has the number in this table may be one of these.
    let above = |fd: BorrowedFd<'_>| {
        if fd.as_raw_fd() != number {
            return Ok(fd.as_raw_fd());
        }
        // SAFETY: no memory is involved; the copy ends with the table.
        checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, number + 1) })
    };
    let moved = sets.iter().map(|(set, operation)| Ok((above(*set)?, *operation)));
    let moved = moved.collect::<io::Result<Vec<_>>>()?;
    if file.as_raw_fd() != number {
        // SAFETY: what has the number in this table is not used here.
        checked(unsafe { libc::dup3(file.as_raw_fd(), number, libc::O_CLOEXEC) })?;
    }
    let change = |(set, operation)| {
        let (operation, mut event) = match operation {
            SetOperation::Add { events, data } => {
                (libc::EPOLL_CTL_ADD, libc::epoll_event { events, u64: data })
            }
            SetOperation::Remove => (libc::EPOLL_CTL_DEL, libc::epoll_event { events: 0, u64: 0 }),
        };
        // SAFETY: the event lives for as long as the call.
        match checked(unsafe { libc::epoll_ctl(set, operation, number, &raw mut event) }) {
            Ok(_) => Ok(true),
            Err(_) if operation == libc::EPOLL_CTL_DEL => Ok(false),
            Err(e) => Err(e),
        }
    };
    moved.into_iter().map(change).collect()
}

fn checked(done: c_int) -> io::Result<c_int> {
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(done) }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};

    use super::*;

    /// Also under the number that the set has here.
    #[test]
    fn change_sets__has_a_member_under_another_number() {
        let set = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("a set");
        let (end, _other) = UnixStream::pair().expect("descriptors");
        for number in [900, set.0.as_raw_fd(), end.as_raw_fd()] {
            let add = SetOperation::Add { events: libc::EPOLLOUT as u32, data: 77 };
            change_sets(&[(set.0.as_fd(), add)], end.as_fd(), number).expect("room");
            let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", set.0.as_raw_fd()));
            let text = text.expect("procfs");
            let member = text.lines().find_map(|line| line.strip_prefix("tfd:"));
            let found = member.and_then(|line| line.split_whitespace().next()?.parse().ok());
            assert_eq!(found, Some(number));
            let mut events = [EpollEvent::empty()];
            assert_eq!(set.wait(&mut events, EpollTimeout::ZERO), Ok(1));
            assert_eq!(events[0].data(), 77);
            change_sets(&[(set.0.as_fd(), SetOperation::Remove)], end.as_fd(), number)
                .expect("room");
            assert_eq!(set.wait(&mut events, EpollTimeout::ZERO), Ok(0));
        }
    }
}
