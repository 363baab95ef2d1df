//! The descriptor of a stream, with `poll` and with `epoll`, by level and by edge.

use std::io::{self, ErrorKind, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::pattern;
use crate::builder::Builder;
use crate::stream::PrpStream;
use crate::testing::{Pair, TEST_TIMEOUT, wait_until, within_patience};

/// What `fd` shows of readable and writable.
fn shown(fd: BorrowedFd<'_>) -> (bool, bool) {
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN | PollFlags::POLLOUT)];
    poll(&mut fds, PollTimeout::ZERO).unwrap();
    let got = fds[0].revents().unwrap();
    (got.contains(PollFlags::POLLIN), got.contains(PollFlags::POLLOUT))
}

fn wait_shown(fd: BorrowedFd<'_>, expected: (bool, bool)) {
    wait_until(format_args!("readable and writable {expected:?}"), || shown(fd) == expected);
}

/// An `epoll` for `fd` that reports `flags` by edge.
fn edges(fd: BorrowedFd<'_>, flags: EpollFlags) -> Epoll {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).unwrap();
    epoll.add(fd, EpollEvent::new(flags | EpollFlags::EPOLLET, 0)).unwrap();
    epoll
}

/// Waits for an edge.
fn wait_edge(epoll: &Epoll) -> EpollFlags {
    let mut events = [EpollEvent::empty()];
    let timeout = EpollTimeout::try_from(TEST_TIMEOUT / 2).unwrap();
    assert_eq!(epoll.wait(&mut events, timeout).unwrap(), 1, "no edge");
    events[0].events()
}

#[test]
fn readiness__follows_data_and_room() {
    within_patience(|| {
        let pair = Pair::new();
        // What is full stays full.
        let fixed = Builder::new().send_buffer(512 * 1024);
        let (mut ours, mut theirs) = pair.streams_with(&fixed, &fixed);
        let fd = ours.try_clone().unwrap();
        let fd = fd.as_fd();
        assert_eq!(shown(fd), (false, true));
        theirs.write_all(b"hello").unwrap();
        wait_shown(fd, (true, true));
        // Expect: readable as long as something is left.
        ours.read_exact(&mut [0; 4]).unwrap();
        assert_eq!(shown(fd), (true, true));
        ours.read_exact(&mut [0; 1]).unwrap();
        assert_eq!(shown(fd), (false, true));
        // Expect: not writable when both buffers are full.
        ours.set_nonblocking(true).unwrap();
        let mut done = 0;
        wait_until("full buffers", || match ours.write(&[0; 65536]) {
            Ok(n) => {
                done += n;
                false
            }
            Err(_) => done >= 900 * 1024,
        });
        wait_shown(fd, (false, false));
        // Expect: writable again when the peer reads.
        theirs.read_exact(&mut vec![0; done]).unwrap();
        wait_shown(fd, (false, true));
        // Expect: the end can be read.
        drop(theirs);
        wait_shown(fd, (true, true));
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        assert_eq!(shown(fd), (true, true));
    });
}

#[test]
fn readiness__is_of_the_moment_it_is_asked_for() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        theirs.write_all(b"hello").unwrap();
        assert_eq!(ours.peek(&mut [0; 8]).unwrap(), 5);
        assert_eq!(shown(ours.as_fd()), (true, true));
    });
}

#[test]
fn readiness__after_a_vectored_read() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        let clone = ours.try_clone().unwrap();
        let fd = clone.as_fd();
        theirs.write_all(b"hello").unwrap();
        wait_until("five bytes", || clone.peek(&mut [0; 8]).unwrap() == 5);
        let (mut a, mut b) = ([0; 2], [0; 8]);
        let n = ours.read_vectored(&mut [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)]);
        assert_eq!(n.unwrap(), 5);
        assert_eq!(shown(fd), (false, true));
    });
}

#[test]
fn readiness__of_messages_and_their_ends() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let fd = ours.as_fd();
        theirs.send_message(b"hello").unwrap();
        wait_shown(fd, (true, true));
        let mut message = Vec::new();
        assert!(ours.recv_message(&mut message).unwrap());
        assert_eq!(shown(fd), (false, true));
    });
}

/// SPEC PRP-SEG-7: an empty message is something to read, and not for ever to a reader of the
/// stream.
#[test]
fn readiness__of_messages_without_bytes() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let fd = ours.as_fd();
        ours.set_nonblocking(true).unwrap();
        let mut message = Vec::new();
        for _ in 0..2 {
            theirs.send_message(b"").unwrap();
            wait_shown(fd, (true, true));
            assert!(ours.recv_message(&mut message).unwrap());
            assert_eq!(shown(fd), (false, true));
        }
        theirs.send_message(b"").unwrap();
        wait_shown(fd, (true, true));
        let nothing = (&ours).read(&mut [0; 8]).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        assert_eq!(shown(fd), (false, true));
        assert!(ours.recv_message(&mut message).unwrap(), "it is not lost");
        assert!(message.is_empty());
    });
}

#[test]
fn readiness__of_shutdown_and_reset() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, _theirs) = pair.streams();
        ours.readiness().unwrap();
        ours.shutdown(Shutdown::Read).unwrap();
        assert!(shown(ours.as_fd()).0);

        let (ours, theirs) = pair.streams();
        ours.readiness().unwrap();
        theirs.set_linger(Some(Duration::ZERO)).unwrap();
        drop(theirs);
        wait_shown(ours.as_fd(), (true, true));
        let error = (&ours).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn as_fd__that_cannot_be_made_is_an_error_of_the_next_call() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, _theirs) = pair.streams();
        ours.set_nonblocking(true).unwrap();
        let no_descriptor = || Err(io::Error::from_raw_os_error(libc::EMFILE));
        assert!(shown(ours.inner.fd.or_hung_up(no_descriptor())).0, "the program reads");
        let error = (&ours).read(&mut [0]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        let error = (&ours).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);

        let listener = pair.beta.listen(0, &Builder::new()).unwrap();
        listener.set_nonblocking(true).unwrap();
        let _ = listener.inner.fd.or_hung_up(no_descriptor());
        assert_eq!(listener.accept().unwrap_err().raw_os_error(), Some(libc::EMFILE));
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn readiness__of_a_nonblocking_connect() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(0, &Builder::new()).unwrap();
        let addr = listener.local_addr().unwrap();
        let ours = pair.alpha.connect_nonblocking(addr, &Builder::new()).unwrap();
        wait_shown(ours.as_fd(), (false, true));
        assert!(ours.take_error().unwrap().is_none());

        let refused = pair.alpha.connect_nonblocking(pair.beta.addr(9), &Builder::new()).unwrap();
        wait_shown(refused.as_fd(), (true, true));
        let error = refused.take_error().unwrap().unwrap();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn readiness__of_a_listener() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(0, &Builder::new()).unwrap();
        let addr = listener.local_addr().unwrap();
        let fd = listener.as_fd();
        assert!(!shown(fd).0);
        let _two: Vec<_> =
            (0..2).map(|_| pair.alpha.connect(addr, &Builder::new()).unwrap()).collect();
        wait_until("readable", || shown(fd).0);
        wait_until("two connections", || pair.beta.engine().lock().endpoint.connections() == 2);
        listener.accept().unwrap();
        assert!(shown(fd).0);
        listener.accept().unwrap();
        assert!(!shown(fd).0);
    });
}

/// A thread that checks, until this is dropped, that a stream's descriptor shows the truth whenever
/// the lock is free. An edge is lost where it does not: what happens then is no change any more.
struct ReadinessChecker {
    enough: Arc<AtomicBool>,
    checking: Option<JoinHandle<()>>,
}

impl ReadinessChecker {
    fn of(stream: &PrpStream) -> Self {
        let enough = Arc::new(AtomicBool::new(false));
        let (over, stream) = (enough.clone(), stream.try_clone().unwrap());
        let checking = thread::spawn(move || {
            let (inner, fd) = (stream.inner().unwrap(), stream.as_fd());
            while !over.load(Ordering::Relaxed) {
                let core = inner.engine.lock();
                let truth =
                    (core.endpoint.is_readable(inner.conn), core.endpoint.is_writable(inner.conn));
                assert_eq!(shown(fd), truth);
            }
        });
        Self { enough, checking: Some(checking) }
    }
}

impl Drop for ReadinessChecker {
    fn drop(&mut self) {
        self.enough.store(true, Ordering::Relaxed);
        let checked = self.checking.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(checked, Some(Ok(()))), "the descriptor lied");
    }
}

/// Reads as programs with edge-triggered `epoll` do: at every edge until the buffer is not filled,
/// which says that nothing is left. No edge may be missing.
#[test]
fn edge__none_is_lost_to_a_reader_that_stops_at_a_short_read() {
    const ROUNDS: usize = 3000;
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.set_nonblocking(true).unwrap();
        let clone = ours.try_clone().unwrap();
        let epoll = edges(clone.as_fd(), EpollFlags::EPOLLIN);
        let _truth = ReadinessChecker::of(&clone);
        let writing = thread::spawn(move || {
            for i in 0..ROUNDS {
                theirs.write_all(&[1; 10]).unwrap();
                // Now and then all of it arrives at once, now and then in the midst of a read.
                if i % 7 == 0 {
                    thread::yield_now();
                }
            }
            theirs
        });
        let mut got = 0;
        let mut buf = [0; 64];
        while got < ROUNDS * 10 {
            wait_edge(&epoll);
            loop {
                match ours.read(&mut buf) {
                    Ok(n) => {
                        got += n;
                        if n < buf.len() {
                            break;
                        }
                    }
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) => panic!("{e}"),
                }
            }
        }
        writing.join().unwrap();
    });
}

/// Writes as such programs do: until there is no room, and on at the next edge.
#[test]
fn edge__none_is_lost_to_a_writer_that_stops_when_it_would_block() {
    const BYTES: usize = 8 << 20;
    within_patience(|| {
        let pair = Pair::new();
        let small = Builder::new().send_buffer(16 * 1024);
        let (mut ours, mut theirs) = pair.streams_with(&small, &Builder::new());
        ours.set_nonblocking(true).unwrap();
        let clone = ours.try_clone().unwrap();
        let epoll = edges(clone.as_fd(), EpollFlags::EPOLLOUT);
        let _truth = ReadinessChecker::of(&clone);
        let reading = thread::spawn(move || {
            let mut bytes = vec![0; BYTES];
            theirs.read_exact(&mut bytes).unwrap();
            bytes
        });
        let all = pattern(BYTES);
        let mut done = 0;
        while done < all.len() {
            match ours.write(&all[done..]) {
                Ok(n) => done += n,
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::WouldBlock);
                    wait_edge(&epoll);
                }
            }
        }
        assert!(reading.join().unwrap() == all, "other bytes");
    });
}

#[test]
fn edge__level_triggered_epoll_shows_a_level() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        let clone = ours.try_clone().unwrap();
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).unwrap();
        epoll.add(clone.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, 7)).unwrap();
        let mut events = [EpollEvent::empty()];
        assert_eq!(epoll.wait(&mut events, EpollTimeout::ZERO).unwrap(), 0);
        theirs.write_all(b"hello").unwrap();
        for _ in 0..3 {
            assert!(wait_edge(&epoll).contains(EpollFlags::EPOLLIN));
        }
        ours.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(epoll.wait(&mut events, EpollTimeout::ZERO).unwrap(), 0);
    });
}
