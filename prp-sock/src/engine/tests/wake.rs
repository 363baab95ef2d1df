//! What wakes whom.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{IdleLeader, many, read_byte, wait_for_crew};
use crate::builder::Builder;
use crate::stream::PrpStream;
use crate::testing::{Pair, wait_until, within_patience};

/// Runs `test` twice: so that the thread of alpha's that it makes wait is the leader, and so that
/// it is a follower. `test` is told how many followers there are then.
fn as_leader_and_as_follower(test: impl Fn(&Pair, usize) + Clone + Send + 'static) {
    for followers in [0, 1] {
        let test = test.clone();
        within_patience(move || {
            let pair = Pair::new();
            let idle_leader = (followers == 1).then(|| IdleLeader::new(&pair));
            test(&pair, followers);
            drop(idle_leader);
            let core = pair.alpha.engine().lock();
            assert_eq!(core.registered(), 0, "no thread waits");
        });
    }
}

#[test]
fn follow__wakes_on_its_own_data_while_another_thread_drives() {
    within_patience(|| {
        let pair = Pair::new();
        let idle_leader = IdleLeader::new(&pair);
        let (ours, mut theirs) = pair.streams();
        for _ in 0..200 {
            let follower = read_byte(&ours);
            wait_for_crew(pair.alpha.engine(), 1);
            theirs.write_all(&[1]).unwrap();
            assert_eq!(follower.join().unwrap().unwrap(), 1);
        }
        // Expect: the leader has led all along.
        drop(idle_leader);
    });
}

#[test]
fn drive__hands_over_to_every_follower_in_order() {
    const N: usize = 16;
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = many(&pair, N);
        let mut readers = Vec::new();
        for (i, stream) in ours.iter().enumerate() {
            readers.push(read_byte(stream));
            wait_for_crew(pair.alpha.engine(), i);
        }
        for (i, reader) in readers.into_iter().enumerate() {
            theirs[i].write_all(&[1]).unwrap();
            assert_eq!(reader.join().unwrap().unwrap(), 1);
            if i + 1 < N {
                // Expect: one of the followers leads.
                wait_for_crew(pair.alpha.engine(), N - i - 2);
            }
        }
        assert_eq!(pair.alpha.engine().lock().registered(), 0);
    });
}

#[test]
fn drive__a_timeout_hands_over_too() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = many(&pair, 2);
        ours[0].set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let leader = read_byte(&ours[0]);
        wait_for_crew(pair.alpha.engine(), 0);
        let follower = read_byte(&ours[1]);
        assert_eq!(leader.join().unwrap().unwrap_err().kind(), ErrorKind::WouldBlock);
        // Expect: the follower has taken the place, and sleeps in it.
        wait_for_crew(pair.alpha.engine(), 0);
        theirs[1].write_all(&[1]).unwrap();
        assert_eq!(follower.join().unwrap().unwrap(), 1);
        assert_eq!(pair.alpha.engine().lock().registered(), 0);
    });
}

#[test]
fn wait__a_timeout_leaves_nothing_behind() {
    as_leader_and_as_follower(|pair, followers| {
        let (ours, _theirs) = pair.streams();
        ours.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        for _ in 0..5 {
            let error = (&ours).read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            let core = pair.alpha.engine().lock();
            assert_eq!(
                core.waiting.leader.iter().count(),
                followers,
                "the idle leader, if there is one"
            );
            assert!(core.waiting.followers.is_empty());
        }
    });
}

#[test]
fn shutdown__of_reading_wakes_a_reader() {
    as_leader_and_as_follower(|pair, followers| {
        let (ours, _theirs) = pair.streams();
        let reader = read_byte(&ours);
        wait_for_crew(pair.alpha.engine(), followers);
        ours.shutdown(Shutdown::Read).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), 0);
    });
}

#[test]
fn shutdown__of_writing_by_the_peer_wakes_a_reader() {
    as_leader_and_as_follower(|pair, followers| {
        let (ours, theirs) = pair.streams();
        let reader = read_byte(&ours);
        wait_for_crew(pair.alpha.engine(), followers);
        theirs.shutdown(Shutdown::Write).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), 0);
    });
}

#[test]
fn drop__by_the_peer_wakes_a_reader() {
    as_leader_and_as_follower(|pair, followers| {
        let (ours, theirs) = pair.streams();
        let reader = read_byte(&ours);
        wait_for_crew(pair.alpha.engine(), followers);
        drop(theirs);
        assert_eq!(reader.join().unwrap().unwrap(), 0);
    });
}

#[test]
fn reset__by_the_peer_wakes_a_reader() {
    as_leader_and_as_follower(|pair, followers| {
        let (ours, theirs) = pair.streams();
        let reader = read_byte(&ours);
        wait_for_crew(pair.alpha.engine(), followers);
        theirs.set_linger(Some(Duration::ZERO)).unwrap();
        drop(theirs);
        assert_eq!(reader.join().unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

/// A connection of alpha's with a writer that waits for room, which it gets when beta reads.
fn blocked_writer(
    pair: &Pair,
    followers: usize,
) -> (PrpStream, PrpStream, JoinHandle<io::Result<()>>) {
    let (ours, theirs) = pair.streams();
    let mut writer = ours.try_clone().unwrap();
    let writing = thread::spawn(move || writer.write_all(&vec![0; BLOCKING]));
    let (conn, engine) = (ours.inner().unwrap().conn, pair.alpha.engine());
    // A writer that sleeps is woken for half of the buffer, so that is how much may be free in the
    // end.
    wait_until("a full buffer", || !engine.lock().endpoint.is_writable(conn));
    wait_for_crew(engine, followers);
    (ours, theirs, writing)
}

/// More than both buffers take, once that of the writer has grown.
const BLOCKING: usize = 8 << 20;

#[test]
fn shutdown__of_writing_wakes_a_writer() {
    as_leader_and_as_follower(|pair, followers| {
        let (ours, _theirs, writing) = blocked_writer(pair, followers);
        ours.shutdown(Shutdown::Write).unwrap();
        assert_eq!(writing.join().unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn drop__by_the_peer_wakes_a_writer() {
    as_leader_and_as_follower(|pair, followers| {
        // Expect: a reset, since what the peer drops has data unread.
        let (_ours, theirs, writing) = blocked_writer(pair, followers);
        drop(theirs);
        assert_eq!(writing.join().unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn read__by_the_peer_wakes_a_writer() {
    as_leader_and_as_follower(|pair, followers| {
        let (_ours, mut theirs, writing) = blocked_writer(pair, followers);
        let mut bytes = vec![1; BLOCKING];
        theirs.read_exact(&mut bytes).unwrap();
        writing.join().unwrap().unwrap();
        assert!(bytes.iter().all(|b| *b == 0));
    });
}

#[test]
fn write__times_out_with_what_it_has_done() {
    as_leader_and_as_follower(|pair, _| {
        let (mut ours, _theirs) = pair.streams();
        ours.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        let taken = ours.write(&vec![0; BLOCKING]).unwrap();
        // Expect: both buffers full, and the rest not taken.
        assert!((512 * 1024..BLOCKING).contains(&taken), "{taken}");
        let error = loop {
            if let Err(e) = ours.write(&[0; 1024]) {
                break e;
            }
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    });
}

#[test]
fn accept__wakes() {
    as_leader_and_as_follower(|pair, followers| {
        let listener = pair.alpha.listen(0, &Builder::new()).unwrap();
        let addr = listener.local_addr().unwrap();
        let accepting = thread::spawn(move || listener.accept());
        wait_until("all to wait", || pair.alpha.engine().lock().registered() == followers + 1);
        let stream = pair.beta.connect(addr, &Builder::new()).unwrap();
        let (_accepted, peer) = accepting.join().unwrap().unwrap();
        assert_eq!(peer, stream.local_addr().unwrap());
    });
}

/// Dropping comes back when everything is delivered, long before the linger time is over.
#[test]
fn linger__ends_with_delivery() {
    as_leader_and_as_follower(|pair, _| {
        for _ in 0..5 {
            let (mut ours, mut theirs) = pair.streams();
            ours.set_linger(Some(Duration::from_secs(600))).unwrap();
            ours.write_all(&[7; 100_000]).unwrap();
            let conn = ours.inner().unwrap().conn;
            drop(ours);
            assert!(pair.alpha.engine().lock().endpoint.is_flushed(conn));
            let mut bytes = Vec::new();
            theirs.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, [7; 100_000]);
        }
    });
}

/// Several threads wait on one stream: each byte is taken by one of them, and none is left behind.
#[test]
fn read__many_threads_share_a_stream() {
    const READERS: usize = 8;
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        for _ in 0..50 {
            let readers: Vec<_> = (0..READERS).map(|_| read_byte(&ours)).collect();
            wait_for_crew(pair.alpha.engine(), READERS - 1);
            theirs.write_all(&[1; READERS]).unwrap();
            readers.into_iter().for_each(|r| assert_eq!(r.join().unwrap().unwrap(), 1));
        }
        assert_eq!(pair.alpha.engine().lock().registered(), 0);
    });
}
