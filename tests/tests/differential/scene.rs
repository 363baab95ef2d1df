//! One run of a behaviour over one stack: makes connections, waits for what has to happen at the
//! other end, and notes what was seen.

use std::error::Error as _;
use std::fmt::Debug;
use std::io;
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU16, Ordering};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use prp_tests::wait::{self, PATIENCE};

use crate::stack::{Listener, Stack, Stream};

/// Which nodes the two ends are on.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    pub(crate) client: u8,
    pub(crate) server: u8,
}

/// Both ends on one node, and on two.
pub(crate) const PLACES: [Place; 2] =
    [Place { client: 1, server: 1 }, Place { client: 1, server: 2 }];

/// One run.
pub(crate) struct Scene<S> {
    pub(crate) place: Place,
    pub(crate) notes: Vec<Note>,
    stack: PhantomData<S>,
}

/// What was done, and what came of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Note {
    pub(crate) step: String,
    pub(crate) outcome: String,
}

impl<S: Stack> Scene<S> {
    pub(crate) fn new(place: Place) -> Self {
        Self { place, notes: Vec::new(), stack: PhantomData }
    }

    /// A port that was not used before.
    pub(crate) fn fresh_port() -> u16 {
        static NEXT: AtomicU16 = AtomicU16::new(2000);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// A listener at the server, and its port.
    pub(crate) fn listen(&self) -> (S::Listener, u16) {
        let port = Self::fresh_port();
        (S::bind(self.place.server, port).expect("the port is fresh"), port)
    }

    /// Connects the client to `port` of the server.
    pub(crate) fn connect(&self, port: u16) -> io::Result<S::Stream> {
        S::connect(self.place.client, self.place.server, port)
    }

    /// As [`Self::connect`], without waiting for an answer.
    pub(crate) fn connect_nonblocking(&self, port: u16) -> io::Result<S::Stream> {
        S::connect_nonblocking(self.place.client, self.place.server, port)
    }

    /// A connection: the client's end and the server's.
    pub(crate) fn pair(&self) -> (S::Stream, S::Stream) {
        let (listener, port) = self.listen();
        let client = self.connect(port).expect("somebody listens");
        let (server, _) = listener.accept().expect("somebody has connected");
        (client, server)
    }

    /// Notes what came of `step`: the value, or the kind of the error.
    pub(crate) fn note<T: Debug>(&mut self, step: &str, result: io::Result<T>) {
        let outcome = match result {
            Ok(value) => format!("Ok({value:?})"),
            Err(e) => format!("Err({})", error_text(&e)),
        };
        self.notes.push(Note { step: step.to_owned(), outcome });
    }

    /// Notes something that is not a result.
    pub(crate) fn remark(&mut self, step: &str, what: impl Debug) {
        self.note(step, Ok(what));
    }

    /// Notes the error a stream has to report.
    pub(crate) fn note_error(&mut self, step: &str, stream: &S::Stream) {
        self.note(step, stream.take_error().map(|error| error.map(|e| error_text(&e))));
    }

    /// Notes what reading up to `most` bytes gives.
    pub(crate) fn read(&mut self, step: &str, stream: &S::Stream, most: usize) {
        let mut buf = vec![0; most];
        let read = stream.get(&mut buf);
        self.note(step, read.map(|n| String::from_utf8_lossy(&buf[..n]).into_owned()));
    }

    /// Notes what writing `bytes` gives.
    pub(crate) fn write(&mut self, step: &str, stream: &S::Stream, bytes: &[u8]) {
        self.note(step, stream.put(bytes));
    }
}

/// The kind of an error, and the operating system's code for it if there is one: its own, or that
/// of what it explains.
fn error_text(error: &io::Error) -> String {
    let source = error.source().and_then(|e| e.downcast_ref::<io::Error>());
    let code = error.raw_os_error().or_else(|| source?.raw_os_error());
    let code = code.map(|code| format!(" {code}")).unwrap_or_default();
    format!("{:?}{code}", error.kind())
}

/// Waits until `n` bytes can be read from `stream`, which must not be nonblocking.
pub(crate) fn until_available(stream: &impl Stream, n: usize) {
    let mut buf = vec![0; n];
    wait::until(format!("{n} bytes"), || {
        until_shows(stream, EpollFlags::EPOLLIN, "something to read");
        let got = stream.peek(&mut buf).expect("readable without an error");
        (got == n).then_some(())
    });
}

/// Waits until the other end sends no more.
pub(crate) fn until_ended(stream: &impl Stream) {
    until_shows(stream, EpollFlags::EPOLLRDHUP, "the end of the stream");
}

/// Waits until there is no connection any more. Both directions being closed does not say that the
/// other end knows; when it does there is nothing left to shut down.
pub(crate) fn until_over(stream: &impl Stream) {
    until_shows(stream, EpollFlags::EPOLLHUP, "the end of the connection");
    wait::until("nothing left to shut down", || stream.shutdown(Shutdown::Write).err());
}

/// Waits until a connection can be accepted.
pub(crate) fn until_pending(listener: &impl AsFd) {
    until_shows(listener, EpollFlags::EPOLLIN, "a connection");
}

fn until_shows(fd: &impl AsFd, flag: EpollFlags, what: &str) {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("epoll");
    epoll.add(fd, EpollEvent::new(flag, 0)).expect("a descriptor to wait on");
    wait::until(what, || {
        let mut events = [EpollEvent::empty()];
        let timeout = EpollTimeout::try_from(PATIENCE).expect("in range");
        let n = epoll.wait(&mut events, timeout).unwrap_or(0);
        // A hang-up is reported whether asked for or not.
        events[..n].iter().any(|event| event.events().contains(flag)).then_some(())
    });
}
