//! Wakers that use the engine that calls or drops them.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use crate::engine::Interest;
use crate::engine::tasks::{FutureId, Task};
use crate::stream::PrpStream;
use crate::testing::{Pair, wait_until, within_patience};

/// A task that asks for its stream's address when it is woken, and owns another stream until the
/// last waker is gone, as executors do that keep a task in its wakers.
struct ReentrantTask {
    asks: PrpStream,
    _owns: Option<PrpStream>,
    woken: Arc<AtomicUsize>,
}

impl Wake for ReentrantTask {
    fn wake(self: Arc<Self>) {
        self.asks.peer_addr().unwrap();
        self.woken.fetch_add(1, Ordering::Relaxed);
    }
}

fn register(stream: &PrpStream, waker: &Waker) {
    let inner = stream.inner().unwrap();
    inner.engine.lock().register_task(Interest::Read(inner.conn), Task::LastToPoll, waker.clone());
}

#[test]
fn wake__may_use_the_engine() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let woken = Arc::new(AtomicUsize::new(0));
        let asks = ours.try_clone().unwrap();
        let task = ReentrantTask { asks, _owns: None, woken: woken.clone() };
        register(&ours, &Waker::from(Arc::new(task)));
        theirs.write_all(b"x").unwrap();
        wait_until("the task is woken", || woken.load(Ordering::Relaxed) == 1);
    });
}

#[test]
fn discard__may_drop_a_stream() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, _theirs) = pair.streams();
        let (other, _others_peer) = pair.streams();
        let owner = || {
            let (only, _its_peer) = pair.streams();
            let asks = ours.try_clone().unwrap();
            let task = ReentrantTask { asks, _owns: Some(only), woken: Arc::default() };
            Waker::from(Arc::new(task))
        };
        // The slot holds the last waker each time: replaced by another task's, and with its stream.
        register(&ours, &owner());
        register(&ours, &owner());
        register(&ours, Waker::noop());
        register(&other, &owner());
        drop(other);
    });
}

/// A task that panics when it is woken, and when its last waker is dropped.
struct PanickingTask;

impl Wake for PanickingTask {
    fn wake(self: Arc<Self>) {
        panic!("woken: this panic belongs to the test");
    }
}

impl Drop for PanickingTask {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped: this panic belongs to the test");
    }
}

fn wait_for(stream: &PrpStream, id: &mut Option<FutureId>, waker: &Waker) {
    let inner = stream.inner().unwrap();
    let task = Task::Future(id);
    inner.engine.lock().register_task(Interest::Read(inner.conn), task, waker.clone());
}

/// The background thread wakes here: it goes on, and so do all others.
#[test]
fn wake__a_panic_ends_nothing() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let woken = Arc::new(AtomicUsize::new(0));
        let asks = ours.try_clone().unwrap();
        let behind =
            Waker::from(Arc::new(ReentrantTask { asks, _owns: None, woken: woken.clone() }));
        for round in 1..=3 {
            wait_for(&ours, &mut None, &Waker::from(Arc::new(PanickingTask)));
            wait_for(&ours, &mut None, &behind);
            theirs.write_all(b"x").unwrap();
            wait_until("who stood behind it is woken", || woken.load(Ordering::Relaxed) == round);
        }
        assert_eq!((&ours).read(&mut [0; 9]).unwrap(), 3);
    });
}

#[test]
fn discard__a_panic_ends_nothing() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        register(&ours, &Waker::from(Arc::new(PanickingTask)));
        register(&ours, Waker::noop());
        theirs.write_all(b"x").unwrap();
        assert_eq!((&ours).read(&mut [0]).unwrap(), 1);
    });
}
