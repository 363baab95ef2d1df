//! Listeners over a wire made of pipes.

use std::io::{ErrorKind, Read, Write};
use std::thread;
use std::time::Duration;

use prp_proto::state::State;
use prp_proto::stats::DropReason;

use crate::builder::Builder;
use crate::listener::PrpListener;
use crate::testing::{Pair, wait_until, within_patience};

#[test]
fn incoming__gives_connections_as_they_come() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(80, &Builder::new()).unwrap();
        let serving = thread::spawn(move || {
            let borrowed: Vec<_> = listener.incoming().take(2).map(Result::unwrap).collect();
            let kept: Vec<_> = listener.into_incoming().take(2).map(Result::unwrap).collect();
            borrowed.into_iter().chain(kept).collect::<Vec<_>>()
        });
        let ours: Vec<_> = (0..4u8)
            .map(|i| {
                let mut stream = pair.alpha.connect(pair.beta.addr(80), &Builder::new()).unwrap();
                stream.write_all(&[i]).unwrap();
                stream
            })
            .collect();
        for (i, (mut stream, ours)) in serving.join().unwrap().into_iter().zip(&ours).enumerate() {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            assert_eq!(usize::from(byte[0]), i);
            assert_eq!(stream.peer_addr().unwrap(), ours.local_addr().unwrap());
        }
    });
}

#[test]
fn accept__many_threads_take_one_each() {
    const N: usize = 16;
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(80, &Builder::new()).unwrap();
        let accepting: Vec<_> = (0..N)
            .map(|_| {
                let listener = listener.try_clone().unwrap();
                thread::spawn(move || listener.accept().unwrap())
            })
            .collect();
        let asked: Vec<_> = (0..N)
            .map(|_| pair.alpha.connect(pair.beta.addr(80), &Builder::new()).unwrap())
            .collect();
        let mut peers: Vec<_> = accepting.into_iter().map(|t| t.join().unwrap().1.port).collect();
        let mut ports: Vec<_> = asked.iter().map(|s| s.local_addr().unwrap().port).collect();
        peers.sort_unstable();
        ports.sort_unstable();
        assert_eq!(peers, ports);
    });
}

#[test]
fn open__a_port_belongs_to_one_listener() {
    within_patience(|| {
        let pair = Pair::new();
        let first = pair.beta.listen(80, &Builder::new()).unwrap();
        let error = pair.beta.listen(80, &Builder::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert_eq!(error.to_string(), format!("{} is in use", pair.beta.addr(80)));
        drop(first);
        pair.beta.listen(80, &Builder::new()).unwrap();
    });
}

#[test]
fn open__only_on_the_node_itself() {
    within_patience(|| {
        let pair = Pair::new();
        let elsewhere = pair.beta.addr(80);
        let engine = pair.alpha.engine();
        let error = PrpListener::open(engine, elsewhere, 1, &Builder::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
    });
}

#[test]
fn open__port_zero_is_any_free_one() {
    within_patience(|| {
        let pair = Pair::new();
        let listeners: Vec<_> =
            (0..10).map(|_| pair.beta.listen(0, &Builder::new()).unwrap()).collect();
        let mut ports: Vec<_> = listeners.iter().map(|l| l.local_addr().unwrap().port).collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 10);
    });
}

#[test]
fn drop__resets_what_was_not_accepted_and_refuses_the_rest() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(80, &Builder::new()).unwrap();
        let addr = pair.beta.addr(80);
        let mut waiting = pair.alpha.connect(addr, &Builder::new()).unwrap();
        drop(listener);
        assert_eq!(waiting.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        let error = pair.alpha.connect(addr, &Builder::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn drop__leaves_accepted_connections_alone() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(80, &Builder::new()).unwrap();
        let mut ours = pair.alpha.connect(pair.beta.addr(80), &Builder::new()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        drop(listener);
        ours.write_all(b"hello").unwrap();
        let mut bytes = [0; 5];
        theirs.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"hello");
    });
}

/// Requests beyond the backlog are not answered: the client goes on asking, and gets in when there
/// is room.
#[test]
fn accept__a_full_backlog_makes_others_wait() {
    within_patience(|| {
        let pair = Pair::new();
        let engine = pair.beta.engine();
        let addr = pair.beta.addr(80);
        let listener = PrpListener::open(engine, addr, 1, &Builder::new()).unwrap();
        let _first = pair.alpha.connect(addr, &Builder::new()).unwrap();
        let second = pair.alpha.connect_nonblocking(addr, &Builder::new()).unwrap();
        wait_until("a request too many", || {
            engine.lock().endpoint.stats().drops[DropReason::BacklogFull] > 0
        });
        assert!(second.peer_addr().is_err(), "the backlog is full");
        listener.accept().unwrap();
        wait_until("the second", || second.peer_addr().is_ok());
        listener.accept().unwrap();
    });
}

#[test]
fn ttl__is_inherited_by_what_is_accepted() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(80, &Builder::new()).unwrap();
        listener.set_ttl(3).unwrap();
        assert_eq!(listener.ttl().unwrap(), 3);
        assert_eq!(listener.set_ttl(0).unwrap_err().kind(), ErrorKind::InvalidInput);
        let _ours = pair.alpha.connect(pair.beta.addr(80), &Builder::new()).unwrap();
        assert_eq!(listener.accept().unwrap().0.ttl().unwrap(), 3);
    });
}

#[test]
fn accept_timeout__gives_what_is_there_or_says_that_the_time_is_over() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(80, &Builder::new()).unwrap();
        let error = listener.accept_timeout(Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let ours = pair.alpha.connect(pair.beta.addr(80), &Builder::new()).unwrap();
        let (_, peer) = listener.accept_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(peer, ours.local_addr().unwrap());
    });
}

/// SPEC PRP-CLOSE-12: what was acknowledged is there for those who accept when the client is gone.
#[test]
fn accept__after_the_client_has_reset_the_connection() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(0, &Builder::new()).unwrap();
        let addr = listener.local_addr().unwrap();
        let mut ours = pair.alpha.connect(addr, &Builder::new()).unwrap();
        ours.write_all(b"data").unwrap();
        ours.wait_delivered().unwrap();
        ours.set_linger(Some(Duration::ZERO)).unwrap();
        drop(ours);
        let is_over = || {
            let core = pair.beta.engine().lock();
            let handles = core.endpoint.handles();
            handles.iter().all(|conn| core.endpoint.state(*conn) == State::Close)
        };
        wait_until("the reset", is_over);
        let (mut theirs, _) = listener.accept().unwrap();
        let mut bytes = [0; 9];
        assert_eq!(theirs.read(&mut bytes).unwrap(), 4);
        assert_eq!(theirs.read(&mut bytes).unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}
