use std::sync::{Arc, Barrier};
use std::thread;

use parking_lot::lock_api::{Mutex, RawMutex};

use super::{Baton, WANTED, Word, futex};

/// Nobody else comes in between: what is read is what is written, by many threads at once.
#[test]
fn lock__is_for_one_at_a_time() {
    const ROUNDS: u32 = 20_000;
    let count = Arc::new(Mutex::<Baton, u32>::new(0));
    let add = |fair: bool| {
        let count = count.clone();
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                let mut held = count.lock();
                let before = *held;
                thread::yield_now();
                *held = before + 1;
                if fair {
                    parking_lot::lock_api::MutexGuard::bump(&mut held);
                    *held += 1;
                }
            }
        })
    };
    let threads = [add(false), add(true), add(false), add(true)];
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*count.lock(), ROUNDS * 6);
}

/// Who sleeps for it has it next, however soon the one who had it wants it again.
#[test]
fn unlock__keeps_it_for_who_sleeps() {
    let kept = (0..1_000).any(|_| {
        let (baton, sleeps) = (Baton(Word::new(WANTED)), Barrier::new(2));
        thread::scope(|scope| {
            // Wakes up and takes nothing.
            scope.spawn(|| {
                sleeps.wait();
                let _ = futex::wait(&baton.0, WANTED, None);
            });
            sleeps.wait();
            // Until it sleeps most likely; where it does not, nobody is there to keep it for.
            (0..100).for_each(|_| thread::yield_now());
            // SAFETY: it is held, as its state says, and by nobody else.
            unsafe { baton.unlock(()) };
            baton.try_lock().is_none()
        })
    });
    assert!(kept);
}
