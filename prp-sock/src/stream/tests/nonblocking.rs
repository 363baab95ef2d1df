//! Streams and listeners that never wait.

use std::io::{ErrorKind, Read, Write};
use std::thread;
use std::time::Duration;

use super::pattern;
use crate::builder::Builder;
use crate::clock::Clock;
use crate::testing::{Pair, wait_until, within_patience};

#[test]
fn read__says_would_block_until_there_is_something() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.set_nonblocking(true).unwrap();
        let mut buf = [0; 8];
        assert_eq!(ours.read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(ours.peek(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        let nothing = ours.recv_message_part(&mut buf).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        theirs.write_all(b"hello").unwrap();
        let mut got = 0;
        wait_until("five bytes", || {
            match ours.read(&mut buf[got..]) {
                Ok(n) => got += n,
                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
            }
            got == 5
        });
        assert_eq!(&buf[..5], b"hello");
        drop(theirs);
        wait_until("the end", || match ours.read(&mut buf) {
            Ok(n) => n == 0,
            Err(e) => e.kind() != ErrorKind::WouldBlock,
        });
        // Expect: and blocking again, it does not block at the end.
        ours.set_nonblocking(false).unwrap();
        assert_eq!(ours.read(&mut buf).unwrap(), 0);
    });
}

#[test]
fn read_expected__waits_for_its_own_time_and_leaves_the_stream_as_it_is() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.set_nonblocking(true).unwrap();
        let mut bytes = vec![0; 5000];
        let clock = Clock::start();
        let begun = clock.now();
        let nothing = ours.read_expected(&mut bytes, 5000, Duration::from_millis(5)).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        assert!(clock.now().since(begun) >= Duration::from_millis(5));
        // The last bytes come from another thread while this one waits.
        let sending = thread::spawn(move || {
            theirs.write_all(&pattern(5000)).unwrap();
            theirs
        });
        let mut got = 0;
        while got < bytes.len() {
            let left = 5000 - got;
            let patience = Duration::from_secs(60);
            got += ours.read_expected(&mut bytes[got..], left, patience).unwrap();
        }
        assert_eq!(bytes, pattern(5000));
        let theirs = sending.join().unwrap();
        assert_eq!(ours.read(&mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(theirs);
        assert_eq!(ours.read_expected(&mut bytes, 1, Duration::from_secs(60)).unwrap(), 0);
    });
}

/// However much is written under one hold of the lock, a message that fits is not cut short.
#[test]
fn message__goes_in_one_call_where_there_is_room() {
    for crc in [false, true] {
        within_patience(move || {
            let pair = Pair::new();
            let large = Builder::new().send_buffer(4 << 20).crc(crc);
            let (ours, theirs) = pair.streams_with(&large, &large);
            ours.set_nonblocking(true).unwrap();
            let all = pattern(3 << 20);
            ours.send_message(&all).unwrap();
            let mut message = Vec::new();
            assert!(theirs.recv_message(&mut message).unwrap());
            assert!(message == all, "other bytes");
        });
    }
}

#[test]
fn write__takes_what_fits_and_says_would_block_after_that() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.set_nonblocking(true).unwrap();
        let all = pattern(4 << 20);
        let mut done = 0;
        // The peer does not read: the buffers of both ends fill.
        wait_until("full buffers", || match ours.write(&all[done..]) {
            Ok(n) => {
                done += n;
                false
            }
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::WouldBlock);
                done >= 900 * 1024
            }
        });
        assert!(done < all.len());
        let mut read = 0;
        let mut buf = vec![0; 64 * 1024];
        while read < all.len() {
            if done < all.len() {
                done += ours.write(&all[done..]).or_else(would_block).unwrap();
            }
            if read < done {
                let n = theirs.read(&mut buf).unwrap();
                assert!(buf[..n] == all[read..read + n], "other bytes at {read}");
                read += n;
            }
        }
    });
}

fn would_block(error: std::io::Error) -> std::io::Result<usize> {
    if error.kind() == ErrorKind::WouldBlock { Ok(0) } else { Err(error) }
}

#[test]
fn accept__says_would_block_until_a_request_comes() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(0, &Builder::new()).unwrap();
        listener.set_nonblocking(true).unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        let addr = listener.local_addr().unwrap();
        let ours = pair.alpha.connect(addr, &Builder::new()).unwrap();
        let mut accepted = None;
        wait_until("a connection", || {
            accepted = listener.accept().ok();
            accepted.is_some()
        });
        assert_eq!(accepted.unwrap().1, ours.local_addr().unwrap());
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn connect__goes_on_while_the_caller_does_something_else() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(0, &Builder::new()).unwrap();
        let addr = listener.local_addr().unwrap();
        let ours = pair.alpha.connect_nonblocking(addr, &Builder::new()).unwrap();
        wait_until("a connection", || ours.peer_addr().is_ok());
        assert_eq!(ours.peer_addr().unwrap(), addr);
        assert!(ours.take_error().unwrap().is_none());

        let refused = pair.alpha.connect_nonblocking(pair.beta.addr(9), &Builder::new()).unwrap();
        let mut error = None;
        wait_until("a refusal", || {
            error = refused.take_error().unwrap();
            error.is_some()
        });
        assert_eq!(error.unwrap().kind(), ErrorKind::ConnectionRefused);
    });
}
