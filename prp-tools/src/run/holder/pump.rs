//! Passing the bytes of a connection between the holder's end of a pair and the stream.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{MsgFlags, recv};
use prp_sock::PrpStream;

use super::processes::Connection;

/// Bytes that are passed on at once.
const CHUNK: usize = 64 << 10;

/// How long a program may take nothing before it is looked whether its connection is over.
const UNREAD: Duration = Duration::from_secs(1);

/// Bytes of the stack of the second thread.
const STACK: usize = 512 << 10;

/// What comes to the holder's end of a pair. That end is readable all the time, since the byte that
/// was passed on last is left in it, and a `recv` that peeks and sleeps forgets the offset of what
/// it is to look at on kernels older than 6.18: so nothing here sleeps in `recv`.
struct Arrivals(Epoll);

impl Arrivals {
    /// Watches for what comes to `held`.
    fn of(held: &UnixStream) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let edges = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        epoll.add(held, EpollEvent::new(edges, 0))?;
        Ok(Self(epoll))
    }

    /// Sleeps until something has come since the last call, or for `timeout`.
    fn wait(&self, timeout: Option<Duration>) {
        let timeout = timeout.and_then(|it| EpollTimeout::try_from(it).ok());
        // Interrupted, it is asked again.
        let _ = self.0.wait(&mut [EpollEvent::empty()], timeout.unwrap_or(EpollTimeout::NONE));
    }
}

/// A connection whose bytes are passed on.
struct Passage<'a> {
    stream: PrpStream,
    held: UnixStream,
    connection: &'a Connection,
    /// The program has ended its direction, and the stream too.
    is_sent: AtomicBool,
    /// The peer has ended its direction.
    is_received: AtomicBool,
    /// The connection of PRP is over, and not in order.
    is_broken: AtomicBool,
    /// The program has closed its end with bytes unread, or before others came.
    is_left: AtomicBool,
}

/// Passes bytes on in both directions until the connection has ended.
pub(super) fn run(stream: PrpStream, held: UnixStream, connection: &Arc<Connection>) {
    // None that the kernel could refuse.
    let _ = held.set_write_timeout(Some(UNREAD));
    let passage = Passage {
        stream,
        held,
        connection,
        is_sent: AtomicBool::new(false),
        is_received: AtomicBool::new(false),
        is_broken: AtomicBool::new(false),
        is_left: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let outgoing = || passage.pass_outgoing();
        match thread::Builder::new().stack_size(STACK).spawn_scoped(scope, outgoing) {
            Ok(_) => passage.pass_incoming(),
            Err(_) => passage.is_broken.store(true, Ordering::Relaxed),
        }
    });
    passage.end();
}

impl Passage<'_> {
    /// Passes on what the program sends.
    fn pass_outgoing(&self) {
        let (mut bytes, mut taken) = (vec![0; CHUNK], vec![0; CHUNK]);
        let Ok(arrivals) = Arrivals::of(&self.held) else { return self.break_off() };
        let peek = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        loop {
            match recv(self.held.as_raw_fd(), &mut bytes, peek) {
                Ok(0) => {
                    self.end_outgoing();
                    return self.follow(&arrivals);
                }
                Ok(count) => {
                    // All but the last stay no longer.
                    if (&self.held).read_exact(&mut taken[..count]).is_err() {
                        return self.leave();
                    }
                    self.connection.count(count);
                    if write_all(&self.stream, &bytes[..count]).is_err() {
                        return self.break_off();
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => arrivals.wait(None),
                // It has closed its end with bytes unread.
                Err(_) => return self.leave(),
            }
        }
    }

    /// The program sends nothing more.
    fn end_outgoing(&self) {
        if self.is_broken.load(Ordering::Relaxed) || self.is_left.load(Ordering::Relaxed) {
            return;
        }
        // Before the connection can be over for that.
        self.is_sent.store(true, Ordering::SeqCst);
        if self.stream.shutdown(Shutdown::Write).is_err() {
            // What has ended it says so to who reads.
            self.is_sent.store(false, Ordering::SeqCst);
        }
    }

    /// Waits for the end of the other direction, once the program sends nothing more. A peer that
    /// goes on holding the connection when no process has the program's end any more has as long
    /// as with TCP.
    fn follow(&self, arrivals: &Arrivals) {
        let mut closed = None;
        let flags = [&self.is_received, &self.is_broken, &self.is_left];
        while !flags.iter().any(|flag| flag.load(Ordering::SeqCst)) {
            if closed.is_none() && self.is_closed() {
                // However slowly the peer takes the rest.
                if self.stream.wait_delivered().is_err() {
                    return self.leave();
                }
                closed = Some((Instant::now(), orphaned()));
            }
            let left = closed.map(|(since, limit)| limit.saturating_sub(since.elapsed()));
            if left == Some(Duration::ZERO) {
                return self.leave();
            }
            // Whatever ends the other direction shuts the holder's end down, which wakes this.
            arrivals.wait(left);
        }
    }

    /// Passes on what the peer sends.
    fn pass_incoming(&self) {
        let mut bytes = vec![0; CHUNK];
        let mut is_wanted = true;
        loop {
            match (&self.stream).read(&mut bytes) {
                Ok(0) => return self.end_incoming(),
                Ok(count) if is_wanted => {
                    self.connection.count(count);
                    if self.give(&bytes[..count]).is_err() {
                        if self.is_broken.load(Ordering::Relaxed) {
                            return;
                        }
                        if self.is_closed() {
                            return self.leave();
                        }
                        is_wanted = false;
                    }
                }
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.break_off(),
            }
        }
    }

    /// Gives the program what the peer has sent. Fails too if the connection turns out to be over
    /// while the program reads nothing: only then can it see that.
    fn give(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match (&self.held).write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() != ErrorKind::WouldBlock => return Err(e),
                Err(e) if self.is_broken.load(Ordering::Relaxed) => return Err(e),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// The peer sends nothing more, or the connection is over.
    fn end_incoming(&self) {
        if self.is_left.load(Ordering::Relaxed) || self.is_broken.load(Ordering::Relaxed) {
            return;
        }
        // An error is reported once: whoever writes may have got it.
        let is_over = self.stream.shutdown(Shutdown::Read).is_err();
        if is_over && !self.is_sent.load(Ordering::SeqCst) {
            return self.break_off();
        }
        self.is_received.store(true, Ordering::SeqCst);
        let _ = self.held.shutdown(Shutdown::Write);
    }

    /// The connection of PRP has ended out of order.
    fn break_off(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
        let _ = self.stream.shutdown(Shutdown::Read);
        // Wakes who waits for bytes of the program, and shows that no end of file.
        let _ = self.held.shutdown(Shutdown::Read);
    }

    /// The program has left the connection before its end.
    fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
        let _ = self.stream.shutdown(Shutdown::Read);
        let _ = self.held.shutdown(Shutdown::Read);
    }

    /// Whether no process has the program's end any more.
    fn is_closed(&self) -> bool {
        let mut fds = [PollFd::new(self.held.as_fd(), PollFlags::empty())];
        let polled = poll(&mut fds, PollTimeout::ZERO);
        polled.is_ok() && fds[0].revents().is_some_and(|it| it.contains(PollFlags::POLLHUP))
    }

    /// Closes both.
    fn end(self) {
        if self.is_left.into_inner() {
            // Its peer is reset.
            let _ = self.stream.set_linger(Some(Duration::ZERO));
        } else if !self.is_broken.into_inner() {
            // The byte that would make it a reset.
            let _ = recv(self.held.as_raw_fd(), &mut [0], MsgFlags::MSG_DONTWAIT);
        }
    }
}

/// Returns how long TCP keeps a connection whose program has closed it, and whose peer has not
/// (tcp(7)).
fn orphaned() -> Duration {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_fin_timeout").unwrap_or_default();
    Duration::from_secs(text.trim_end().parse().unwrap_or(60))
}

fn write_all(mut stream: &PrpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
