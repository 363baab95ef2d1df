//! A limited number of places: a bound on connections that are served at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Places, some of them taken.
#[derive(Debug)]
pub(crate) struct Places {
    taken: Mutex<usize>,
    freed: Condvar,
    count: usize,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a>(&'a Places);

impl Places {
    /// `count` places, all free.
    pub(crate) const fn new(count: usize) -> Self {
        Self { taken: Mutex::new(0), freed: Condvar::new(), count }
    }

    /// Takes a place, once one is free.
    pub(crate) fn take(&self) -> Place<'_> {
        let taken = self.freed.wait_while(self.lock(), |taken| *taken >= self.count);
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        Place(self)
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
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
    fn take__waits_for_a_free_place() {
        let places = Places::new(2);
        let (first, _second) = (places.take(), places.take());
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let place = places.take();
                sender.send(()).expect("somebody listens");
                drop(place);
            });
            assert!(receiver.try_recv().is_err(), "both are taken");
            drop(first);
            receiver.recv().expect("a place is free");
        });
        assert_eq!(*places.lock(), 1);
    }
}
