//! Several tasks that wait for one stream or listener, and what a task that never waits leaves to
//! others.

use std::cell::Cell;
use std::io::Write;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

use super::{Task, block_on, listener, streams};
use crate::builder::Builder;
use crate::stream::PrpStream as Std;
use crate::testing::{Pair, wait_until, within_patience};
use crate::tokio::PrpStream;

fn connect(pair: &Pair) -> Std {
    pair.alpha.connect(pair.beta.addr(80), &Builder::new()).unwrap()
}

fn write(stream: &PrpStream, bytes: &[u8]) {
    let mut stream = stream.get_ref();
    stream.write_all(bytes).unwrap();
}

#[test]
fn accept__every_task_is_woken() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = listener(&pair);
        let mut tasks: Vec<_> = (0..4).map(|_| Task::pending(listener.accept())).collect();
        // One that gives up, be it the first or the last to come, takes nothing from the others.
        drop(tasks.pop());
        drop(tasks.remove(0));
        let _one = connect(&pair);
        tasks.iter().for_each(|task| task.wait_woken("a task"));
        // Expect: the one that is polled first has the connection, and the other one gets the next.
        assert!(matches!(tasks[1].poll(), Poll::Ready(Ok(_))));
        let mut other = tasks.remove(0);
        assert!(other.poll().is_pending());
        other.woken.0.store(0, Ordering::Relaxed);
        let _two = connect(&pair);
        other.wait_woken("the other one");
        assert!(matches!(other.poll(), Poll::Ready(Ok(_))));
    });
}

#[test]
fn accept__a_task_that_was_woken_and_gives_up_takes_nothing_along() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = listener(&pair);
        let first = Task::pending(listener.accept());
        let mut second = Task::pending(listener.accept());
        let _one = connect(&pair);
        first.wait_woken("the first");
        drop(first);
        second.wait_woken("the second");
        assert!(matches!(second.poll(), Poll::Ready(Ok(_))));
    });
}

#[test]
fn readable__and_peek_wake_every_task() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        let (mut a, mut b) = ([0; 1], [0; 8]);
        let mut peeks = [Task::pending(ours.peek(&mut a)), Task::pending(ours.peek(&mut b))];
        let mut readable = Task::pending(ours.readable());
        drop(Task::pending(ours.readable()));
        write(&theirs, b"hello");
        readable.wait_woken("readable");
        peeks.iter().for_each(|task| task.wait_woken("peek"));
        assert!(matches!(readable.poll(), Poll::Ready(Ok(()))));
        assert!(matches!(peeks[1].poll(), Poll::Ready(Ok(5))));
        assert!(matches!(peeks[0].poll(), Poll::Ready(Ok(1))));
    });
}

#[test]
fn writable__wakes_every_task() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = streams(&pair);
        let written = fill(ours.get_ref());
        let mut tasks = [Task::pending(ours.writable()), Task::pending(ours.writable())];
        drop(Task::pending(ours.writable()));
        block_on(theirs.read_exact(&mut vec![0; written])).unwrap();
        for task in &mut tasks {
            task.wait_woken("writable");
            assert!(matches!(task.poll(), Poll::Ready(Ok(()))));
        }
    });
}

/// Writes until there is no room, neither here nor at the peer that does not read; how many bytes.
fn fill(stream: &Std) -> usize {
    stream.set_nonblocking(true).unwrap();
    let mut written = 0;
    wait_until("full buffers", || match (&*stream).write(&[0; 65536]) {
        Ok(n) => {
            written += n;
            false
        }
        // The peer holds 512 KiB: most of the send buffer is full, and stays so.
        Err(_) => written >= 900 * 1024,
    });
    written
}

/// As any `AsyncRead`: the task that polled last.
#[test]
fn poll_read__wakes_the_last_task_beside_futures() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, theirs) = streams(&pair);
        let mut byte = [0];
        let mut polled = Task::pending(std::future::poll_fn(|cx| {
            Pin::new(&mut ours).poll_read(cx, &mut ReadBuf::new(&mut byte))
        }));
        write(&theirs, b"x");
        polled.wait_woken("poll_read");
        assert!(matches!(polled.poll(), Poll::Ready(Ok(()))));
    });
}

#[test]
fn waiting__what_has_ended_leaves_no_waker() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = listener(&pair);
        let (ours, _theirs) = streams(&pair);
        let (accepting, reading) =
            (Task::pending(listener.accept()), Task::pending(ours.readable()));
        let wakers = [accepting.woken.clone(), reading.woken.clone()];
        drop((accepting, reading));
        for waker in wakers {
            assert_eq!(Arc::strong_count(&waker), 1, "this one");
        }
    });
}

/// Polls a task that never waits for its stream beside one that counts how often it is polled.
fn polls_beside(busy: impl Future<Output = ()>) -> usize {
    let polls = Rc::new(Cell::new(0));
    let counted = polls.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let others = tokio::task::LocalSet::new();
    others.spawn_local(async move {
        loop {
            counted.set(counted.get() + 1);
            tokio::task::yield_now().await;
        }
    });
    others.block_on(&runtime, busy);
    polls.get()
}

#[test]
fn budget__a_reader_with_much_to_read_lets_others_run() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, theirs) = streams(&pair);
        write(&theirs, &[7; 100_000]);
        let polls = polls_beside(async move {
            for _ in 0..100_000 {
                ours.read_u8().await.unwrap();
            }
        });
        // A task has 128 operations for each time it is polled.
        assert!(polls > 100, "{polls} polls");
    });
}

#[test]
fn budget__a_writer_with_room_and_an_acceptor_let_others_run() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, _theirs) = streams(&pair);
        let polls = polls_beside(async move {
            for _ in 0..10_000 {
                ours.write_u8(7).await.unwrap();
            }
        });
        assert!(polls > 10, "{polls} polls");

        let listener = listener(&pair);
        let _asked: Vec<_> = (0..200).map(|_| connect(&pair)).collect();
        let polls = polls_beside(async move {
            for _ in 0..200 {
                listener.accept().await.unwrap();
            }
        });
        assert!(polls > 0, "{polls} polls");
    });
}

/// Outside of tokio's runtimes there is no budget.
#[test]
fn budget__is_not_needed_elsewhere() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, theirs) = streams(&pair);
        write(&theirs, &[7; 1000]);
        let mut reading = pin!(async {
            for _ in 0..1000 {
                ours.read_u8().await.unwrap();
            }
        });
        let mut context = Context::from_waker(Waker::noop());
        wait_until("all is read", || reading.as_mut().poll(&mut context).is_ready());
    });
}

/// An empty message is something to read for every call that waits until there is something.
#[test]
fn readable__when_a_message_without_bytes_has_come() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        for call in 0..3 {
            let waits = || async {
                match call {
                    0 => ours.readable().await,
                    1 => ours.ready(tokio::io::Interest::READABLE).await.map(|_| ()),
                    _ => std::future::poll_fn(|cx| ours.poll_read_ready(cx)).await,
                }
            };
            let mut reading = Task::pending(waits());
            block_on(theirs.send_message(b"")).unwrap();
            reading.wait_woken("a task");
            assert!(reading.poll().is_ready(), "call {call}");
            assert_eq!(block_on(ours.recv_message_part(&mut [])).unwrap().unwrap().len, 0);
        }
    });
}
