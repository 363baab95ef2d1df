//! Asynchronous streams over a wire made of pipes, polled by hand where it matters who is woken.

mod calls;
mod waiting;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use super::{PrpListener, PrpStream};
use crate::builder::Builder;
use crate::testing::{Pair, wait_until};

/// Counts how often it is called.
#[derive(Debug, Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A future with a waker of its own.
struct Task<F> {
    future: Pin<Box<F>>,
    woken: Arc<Count>,
}

impl<F: Future> Task<F> {
    /// A task that waits already.
    fn pending(future: F) -> Self {
        let mut task = Self { future: Box::pin(future), woken: Arc::default() };
        assert!(task.poll().is_pending());
        task
    }

    fn poll(&mut self) -> Poll<F::Output> {
        let waker = Waker::from(self.woken.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Waits until it is woken.
    fn wait_woken(&self, test: &str) {
        wait_until(format_args!("{test} is woken"), || self.woken.0.load(Ordering::Relaxed) > 0);
    }
}

/// Polls `future` whenever it is woken.
fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(future)
}

/// Beta's listener.
fn listener(pair: &Pair) -> PrpListener {
    PrpListener::from_std(pair.beta.listen(80, &Builder::new()).unwrap()).unwrap()
}

/// An established connection: alpha's end and beta's.
fn streams(pair: &Pair) -> (PrpStream, PrpStream) {
    // What is full stays full.
    let fixed = Builder::new().send_buffer(512 * 1024);
    let (ours, theirs) = pair.streams_with(&fixed, &fixed);
    (PrpStream::from_std(ours).unwrap(), PrpStream::from_std(theirs).unwrap())
}
