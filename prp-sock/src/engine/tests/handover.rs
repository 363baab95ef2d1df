//! Many threads on one endpoint: one leads, the others follow, and none is forgotten.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::{IdleLeader, echo, many, read_byte, wait_for_crew};
use crate::builder::Builder;
use crate::engine::Core;
use crate::engine::leader::Leader;
use crate::engine::waiters::Interest;
use crate::stream::{Awaited, wait_any};
use crate::testing::{Pair, wait_until, within_patience};

const MESSAGE: usize = 64;

/// `threads` threads, each with a connection of its own, send `rounds` messages each and wait for
/// every answer. On the other node as many threads answer.
fn ping_pong(threads: u8, rounds: u32, builder: &Builder) {
    let builder = builder.clone();
    within_patience(move || {
        let pair = Pair::new();
        let workers: Vec<_> = (0..threads)
            .map(|me| {
                let (mut ours, theirs) = pair.streams_with(&builder, &builder);
                let answering = echo(theirs, MESSAGE);
                let asking = thread::spawn(move || {
                    for round in 0..rounds {
                        let message = [me ^ round as u8; MESSAGE];
                        ours.write_all(&message).unwrap();
                        let mut answer = [0; MESSAGE];
                        ours.read_exact(&mut answer).unwrap();
                        assert_eq!(answer, message, "round {round} of thread {me}");
                    }
                });
                (asking, answering)
            })
            .collect();
        for (asking, answering) in workers {
            asking.join().unwrap();
            answering.join().unwrap();
        }
        for node in [&pair.alpha, &pair.beta] {
            let core = node.engine().lock();
            assert!(core.waiting.leader.is_none() && core.waiting.followers.is_empty());
            assert_eq!(core.registered(), 0, "no thread waits");
        }
    });
}

#[test]
fn wait__one_thread_ping_pong() {
    ping_pong(1, 5000, &Builder::new());
}

#[test]
fn wait__two_threads_hand_the_endpoint_to_each_other() {
    ping_pong(2, 3000, &Builder::new());
}

#[test]
fn wait__two_threads_that_never_spin() {
    ping_pong(2, 3000, &Builder::new().spin(Duration::ZERO));
}

#[test]
fn wait__three_threads_that_always_spin() {
    ping_pong(3, 1000, &Builder::new().spin(Duration::from_millis(1)));
}

#[test]
fn wait__eight_threads() {
    ping_pong(8, 500, &Builder::new());
}

#[test]
fn wait__sixty_four_threads() {
    ping_pong(64, 50, &Builder::new());
}

#[test]
fn wait__sixty_four_threads_that_never_spin() {
    ping_pong(64, 50, &Builder::new().spin(Duration::ZERO));
}

/// No thread starves: each reaches its share while all the others go on. And no thread that wants
/// the lock waits for anything but work in progress.
#[test]
fn wait__eight_threads_all_make_progress_while_the_others_run() {
    const THREADS: usize = 8;
    const SHARE: u64 = 100;
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = many(&pair, THREADS);
        theirs.into_iter().for_each(|stream| drop(echo(stream, MESSAGE)));
        let enough = Arc::new(AtomicBool::new(false));
        let done: Vec<_> = ours
            .into_iter()
            .map(|mut stream| {
                let done = Arc::new(AtomicU64::new(0));
                let (enough, count) = (enough.clone(), done.clone());
                thread::spawn(move || {
                    while !enough.load(Ordering::Relaxed) {
                        stream.write_all(&[7; MESSAGE]).unwrap();
                        stream.read_exact(&mut [0; MESSAGE]).unwrap();
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
                done
            })
            .collect();
        let engine = pair.alpha.engine();
        let mut longest = Duration::ZERO;
        wait_until("every thread's share", || {
            let before = engine.now();
            drop(engine.lock());
            longest = longest.max(engine.now().since(before));
            done.iter().all(|count| count.load(Ordering::Relaxed) >= SHARE)
        });
        enough.store(true, Ordering::Relaxed);
        // Expect: one poll or a few of them, not a sleep. Ten seconds are a machine that is very
        // busy.
        assert!(longest < Duration::from_secs(10), "waited {longest:?} for the lock");
    });
}

#[test]
fn lock__is_free_while_the_leader_sleeps() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = many(&pair, 4);
        let readers: Vec<_> = ours.iter().map(read_byte).collect();
        wait_for_crew(pair.alpha.engine(), 3);
        // Expect: `lock` comes back although nothing happens that would wake a thread.
        for _ in 0..100 {
            drop(pair.alpha.engine().lock());
        }
        theirs.iter_mut().for_each(|s| s.write_all(&[1]).unwrap());
        readers.into_iter().for_each(|r| assert_eq!(r.join().unwrap().unwrap(), 1));
    });
}

/// One stream, two directions, two threads on each end: readers and writers lead for each other.
#[test]
fn wait__both_directions_of_one_stream_at_once() {
    const BYTES: usize = 4 << 20;
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let ends = [ours, theirs].map(|stream| {
            let (mut writer, mut reader) = (stream.try_clone().unwrap(), stream);
            let writing = thread::spawn(move || {
                let bytes: Vec<u8> = (0..BYTES).map(|i| (i % 251) as u8).collect();
                writer.write_all(&bytes).unwrap();
            });
            let reading = thread::spawn(move || {
                let mut bytes = vec![0; BYTES];
                reader.read_exact(&mut bytes).unwrap();
                assert!(bytes.iter().enumerate().all(|(i, b)| *b == (i % 251) as u8));
            });
            [writing, reading]
        });
        ends.into_iter().flatten().for_each(|thread| thread.join().unwrap());
    });
}

/// A thread that waits for something else, such as a server's for new connections, does not go on
/// leading while all frames are for another thread.
#[test]
fn wait__a_leader_that_gets_nothing_leaves_its_role_to_the_thread_that_frames_are_for() {
    within_patience(|| {
        let pair = Pair::new();
        let _idle = IdleLeader::new(&pair);
        let (ours, mut theirs) = pair.streams();
        let conn = ours.inner().unwrap().conn;
        let echoing = echo(ours, MESSAGE);
        let engine = pair.alpha.engine();
        wait_until("the thread that answers to lead", || {
            theirs.write_all(&[1; MESSAGE]).unwrap();
            theirs.read_exact(&mut [0; MESSAGE]).unwrap();
            let core = engine.lock();
            let interest = core.waiting.leader.as_ref().and_then(Leader::interest);
            interest == Some(Interest::Read(conn)) && core.waiting.followers.len() == 1
        });
        drop(theirs);
        echoing.join().unwrap();
    });
}

/// A leader that waits for several things hears of a request that another thread takes in.
#[test]
fn wait__a_leader_that_waits_for_several_is_called_for_a_connection_that_another_takes_in() {
    within_patience(|| {
        let pair = Pair::new();
        let builder = Builder::new();
        let listeners = [80, 81].map(|port| pair.alpha.listen(port, &builder).unwrap());
        let engine = pair.alpha.engine();
        let waiting = thread::spawn(move || {
            let mut awaited = listeners.each_ref().map(Awaited::accept);
            assert_eq!(wait_any(&mut awaited, None, None).unwrap(), 1);
            assert!(awaited[1].is_ready());
        });
        let mut core = None;
        wait_until("the leader to sleep", || {
            let guard = engine.lock();
            let sleeps = guard.timing.leader_sleeps;
            core = sleeps.then_some(guard);
            sleeps
        });
        let mut core = core.expect("the lock under which it sleeps");
        let interest = |core: &Core| core.waiting.leader.as_ref().and_then(Leader::interest);
        assert_eq!(interest(&core), Some(Interest::Any));
        let asked = pair.beta.connect_nonblocking(pair.alpha.addr(81), &builder).unwrap();
        while core.poll_once(engine.now(), None) == 0 {}
        assert_eq!(interest(&core), None, "it has been called");
        drop(core);
        waiting.join().unwrap();
        drop(asked);
    });
}

/// A leader that gets its message wakes no thread that only accepts; the keeper leads if it does
/// not come back.
#[test]
fn wait__a_thread_that_accepts_does_not_lead_for_a_thread_that_has_left() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let engine = pair.alpha.engine();
        let reading = read_byte(&ours);
        wait_for_crew(engine, 0);
        let listener = pair.alpha.listen(80, &Builder::new()).unwrap();
        let accepting = thread::spawn(move || listener.accept());
        wait_until("a thread that accepts", || engine.lock().registered() == 2);
        theirs.write_all(&[1]).unwrap();
        assert_eq!(reading.join().unwrap().unwrap(), 1);
        wait_until("the keeper to lead", || engine.lock().timing.keeper_polls);
        assert!(engine.lock().waiting.leader.is_none());
        pair.beta.connect(pair.alpha.addr(80), &Builder::new()).unwrap();
        accepting.join().unwrap().unwrap();
    });
}

/// SPEC PRP-ACK-6: round trips are taken from when something was sent, so time does not go back for
/// a thread that waited for the lock.
#[test]
fn wait__a_thread_that_finds_something_reads_the_clock_if_others_have_acted_since() {
    within_patience(|| {
        let pair = Pair::new();
        let looking = Builder::new().spin(Duration::from_secs(60));
        let (ours, mut theirs) = pair.streams_with(&looking, &Builder::new());
        let engine = pair.alpha.engine();
        let reader = read_byte(&ours);
        wait_for_crew(engine, 0);
        let mut core = engine.lock();
        let seen = engine.now();
        assert_eq!(engine.time_of(seen, &core), seen);
        theirs.write_all(&[1]).unwrap();
        // The reader, which polls all the time, finds it meanwhile, and waits for the lock.
        wait_until("a while", || engine.now() > seen + Duration::from_millis(20));
        let last_io = engine.now();
        core.poll_once(last_io, None);
        assert!(engine.time_of(seen, &core) >= last_io);
        drop(core);
        assert_eq!(reader.join().unwrap().unwrap(), 1);
        assert!(engine.lock().timing.leader_left_at >= last_io);
    });
}
