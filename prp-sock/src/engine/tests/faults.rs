//! What must not keep a thread from sleeping, nor from waking up.

use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use prp_proto::time::Instant;

use super::probe::{Probe, probed_pair};
use super::{IdleLeader, read_byte, wait_for_crew};
use crate::builder::Builder;
use crate::testing::{wait_until, within_patience};

/// Expects that threads of alpha's sleep: in a time in which a loop goes round a hundred thousand
/// times they poll the device a few times, for a timer or a spin.
fn assert_asleep(probe: &Probe) {
    let before = probe.polls.load(Ordering::Relaxed);
    thread::sleep(Duration::from_millis(300));
    let polls = probe.polls.load(Ordering::Relaxed) - before;
    assert!(polls < 300, "{polls} polls of the device: nobody sleeps");
}

/// A wake that arrives when its addressee is awake again must not keep a thread from sleeping.
#[test]
fn sleep__a_late_wake_wakes_once() {
    within_patience(|| {
        let (pair, probe) = probed_pair();
        let idle_leader = IdleLeader::new(&pair);
        let engine = pair.alpha.engine();
        wait_until("the keeper is parked", || engine.lock().timing.keeper_parked);
        engine.leader_wake_fd.wake();
        assert_asleep(&probe);
        drop(idle_leader);
    });
}

/// A device that is gone ends every wait with its error, and no thread loops without sleeping.
#[test]
fn poll_once__a_dead_device_ends_all_waits_and_lets_threads_sleep() {
    within_patience(|| {
        let (pair, probe) = probed_pair();
        let (ours, theirs): (Vec<_>, Vec<_>) = (0..3).map(|_| pair.streams()).unzip();
        let readers: Vec<_> = ours.iter().map(read_byte).collect();
        wait_for_crew(pair.alpha.engine(), 2);
        probe.gone.store(true, Ordering::Relaxed);
        // The frame is what the leader stumbles over.
        (&theirs[0]).write_all(&[1]).unwrap();
        for reader in readers {
            assert_eq!(reader.join().unwrap().unwrap_err().kind(), ErrorKind::NotConnected);
        }
        let error = pair.alpha.connect(pair.beta.addr(9), &Builder::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
        assert_asleep(&probe);
    });
}

/// What a device has lost is counted, whether or not frames have come with it.
#[test]
fn receive_batch__counts_what_the_device_has_lost() {
    let (pair, probe) = probed_pair();
    probe.lost.store(3, Ordering::Relaxed);
    let mut core = pair.alpha.engine().lock();
    core.poll_once(Instant::ZERO, None);
    assert_eq!(core.device_counters().next().map(|counters| counters.overruns), Some(3));
}

/// A dead device wakes all readers even if the leader sleeps while another thread finds out.
#[test]
fn poll_once__a_dead_device_wakes_threads_that_sleep_already() {
    within_patience(|| {
        let (pair, probe) = probed_pair();
        let (ours, _theirs): (Vec<_>, Vec<_>) = (0..4).map(|_| pair.streams()).unzip();
        let readers: Vec<_> = ours[1..].iter().map(read_byte).collect();
        wait_until("the keeper is parked", || pair.alpha.engine().lock().timing.keeper_parked);
        wait_for_crew(pair.alpha.engine(), 2);
        probe.gone.store(true, Ordering::Relaxed);
        ours[0].set_nonblocking(true).unwrap();
        let error = (&ours[0]).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
        for reader in readers {
            assert_eq!(reader.join().unwrap().unwrap_err().kind(), ErrorKind::NotConnected);
        }
    });
}

/// An interface that goes down leaves an error on its socket, for the thread that makes the next
/// system call.
#[test]
fn sleep__an_error_on_a_socket_ends_one_sleep_and_not_all() {
    within_patience(|| {
        let (pair, probe) = probed_pair();
        let (ours, mut theirs) = pair.streams();
        let idle_leader = IdleLeader::new(&pair);
        wait_until("the keeper is parked", || pair.alpha.engine().lock().timing.keeper_parked);
        probe.upset_socket();
        assert_asleep(&probe);
        // Expect: it was no more than that, the device works.
        theirs.write_all(&[1]).unwrap();
        assert_eq!((&ours).read(&mut [0]).unwrap(), 1);
        drop(idle_leader);
    });
}
