use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;
use crate::matching::Pattern;
use crate::process::{Identity, Launcher};
use crate::sys::memory::Region;
use crate::sys::shared::SharedEnd;
use crate::wire::{Header, Kind, Signature};

/// A thread that is not woken sleeps for longer than any test runs.
const NEVER: Duration = Duration::from_secs(3600);

const CONTEXT: u64 = 2;

/// Two ranks that share memory. Their threads sleep until they are woken.
fn pair() -> [Process; 2] {
    let memory = SharedEnd::memory(2).unwrap();
    let bells = [(); 2].map(|()| Bell::new().unwrap());
    let peers = [1, 0].map(|peer: usize| bells[peer].as_fd().try_clone_to_owned().unwrap());
    let mut all = [0, 1].into_iter().zip(bells).zip(peers).map(|((me, bell), peer)| {
        let end = SharedEnd::new(memory.try_clone().unwrap(), me == 0, peer).unwrap();
        let mut streams = vec![None, None];
        streams[1 - me] = Some(Stream::Local(end));
        let first = Identity { job: 0, number: 0 };
        let nodes = vec![0; 2];
        let mut made = Process::with(me, first, nodes, streams, bell, Launcher::None).unwrap();
        made.longest_sleep = NEVER;
        made.share();
        made
    });
    [all.next().unwrap(), all.next().unwrap()]
}

fn send(from: &Process, to: usize, tag: i32) {
    let header = Header {
        kind: Kind::Message,
        source: from.rank() as i32,
        tag,
        id: 0,
        context: CONTEXT,
        len: 0,
        signature: Signature::default(),
    };
    let request = from.exchange().send(to, header, &Region::owned(1));
    from.exchange().free(request);
}

fn pattern(source: usize, tag: i32) -> Pattern {
    Pattern { context: CONTEXT, source: Some(source as i32), tag: Some(tag) }
}

fn receive(at: &Process, source: usize, tag: i32) {
    let request = at.exchange().receive(pattern(source, tag), Region::owned(1));
    at.wait(&waiting, |exchange| exchange.take(request));
}

fn waiting() -> Waiting {
    Waiting::new("a test", String::new(), String::new())
}

/// Waits until as many threads sleep: one on the streams, the others behind it.
fn await_sleepers(of: &Process, count: usize) {
    loop {
        let exchange = of.exchange();
        let is_noted = of.waiting.lock().len() == count;
        if is_noted
            && of.is_led.load(Ordering::Relaxed)
            && of.following.load(Ordering::Relaxed) == count - 1
        {
            return;
        }
        drop(exchange);
        thread::yield_now();
    }
}

/// With several callers the thread that sleeps on the streams waits for the bell, too.
fn note_callers(of: &Process) {
    thread::scope(|scope| drop(scope.spawn(|| drop(of.exchange()))));
    drop(of.exchange());
}

#[test]
fn wait__ends_when_another_thread_completes_the_request() {
    let [process, _peer] = pair();
    note_callers(&process);
    thread::scope(|scope| {
        scope.spawn(|| receive(&process, 0, 1));
        await_sleepers(&process, 1);
        send(&process, 0, 1);
    });
}

#[test]
fn wait__ends_for_a_follower_when_another_thread_takes_in_its_message() {
    let [process, peer] = pair();
    note_callers(&process);
    thread::scope(|scope| {
        scope.spawn(|| receive(&process, 1, 1));
        await_sleepers(&process, 1);
        scope.spawn(|| receive(&process, 1, 2));
        await_sleepers(&process, 2);
        // The thread that sleeps on the streams takes in what the follower waits for.
        send(&peer, 0, 2);
        await_sleepers(&process, 1);
        send(&peer, 0, 1);
    });
}

#[test]
fn wait__a_follower_waits_for_the_streams_once_the_leader_is_gone() {
    let [process, peer] = pair();
    note_callers(&process);
    thread::scope(|scope| {
        scope.spawn(|| receive(&process, 1, 1));
        await_sleepers(&process, 1);
        scope.spawn(|| receive(&process, 1, 2));
        await_sleepers(&process, 2);
        send(&peer, 0, 1);
        await_sleepers(&process, 1);
        send(&peer, 0, 2);
    });
}

#[test]
fn wait__a_follower_waits_for_the_streams_once_another_thread_has_completed_the_leader() {
    let [process, peer] = pair();
    note_callers(&process);
    thread::scope(|scope| {
        scope.spawn(|| receive(&process, 0, 1));
        await_sleepers(&process, 1);
        scope.spawn(|| receive(&process, 1, 2));
        await_sleepers(&process, 2);
        send(&process, 0, 1);
        await_sleepers(&process, 1);
        send(&peer, 0, 2);
    });
}

#[test]
fn wait__ends_when_a_thread_that_polls_takes_in_the_message() {
    const ROUNDS: i32 = 300;
    let [process, peer] = pair();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                receive(&process, 1, round);
                send(&process, 1, round);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                process.try_now(|exchange| exchange.probe(&pattern(1, ROUNDS)));
            }
        });
        for round in 0..ROUNDS {
            send(&peer, 0, round);
            receive(&peer, 0, round);
        }
    });
}

#[test]
fn wait__ends_when_something_outside_the_exchange_has_happened() {
    let [process, _peer] = pair();
    note_callers(&process);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| process.wait(&waiting, |_| is_done.load(Ordering::SeqCst).then_some(())));
        await_sleepers(&process, 1);
        is_done.store(true, Ordering::SeqCst);
        process.announce();
    });
}

/// Waits until the thread that serves windows sleeps on the streams.
fn await_serving(of: &Process) {
    while !of.is_led.load(Ordering::Relaxed) {
        thread::yield_now();
    }
}

#[test]
fn wait__takes_the_streams_from_the_thread_that_serves_windows() {
    let [process, peer] = pair().map(Arc::new);
    process.exchange().open_window(CONTEXT, Region::owned(8));
    process.serve_windows().unwrap();
    for tag in 0..3 {
        await_serving(&process);
        thread::scope(|scope| {
            let waits = scope.spawn(|| receive(&process, 1, tag));
            while process.waiting.lock().is_empty() {
                thread::yield_now();
            }
            send(&peer, 0, tag);
            waits.join().unwrap();
        });
    }
    process.exchange().close_window(CONTEXT);
}

#[test]
fn serve_windows__ends_with_the_last_window() {
    let [process, _peer] = pair().map(Arc::new);
    for _ in 0..2 {
        process.exchange().open_window(CONTEXT, Region::owned(8));
        process.serve_windows().unwrap();
        await_serving(&process);
        process.exchange().close_window(CONTEXT);
        while Arc::strong_count(&process) > 1 {
            thread::yield_now();
        }
    }
}
