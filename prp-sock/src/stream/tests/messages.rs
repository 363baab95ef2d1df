//! Messages: what is sent as one is received as one.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

use super::pattern;
use crate::builder::Builder;
use crate::error::PartialMessage;
use crate::stream::PrpStream;
use crate::testing::{Pair, wait_until, within_patience};

#[test]
fn message__of_every_size_arrives_as_it_was_sent() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let sizes = [0, 1, 0, 0, 1484, 1485, 4096, 4097, 100_000, 0, 7];
        let sending = thread::spawn(move || {
            sizes.iter().for_each(|len| ours.send_message(&pattern(*len)).unwrap());
        });
        for len in sizes {
            let mut message = Vec::new();
            assert!(theirs.recv_message(&mut message).unwrap());
            assert_eq!(message, pattern(len));
        }
        sending.join().unwrap();
        // Expect: the end of the stream is no message.
        let mut message = Vec::new();
        assert!(!theirs.recv_message(&mut message).unwrap());
        assert!(message.is_empty());
    });
}

#[test]
fn message__larger_than_all_buffers() {
    within_patience(|| {
        let pair = Pair::new();
        let small = Builder::new().send_buffer(8 * 1024).recv_buffer(8 * 1024);
        let (ours, theirs) = pair.streams_with(&small, &small);
        let sending = thread::spawn(move || ours.send_message(&pattern(1 << 20)).unwrap());
        let mut message = b"before".to_vec();
        assert!(theirs.recv_message(&mut message).unwrap());
        assert_eq!(&message[..6], b"before");
        assert!(message[6..] == pattern(1 << 20), "other bytes");
        sending.join().unwrap();
    });
}

#[test]
fn message__in_parts_says_where_it_ends() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        ours.send_message(b"abcdef").unwrap();
        ours.send_message(b"").unwrap();
        theirs.peek(&mut [0]).unwrap();
        let mut buf = [0; 4];
        let mut parts = Vec::new();
        for _ in 0..3 {
            let part = theirs.recv_message_part(&mut buf).unwrap().unwrap();
            parts.push((buf[..part.len].to_vec(), part.end));
        }
        let expected = [(b"abcd".to_vec(), false), (b"ef".to_vec(), true), (Vec::new(), true)];
        assert_eq!(parts, expected);
        drop(ours);
        assert!(theirs.recv_message_part(&mut buf).unwrap().is_none());
    });
}

#[test]
fn message__a_stream_read_runs_across_ends_and_leaves_the_rest_a_message() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.send_message(b"one").unwrap();
        ours.send_message(b"").unwrap();
        ours.send_message(b"two").unwrap();
        ours.write_all(b"stream").unwrap();
        ours.send_message(b"three").unwrap();
        let mut bytes = [0; 4];
        theirs.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"onet");
        let mut message = Vec::new();
        assert!(theirs.recv_message(&mut message).unwrap());
        assert_eq!(message, b"wo");
        let mut rest = Vec::new();
        drop(ours);
        theirs.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"streamthree");
    });
}

/// A peer cannot have a receiver take any number of bytes; and nothing of what it sent is lost.
#[test]
fn message__longer_than_the_limit_is_an_error_and_goes_on() {
    within_patience(|| {
        let pair = Pair::new();
        let limited = Builder::new().max_message(10_000);
        let (ours, theirs) = pair.streams_with(&Builder::new(), &limited);
        let sizes = [10_000, 10_001, 25_000, 3];
        let sending = thread::spawn(move || {
            sizes.iter().for_each(|len| ours.send_message(&pattern(*len)).unwrap());
        });
        for len in sizes {
            let mut message = Vec::new();
            for n in 1..=(len - 1) / 10_000 {
                let error = theirs.recv_message(&mut message).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidData, "{len}: {error}");
                assert_eq!(message.len(), n * 10_000);
            }
            assert!(theirs.recv_message(&mut message).unwrap());
            assert!(message == pattern(len), "{len}: other bytes");
        }
        sending.join().unwrap();
    });
}

/// The limit is of a message, not of a call.
#[test]
fn message__limit_holds_over_calls_that_would_wait() {
    within_patience(|| {
        let pair = Pair::new();
        // The message comes in more pieces than a call finds at once.
        let small = Builder::new().recv_buffer(8 * 1024).max_message(50_000);
        let (ours, theirs) = pair.streams_with(&Builder::new(), &small);
        let sending = thread::spawn(move || ours.send_message(&pattern(60_000)).unwrap());
        theirs.set_nonblocking(true).unwrap();
        let (mut message, mut errors) = (Vec::new(), Vec::new());
        wait_until("the whole message", || match theirs.recv_message(&mut message) {
            Ok(more) => more,
            Err(e) => {
                errors.push((e.kind(), message.len()));
                false
            }
        });
        sending.join().unwrap();
        assert!(message == pattern(60_000), "other bytes");
        errors.retain(|(kind, _)| *kind != ErrorKind::WouldBlock);
        assert_eq!(errors, [(ErrorKind::InvalidData, 50_000)]);
    });
}

/// A message that no buffer takes at once, sent without waiting: the receiver has no end of it
/// before it has all of it, and if the stream ends before, an error.
#[test]
fn message__that_is_cut_short_goes_on_or_is_an_error() {
    within_patience(|| {
        let small = Builder::new().send_buffer(10_000);
        for is_finished in [true, false] {
            let pair = Pair::new();
            let (ours, theirs) = pair.streams_with(&small, &Builder::new());
            ours.set_nonblocking(true).unwrap();
            let bytes = pattern(25_001);
            let taken = ours.send_message_part(&bytes, true).unwrap();
            assert!(taken > 0 && taken < bytes.len(), "{taken}");
            // All of it has left before more of it comes.
            let mut received = vec![0; bytes.len()];
            let mut filled = 0;
            while filled < taken {
                let part = theirs.recv_message_part(&mut received[filled..]).unwrap().unwrap();
                assert!(!part.end, "after {filled} and {}", part.len);
                filled += part.len;
            }
            if is_finished {
                ours.set_nonblocking(false).unwrap();
                ours.send_message(&bytes[taken..]).unwrap();
                let mut rest = Vec::new();
                assert!(theirs.recv_message(&mut rest).unwrap());
                assert!(rest == bytes[taken..], "other bytes");
            } else {
                ours.shutdown(Shutdown::Write).unwrap();
                assert!(theirs.recv_message_part(&mut received).unwrap().is_none());
            }
        }
    });
}

#[test]
fn message__left_unfinished_by_its_sender_is_an_error_once() {
    within_patience(|| {
        let pair = Pair::new();
        let small = Builder::new().send_buffer(10_000);
        let (ours, theirs) = pair.streams_with(&small, &Builder::new());
        ours.set_nonblocking(true).unwrap();
        let taken = ours.send_message_part(&pattern(25_001), true).unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        let mut message = Vec::new();
        let error = theirs.recv_message(&mut message).unwrap_err();
        assert_eq!((error.kind(), message.len()), (ErrorKind::UnexpectedEof, taken));
        assert!(!theirs.recv_message(&mut message).unwrap());
    });
}

/// Receives parts of one message until `len` bytes of it have come, none of which may be its last;
/// appends them to `message`.
fn receive_without_end(stream: &PrpStream, len: usize, message: &mut Vec<u8>) {
    let mut buf = vec![0; 64 * 1024];
    let until = message.len() + len;
    while message.len() < until {
        let part = stream.recv_message_part(&mut buf).unwrap().expect("the stream is open");
        message.extend_from_slice(&buf[..part.len]);
        assert!(!part.end, "an end after {} of {until} bytes", message.len());
    }
}

/// SPEC PRP-SEG-6: the sender learns how much was accepted, and the message ends with its rest.
#[test]
fn message__that_is_cut_short_is_one_message_in_the_end() {
    for nonblocking in [true, false] {
        within_patience(move || {
            let pair = Pair::new();
            let fixed = Builder::new().send_buffer(512 * 1024);
            let (ours, theirs) = pair.streams_with(&fixed, &fixed);
            let all = pattern(4 << 20);
            ours.set_nonblocking(nonblocking).unwrap();
            ours.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
            let (mut sent, mut cuts, mut got) = (0, 0, Vec::new());
            while let Err(error) = ours.send_message(&all[sent..]) {
                let Some(part) = PartialMessage::of(&error) else {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                    continue;
                };
                assert_eq!(error.kind(), ErrorKind::WriteZero);
                assert!((1..all.len() - sent).contains(&part.accepted()), "{error}");
                sent += part.accepted();
                cuts += 1;
                receive_without_end(&theirs, part.accepted(), &mut got);
            }
            assert!(cuts > 0, "no message was cut short");
            assert!(theirs.recv_message(&mut got).unwrap());
            assert!(got == all, "other bytes");
        });
    }
}

/// SPEC PRP-SEG-6: whatever is written before the rest belongs to the message.
#[test]
fn message__in_parts_goes_on_with_stream_writes() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, theirs) = pair.streams();
        assert_eq!(ours.send_message_part(b"par", false).unwrap(), 3);
        ours.write_all(&[7; 100_000]).unwrap();
        assert_eq!(ours.send_message_part(b"", true).unwrap(), 0);
        assert_eq!(ours.send_message_part(b"next", true).unwrap(), 4);
        let mut message = Vec::new();
        assert!(theirs.recv_message(&mut message).unwrap());
        assert!(message == [&b"par"[..], &[7; 100_000]].concat(), "other bytes");
        message.clear();
        assert!(theirs.recv_message(&mut message).unwrap());
        assert_eq!(message, b"next");
    });
}

/// SPEC PRP-SEG-6: a receiver is not told of a shorter message as of a whole one.
#[test]
fn message__that_is_never_finished_is_an_error_to_the_receiver() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        ours.set_nonblocking(true).unwrap();
        let error = ours.send_message(&pattern(4 << 20)).unwrap_err();
        let accepted = PartialMessage::of(&error).expect("a part was accepted").accepted();
        drop(ours);
        let mut message = Vec::new();
        let error = theirs.recv_message(&mut message).unwrap_err();
        assert_eq!((error.kind(), message.len()), (ErrorKind::UnexpectedEof, accepted));
        assert!(!theirs.recv_message(&mut message).unwrap());
    });
}

/// A message on a connection that is over was not cut short: there is nothing to go on with.
#[test]
fn message__of_which_a_part_was_accepted_fails_with_its_connection() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let sending = thread::spawn(move || ours.send_message(&pattern(4 << 20)).unwrap_err());
        wait_until("a part of the message", || theirs.peek(&mut [0]).unwrap() > 0);
        // With data unread, this is a reset.
        drop(theirs);
        let error = sending.join().unwrap();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    });
}
