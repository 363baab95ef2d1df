//! The thread in the background: what it takes over, and when it does not act.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use prp_proto::time::Instant;

use super::super::guard::CoreGuard;
use super::{IdleLeader, read_byte, wait_for_crew};
use crate::builder::Builder;
use crate::stream::PrpStream;
use crate::testing::{FrameAction, Pair, wait_until, within_patience};

/// The application computes: it waits for nothing, and its peer's write completes all the same.
#[test]
fn keep__receives_and_acknowledges_while_the_application_is_busy() {
    const BYTES: usize = 300 * 1024;
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.write_all(&[7; BYTES]).unwrap();
        let (conn, engine) = (ours.inner().unwrap().conn, pair.alpha.engine());
        wait_until("acknowledgement of everything", || engine.lock().endpoint.is_flushed(conn));
        let mut bytes = vec![0; BYTES];
        theirs.read_exact(&mut bytes).unwrap();
        assert!(bytes.iter().all(|b| *b == 7));
    });
}

/// The keeper receives as far as the receive buffer goes, and no further; the rest when the
/// application reads.
#[test]
fn keep__receives_no_more_than_the_buffer_takes() {
    const BYTES: usize = 1 << 20;
    const BUFFER: usize = 64 * 1024;
    within_patience(|| {
        let pair = Pair::new();
        let small = Builder::new().recv_buffer(BUFFER);
        let (mut ours, mut theirs) = pair.streams_with(&Builder::new(), &small);
        let writing = thread::spawn(move || ours.write_all(&vec![7; BYTES]));
        let (conn, engine) = (theirs.inner().unwrap().conn, pair.beta.engine().clone());
        let held = || engine.lock().endpoint.conn_stats(conn).map_or(0, |s| s.bytes_received);
        wait_until("a full buffer", || held() > (BUFFER - 1500) as u64);
        // Long enough for many more segments.
        thread::sleep(Duration::from_millis(100));
        assert!(held() <= BUFFER as u64, "{} bytes in a buffer of {BUFFER}", held());
        let mut bytes = vec![0; BYTES];
        theirs.read_exact(&mut bytes).unwrap();
        writing.join().unwrap().unwrap();
        assert!(bytes.iter().all(|b| *b == 7));
    });
}

#[test]
fn keep__steps_aside_for_a_leader_and_comes_back() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let engine = pair.alpha.engine();
        for _ in 0..20 {
            wait_until("the keeper polls", || engine.lock().timing.keeper_polls);
            let reader = read_byte(&ours);
            wait_for_crew(engine, 0);
            wait_until("the keeper is aside", || !engine.lock().timing.keeper_polls);
            theirs.write_all(&[1]).unwrap();
            assert_eq!(reader.join().unwrap().unwrap(), 1);
        }
    });
}

#[test]
fn keep__sleeps_altogether_while_a_leader_waits_in_vain() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let engine = pair.alpha.engine();
        let reader = read_byte(&ours);
        wait_until("the keeper is parked", || engine.lock().timing.keeper_parked);
        theirs.write_all(&[1]).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), 1);
        // Expect: the thread that leaves calls it.
        wait_until("the keeper polls", || engine.lock().timing.keeper_polls);
    });
}

/// A thread waits for one connection and sleeps until its keepalive is due; another one writes to
/// another connection, and the frame is lost. Some thread must read the clock long before the
/// sleeper does.
#[test]
fn keep__repeats_what_was_lost_while_a_leader_sleeps() {
    within_patience(|| {
        let lose_next = Arc::new(AtomicBool::new(false));
        let lose = lose_next.clone();
        let rule = move |_: &[u8]| match lose.swap(false, Ordering::Relaxed) {
            true => FrameAction::Drop,
            false => FrameAction::Pass,
        };
        let pair = Pair::with_rules(None, Some(Box::new(rule)));
        let (mut ours, mut theirs) = pair.streams();
        ours.write_all(&[1]).unwrap();
        theirs.read_exact(&mut [0]).unwrap();
        let _bystander = IdleLeader::new(&pair);
        let engine = pair.alpha.engine();
        for _ in 0..5 {
            // The keeper polls no more: the leader sleeps for as long as it needs to.
            wait_until("the keeper is parked", || engine.lock().timing.keeper_parked);
            lose_next.store(true, Ordering::Relaxed);
            let before = engine.now();
            ours.write_all(&[1]).unwrap();
            theirs.read_exact(&mut [0]).unwrap();
            // The leader would wake after thirty seconds, the timer is due after fifty
            // milliseconds.
            assert!(engine.now().since(before) < Duration::from_secs(10), "nobody looked");
            assert!(!lose_next.load(Ordering::Relaxed), "nothing was lost: no test");
        }
    });
}

/// A leader that sleeps on has left its timers for good, not only until the keeper has run once.
#[test]
fn keep__wakes_often_for_a_leader_that_sleeps_on() {
    within_patience(|| {
        let pair = Pair::new();
        let _bystander = IdleLeader::new(&pair);
        let engine = pair.alpha.engine();
        wait_until("the leader sleeps", || engine.lock().timing.leader_sleeps);
        let mut core = engine.lock();
        let now = engine.now();
        for _ in 0..3 {
            assert!(core.next_check(now) <= now + Duration::from_millis(1));
        }
        core.timing.leader_sleeps = false;
        assert_eq!(core.next_check(now), now + Duration::from_millis(2));
        core.timing.leader_sleeps = true;
    });
}

/// The lock, and when the keeper of `pair`'s first end is about to wake by itself: while frames
/// come.
fn watched<'a>(pair: &'a Pair, theirs: &mut PrpStream) -> (CoreGuard<'a>, Instant) {
    let engine = pair.alpha.engine();
    loop {
        let core = engine.lock();
        match core.timing.background_wakeup {
            Some(at) if !core.timing.keeper_parked && at > engine.now() => return (core, at),
            _ => drop(core),
        }
        theirs.write_all(&[1]).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
}

/// A thread that has the lock for long is not made to hand it over: the keeper wakes again later.
#[test]
fn keep__does_not_wait_for_the_lock() {
    within_patience(|| {
        let pair = Pair::new();
        let (_ours, mut theirs) = pair.streams();
        let _bystander = IdleLeader::new(&pair);
        let engine = pair.alpha.engine();
        for _ in 0..5 {
            let (mut core, wakeup) = watched(&pair, &mut theirs);
            while engine.now() < wakeup + Duration::from_millis(10) {
                thread::sleep(Duration::from_millis(1));
            }
            // It goes to the thread that waits for it now.
            core.bump();
            assert_eq!(core.timing.background_wakeup, Some(wakeup), "the keeper had it");
        }
    });
}

/// The keeper waits for the lock when it is called, which is for now.
#[test]
fn keep__waits_for_the_lock_when_it_is_called() {
    within_patience(|| {
        let pair = Pair::new();
        let (_ours, mut theirs) = pair.streams();
        let _bystander = IdleLeader::new(&pair);
        let (mut core, wakeup) = watched(&pair, &mut theirs);
        pair.alpha.engine().keeper.call();
        wait_until("the keeper has had it", || {
            core.bump();
            core.timing.background_wakeup != Some(wakeup) || core.timing.keeper_parked
        });
    });
}

/// A leader that falls asleep leaves to the keeper what that runs in time, if it is sure to.
#[test]
fn leader_deadline__is_for_what_the_keeper_does_not_see_to() {
    within_patience(|| {
        let pair = Pair::new();
        let mut core = pair.alpha.engine().lock();
        let now = Instant::from_nanos(1_000_000_000);
        let at = |us| now + Duration::from_micros(us);
        for (keeper, due, check) in [
            (None, Some(500), Some(500)),
            (Some(400), None, None),
            (Some(400), Some(500), None),
            (Some(500), Some(500), None),
            (Some(600), Some(500), Some(500)),
            (Some(0), Some(500), None),
        ] {
            core.timing.background_wakeup = keeper.map(at);
            assert_eq!(core.leader_deadline(due.map(at), now), check.map(at), "{keeper:?} {due:?}");
        }
        core.timing.background_wakeup = Some(now);
        assert_eq!(core.leader_deadline(Some(at(500)), at(1)), Some(at(500)), "put off");
        core.timing.background_wakeup = None;
    });
}
