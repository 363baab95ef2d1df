use std::thread;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::*;

struct Side {
    end: SharedEnd,
    bell: Bell,
}

/// Both ends, with the bell of each.
fn pair() -> (Side, Side) {
    let memory = SharedEnd::memory(2).unwrap();
    let (a, b) = (Bell::new().unwrap(), Bell::new().unwrap());
    let copy = |bell: &Bell| bell.as_fd().try_clone_to_owned().unwrap();
    let first = SharedEnd::new(memory.try_clone().unwrap(), true, copy(&b)).unwrap();
    let second = SharedEnd::new(memory, false, copy(&a)).unwrap();
    (Side { end: first, bell: a }, Side { end: second, bell: b })
}

fn is_rung(bell: &Bell, patience: impl Into<PollTimeout>) -> bool {
    let mut fds = [PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, patience).unwrap() > 0
}

#[test]
fn write__what_one_end_writes_the_other_reads() {
    let (a, b) = pair();
    for (from, to) in [(&a.end, &b.end), (&b.end, &a.end)] {
        let n = from.write(&[IoSlice::new(b"head"), IoSlice::new(&[]), IoSlice::new(b"data")]);
        assert_eq!(n.unwrap(), 8);
        let mut got = [0; 20];
        assert_eq!(to.read(&mut got).unwrap(), 8);
        assert_eq!(&got[..8], b"headdata");
        assert_eq!(to.read(&mut got).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}

#[test]
fn write__stops_when_the_ring_is_full() {
    let (a, b) = pair();
    let much = vec![7; 3 * LARGEST];
    assert_eq!(a.end.write(&[IoSlice::new(&much)]).unwrap(), LARGEST);
    let again = a.end.write(&[IoSlice::new(&much)]);
    assert_eq!(again.unwrap_err().kind(), io::ErrorKind::WouldBlock);
    b.end.read(&mut [0; 1]).unwrap();
    assert_eq!(a.end.write(&[IoSlice::new(&much)]).unwrap(), 1);
}

/// Two threads that sleep by their bells whenever there is nothing to do: no wake-up is lost, and
/// the bytes come in order, around the end of the ring many times.
#[test]
fn begin_sleep__no_wake_up_is_lost() {
    const BYTES: usize = 20 << 20;
    let (a, b) = pair();
    let sleep = |side: &Side, reads: bool, writes: bool| {
        if !side.end.begin_sleep(reads, writes) {
            assert!(is_rung(&side.bell, 20_000_u16), "slept for 20 s");
            side.bell.was_rung();
        }
        side.end.end_sleep();
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut sent = 0;
            while sent < BYTES {
                let len = (sent % 70_000 + 1).min(BYTES - sent);
                let bytes: Vec<u8> = (sent..sent + len).map(|i| (i % 251) as u8).collect();
                match a.end.write(&[IoSlice::new(&bytes)]) {
                    Ok(n) => sent += n,
                    Err(_) => sleep(&a, false, true),
                }
            }
        });
        let (mut got, mut piece) = (0, vec![0; 50_000]);
        while got < BYTES {
            match b.end.read(&mut piece) {
                Ok(n) => {
                    assert!((0..n).all(|i| piece[i] == ((got + i) % 251) as u8), "at {got}");
                    got += n;
                }
                Err(_) => sleep(&b, true, false),
            }
        }
    });
}

#[test]
fn begin_sleep__a_rank_that_is_awake_is_not_woken() {
    let (a, b) = pair();
    a.end.write(&[IoSlice::new(b"x")]).unwrap();
    assert!(!is_rung(&b.bell, 0_u16));
    assert!(b.end.begin_sleep(true, false), "there is something to read");
    b.end.read(&mut [0]).unwrap();
    assert!(!b.end.begin_sleep(true, false));
    a.end.write(&[IoSlice::new(b"x")]).unwrap();
    assert!(is_rung(&b.bell, 20_000_u16));
    b.bell.was_rung();
    assert!(!is_rung(&b.bell, 0_u16));
}

#[test]
fn read__positions_that_make_no_sense_are_an_error() {
    let (a, b) = pair();
    a.end.positions(0).written.0.store(u64::MAX, Ordering::Release);
    assert_eq!(b.end.read(&mut [0; 9]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    assert_eq!(a.end.write(&[IoSlice::new(b"x")]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    assert!(b.end.begin_sleep(true, false), "it must look, and find the error");
    let memory = memfd_create(c"other", MFdFlags::MFD_CLOEXEC).unwrap();
    let bell = Bell::new().unwrap().as_fd().try_clone_to_owned().unwrap();
    assert!(SharedEnd::new(memory, false, bell).is_err());
}

#[test]
fn ring_bytes__many_ranks_have_small_rings() {
    assert_eq!(ring_bytes(2), LARGEST);
    assert_eq!(ring_bytes(32), LARGEST);
    assert_eq!(ring_bytes(64), 64 << 10);
    assert_eq!(ring_bytes(1000), SMALLEST);
}
