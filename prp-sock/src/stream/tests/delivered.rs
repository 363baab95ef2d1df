//! Waiting until the peer has everything.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

use super::pattern;
use crate::builder::Builder;
use crate::testing::{Pair, within_patience};

#[test]
fn wait_delivered__needs_no_reader_where_the_peer_has_room() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.write_all(&pattern(100_000)).unwrap();
        ours.wait_delivered().unwrap();
        // Expect: the same with the end, and once more when nothing is left to wait for.
        ours.write_all(b"the end").unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        ours.wait_delivered().unwrap();
        ours.wait_delivered().unwrap();
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len(), 100_007);
    });
}

#[test]
fn wait_delivered__waits_for_a_reader_that_has_to_make_room() {
    within_patience(|| {
        let pair = Pair::new();
        let small = Builder::new().recv_buffer(16 * 1024);
        let (mut ours, mut theirs) = pair.streams_with(&Builder::new(), &small);
        ours.write_all(&pattern(100_000)).unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        ours.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        assert_eq!(ours.wait_delivered().unwrap_err().kind(), ErrorKind::WouldBlock);
        ours.set_write_timeout(None).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| ours.wait_delivered());
            let mut bytes = Vec::new();
            theirs.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, pattern(100_000));
            waits.join().unwrap().unwrap();
        });
    });
}

/// The end needs room in the peer's window like everything else.
#[test]
fn wait_delivered__waits_for_the_end_behind_a_full_window() {
    within_patience(|| {
        let pair = Pair::new();
        let buffer = 16 * 1024;
        let small = Builder::new().recv_buffer(buffer);
        let (mut ours, mut theirs) = pair.streams_with(&Builder::new(), &small);
        let segment = usize::from(ours.terms().unwrap().mss);
        let len = buffer / segment * segment;
        ours.write_all(&pattern(len)).unwrap();
        ours.wait_delivered().unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        ours.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
        assert_eq!(ours.wait_delivered().unwrap_err().kind(), ErrorKind::WouldBlock);
        ours.set_write_timeout(None).unwrap();
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, pattern(len));
        ours.wait_delivered().unwrap();
    });
}

#[test]
fn wait_delivered__tells_why_it_never_will_be() {
    within_patience(|| {
        let pair = Pair::new();
        let small = Builder::new().recv_buffer(16 * 1024);
        let (mut ours, theirs) = pair.streams_with(&Builder::new(), &small);
        ours.write_all(&pattern(100_000)).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| ours.wait_delivered());
            theirs.set_linger(Some(Duration::ZERO)).unwrap();
            drop(theirs);
            let error = waits.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        });
        // It never will be, however often it is asked for.
        assert_eq!(ours.wait_delivered().unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn wait_delivered__stays_so_after_a_reset() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, theirs) = pair.streams();
        ours.write_all(b"delivered").unwrap();
        ours.wait_delivered().unwrap();
        theirs.set_linger(Some(Duration::ZERO)).unwrap();
        drop(theirs);
        let error = ours.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        ours.wait_delivered().unwrap();
    });
}
