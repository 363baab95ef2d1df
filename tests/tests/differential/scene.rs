//! One run of a behaviour over one stack: makes connections, waits for the effects at the other
//! end, and records the outcomes.

use std::error::Error as _;
use std::fmt::Debug;
use std::io;
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU16, Ordering};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use prp_tests::wait::{self, TIMEOUT};

use crate::stack::{Listener, Stack, Stream};

/// Which nodes the two ends are on.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct NodePair {
    pub(crate) client: u8,
    pub(crate) server: u8,
}

/// Both ends on one node, and on two.
pub(crate) const NODE_PAIRS: [NodePair; 2] =
    [NodePair { client: 1, server: 1 }, NodePair { client: 1, server: 2 }];

/// One run.
pub(crate) struct Scene<S> {
    pub(crate) nodes: NodePair,
    pub(crate) notes: Vec<Note>,
    stack: PhantomData<S>,
}

/// A step and its outcome.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Note {
    pub(crate) step: String,
    pub(crate) outcome: String,
}

impl<S: Stack> Scene<S> {
    pub(crate) fn new(nodes: NodePair) -> Self {
        Self { nodes, notes: Vec::new(), stack: PhantomData }
    }

    /// A port that was not used before.
    pub(crate) fn fresh_port() -> u16 {
        static NEXT: AtomicU16 = AtomicU16::new(2000);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// A listener at the server, and its port.
    pub(crate) fn listen(&self) -> (S::Listener, u16) {
        let port = Self::fresh_port();
        (S::bind(self.nodes.server, port).expect("the port is fresh"), port)
    }

    /// Connects the client to `port` of the server.
    pub(crate) fn connect(&self, port: u16) -> io::Result<S::Stream> {
        S::connect(self.nodes.client, self.nodes.server, port)
    }

    /// As [`Self::connect`], without waiting for an answer.
    pub(crate) fn connect_nonblocking(&self, port: u16) -> io::Result<S::Stream> {
        S::connect_nonblocking(self.nodes.client, self.nodes.server, port)
    }

    /// A connection: the client's end and the server's.
    pub(crate) fn pair(&self) -> (S::Stream, S::Stream) {
        let (listener, port) = self.listen();
        let client = self.connect(port).expect("there is a listener");
        let (server, _) = listener.accept().expect("somebody has connected");
        (client, server)
    }

    /// Records the outcome of `step`: the value, or the kind of the error.
    pub(crate) fn note<T: Debug>(&mut self, step: &str, result: io::Result<T>) {
        let outcome = match result {
            Ok(value) => format!("Ok({value:?})"),
            Err(e) => format!("Err({})", error_text(&e)),
        };
        self.notes.push(Note { step: step.to_owned(), outcome });
    }

    /// Records a value that is not a result.
    pub(crate) fn remark(&mut self, step: &str, what: impl Debug) {
        self.note(step, Ok(what));
    }

    /// Records the pending error of a stream.
    pub(crate) fn note_error(&mut self, step: &str, stream: &S::Stream) {
        self.note(step, stream.take_error().map(|error| error.map(|e| error_text(&e))));
    }

    /// Reads up to `most` bytes, and records the outcome.
    pub(crate) fn read(&mut self, step: &str, stream: &S::Stream, most: usize) {
        let mut buf = vec![0; most];
        let read = stream.get(&mut buf);
        self.note(step, read.map(|n| String::from_utf8_lossy(&buf[..n]).into_owned()));
    }

    /// Writes `bytes`, and records the outcome.
    pub(crate) fn write(&mut self, step: &str, stream: &S::Stream, bytes: &[u8]) {
        self.note(step, stream.put(bytes));
    }
}

/// The kind of an error, and its `errno` if it or its source has one.
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

/// Waits for the end of the other end's data.
pub(crate) fn until_ended(stream: &impl Stream) {
    until_shows(stream, EpollFlags::EPOLLRDHUP, "the end of the stream");
}

/// Waits until the connection has ended. Closing both directions does not mean that the other end
/// has received it. When it has, `shutdown` fails.
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
        let timeout = EpollTimeout::try_from(TIMEOUT).expect("in range");
        let n = epoll.wait(&mut events, timeout).unwrap_or(0);
        // `poll` reports POLLHUP in any case.
        events[..n].iter().any(|event| event.events().contains(flag)).then_some(())
    });
}
