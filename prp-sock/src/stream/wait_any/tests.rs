use std::io::{ErrorKind, Read, Write, pipe};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use super::*;
use crate::builder::Builder;
use crate::testing::{Pair, within_patience};

/// Indices of the streams that are ready.
fn ready(awaited: &[Awaited<'_>]) -> Vec<usize> {
    (0..awaited.len()).filter(|&i| awaited[i].is_ready()).collect()
}

#[test]
fn wait_any__tells_which_streams_are_ready() {
    within_patience(|| {
        let pair = Pair::new();
        let all: Vec<_> = (0..3).map(|_| pair.streams()).collect();
        let mut awaited: Vec<_> = all.iter().map(|(ours, _)| Awaited::read(ours)).collect();
        assert_eq!(wait_any(&mut awaited, None, Some(Duration::ZERO)).unwrap(), 0);
        assert_eq!(ready(&awaited), []);
        thread::scope(|scope| {
            scope.spawn(|| (&all[1].1).write_all(b"x").unwrap());
            assert_eq!(wait_any(&mut awaited, None, None).unwrap(), 1);
        });
        assert_eq!(ready(&awaited), [1]);
        // It is reported until it is read, and the end is something to read.
        all[2].1.shutdown(std::net::Shutdown::Write).unwrap();
        while wait_any(&mut awaited, None, None).unwrap() < 2 {}
        assert_eq!(ready(&awaited), [1, 2]);
        (&all[1].0).read_exact(&mut [0]).unwrap();
        assert_eq!(wait_any(&mut awaited, None, None).unwrap(), 1);
        assert_eq!(ready(&awaited), [2]);
    });
}

#[test]
fn wait_any__for_a_message_without_bytes() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let mut awaited = [Awaited::read(&ours)];
        thread::scope(|scope| {
            scope.spawn(|| theirs.send_message(b"").unwrap());
            assert_eq!(wait_any(&mut awaited, None, None).unwrap(), 1);
        });
        assert!(ours.recv_message(&mut Vec::new()).unwrap());
        assert_eq!(wait_any(&mut awaited, None, Some(Duration::ZERO)).unwrap(), 0);
    });
}

#[test]
fn wait_any__for_room() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        ours.set_nonblocking(true).unwrap();
        let mut written = 0;
        while let Ok(n) = (&ours).write(&[0; 100_000]) {
            written += n;
        }
        let mut awaited = [Awaited::read_or_write(&ours)];
        assert_eq!(wait_any(&mut awaited, None, Some(Duration::ZERO)).unwrap(), 0);
        thread::scope(|scope| {
            scope.spawn(|| (&theirs).read_exact(&mut vec![0; written]).unwrap());
            assert_eq!(wait_any(&mut awaited, None, None).unwrap(), 1);
        });
    });
}

#[test]
fn wait_any__ends_when_the_other_descriptor_is_readable() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, _theirs) = pair.streams();
        let (end, mut start) = pipe().unwrap();
        let mut awaited = [Awaited::read(&ours)];
        thread::scope(|scope| {
            scope.spawn(move || start.write_all(b"x").unwrap());
            assert_eq!(wait_any(&mut awaited, Some(end.as_fd()), None).unwrap(), 0);
        });
        assert_eq!(ready(&awaited), []);
    });
}

/// A thread passes on what comes by either, answer for answer.
#[test]
fn wait_any_polling__ends_for_a_stream_or_the_other_descriptor() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let (program, held) = UnixStream::pair().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                for at in 0..200 {
                    (&program).write_all(&[at]).unwrap();
                    let mut answer = [0];
                    (&program).read_exact(&mut answer).unwrap();
                    assert_eq!(answer, [at]);
                }
            });
            scope.spawn(|| {
                let mut byte = [0];
                for _ in 0..200 {
                    (&theirs).read_exact(&mut byte).unwrap();
                    (&theirs).write_all(&byte).unwrap();
                }
            });
            let mut byte = [0];
            for _ in 0..200 {
                let mut awaited = [Awaited::read(&ours)];
                assert_eq!(wait_any_polling(&mut awaited, Some(held.as_fd()), None).unwrap(), 0);
                (&held).read_exact(&mut byte).unwrap();
                (&ours).write_all(&byte).unwrap();
                assert_eq!(wait_any_polling(&mut awaited, Some(held.as_fd()), None).unwrap(), 1);
                (&ours).read_exact(&mut byte).unwrap();
                (&held).write_all(&byte).unwrap();
            }
        });
    });
}

/// A thread that reads another stream does the work; the one that waits for several is woken for
/// its streams and for the descriptor.
#[test]
fn wait_any__while_another_thread_drives() {
    within_patience(|| {
        let pair = Pair::new();
        let (read, other_end) = pair.streams();
        let (ours, theirs) = pair.streams();
        let engine = &ours.inner.engine;
        thread::scope(|scope| {
            scope.spawn(|| (&read).read_exact(&mut [0]).unwrap());
            while engine.lock().registered() < 1 {
                thread::yield_now();
            }
            let (notify, waiting) = channel();
            let (end, mut start) = pipe().unwrap();
            let mut ours = &ours;
            scope.spawn(move || {
                let mut awaited = [Awaited::read(ours)];
                assert_eq!(wait_any(&mut awaited, None, None).unwrap(), 1);
                ours.read_exact(&mut [0]).unwrap();
                notify.send(()).unwrap();
                assert_eq!(wait_any(&mut awaited, Some(end.as_fd()), None).unwrap(), 0);
                notify.send(()).unwrap();
            });
            while engine.lock().registered() < 2 {
                thread::yield_now();
            }
            (&theirs).write_all(b"x").unwrap();
            waiting.recv().unwrap();
            start.write_all(b"x").unwrap();
            waiting.recv().unwrap();
            (&other_end).write_all(b"x").unwrap();
        });
    });
}

#[test]
fn wait_any__refuses_what_no_thread_could_wait_for() {
    let pair = Pair::new();
    let (ours, theirs) = pair.streams();
    let of = |streams: &mut [Awaited<'_>]| wait_any(streams, None, None).unwrap_err().kind();
    assert_eq!(of(&mut []), ErrorKind::InvalidInput);
    let mut two = [Awaited::read(&ours), Awaited::read(&theirs)];
    assert_eq!(of(&mut two), ErrorKind::InvalidInput);
}

#[test]
fn wait_any__for_connections_and_for_answers() {
    within_patience(|| {
        let pair = Pair::new();
        let builder = Builder::new();
        let listener = pair.beta.listen(0, &builder).unwrap();
        let mut listening = [Awaited::accept(&listener)];
        assert_eq!(wait_any(&mut listening, None, Some(Duration::ZERO)).unwrap(), 0);
        assert!(!listening[0].is_ready());
        let peer = listener.local_addr().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                let asked = pair.alpha.connect_nonblocking(peer, &builder).unwrap();
                assert_eq!(wait_any(&mut [Awaited::write(&asked)], None, None).unwrap(), 1);
                assert!(asked.take_error().unwrap().is_none());
                asked.peer_addr().unwrap();
            });
            assert_eq!(wait_any(&mut listening, None, None).unwrap(), 1);
        });
        assert!(listening[0].is_ready());
        listener.accept().unwrap();
        assert_eq!(wait_any(&mut listening, None, Some(Duration::ZERO)).unwrap(), 0);
        drop(listener);
        let refused = pair.alpha.connect_nonblocking(peer, &builder).unwrap();
        assert_eq!(wait_any(&mut [Awaited::write(&refused)], None, None).unwrap(), 1);
        let error = refused.take_error().unwrap().expect("no process listens");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}
