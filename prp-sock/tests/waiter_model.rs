//! The place where threads sleep, under every interleaving: `engine/waiter.rs` as it is, compiled
//! against loom's atomics and models of the futex and the wake. A call that wakes no thread leaves
//! all asleep, and loom reports that as a deadlock.
#![allow(non_snake_case, reason = "tests are named function__case")]
#![allow(dead_code, reason = "the models do not use all of the file")]

#[path = "../src/engine/waiter.rs"]
mod waiter;

/// What wakes from `poll`: a descriptor that is readable from the first wake until it is cleared.
mod wake_fd {
    use std::os::fd::{AsFd, BorrowedFd};

    use loom::sync::{Condvar, Mutex};

    #[derive(Debug)]
    pub(crate) struct WakeFd {
        woken: Mutex<bool>,
        polling: Condvar,
    }

    impl WakeFd {
        pub(crate) fn new() -> Self {
            Self { woken: Mutex::new(false), polling: Condvar::new() }
        }

        pub(crate) fn wake(&self) {
            *self.woken.lock().unwrap() = true;
            self.polling.notify_all();
        }

        pub(crate) fn clear(&self) {
            *self.woken.lock().unwrap() = false;
        }

        /// `poll` without a timeout.
        pub(crate) fn poll(&self) {
            let mut woken = self.woken.lock().unwrap();
            while !*woken {
                woken = self.polling.wait(woken).unwrap();
            }
        }

        /// `poll` that something else has ended; whether it shows the wake as well.
        pub(crate) fn is_readable(&self) -> bool {
            *self.woken.lock().unwrap()
        }
    }

    impl AsFd for WakeFd {
        fn as_fd(&self) -> BorrowedFd<'_> {
            unreachable!("the models poll by `WakeFd::poll`")
        }
    }
}

mod sys {
    /// A futex as the kernel has it: comparing and going to sleep are one step, under a lock that
    /// waking takes too.
    pub(crate) mod futex {
        use std::io;
        use std::time::Duration;

        pub(crate) use loom::sync::atomic::AtomicU32 as Word;
        use loom::sync::atomic::Ordering;
        use loom::sync::{Condvar, Mutex};

        loom::lazy_static! {
            static ref BUCKET: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
        }

        pub(crate) fn wait(
            word: &Word,
            expected: u32,
            timeout: Option<Duration>,
        ) -> io::Result<()> {
            let (bucket, sleepers) = &*BUCKET;
            let locked = bucket.lock().unwrap();
            // A timeout ends the sleep at once: ending it later is like none.
            if word.load(Ordering::SeqCst) == expected && timeout.is_none() {
                drop(sleepers.wait(locked).unwrap());
            }
            Ok(())
        }

        pub(crate) fn wake(_: &Word) {
            let (bucket, sleepers) = &*BUCKET;
            let _locked = bucket.lock().unwrap();
            sleepers.notify_all();
        }
    }
}

use std::sync::Arc;
use std::time::Duration;

use loom::sync::Mutex;
use loom::thread;
use waiter::Waiter;
use wake_fd::WakeFd;

/// Tries every interleaving with at most `PREEMPTIONS` switches away from a thread that could go
/// on: the bugs that need more are rare, and all interleavings of three threads take minutes.
fn model(run: impl Fn() + Send + Sync + 'static) {
    const PREEMPTIONS: usize = 3;
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(run);
}

/// Changes what a thread waits for, under the lock, and then calls it.
fn change_and_wake(core: &Mutex<u32>, waiter: &Arc<Waiter>) {
    *core.lock().unwrap() += 1;
    waiter.waker().wake();
}

/// Starts `n` threads that each change something and wake `waiter`.
fn wakers(n: u32, core: &Arc<Mutex<u32>>, waiter: &Arc<Waiter>) -> Vec<thread::JoinHandle<()>> {
    (0..n)
        .map(|_| {
            let (core, waiter) = (core.clone(), waiter.clone());
            thread::spawn(move || change_and_wake(&core, &waiter))
        })
        .collect()
}

/// Sleeps as a leader does, until `core` is `wanted`; how often it slept.
fn drive_until(core: &Mutex<u32>, waiter: &Waiter, wake_fd: &WakeFd, wanted: u32) -> u32 {
    let mut sleeps = 0;
    loop {
        waiter.take_call();
        if *core.lock().unwrap() >= wanted {
            return sleeps;
        }
        if !waiter.begin_poll() {
            sleeps += 1;
            wake_fd.poll();
            waiter.end_poll(true);
        }
    }
}

#[test]
fn park__two_calls_are_both_noticed() {
    model(|| {
        let (core, waiter) = (Arc::new(Mutex::new(0)), Waiter::new(Arc::new(WakeFd::new())));
        let threads = wakers(2, &core, &waiter);
        while *core.lock().unwrap() < 2 {
            waiter.park(None).unwrap();
        }
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
}

#[test]
fn park__a_timeout_leaves_the_next_sleep_in_order() {
    model(|| {
        let (core, waiter) = (Arc::new(Mutex::new(0)), Waiter::new(Arc::new(WakeFd::new())));
        let threads = wakers(2, &core, &waiter);
        waiter.park(Some(Duration::ZERO)).unwrap();
        while *core.lock().unwrap() < 2 {
            waiter.park(None).unwrap();
        }
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
}

#[test]
fn poll__two_calls_are_both_noticed() {
    model(|| {
        let wake_fd = Arc::new(WakeFd::new());
        let (core, waiter) = (Arc::new(Mutex::new(0)), Waiter::new(wake_fd.clone()));
        let threads = wakers(2, &core, &waiter);
        drive_until(&core, &waiter, &wake_fd, 2);
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
}

/// A frame ends the `poll` while a call is in transit. The wake may come later: it may end one more
/// sleep, and no more than one.
#[test]
fn poll__a_late_wake_ends_one_sleep_and_not_all() {
    model(|| {
        let wake_fd = Arc::new(WakeFd::new());
        let (core, waiter) = (Arc::new(Mutex::new(0)), Waiter::new(wake_fd.clone()));
        let threads = wakers(1, &core, &waiter);
        if !waiter.begin_poll() {
            waiter.end_poll(wake_fd.is_readable());
        }
        drive_until(&core, &waiter, &wake_fd, 1);
        threads.into_iter().for_each(|t| t.join().unwrap());
        // Everything is told. How often would `poll` come back now?
        waiter.take_call();
        let mut spurious = 0;
        while wake_fd.is_readable() {
            spurious += 1;
            assert!(spurious <= 1, "sleeping has become impossible");
            assert!(!waiter.begin_poll(), "nobody calls any more");
            waiter.end_poll(true);
        }
    });
}

/// A leader leaves and another one takes its place, with the same wake_fd: a call for the first
/// must not eat the second one's, however late it comes.
#[test]
fn poll__drivers_that_follow_each_other_share_a_wake_fd() {
    model(|| {
        let wake_fd = Arc::new(WakeFd::new());
        let (first, second) = (Waiter::new(wake_fd.clone()), Waiter::new(wake_fd.clone()));
        let (old, new) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let late = wakers(1, &old, &first);
        // The first leader's own condition has come to hold with a frame.
        if !first.begin_poll() {
            first.end_poll(wake_fd.is_readable());
        }
        let mine = wakers(1, &new, &second);
        let sleeps = drive_until(&new, &second, &wake_fd, 1);
        assert!(sleeps <= 2, "{sleeps} sleeps for two calls");
        late.into_iter().chain(mine).for_each(|t| t.join().unwrap());
    });
}

/// The same thread parks, as a follower, and polls, as a leader: a call may come at any point
/// between.
#[test]
fn park__then_poll() {
    model(|| {
        let wake_fd = Arc::new(WakeFd::new());
        let (core, waiter) = (Arc::new(Mutex::new(0)), Waiter::new(wake_fd.clone()));
        let threads = wakers(2, &core, &waiter);
        while *core.lock().unwrap() < 1 {
            waiter.park(None).unwrap();
        }
        drive_until(&core, &waiter, &wake_fd, 2);
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
}
