//! Every state of a descriptor, as `epoll` shows it.

use std::io::Read;
use std::os::fd::AsFd;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use socket2::SockRef;

use super::{ReadinessFd, ShownReadiness};

fn epoll(fd: &ReadinessFd, flags: EpollFlags) -> Epoll {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).unwrap();
    epoll.add(fd.theirs.as_fd(), EpollEvent::new(flags, 0)).unwrap();
    epoll
}

/// What `epoll` has to tell now.
fn events(epoll: &Epoll) -> EpollFlags {
    let mut events = [EpollEvent::empty()];
    let n = epoll.wait(&mut events, EpollTimeout::ZERO).unwrap();
    events[..n].first().map_or(EpollFlags::empty(), EpollEvent::events)
}

fn asked() -> EpollFlags {
    EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP
}

fn shown(fd: &ReadinessFd) -> ShownReadiness {
    let got = events(&epoll(fd, asked()));
    ShownReadiness {
        readable: got.contains(EpollFlags::EPOLLIN),
        writable: got.contains(EpollFlags::EPOLLOUT),
        ended: got.contains(EpollFlags::EPOLLRDHUP),
        over: got.contains(EpollFlags::EPOLLHUP),
        failed: got.contains(EpollFlags::EPOLLERR),
    }
}

#[test]
fn show__every_combination_in_every_order() {
    let mut fd = ReadinessFd::new().unwrap();
    for step in 0..200u32 {
        // A walk that takes every transition between the four states.
        let (readable, writable) = (step / 2 % 2 == 0, step / 3 % 2 == 0);
        let want = ShownReadiness { readable, writable, ..ShownReadiness::default() };
        fd.show(want);
        assert_eq!(shown(&fd), want, "step {step}");
    }
    // Expect: the end of the stream shows as such, and stays readable.
    let ended = ShownReadiness { writable: true, ended: true, ..ShownReadiness::default() };
    fd.show(ended);
    assert_eq!(shown(&fd), ShownReadiness { readable: true, ..ended });
    assert_eq!((&*fd.theirs).read(&mut [0; 8]).unwrap(), 0);
    // Expect: the end of the connection shows as a hang-up besides.
    let over = ShownReadiness { readable: true, over: true, ..ended };
    fd.show(over);
    assert_eq!(shown(&fd), over);
}

/// In whatever state a stream fails: the error is shown until the application takes it.
#[test]
fn show__an_error_from_every_state() {
    for bits in 0..16u32 {
        let [readable, writable, ended, over] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let mut fd = ReadinessFd::new().unwrap();
        fd.show(ShownReadiness { readable, writable, ended, over, failed: false });
        let failed = ShownReadiness {
            readable: true,
            writable: true,
            ended: true,
            over: true,
            failed: true,
        };
        let edges = epoll(&fd, asked() | EpollFlags::EPOLLET);
        events(&edges);
        fd.show(failed);
        assert_eq!(shown(&fd), failed, "after {bits:04b}");
        assert!(events(&edges).contains(EpollFlags::EPOLLERR), "no edge after {bits:04b}");
        fd.show(failed);
        assert_eq!(shown(&fd), failed);
        let unfailed = ShownReadiness { failed: false, ..failed };
        fd.show(unfailed);
        assert_eq!(shown(&fd), unfailed);
    }
}

#[test]
fn renew__is_an_edge_each_time_and_no_change() {
    let mut fd = ReadinessFd::new().unwrap();
    let ready = ShownReadiness { readable: true, writable: true, ..ShownReadiness::default() };
    fd.show(ready);
    let edges = epoll(&fd, asked() | EpollFlags::EPOLLET);
    assert!(!events(&edges).is_empty());
    // More often than a send buffer has room for bytes.
    for _ in 0..10_000 {
        assert!(events(&edges).is_empty());
        fd.renew();
        assert_eq!(events(&edges), EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT);
    }
    let nothing = ShownReadiness { writable: true, ..ShownReadiness::default() };
    fd.show(nothing);
    assert_eq!(shown(&fd), nothing);
    fd.renew();
    assert_eq!(shown(&fd), nothing);
}

#[test]
fn insist__undoes_a_larger_send_buffer() {
    let mut fd = ReadinessFd::new().unwrap();
    let full = ShownReadiness::default();
    fd.show(full);
    SockRef::from(&*fd.theirs).set_send_buffer_size(100_000).unwrap();
    assert_ne!(shown(&fd), full);
    fd.show_not_writable();
    assert_eq!(shown(&fd), full);
}
