use std::sync::{Arc, mpsc};
use std::{fs, thread};

use parking_lot::lock_api::{Mutex, MutexGuard};

use super::{Baton, LockClass, lock_as};
use crate::sys::baton::MAX_SHORT_HOLDS;

/// No other thread comes in between: what is read is what is written, by many threads at once.
#[test]
fn lock__is_for_one_at_a_time() {
    const ROUNDS: u32 = 20_000;
    let count = Arc::new(Mutex::<Baton, u32>::new(0));
    let add = |lock_class: LockClass, fair: bool| {
        let count = count.clone();
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                let mut held = lock_as(&count, lock_class);
                let before = *held;
                thread::yield_now();
                *held = before + 1;
                if fair {
                    MutexGuard::bump(&mut held);
                    *held += 1;
                }
            }
        })
    };
    let brief = [false, true].map(|fair| add(LockClass::Short, fair));
    let bulk = [false, true].map(|fair| add(LockClass::Long, fair));
    brief.into_iter().chain(bulk).for_each(|t| t.join().unwrap());
    assert_eq!(*count.lock(), ROUNDS * 6);
}

/// A thread that waits for the lock, and is asleep by now. Holds the lock for what `having` does.
fn sleeper<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    mutex: &'scope Mutex<Baton, ()>,
    lock_class: LockClass,
    mut having: impl FnMut() + Send + 'scope,
) {
    let (sender, tid) = mpsc::channel();
    scope.spawn(move || {
        sender.send(nix::unistd::gettid()).unwrap();
        let _held = lock_as(mutex, lock_class);
        having();
    });
    // The number of the system call it is in, and its arguments.
    let syscall = format!("/proc/self/task/{}/syscall", tid.recv().unwrap());
    let futex = format!("{} ", libc::SYS_futex);
    while !fs::read_to_string(&syscall).unwrap().starts_with(&futex) {
        thread::yield_now();
    }
}

/// A thread that sleeps for it has it next, however soon the one that had it wants it again.
#[test]
fn unlock__keeps_it_for_a_thread_that_sleeps() {
    for lock_class in [LockClass::Short, LockClass::Long] {
        let (mutex, (done, end)) = (Mutex::<Baton, ()>::new(()), mpsc::channel::<()>());
        thread::scope(|scope| {
            let held = mutex.lock();
            sleeper(scope, &mutex, lock_class, move || end.iter().for_each(drop));
            drop(held);
            assert!(mutex.try_lock().is_none(), "{lock_class:?}");
            drop(done);
        });
    }
}

/// A thread that wants it for long and came first lets sixteen others pass, and no more.
#[test]
fn unlock__brief_errands_come_first_for_a_while() {
    let (mutex, order) = (Mutex::<Baton, ()>::new(()), Mutex::<Baton, Vec<LockClass>>::default());
    thread::scope(|scope| {
        let (held, order) = (mutex.lock(), &order);
        let wanted =
            [LockClass::Long].into_iter().chain([LockClass::Short; MAX_SHORT_HOLDS as usize + 3]);
        for lock_class in wanted {
            sleeper(scope, &mutex, lock_class, move || order.lock().push(lock_class));
        }
        drop(held);
    });
    let order = order.into_inner();
    let bulk = order.iter().position(|lock_class| *lock_class == LockClass::Long);
    assert_eq!(bulk, Some(MAX_SHORT_HOLDS as usize), "{order:?}");
}
