//! Ends: half-close, dropping, resets, lingering.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::pattern;
use crate::builder::Builder;
use crate::stream::PrpStream;
use crate::testing::{FrameAction, Pair, Rule, wait_until, within_patience};

#[test]
fn drop__delivers_what_was_written() {
    within_patience(|| {
        let pair = Pair::new();
        for len in [0, 1, 1484, 400_000] {
            let (mut ours, mut theirs) = pair.streams();
            ours.write_all(&pattern(len)).unwrap();
            drop(ours);
            let mut bytes = Vec::new();
            theirs.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, pattern(len));
        }
    });
}

#[test]
fn drop__with_data_unread_resets() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, theirs) = pair.streams();
        ours.write_all(b"hello").unwrap();
        assert_eq!(theirs.peek(&mut [0; 8]).unwrap(), 5);
        drop(theirs);
        assert_eq!(ours.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        // Expect: the error is told once.
        assert_eq!(ours.read(&mut [0]).unwrap(), 0);
        assert_eq!(ours.write(&[0]).unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn drop__of_a_clone_changes_nothing() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        drop(ours.try_clone().unwrap());
        ours.write_all(b"still there").unwrap();
        let mut bytes = [0; 11];
        theirs.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"still there");
    });
}

/// Both ends are gone when both are dropped, and their ports are free for others.
#[test]
fn drop__of_both_ends_leaves_nothing() {
    within_patience(|| {
        let pair = Pair::new();
        let streams: Vec<_> = (0..20).map(|_| pair.streams()).collect();
        drop(streams);
        for node in [&pair.alpha, &pair.beta] {
            wait_until("no connection", || node.engine().lock().endpoint.connections() == 0);
        }
    });
}

#[test]
fn shutdown__closes_one_direction_and_leaves_the_other() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.write_all(b"question").unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        let mut question = String::new();
        theirs.read_to_string(&mut question).unwrap();
        assert_eq!(question, "question");
        assert_eq!(ours.write(&[0]).unwrap_err().kind(), ErrorKind::BrokenPipe);
        theirs.write_all(b"answer").unwrap();
        drop(theirs);
        let mut answer = String::new();
        ours.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "answer");
    });
}

#[test]
fn shutdown__of_reading_still_gives_what_had_come() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        theirs.write_all(b"early").unwrap();
        assert_eq!(ours.peek(&mut [0; 8]).unwrap(), 5);
        ours.shutdown(Shutdown::Read).unwrap();
        // Expect: what comes later is taken from the peer and thrown away.
        theirs.write_all(&pattern(2 << 20)).unwrap();
        let mut bytes = Vec::new();
        ours.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"early");
    });
}

#[test]
fn shutdown__of_a_dead_connection_is_an_error() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, theirs) = pair.streams();
        theirs.set_linger(Some(Duration::ZERO)).unwrap();
        drop(theirs);
        assert_eq!(ours.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        let error = ours.shutdown(Shutdown::Both).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotConnected);
    });
}

#[test]
fn linger__zero_resets() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        ours.set_linger(Some(Duration::ZERO)).unwrap();
        drop(ours);
        assert_eq!(theirs.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

/// Lingering ends when its time is over, although the peer has no room for the rest.
#[test]
fn linger__ends_with_its_time() {
    within_patience(|| {
        let pair = Pair::new();
        let small = Builder::new().recv_buffer(8 * 1024);
        let (mut ours, mut theirs) = pair.streams_with(&Builder::new(), &small);
        ours.set_linger(Some(Duration::from_millis(50))).unwrap();
        ours.write_all(&pattern(100_000)).unwrap();
        drop(ours);
        // Expect: the rest is still delivered, in the background.
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, pattern(100_000));
    });
}

/// With something unread the connection is reset, and there is nothing to wait for.
#[test]
fn linger__does_not_wait_for_a_reset() {
    within_patience(|| {
        let pair = Pair::new();
        let small = Builder::new().recv_buffer(8 * 1024);
        let (mut ours, mut theirs) = pair.streams_with(&Builder::new(), &small);
        ours.write_all(&pattern(100_000)).unwrap();
        theirs.write_all(b"unread").unwrap();
        assert_eq!(ours.peek(&mut [0; 8]).unwrap(), 6);
        ours.set_linger(Some(Duration::from_secs(600))).unwrap();
        drop(ours);
        let error = theirs.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

/// The peer gives up during a large write, sooner or later: the write tells how much it took, and
/// the next call what happened.
#[test]
fn write__that_is_cut_short_by_a_reset_leaves_the_error_to_the_next_call() {
    for mut answers in 1..40 {
        within_patience(move || {
            let peer: Arc<Mutex<Option<PrpStream>>> = Arc::default();
            let doomed = peer.clone();
            let rule: Rule = Box::new(move |_| {
                let mut doomed = doomed.lock();
                answers -= u32::from(doomed.is_some());
                // What it says last is a reset.
                drop(doomed.take_if(|_| answers == 0));
                FrameAction::Pass
            });
            let pair = Pair::with_rules(Some(rule), None);
            let large = Builder::new().recv_buffer(4 << 20);
            let small = Builder::new().send_buffer(64 * 1024);
            let (mut ours, theirs) = pair.streams_with(&small, &large);
            theirs.set_linger(Some(Duration::ZERO)).unwrap();
            *peer.lock() = Some(theirs);
            let all = pattern(4 << 20);
            let Ok(written) = ours.write(&all) else { return };
            assert!(written < all.len());
            assert_eq!(ours.write(&all).unwrap_err().kind(), ErrorKind::ConnectionReset);
        });
    }
}

#[test]
fn take_error__tells_once_why_it_ended() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        assert!(ours.take_error().unwrap().is_none());
        theirs.set_linger(Some(Duration::ZERO)).unwrap();
        drop(theirs);
        let mut error = None;
        wait_until("an error", || {
            error = ours.take_error().unwrap();
            error.is_some()
        });
        assert_eq!(error.unwrap().kind(), ErrorKind::ConnectionReset);
        assert!(ours.take_error().unwrap().is_none());
        assert_eq!((&ours).read(&mut [0]).unwrap(), 0);
    });
}
