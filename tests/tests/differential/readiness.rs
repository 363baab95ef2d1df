//! Events that `poll` and `epoll` report for a stream and a listener in every state:
//! level-triggered, edge-triggered, one-shot, and exclusive.

use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use prp_tests::wait::{self, TIMEOUT};
use socket2::SockRef;

use crate::blocking::{empty, fill};
use crate::scene::{Scene, until_available};
use crate::stack::{Listener, Stack, Stream};

/// A program that waits for a descriptor in all these modes.
struct Watch<'a> {
    fd: BorrowedFd<'a>,
    epolls: [Epoll; 4],
}

/// The flags of each. The last one may have no others.
const MODES: [(&str, EpollFlags); 4] = [
    ("level", ALL),
    ("edge", ALL.union(EpollFlags::EPOLLET)),
    ("once", ALL.union(EpollFlags::EPOLLONESHOT)),
    (
        "exclusive",
        EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLEXCLUSIVE),
    ),
];

const ALL: EpollFlags =
    EpollFlags::EPOLLIN.union(EpollFlags::EPOLLOUT).union(EpollFlags::EPOLLRDHUP);

impl<'a> Watch<'a> {
    fn new(fd: &'a impl AsFd) -> Self {
        let fd = fd.as_fd();
        let epolls = MODES.map(|(_, flags)| {
            let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("epoll");
            epoll.add(fd, EpollEvent::new(flags, 0)).expect("a descriptor to wait on");
            epoll
        });
        Self { fd, epolls }
    }

    /// The events that are reported to each of them now.
    fn observe(&self) -> String {
        let mut text = format!("poll {:?}", polled(self.fd));
        for ((name, flags), epoll) in MODES.iter().zip(&self.epolls) {
            let reported = reported(epoll);
            text += &format!(" {name} {reported:?}");
            if flags.contains(EpollFlags::EPOLLONESHOT) && !reported.is_empty() {
                epoll.modify(self.fd, &mut EpollEvent::new(*flags, 0)).expect("it waits again");
            }
        }
        text.replace("PollFlags(", "(")
            .replace("EpollFlags(", "(")
            .replace("EPOLL", "")
            .replace("POLL", "")
    }
}

fn polled(fd: BorrowedFd<'_>) -> PollFlags {
    let asked = PollFlags::POLLIN | PollFlags::POLLOUT | PollFlags::POLLPRI;
    let mut fds = [PollFd::new(fd, asked)];
    poll(&mut fds, PollTimeout::ZERO).expect("poll");
    fds[0].revents().expect("flags that were asked for, and errors")
}

/// Waits until `epoll` reports at least `flags`.
fn until(fd: &impl AsFd, flags: EpollFlags) {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("epoll");
    epoll.add(fd, EpollEvent::new(ALL, 0)).expect("a descriptor to wait on");
    wait::until(format!("{flags:?}"), || reported(&epoll).contains(flags).then_some(()));
}

/// The events that `epoll` reports now.
fn reported(epoll: &Epoll) -> EpollFlags {
    let mut events = [EpollEvent::empty()];
    let n = epoll.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
    events[..n].first().map_or(EpollFlags::empty(), EpollEvent::events)
}

impl<S: Stack> Scene<S> {
    /// Records the events that are reported now.
    fn observe(&mut self, state: &str, watch: &Watch<'_>) {
        self.remark(state, watch.observe());
    }
}

pub(crate) fn readiness__of_data_and_ends<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let watch = Watch::new(&client);
    scene.observe("fresh", &watch);
    scene.write("server writes", &server, b"0123456789");
    until_available(&client, 10);
    scene.observe("ten bytes came", &watch);
    scene.observe("nothing more came", &watch);
    scene.read("client reads", &client, 4);
    scene.observe("six are left", &watch);
    scene.write("server writes", &server, b"more");
    until_available(&client, 10);
    scene.observe("four more came", &watch);
    scene.write("server writes", &server, b"and more");
    until_available(&client, 18);
    scene.observe("eight more came", &watch);
    scene.read("client reads", &client, 100);
    scene.observe("nothing is left", &watch);
    scene.write("server writes", &server, b"x");
    until_available(&client, 1);
    scene.observe("one byte came", &watch);
    scene.note("server ends", server.shutdown(Shutdown::Write));
    until(&client, EpollFlags::EPOLLRDHUP);
    scene.observe("their end came", &watch);
    scene.read("client reads", &client, 100);
    scene.observe("only the end is left", &watch);
    scene.read("client reads the end", &client, 100);
    scene.observe("the end was read", &watch);
    scene.write("client writes", &client, b"answer");
    until_available(&server, 6);
    scene.observe("an answer went", &watch);
    scene.note("client ends", client.shutdown(Shutdown::Write));
    until(&server, EpollFlags::EPOLLRDHUP);
    scene.observe("both ended", &watch);
}

pub(crate) fn readiness__of_ones_own_end<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let watch = Watch::new(&client);
    scene.observe("fresh", &watch);
    scene.note("client ends", client.shutdown(Shutdown::Write));
    until(&server, EpollFlags::EPOLLRDHUP);
    scene.observe("its own end", &watch);
    scene.write("server writes", &server, b"late");
    until_available(&client, 4);
    scene.observe("four bytes came", &watch);
    scene.read("client reads", &client, 100);
    scene.note("server ends", server.shutdown(Shutdown::Write));
    until(&client, EpollFlags::EPOLLHUP);
    scene.observe("theirs, too", &watch);
}

pub(crate) fn readiness__of_an_end_that_reads_no_more<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let (watch, theirs) = (Watch::new(&client), Watch::new(&server));
    scene.observe("fresh", &watch);
    scene.observe("the other end", &theirs);
    scene.note("client reads no more", client.shutdown(Shutdown::Read));
    scene.observe("reads no more", &watch);
    scene.observe("the other end then", &theirs);
    scene.note("client ends, too", client.shutdown(Shutdown::Write));
    scene.observe("ended in both directions", &watch);
    until(&server, EpollFlags::EPOLLRDHUP);
    scene.observe("the other end at last", &theirs);
}

pub(crate) fn readiness__of_a_shutdown_in_both_directions<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let watch = Watch::new(&client);
    scene.observe("fresh", &watch);
    scene.note("client ends in both directions", client.shutdown(Shutdown::Both));
    scene.observe("ended in both directions", &watch);
    until(&server, EpollFlags::EPOLLRDHUP);
    scene.write("server writes", &server, b"unwanted");
    until(&server, EpollFlags::EPOLLERR);
    until(&client, EpollFlags::EPOLLERR);
    scene.observe("refused what came", &watch);
    scene.observe("the other end", &Watch::new(&server));
}

pub(crate) fn readiness__of_a_reset<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let watch = Watch::new(&client);
    scene.observe("fresh", &watch);
    scene.note("server is to reset", server.set_linger(Some(Duration::ZERO)));
    drop(server);
    until(&client, EpollFlags::EPOLLHUP);
    scene.observe("reset", &watch);
    scene.observe("still", &watch);
    scene.read("client reads", &client, 1);
    scene.observe("the error was read", &watch);
    scene.read("client reads again", &client, 1);
    scene.write("client writes", &client, b"x");
    scene.observe("at last", &watch);
}

pub(crate) fn readiness__of_a_reset_with_data_unread<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let watch = Watch::new(&client);
    scene.write("server writes", &server, b"unread");
    until_available(&client, 6);
    scene.observe("six bytes came", &watch);
    scene.note("server is to reset", server.set_linger(Some(Duration::ZERO)));
    drop(server);
    until(&client, EpollFlags::EPOLLHUP);
    scene.observe("reset", &watch);
    scene.note_error("client's error", &client);
    scene.observe("the error was taken", &watch);
}

pub(crate) fn readiness__of_a_peer_that_is_gone<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let watch = Watch::new(&client);
    drop(server);
    until(&client, EpollFlags::EPOLLRDHUP);
    scene.observe("the peer is gone", &watch);
    scene.write("client writes", &client, b"anybody there?");
    until(&client, EpollFlags::EPOLLHUP);
    scene.observe("nobody is", &watch);
    scene.note_error("client's error", &client);
    scene.observe("the error was taken", &watch);
}

/// Writes until a write would block. Data in transit leave room when they have reached the peer,
/// so it tries again.
fn fill_up(stream: &impl Stream) -> usize {
    let (mut written, mut quiet) = (0, 0);
    while quiet < 20 {
        let (_, more) = fill(stream);
        written += more;
        quiet = if more > 0 { 0 } else { quiet + 1 };
        thread::sleep(Duration::from_millis(10));
    }
    written
}

pub(crate) fn readiness__of_full_buffers<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("client does not block", client.set_nonblocking(true));
    let watch = Watch::new(&client);
    let written = fill_up(&client);
    watch.observe();
    scene.observe("full", &watch);
    // If the descriptor has a buffer, that is not the buffer of the stream.
    SockRef::from(&client).set_send_buffer_size(64 * 1024).expect("an option of sockets");
    let more = fill_up(&client);
    watch.observe();
    scene.observe("full after its buffer was set", &watch);
    empty(&server, written + more);
    until(&client, EpollFlags::EPOLLOUT);
    scene.observe("room", &watch);
}

pub(crate) fn readiness__of_a_request<S: Stack>(scene: &mut Scene<S>) {
    let _other = scene.listen();
    let refused = scene.connect_nonblocking(Scene::<S>::fresh_port()).expect("it is asked for");
    let watch = Watch::new(&refused);
    until(&refused, EpollFlags::EPOLLHUP);
    scene.observe("refused", &watch);
    scene.note_error("client's error", &refused);
    scene.observe("the error was taken", &watch);
    let (listener, port) = scene.listen();
    let granted = scene.connect_nonblocking(port).expect("it is asked for");
    let watch = Watch::new(&granted);
    until(&granted, EpollFlags::EPOLLOUT);
    scene.observe("granted", &watch);
    drop(listener);
}

pub(crate) fn readiness__of_a_listener<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    let watch = Watch::new(&listener);
    scene.observe("nobody", &watch);
    // Two requests at the same time: each is a new edge.
    let arrivals = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("epoll");
    let edges = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, 0);
    arrivals.add(&listener, edges).expect("a descriptor to wait on");
    let mut all = Vec::new();
    for state in ["one waits", "two wait"] {
        all.push(scene.connect(port));
        let mut events = [EpollEvent::empty()];
        let patience = EpollTimeout::try_from(TIMEOUT).expect("in range");
        let n = arrivals.wait(&mut events, patience).expect("epoll");
        scene.remark("arrivals", n);
        scene.observe(state, &watch);
    }
    scene.note("server accepts", listener.accept().map(drop));
    scene.observe("one is accepted", &watch);
    scene.note("server accepts", listener.accept().map(drop));
    scene.observe("nobody waits", &watch);
    all.push(scene.connect(port));
    until(&listener, EpollFlags::EPOLLIN);
    scene.observe("another one waits", &watch);
    scene.note("server accepts", listener.accept().map(drop));
}
