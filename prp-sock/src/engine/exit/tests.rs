//! Exits of an engine whose process goes on, so that a test can inspect it.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::{EXIT_TIMEOUT, exempt_this_thread};
use crate::builder::Builder;
use crate::engine::Engine;
use crate::testing::{Pair, wait_until, within_patience};

/// What the exiting thread does.
fn exit(engine: &Engine) {
    exempt_this_thread();
    engine.end_all();
    engine.wait_delivered(EXIT_TIMEOUT);
}

#[test]
fn exit__other_threads_see_no_end() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut read, _peer) = pair.streams();
        let (mut driven, _other_peer) = pair.streams();
        let listener = pair.alpha.listen(80, &Builder::new()).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let calls: [Box<dyn FnOnce() + Send>; 3] = [
            Box::new(move || drop(read.read(&mut [0]))),
            Box::new(move || drop(driven.read(&mut [0]))),
            Box::new(move || drop(listener.accept())),
        ];
        for call in calls {
            let over = over.clone();
            thread::spawn(move || {
                call();
                over.store(true, Ordering::Relaxed);
            });
        }
        let engine = pair.alpha.engine();
        wait_until("three threads wait", || {
            let core = engine.lock();
            core.waiting.leader.is_some() && core.registered() == 3
        });
        exit(engine);
        // The former leader polls again once something comes that the keeper does not take before
        // it; the others sleep on. The peers of its streams know that it has left, and send
        // nothing.
        wait_until("the leader is held back", || {
            let connecting = pair.beta.connect(pair.alpha.addr(80), &Builder::new());
            assert_eq!(connecting.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
            engine.lock().lifetime.held_back > 0
        });
        assert!(!over.load(Ordering::Relaxed), "a call has returned");
    });
}

#[test]
fn exit__a_thread_that_calls_later_is_held_back() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, _theirs) = pair.streams();
        exit(pair.alpha.engine());
        let writing = thread::spawn(move || ours.write(&[1]));
        wait_until("it is held back", || pair.alpha.engine().lock().lifetime.held_back == 1);
        assert!(!writing.is_finished());
    });
}

#[test]
fn exit__delivers_and_ends() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.write_all(&[7; 100_000]).unwrap();
        exit(pair.alpha.engine());
        let mut got = Vec::new();
        theirs.read_to_end(&mut got).unwrap();
        assert!(got == [7; 100_000], "{} bytes", got.len());
    });
}

/// As the kernel does when a process ends.
#[test]
fn exit__resets_what_was_not_accepted() {
    within_patience(|| {
        let pair = Pair::new();
        let _listener = pair.alpha.listen(80, &Builder::new()).unwrap();
        let mut theirs = pair.beta.connect(pair.alpha.addr(80), &Builder::new()).unwrap();
        exit(pair.alpha.engine());
        let error = theirs.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
}

/// The peer may not have the last acknowledgement: the end that could repeat it must not be gone.
#[test]
fn exit__waits_for_the_time_of_quiet() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.shutdown(Shutdown::Write).unwrap();
        assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
        drop(theirs);
        // Alpha acknowledges last, so that it is the one to stay.
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        exit(pair.alpha.engine());
        assert_eq!(pair.alpha.engine().lock().endpoint.connections(), 0);
    });
}

/// They may not have the last acknowledgement. All is over by then, and nothing holds the engine
/// but what it has to say to them.
#[test]
fn exit__waits_until_peers_of_connections_that_ended_before_are_notified() {
    within_patience(|| {
        let pair = Pair::new();
        for _ in 0..40 {
            let (mut ours, mut theirs) = pair.streams();
            ours.shutdown(Shutdown::Write).unwrap();
            assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
            drop(theirs);
            assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        }
        let engine = pair.alpha.engine();
        wait_until("all are over", || engine.lock().endpoint.connections() == 0);
        exit(engine);
        assert!(engine.lock().endpoint.may_end());
    });
}
