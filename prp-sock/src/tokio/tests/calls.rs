//! Calls that do not wait, readiness, messages and halves.

use std::future::Future;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::task::{Context, Poll, Waker};
use std::thread;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest, ReadBuf, Ready};

use super::{Task, block_on, listener, streams};
use crate::PrpAddr;
use crate::builder::Builder;
use crate::testing::{Pair, wait_until, within_patience};
use crate::tokio::{PrpStream, lookup_host};

fn kind<T: std::fmt::Debug>(result: std::io::Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn try_read__takes_what_is_there_and_never_waits() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        let mut buf = [0; 4];
        assert_eq!(kind(ours.try_read(&mut buf)), ErrorKind::WouldBlock);
        assert_eq!(kind(ours.try_read_buf(&mut Vec::with_capacity(4))), ErrorKind::WouldBlock);
        assert_eq!(theirs.try_write(&[7; 10_000]).unwrap(), 10_000);
        block_on(ours.readable()).unwrap();
        let inner = ours.get_ref().inner().unwrap();
        wait_until("all of it", || inner.engine.lock().endpoint.unread(inner.conn) == 10_000);
        assert_eq!(ours.try_read(&mut buf).unwrap(), 4);
        let (mut a, mut b) = ([0; 3], [0; 5]);
        let mut bufs = [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)];
        assert_eq!(ours.try_read_vectored(&mut bufs).unwrap(), 8);
        // Expect: as much as there is room for, in more than one piece, and no growth.
        let mut vec = Vec::with_capacity(9_000);
        let room = vec.capacity();
        let n = ours.try_read_buf(&mut vec).unwrap();
        assert_eq!((n, vec.len(), vec.capacity()), (room, room, room));
        let mut rest = Vec::with_capacity(9_000);
        assert_eq!(ours.try_read_buf(&mut rest).unwrap(), 10_000 - 12 - room);
        assert!([&a[..], &b, &vec, &rest].concat().iter().all(|byte| *byte == 7));
        assert_eq!(kind(ours.try_read(&mut buf)), ErrorKind::WouldBlock);
    });
}

#[test]
fn try_write__fills_the_room_there_is() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, _theirs) = streams(&pair);
        let mut written = 0;
        wait_until("full buffers", || {
            match ours.try_write_vectored(&[IoSlice::new(&[0; 40_000]), IoSlice::new(&[0; 3])]) {
                Ok(n) => {
                    written += n;
                    false
                }
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::WouldBlock);
                    assert_eq!(e.raw_os_error(), Some(libc::EAGAIN));
                    written >= 900 * 1024
                }
            }
        });
    });
}

#[test]
fn ready__tells_what_for_and_what_has_ended() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        let both = Interest::READABLE | Interest::WRITABLE;
        assert_eq!(block_on(ours.ready(both)).unwrap(), Ready::WRITABLE);
        let mut reading = Task::pending(ours.ready(Interest::READABLE));
        theirs.try_write(b"x").unwrap();
        reading.wait_woken("ready");
        assert!(matches!(reading.poll(), Poll::Ready(Ok(Ready::READABLE))));
        drop(reading);
        assert_eq!(block_on(ours.ready(both)).unwrap(), Ready::READABLE | Ready::WRITABLE);
        ours.try_read(&mut [0; 9]).unwrap();
        assert_eq!(block_on(ours.ready(both)).unwrap(), Ready::WRITABLE);
        theirs.get_ref().shutdown(Shutdown::Write).unwrap();
        let ready = block_on(ours.ready(Interest::READABLE)).unwrap();
        assert_eq!(ready, Ready::READABLE | Ready::READ_CLOSED);
        ours.get_ref().shutdown(Shutdown::Write).unwrap();
        let ready = block_on(ours.ready(Interest::WRITABLE)).unwrap();
        assert!(ready.is_write_closed(), "{ready:?}");
    });
}

#[test]
fn ready__tells_of_an_error_and_of_room() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        wait_until("full buffers", || ours.try_write(&[0; 65536]).is_err());
        let mut failing = Task::pending(ours.ready(Interest::ERROR));
        theirs.set_zero_linger().unwrap();
        drop(theirs);
        failing.wait_woken("ready");
        assert!(matches!(failing.poll(), Poll::Ready(Ok(Ready::ERROR))));
        drop(failing);
        let ready = block_on(ours.ready(Interest::WRITABLE)).unwrap();
        assert!(ready.is_writable() && ready.is_write_closed(), "{ready:?}");
        let error = ours.take_error().unwrap().expect("it was reset");
        assert_eq!(error.raw_os_error(), Some(libc::ECONNRESET));
    });
}

#[test]
fn poll_ready__wakes_the_last_task() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        let mut reading = Task::pending(std::future::poll_fn(|cx| ours.poll_read_ready(cx)));
        let (ours, theirs) = (&ours, &theirs);
        assert!(block_on(std::future::poll_fn(|cx| ours.poll_write_ready(cx))).is_ok());
        theirs.try_write(b"hello").unwrap();
        reading.wait_woken("poll_read_ready");
        assert!(matches!(reading.poll(), Poll::Ready(Ok(()))));
        let mut bytes = [0; 8];
        let mut buf = ReadBuf::new(&mut bytes);
        assert_eq!(block_on(std::future::poll_fn(|cx| ours.poll_peek(cx, &mut buf))).unwrap(), 5);
        assert_eq!(buf.filled(), b"hello");
        assert_eq!(ours.try_read(&mut bytes).unwrap(), 5, "peeking takes nothing");
    });
}

#[test]
fn try_io__runs_what_would_not_wait() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        ours.get_ref().set_nonblocking(true).unwrap();
        let read = || ours.get_ref().read(&mut [0; 3]);
        let refused = ours.try_io(Interest::READABLE, || unreachable!("there is nothing"));
        assert_eq!(kind::<()>(refused), ErrorKind::WouldBlock);
        assert_eq!(ours.try_io(Interest::WRITABLE, || Ok(3)).unwrap(), 3);
        let mut reading = Task::pending(ours.async_io(Interest::READABLE, read));
        theirs.try_write(b"abcd").unwrap();
        reading.wait_woken("async_io");
        assert!(matches!(reading.poll(), Poll::Ready(Ok(3))));
        assert_eq!(ours.try_io(Interest::READABLE, read).unwrap(), 1);
    });
}

#[test]
fn message__is_received_as_it_was_sent() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        let long: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
        let (long, expected) = (long.clone(), long);
        let receiving = async {
            let mut got = Vec::new();
            for _ in 0..3 {
                let mut message = Vec::new();
                assert!(theirs.recv_message(&mut message).await.unwrap());
                got.push(message);
            }
            assert!(!theirs.recv_message(&mut Vec::new()).await.unwrap(), "it has ended");
            got
        };
        let sending = async move {
            for message in [&b"one"[..], &long, b""] {
                ours.send_message(message).await.unwrap();
            }
            ours.get_ref().shutdown(Shutdown::Write).unwrap();
            ours.wait_delivered().await.unwrap();
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let tasks = tokio::task::LocalSet::new();
        let sending = tasks.spawn_local(sending);
        let got = tasks.block_on(&runtime, async {
            let got = receiving.await;
            sending.await.unwrap();
            got
        });
        assert!(got == [b"one".to_vec(), expected, Vec::new()], "other messages");
    });
}

/// A future that is dropped has taken nothing, and what was taken has no end until the rest is
/// there.
#[test]
fn message__in_parts_is_one_message_and_says_how_much_was_accepted() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        let all: Vec<u8> = (0..3_000_000_u32).map(|n| n as u8).collect();
        let mut sent = 0;
        // The peer does not read: the buffers of both ends fill.
        wait_until("full buffers", || {
            let mut sending = Box::pin(ours.send_message_part(&all[sent..], true));
            let polled = sending.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(accepted) = &polled {
                sent += accepted.as_ref().unwrap();
            }
            polled.is_pending() && sent >= 900 * 1024
        });
        assert!(sent < all.len());
        let mut got = Vec::new();
        let mut piece = vec![0; 64 * 1024];
        while got.len() < sent {
            let part = block_on(theirs.recv_message_part(&mut piece)).unwrap().unwrap();
            got.extend_from_slice(&piece[..part.len]);
            assert!(!part.end, "an end after {} of {sent} bytes", got.len());
        }
        let (_, mut write) = ours.into_split();
        let receiving = thread::spawn(move || {
            assert!(block_on(theirs.recv_message(&mut got)).unwrap());
            got
        });
        while sent < all.len() {
            sent += block_on(write.send_message_part(&all[sent..], true)).unwrap();
        }
        assert!(receiving.join().unwrap() == all, "other bytes");
    });
}

#[test]
fn halves__have_what_the_stream_has() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, theirs) = streams(&pair);
        let ends = (ours.local_addr().unwrap(), ours.peer_addr().unwrap());
        {
            let (read, write) = ours.split();
            assert_eq!((read.local_addr().unwrap(), write.peer_addr().unwrap()), ends);
            assert_eq!(write.try_write(b"borrowed").unwrap(), 8);
            assert_eq!(block_on(write.ready(Interest::WRITABLE)).unwrap(), Ready::WRITABLE);
            assert_eq!(kind(read.try_read(&mut [0; 1])), ErrorKind::WouldBlock);
        }
        let (mut read, mut write) = theirs.into_split();
        assert_eq!(read.as_ref().peer_addr().unwrap(), ends.0);
        block_on(async {
            let mut bytes = [0; 8];
            assert!(read.peek(&mut bytes).await.unwrap() > 0);
            read.read_exact(&mut bytes).await.unwrap();
            assert_eq!(&bytes, b"borrowed");
            write.write_all(b"owned").await.unwrap();
            write.wait_delivered().await.unwrap();
        });
        let whole = write.reunite(read).expect("they are of one stream");
        assert_eq!(whole.into_std().unwrap().peer_addr().unwrap(), ends.0);
        assert_eq!(block_on(ours.read_exact(&mut [0; 5])).unwrap(), 5);
    });
}

/// As tokio's: what it has made does not block, what it was given is as it was.
#[test]
fn into_std__gives_a_stream_that_does_not_block() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = listener(&pair);
        let accepted = Task::pending(listener.accept());
        let _ours = pair.alpha.connect(pair.beta.addr(80), &Builder::new()).unwrap();
        accepted.wait_woken("accept");
        drop(accepted);
        let (stream, _) = block_on(listener.accept()).unwrap();
        let mut std = stream.into_std().unwrap();
        assert_eq!(kind(std.read(&mut [0; 1])), ErrorKind::WouldBlock);
        let again = PrpStream::try_from(std).unwrap();
        assert_eq!(again.peer_addr().unwrap().node, pair.alpha.addr(0).node);
        assert_eq!(listener.into_std().unwrap().local_addr().unwrap(), pair.beta.addr(80));
    });
}

#[test]
fn as_fd__shows_what_can_be_read() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        let shows = || {
            let mut fds = [PollFd::new(ours.as_fd(), PollFlags::POLLIN)];
            poll(&mut fds, PollTimeout::ZERO).unwrap() > 0
        };
        assert!(!shows());
        theirs.try_write(b"x").unwrap();
        wait_until("the byte", shows);
    });
}

/// A panic that is caught leaves streams and listeners usable.
#[test]
fn unwind__streams_go_on_after_a_panic() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = streams(&pair);
        let caught = std::panic::catch_unwind(|| {
            ours.try_write(b"before").unwrap();
            std::panic::resume_unwind(Box::new("a panic"));
        });
        assert!(caught.is_err());
        ours.try_write(b" and after").unwrap();
        let mut count = 0;
        wait_until("all of it", || {
            count += theirs.try_read(&mut [0; 32]).unwrap_or(0);
            count == 16
        });
    });
}

#[test]
fn lookup_host__gives_addresses_and_says_what_is_wrong() {
    let addrs: Vec<_> = block_on(lookup_host("3:80")).unwrap().collect();
    assert_eq!(addrs, [PrpAddr::try_from((3, 80)).unwrap()]);
    assert_eq!(kind(block_on(lookup_host((0, 80))).map(|_| ())), ErrorKind::InvalidInput);
}
