//! Forks of this process. A child does nothing but what is checked, and ends by `_exit`.

use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

use super::{CloseOnFork, PerProcess, generation};

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not within ten seconds.
fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("{what}: not within 10 s");
}

/// Whether `claim` holds in a child of this process.
///
/// # Panics
/// If it is stuck.
fn holds_in_child(claim: impl FnOnce() -> bool) -> bool {
    // SAFETY: the claims below allocate, lock what is theirs and make system calls; the allocator
    // of glibc may be used in a child of a process with threads.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let code = i32::from(!claim());
            // SAFETY: it ends this process, and none of its destructors run.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => {
            let mut status = WaitStatus::StillAlive;
            let flags = Some(WaitPidFlag::WNOHANG);
            wait_until("the child ends", || {
                status = waitpid(child, flags).unwrap();
                status != WaitStatus::StillAlive
            });
            status == WaitStatus::Exited(child, 0)
        }
    }
}

#[test]
fn generation__counts_forks() {
    let ours = generation();
    assert!(holds_in_child(
        || generation() == ours + 1 && holds_in_child(|| generation() == ours + 2)
    ));
    assert_eq!(generation(), ours);
}

#[test]
fn per_process__a_child_does_not_wait_for_a_lock_of_its_parent() {
    static LOCKED: PerProcess<Mutex<u32>> = PerProcess::new(|| Mutex::new(7));
    let mut held = LOCKED.get().lock().unwrap();
    *held = 8;
    assert!(holds_in_child(|| *LOCKED.get().lock().unwrap() == 7));
    drop(held);
    assert_eq!(*LOCKED.get().lock().unwrap(), 8);
}

#[test]
fn close_on_fork__closes_in_the_child_and_nowhere_else() {
    let pairs: Vec<_> = (0..3)
        .map(|_| UnixStream::pair().map(|(a, b)| (CloseOnFork::new(a), b)).unwrap())
        .collect();
    let (kept, other) = UnixStream::pair().unwrap();
    assert!(holds_in_child(|| {
        let is_socket = |fd: &UnixStream| fd.local_addr().is_ok();
        let closed = pairs.iter().all(|(ours, peer)| !is_socket(ours) && is_socket(peer));
        // Expect: the numbers are taken, and close with the next program.
        let taken = pairs.iter().all(|(ours, _)| {
            fcntl(ours.as_fd(), FcntlArg::F_GETFD).is_ok_and(|flags| flags == libc::FD_CLOEXEC)
        });
        closed && taken && is_socket(&kept)
    }));
    for (ours, peer) in &pairs {
        ours.shutdown(Shutdown::Both).unwrap();
        assert!(peer.peer_addr().is_ok());
    }
    drop(other);
}

#[test]
fn close_on_fork__leaves_the_number_to_its_next_owner() {
    let (ours, other) = UnixStream::pair().unwrap();
    let number = ours.as_raw_fd();
    drop(CloseOnFork::new(ours));
    // The number itself, or the next one that is free: other tests open descriptors, too.
    let next = fcntl(&other, FcntlArg::F_DUPFD_CLOEXEC(number)).unwrap();
    // SAFETY: it was made above, for nothing else.
    let next = unsafe { UnixStream::from_raw_fd(next) };
    assert!(holds_in_child(|| next.local_addr().is_ok()));
}
