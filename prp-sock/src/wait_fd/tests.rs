use std::io::ErrorKind;
use std::os::fd::AsRawFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::*;

fn no_descriptors() -> io::Error {
    io::Error::from_raw_os_error(libc::EMFILE)
}

#[test]
fn or_hung_up__stands_in_and_the_next_call_has_the_error_once() {
    prepare().unwrap();
    let wait = WaitFd::default();
    let fd = wait.or_hung_up(wait.ask(|| Err(no_descriptors())));
    let mut polled = [PollFd::new(fd, PollFlags::POLLIN | PollFlags::POLLOUT)];
    assert_eq!(poll(&mut polled, PollTimeout::ZERO).unwrap(), 1, "no program sleeps by it");
    assert!(polled[0].revents().unwrap().contains(PollFlags::POLLHUP));
    assert_eq!(wait.would_block().raw_os_error(), Some(libc::EMFILE));
    assert_eq!(wait.would_block().kind(), ErrorKind::WouldBlock);
}

#[test]
fn ask__makes_it_once_also_after_a_failure() {
    prepare().unwrap();
    let wait = WaitFd::default();
    assert!(wait.ask(|| Err(no_descriptors())).is_err());
    let (end, _other) = UnixStream::pair().unwrap();
    let number = end.as_raw_fd();
    assert_eq!(wait.ask(|| Ok(Arc::new(end))).unwrap().as_raw_fd(), number);
    assert_eq!(wait.ask(|| unreachable!("it is there")).unwrap().as_raw_fd(), number);
}
