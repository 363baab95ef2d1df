//! The engine's lock under every interleaving: `sys/baton.rs` as it is, compiled against loom's
//! atomics and a model of the futex. A lock that no thread is given leaves all asleep, and loom
//! reports that as a deadlock; one that two have at once, as a wrong count.
#![allow(non_snake_case, reason = "tests are named function__case")]

#[path = "../src/sys/baton.rs"]
mod baton;

/// A futex as the kernel has it: comparing and going to sleep are one step, under a lock that
/// waking takes too; the thread that has slept longest is woken first.
mod futex {
    use std::fmt;
    use std::sync::OnceLock;
    use std::sync::atomic::Ordering;

    pub(crate) use loom::hint::spin_loop;
    use loom::sync::atomic::AtomicU32;
    use loom::sync::{Arc, Condvar, Mutex};

    pub(crate) const ANYBODY: u32 = u32::MAX;

    /// An atomic that can be made in a constant: loom's own are made by a model that runs, when
    /// this one is first used or printed.
    pub(crate) struct Word {
        first: u32,
        word: OnceLock<AtomicU32>,
    }

    impl Word {
        pub(crate) const fn new(first: u32) -> Self {
            Self { first, word: OnceLock::new() }
        }

        fn word(&self) -> &AtomicU32 {
            self.word.get_or_init(|| AtomicU32::new(self.first))
        }

        /// The newest value, since an older one only has a thread load it again, and there are many
        /// of them. By an exchange, as all that is done to a word: loom orders those among each
        /// other, but not those and plain stores.
        pub(crate) fn load(&self, order: Ordering) -> u32 {
            self.word().fetch_add(0, order)
        }

        pub(crate) fn store(&self, value: u32, order: Ordering) {
            self.word().swap(value, order);
        }

        pub(crate) fn fetch_add(&self, n: u32, order: Ordering) -> u32 {
            self.word().fetch_add(n, order)
        }

        pub(crate) fn fetch_sub(&self, n: u32, order: Ordering) -> u32 {
            self.word().fetch_sub(n, order)
        }

        pub(crate) fn compare_exchange(
            &self,
            from: u32,
            to: u32,
            success: Ordering,
            failure: Ordering,
        ) -> Result<u32, u32> {
            self.word().compare_exchange(from, to, success, failure)
        }
    }

    impl fmt::Debug for Word {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.word().fmt(f)
        }
    }

    loom::lazy_static! {
        /// The threads that sleep, and as what: of one lock at a time.
        static ref SLEEPERS: Mutex<Vec<(u32, Arc<Condvar>)>> = Mutex::new(Vec::new());
    }

    pub(crate) fn wait_among(word: &Word, expected: u32, bits: u32) {
        let mut sleepers = SLEEPERS.lock().unwrap();
        if word.load(Ordering::AcqRel) != expected {
            drop(sleepers);
            // What others have written is seen some time.
            spin_loop();
            return;
        }
        let me = Arc::new(Condvar::new());
        sleepers.push((bits, me.clone()));
        while sleepers.iter().any(|(_, other)| Arc::ptr_eq(other, &me)) {
            sleepers = me.wait(sleepers).unwrap();
        }
    }

    pub(crate) fn wake(word: &Word) -> bool {
        wake_among(word, ANYBODY)
    }

    pub(crate) fn wake_among(_: &Word, bits: u32) -> bool {
        let mut sleepers = SLEEPERS.lock().unwrap();
        let first = sleepers.iter().position(|(known_by, _)| known_by & bits != 0);
        let Some(first) = first else { return false };
        sleepers.remove(first).1.notify_one();
        true
    }
}

use baton::{Baton, LockClass};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

/// Tries every interleaving with at most `PREEMPTIONS` switches away from a thread that could go
/// on: the bugs that need more are rare, and each more takes thirty times as long.
fn model(run: impl Fn() + Send + Sync + 'static) {
    const PREEMPTIONS: usize = 3;
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(run);
}

/// Counts one by reading and writing, which is only right with the lock: what is read may be as old
/// as it can be without what a lock orders.
fn count_one(count: &AtomicU32) {
    let before = count.load(Ordering::Relaxed);
    count.store(before + 1, Ordering::Relaxed);
}

/// Threads of these lock classes, and this one of the short one, each have the lock once; `more` is
/// done with it held.
fn each_has_it_once(lock_classes: &[LockClass], more: fn(&Baton)) {
    let shared = Arc::new((Baton::new(), AtomicU32::new(0)));
    // Makes all of its words while there is one thread.
    let _ = format!("{:?}", shared.0);
    let use_it = move |lock_class: LockClass, (baton, count): &(Baton, AtomicU32)| {
        baton.lock(lock_class);
        count_one(count);
        more(baton);
        count_one(count);
        baton.unlock();
    };
    let one = |lock_class: &LockClass| {
        let (shared, lock_class) = (shared.clone(), *lock_class);
        thread::spawn(move || use_it(lock_class, &shared))
    };
    let threads: Vec<_> = lock_classes.iter().map(one).collect();
    use_it(LockClass::Short, &shared);
    threads.into_iter().for_each(|t| t.join().unwrap());
    let (baton, count) = &*shared;
    assert_eq!(count.load(Ordering::Relaxed), 2 * (lock_classes.len() as u32 + 1));
    assert!(!baton.is_locked() && baton.try_lock(), "it is free in the end");
}

#[test]
fn lock__is_had_by_one_at_a_time_and_by_all_in_the_end() {
    for lock_classes in
        [[LockClass::Short; 2], [LockClass::Long; 2], [LockClass::Long, LockClass::Short]]
    {
        model(move || each_has_it_once(&lock_classes, |_| {}));
    }
}

/// As the engine does between two iterations: a thread that waits comes in between.
#[test]
fn lock__is_let_go_and_taken_again_where_a_thread_waits() {
    let bump = |baton: &Baton| {
        if baton.is_wanted() {
            baton.unlock();
            baton.lock(LockClass::Short);
        }
    };
    for lock_classes in [[LockClass::Short; 2], [LockClass::Long, LockClass::Short]] {
        model(move || each_has_it_once(&lock_classes, bump));
    }
}

/// A thread that only tests whether the lock is free does not have it at the same time as another,
/// and keeps it from none in the end.
#[test]
fn try_lock_soon__is_had_alone_or_not_at_all() {
    let try_it = |baton: &Baton, count: &AtomicU32| {
        let had = baton.try_lock_soon();
        if had {
            count_one(count);
            baton.unlock();
        }
        u32::from(had)
    };
    model(move || {
        let shared = Arc::new((Baton::new(), AtomicU32::new(0)));
        let _ = format!("{:?}", shared.0);
        let others = [LockClass::Short, LockClass::Long].map(|lock_class| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.lock(lock_class);
                count_one(&shared.1);
                shared.0.unlock();
            })
        });
        let had = try_it(&shared.0, &shared.1);
        others.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(shared.1.load(Ordering::Relaxed), 2 + had);
        assert_eq!(try_it(&shared.0, &shared.1), 1, "it is free in the end");
    });
}
