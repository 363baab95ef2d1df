use std::io::{ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::atomic::{AtomicU32, Ordering};

use prp_proto::addr::Port;

use super::*;
use crate::steering::message::{Reply, Request};

/// An office that serves `whom`, and where it is found.
fn office(whom: Whom) -> (Office, SocketAddr) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("prp-office-{}-{number}", std::process::id());
    let address = SocketAddr::from_abstract_name(name).expect("a name");
    let listener = UnixListener::bind_addr(&address).expect("a free name");
    (Office::open(&listener, Vec::new(), 0x88b5, whom).expect("descriptors"), address)
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn send(link: &UnixStream, number: u32, request: &Request, fds: usize) {
    let fds = vec![link.as_fd(); fds];
    rights::send(link.as_fd(), &request.encode(number), &fds).expect("room");
}

/// What the office has said.
fn heard(link: &UnixStream) -> Option<(u32, Reply)> {
    let mut buffer = [0; 64];
    let (n, _) = rights::receive(link.as_fd(), &mut buffer).ok()?;
    Reply::take(&mut buffer[..n].to_vec())
}

const PLENTY: Whom = Whom::Everybody { descriptors: 10_000 };

#[test]
fn work__answers_who_greets_and_forgets_who_ends() {
    for whom in [Whom::OwnUser, PLENTY] {
        let (mut office, address) = office(whom);
        let link = UnixStream::connect_addr(&address).expect("it listens");
        send(&link, 7, &Request::Hello, 0);
        assert_eq!(office.work(at(0)), None);
        assert_eq!(heard(&link), Some((7, Reply::Steered)));
        assert_eq!(office.fds().count(), 2);
        drop(link);
        office.work(at(1));
        assert_eq!((office.fds().count(), office.desks.len()), (1, 0));
    }
}

#[test]
fn work__without_descriptors_processes_stay_by_themselves() {
    let join = Request::Join(vec![Port::new(80)]);
    // Room for one process of a user with two sockets, and not for a second one.
    let (mut office, address) = office(Whom::Everybody { descriptors: rights::MAX_FDS + 6 });
    let links = [(); 2].map(|()| UnixStream::connect_addr(&address).expect("it listens"));
    send(&links[0], 1, &join, 2);
    office.work(at(0));
    assert_eq!(heard(&links[0]), Some((1, Reply::Steered)));
    send(&links[1], 1, &join, 2);
    office.work(at(1));
    assert_eq!(heard(&links[1]), Some((1, Reply::Withdraw)));
    // When the first one has left there is room again.
    send(&links[0], 2, &Request::Leave(false), 0);
    office.work(at(2));
    send(&links[1], 2, &join, 2);
    office.work(at(3));
    assert_eq!(heard(&links[1]), Some((2, Reply::Steered)));
}

#[test]
fn work__who_asks_at_once_gets_no_more_than_who_asks_in_turn() {
    let descriptors = rights::MAX_FDS + 6;
    let join = Request::Join(vec![Port::new(80)]);
    // As sockets to join with, and without a message they belong to.
    for (request, fds, second) in
        [(join, 2, Reply::Withdraw), (Request::Hello, rights::MAX_FDS, Reply::Steered)]
    {
        let (mut office, address) = office(Whom::Everybody { descriptors });
        let links = [(); 2].map(|()| UnixStream::connect_addr(&address).expect("it listens"));
        links.iter().for_each(|link| send(link, 1, &request, fds));
        office.work(at(0));
        assert_eq!(heard(&links[0]), Some((1, Reply::Steered)));
        assert_eq!(heard(&links[1]), Some((1, second)));
        let held: usize = office.desks.values().map(Desk::held).sum();
        assert_eq!(held, 2 + fds);
    }
}

#[test]
fn work__without_descriptors_nobody_is_taken_for_a_while() {
    let (mut office, address) = office(Whom::Everybody { descriptors: rights::MAX_FDS - 1 });
    let link = UnixStream::connect_addr(&address).expect("the kernel takes it");
    send(&link, 1, &Request::Hello, 0);
    assert_eq!(office.work(at(0)), Some(at(0) + PAUSE));
    assert_eq!((heard(&link), office.fds().count()), (None, 0));
    office.whom = PLENTY;
    office.work(at(0) + PAUSE);
    assert_eq!(heard(&link), Some((1, Reply::Steered)));
}

#[test]
fn work__descriptors_without_a_message_for_them_are_few() {
    let (mut office, address) = office(PLENTY);
    let link = UnixStream::connect_addr(&address).expect("it listens");
    for number in 0..10 {
        send(&link, number, &Request::Hello, rights::MAX_FDS);
        office.work(at(0));
    }
    let held: usize = office.desks.values().map(Desk::held).sum();
    assert_eq!(held, 1 + rights::MAX_FDS);
}

#[test]
fn work__who_talks_nonsense_for_ever_is_sent_away() {
    let (mut office, address) = office(PLENTY);
    let mut link = UnixStream::connect_addr(&address).expect("it listens");
    link.set_nonblocking(true).expect("a socket");
    // Heads of no message there is.
    let nonsense = [0; 4096];
    let mut sent = 0;
    let end = loop {
        match link.write(&nonsense) {
            Ok(n) => sent += n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => drop(office.work(at(0))),
            Err(e) => break e.kind(),
        }
        assert!(sent < 16 << 20, "it takes everything");
    };
    assert!(matches!(end, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{end}");
}

#[test]
fn work__so_many_of_one_user_are_served() {
    let (mut office, address) = office(PLENTY);
    let connect = |_| UnixStream::connect_addr(&address).expect("it listens");
    let links: Vec<_> = (0..=MAX_OF_USER).map(connect).collect();
    office.work(at(0));
    for link in [&links[0], &links[MAX_OF_USER - 1], &links[MAX_OF_USER]] {
        send(link, 1, &Request::Hello, 0);
    }
    office.work(at(1));
    assert!(heard(&links[0]).is_some() && heard(&links[MAX_OF_USER - 1]).is_some());
    assert_eq!(heard(&links[MAX_OF_USER]), None, "it stays by itself");
}
