//! A connection whose bytes are passed on between the holder's end of a pair and the stream.

use std::fs;
use std::io::{self, ErrorKind, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{EpollEvent, EpollFlags};
use nix::sys::socket::{MsgFlags, recv, recvmsg};
use prp_sock::{Awaited, PrpStream};

use crate::run::holder::processes::Connection;
use crate::sys::pair::set_peek_offset;

/// Times in a row that bytes of a program are passed on before it is others' turn.
const ROUNDS: usize = 4;

/// How often it is looked whether a peer has taken what a program that has closed has sent.
const LOOK: Duration = Duration::from_secs(1);

/// How a connection has ended.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(in crate::run::holder) enum End {
    /// Both directions have ended.
    InOrder,
    /// The connection of PRP is over, and not in order.
    Broken,
    /// The program has left it before its end, or nothing passes its bytes on: its peer is reset.
    Left,
}

/// A connection whose bytes are passed on.
pub(in crate::run::holder) struct Passage {
    number: u64,
    stream: PrpStream,
    held: Arc<UnixStream>,
    connection: Arc<Connection>,
    /// Something may have come to the holder's end. That is readable all the time, since the byte
    /// that was passed on last is left in it: only edges tell.
    has_arrivals: bool,
    /// More may follow what a look shows, as an edge told: the end of the program's direction or of
    /// the connection, of which no other edge will tell; or urgent data, before which the kernel
    /// stops.
    may_show_less: bool,
    /// No process has the program's end any more, as an edge told.
    is_hung_up: bool,
    /// Since when that is known, once the program's direction has ended.
    closed: Option<Instant>,
    /// When it is to be looked at though nothing happens, since that is known.
    due: Option<Instant>,
    /// The peer has all that the program has sent.
    is_delivered: bool,
    /// The stream may have something.
    is_readable: bool,
    /// The stream had no room for all that has come from the program.
    is_full: bool,
    /// What the program had no room for.
    rest: Vec<u8>,
    /// Room at the program's end is waited for.
    is_room_awaited: bool,
    /// The program may take more.
    has_room: bool,
    /// The program takes what comes.
    is_wanted: bool,
    /// The program sends nothing more.
    has_ended: bool,
    /// It does not, and the stream's direction has ended for that.
    is_sent: bool,
    /// The peer has ended its direction.
    is_received: bool,
}

impl Passage {
    /// Returns the connection `number`, which has just begun.
    pub(in crate::run::holder) fn new(
        number: u64,
        stream: PrpStream,
        held: Arc<UnixStream>,
        connection: Arc<Connection>,
    ) -> Self {
        // Neither fails.
        let _ = (stream.set_nonblocking(true), held.set_nonblocking(true));
        Self {
            number,
            stream,
            held,
            connection,
            has_arrivals: true,
            may_show_less: false,
            is_hung_up: false,
            closed: None,
            due: None,
            is_delivered: false,
            is_readable: true,
            is_full: false,
            rest: Vec::new(),
            is_room_awaited: false,
            has_room: true,
            is_wanted: true,
            has_ended: false,
            is_sent: false,
            is_received: false,
        }
    }

    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// The holder's end.
    pub(super) fn held(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }

    /// Returns what is to be known of the holder's end. Room is not, unless there was none: each
    /// time that a program reads makes some.
    pub(super) fn event(&self) -> EpollEvent {
        let mut flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLPRI | EpollFlags::EPOLLRDHUP;
        flags |= EpollFlags::EPOLLET;
        flags.set(EpollFlags::EPOLLOUT, self.is_room_awaited);
        EpollEvent::new(flags, self.number)
    }

    /// Whether [`Self::event`] has changed since the last call.
    pub(super) fn take_change(&mut self) -> bool {
        let is_awaited = !self.rest.is_empty();
        std::mem::replace(&mut self.is_room_awaited, is_awaited) != is_awaited
    }

    /// Notes what has happened to the holder's end.
    pub(super) fn note(&mut self, events: EpollFlags) {
        self.has_room |= events.contains(EpollFlags::EPOLLOUT);
        self.has_arrivals |= events.intersects(!EpollFlags::EPOLLOUT);
        self.is_hung_up |= events.contains(EpollFlags::EPOLLHUP);
        self.may_show_less |= events.intersects(!(EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT));
    }

    /// Notes that the stream has what [`Self::awaited`] says.
    pub(super) fn note_ready(&mut self) {
        (self.is_readable, self.is_full) = (true, false);
    }

    /// What is waited for at the stream.
    pub(super) fn awaited(&self) -> Option<Awaited<'_>> {
        match (!self.is_received && self.rest.is_empty(), self.is_full) {
            (true, true) => Some(Awaited::read_or_write(&self.stream)),
            (true, false) => Some(Awaited::read(&self.stream)),
            (false, true) => Some(Awaited::write(&self.stream)),
            (false, false) => None,
        }
    }

    /// Whether something can be passed on at once.
    pub(super) fn is_busy(&self) -> bool {
        self.has_arrivals && !self.is_full && !self.has_ended
    }

    /// Since when no process has the program's end any more, if the peer goes on.
    pub(super) const fn closed(&self) -> Option<Instant> {
        self.closed
    }

    /// When [`Self::look`] is to be called, if it was before.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Passes on what is there, by route of `bytes`; how the connection has ended, if it has.
    pub(super) fn step(&mut self, bytes: &mut [u8]) -> Option<End> {
        if let Some(end) = self.pass_incoming(bytes).or_else(|| self.pass_outgoing(bytes)) {
            return Some(end);
        }
        if self.has_ended && self.is_received {
            return Some(End::InOrder);
        }
        if self.is_hung_up && self.closed.is_none() {
            if self.connection.is_reset_on_close() {
                return Some(End::Left);
            }
            self.closed = self.has_ended.then(Instant::now);
        }
        None
    }

    /// Passes on what the program sends.
    fn pass_outgoing(&mut self, bytes: &mut [u8]) -> Option<End> {
        for _ in 0..ROUNDS {
            if !self.is_busy() {
                break;
            }
            match self.peek(bytes) {
                Ok((0, _)) => return self.end_outgoing(),
                Ok((count, is_all)) => {
                    let written = match (&self.stream).write(&bytes[..count]) {
                        Ok(written) => written,
                        Err(e) if e.kind() == ErrorKind::WouldBlock => 0,
                        Err(_) => return Some(End::Broken),
                    };
                    self.is_full = written < count;
                    // What comes from now on is another edge.
                    self.has_arrivals = !is_all || self.is_full || self.may_show_less;
                    if self.take(&mut bytes[..written]).is_err() {
                        return Some(End::Left);
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => self.has_arrivals = false,
                // It has closed its end with bytes unread.
                Err(_) => return Some(End::Left),
            }
        }
        None
    }

    /// Looks at what has come to the holder's end: how many bytes, and whether these are all.
    fn peek(&self, bytes: &mut [u8]) -> nix::Result<(usize, bool)> {
        let room = bytes.len();
        let mut parts = [IoSliceMut::new(bytes)];
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        let message = recvmsg::<()>(self.held.as_raw_fd(), &mut parts, None, flags)?;
        // The kernel stops behind bytes with which a descriptor was sent.
        let is_cut = message.flags.contains(MsgFlags::MSG_CTRUNC);
        Ok((message.bytes, message.bytes < room && !is_cut))
    }

    /// Takes bytes that were passed on out of the holder's end: the one before the first of them
    /// goes, and the last one stays.
    fn take(&self, passed: &mut [u8]) -> io::Result<()> {
        (&*self.held).read_exact(passed)?;
        self.connection.count(passed.len());
        if self.is_full {
            // What was looked at and is still there is looked at again, once there is room.
            set_peek_offset(&*self.held, 1)?;
        }
        Ok(())
    }

    /// The program sends nothing more.
    fn end_outgoing(&mut self) -> Option<End> {
        self.has_ended = true;
        if self.connection.is_reset_on_close() && self.is_closed() {
            return Some(End::Left);
        }
        // What has ended it otherwise says so to who reads.
        self.is_sent = self.stream.shutdown(Shutdown::Write).is_ok();
        None
    }

    /// Passes on what the peer sends.
    fn pass_incoming(&mut self, bytes: &mut [u8]) -> Option<End> {
        if self.is_received {
            return None;
        }
        if !self.rest.is_empty() {
            if !std::mem::take(&mut self.has_room) {
                return None;
            }
            let rest = std::mem::take(&mut self.rest);
            return self.give(&rest);
        }
        if !std::mem::take(&mut self.is_readable) {
            return None;
        }
        match (&self.stream).read(bytes) {
            Ok(0) => self.end_incoming(),
            Ok(count) if self.is_wanted => {
                self.connection.count(count);
                self.give(&bytes[..count])
            }
            Ok(_) => None,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
            Err(_) => Some(End::Broken),
        }
    }

    /// Gives the program what the peer has sent, and keeps what it has no room for.
    fn give(&mut self, mut bytes: &[u8]) -> Option<End> {
        while !bytes.is_empty() {
            match (&*self.held).write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    bytes.clone_into(&mut self.rest);
                    self.has_room = false;
                    return None;
                }
                Err(_) if self.is_closed() => return Some(End::Left),
                // It has ended its reading.
                Err(_) => {
                    self.is_wanted = false;
                    return None;
                }
            }
        }
        None
    }

    /// The peer sends nothing more, or the connection is over.
    fn end_incoming(&mut self) -> Option<End> {
        // An error is reported once: whoever writes may have got it.
        let is_over = self.stream.shutdown(Shutdown::Read).is_err();
        if is_over && !self.is_sent {
            return Some(End::Broken);
        }
        self.is_received = true;
        let _ = self.held.shutdown(Shutdown::Write);
        None
    }

    /// Whether no process has the program's end any more.
    fn is_closed(&self) -> bool {
        let mut fds = [PollFd::new(self.held.as_fd(), PollFlags::empty())];
        let polled = poll(&mut fds, PollTimeout::ZERO);
        polled.is_ok() && fds[0].revents().is_some_and(|it| it.contains(PollFlags::POLLHUP))
    }

    /// Looks at a connection that its program has closed, if that is due: how it has ended, if it
    /// has. A peer that goes on holding it has as long as with TCP, from when it has all that the
    /// program has sent, however slowly it takes that.
    pub(super) fn look(&mut self, now: Instant) -> Option<End> {
        if self.due.is_some_and(|due| now < due) {
            return None;
        }
        if self.is_delivered {
            return Some(End::Left);
        }
        // Neither fails. It is asked, and not waited for.
        let _ = self.stream.set_write_timeout(Some(Duration::from_nanos(1)));
        self.due = Some(now + LOOK);
        match self.stream.wait_delivered() {
            Ok(()) => {
                self.is_delivered = true;
                self.due = Some(now + orphaned());
                None
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
            Err(_) => Some(End::Left),
        }
    }

    /// Closes both.
    pub(super) fn end(self, end: End) {
        match end {
            // The byte that would make it a reset.
            End::InOrder => {
                let _ = recv(self.held.as_raw_fd(), &mut [0], MsgFlags::MSG_DONTWAIT);
            }
            End::Broken => {}
            // Its peer is reset.
            End::Left => {
                let _ = self.stream.set_linger(Some(Duration::ZERO));
            }
        }
    }
}

/// Returns how long TCP keeps a connection whose program has closed it, and whose peer has not
/// (tcp(7)).
fn orphaned() -> Duration {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_fin_timeout").unwrap_or_default();
    Duration::from_secs(text.trim_end().parse().unwrap_or(60))
}
