//! A counting semaphore. It bounds the connections that are served at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A counting semaphore.
#[derive(Debug)]
pub(crate) struct Semaphore {
    taken: Mutex<usize>,
    freed: Condvar,
    count: usize,
}

/// A permit, which is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'a>(&'a Semaphore);

impl Semaphore {
    /// `count` permits, all free.
    pub(crate) const fn new(count: usize) -> Self {
        Self { taken: Mutex::new(0), freed: Condvar::new(), count }
    }

    /// Waits for a permit and takes it.
    pub(crate) fn take(&self) -> Permit<'_> {
        let taken = self.freed.wait_while(self.lock(), |taken| *taken >= self.count);
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        Permit(self)
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn take__waits_for_a_free_permit() {
        let semaphore = Semaphore::new(2);
        let (first, _second) = (semaphore.take(), semaphore.take());
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let permit = semaphore.take();
                sender.send(()).expect("there is a listener");
                drop(permit);
            });
            assert!(receiver.try_recv().is_err(), "both are taken");
            drop(first);
            receiver.recv().expect("a permit is free");
        });
        assert_eq!(*semaphore.lock(), 1);
    }
}
