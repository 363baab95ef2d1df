//! Processes that end with their last connection (SPEC PRP-CLOSE-10).

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;
use crate::endpoint::Endpoint;
use crate::time::Instant;
use crate::transmit::TransmitBatch;

/// One of two processes that read to the end, answer with an end of their own, and end as soon as
/// they may.
#[derive(Default)]
struct Process {
    answered: bool,
    /// It does not wait for the peer's end.
    is_hasty: bool,
    left: Option<Instant>,
    took: Option<Duration>,
}

impl Process {
    fn act(&mut self, endpoint: &mut Endpoint, conn: ConnHandle, now: Instant) {
        while let Ok(1..) = endpoint.read(now, conn, &mut [0; 99]) {}
        let ended = endpoint.has_ended(conn);
        if ended && !self.answered {
            self.answered = true;
            endpoint.shutdown_send(now, conn);
        }
        let done = self.answered && (ended || self.is_hasty);
        if done && endpoint.is_flushed(conn) && self.left.is_none() {
            assert_eq!(endpoint.take_error(conn), None);
            self.left = Some(now);
            endpoint.release(now, conn, false);
            endpoint.leave(now);
        }
    }

    /// Whether it ends now, after which it neither receives nor sends.
    fn ends(&mut self, endpoint: &Endpoint, now: Instant) -> bool {
        let ends = self.took.is_none() && self.left.is_some() && endpoint.may_end();
        if ends {
            self.took = self.left.map(|left| now.since(left));
        }
        ends
    }
}

/// How both connections come to their ends.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Manner {
    /// The server closes when it has heard the client's end.
    Answer,
    /// Both close at once.
    Crossing,
    /// The client's process ends without having heard the server's end.
    Haste,
    /// Both close at once, and the client's process ends so, too.
    CrossingHaste,
}

const MANNERS: [Manner; 4] =
    [Manner::Answer, Manner::Crossing, Manner::Haste, Manner::CrossingHaste];

/// How long the client's and the server's process take to end, once they have heard all and know
/// that all they said was heard. The wire loses every frame that `is_lost`, by number.
fn both_end(manner: Manner, is_lost: impl Fn(usize) -> bool + Send + 'static) -> [Duration; 2] {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let one_is_gone = Arc::new(AtomicBool::new(false));
    let (gone, mut frames) = (one_is_gone.clone(), 0);
    pair.rule = Box::new(move |_, _| {
        frames += 1;
        let lost = gone.load(Ordering::Relaxed) || is_lost(frames - 1);
        if lost { FrameAction::Drop } else { FrameAction::Pass }
    });
    pair.write_all(ToServer, c, b"last words");
    pair.client.endpoint.shutdown_send(pair.time, c);
    let [mut client, mut server] = [(); 2].map(|()| Process::default());
    client.answered = true;
    client.is_hasty = matches!(manner, Manner::Haste | Manner::CrossingHaste);
    if matches!(manner, Manner::Crossing | Manner::CrossingHaste) {
        pair.server.endpoint.shutdown_send(pair.time, s);
    }
    while client.took.is_none() || server.took.is_none() {
        let now = pair.time;
        if client.took.is_none() {
            client.act(&mut pair.client.endpoint, c, now);
        }
        if server.took.is_none() {
            server.act(&mut pair.server.endpoint, s, now);
        }
        let gone =
            client.ends(&pair.client.endpoint, now) | server.ends(&pair.server.endpoint, now);
        one_is_gone.fetch_or(gone, Ordering::Relaxed);
        assert!(pair.step(), "nothing happens any more");
        assert!(pair.time < Instant::from_nanos(10_000_000_000), "{manner:?}: it hangs");
    }
    [client, server].map(|process| process.took.unwrap_or_default())
}

/// A round trip takes 20 us here.
#[test]
fn leave__takes_a_round_trip_where_nothing_is_lost() {
    for manner in MANNERS {
        for took in both_end(manner, |_| false) {
            assert!(took <= Duration::from_micros(40), "{manner:?}: {took:?}");
        }
    }
}

/// Two frames in a row, whichever: no end waits for one that is gone, or takes all it sent for
/// lost.
#[test]
fn leave__after_any_lost_frames_is_a_matter_of_two_seconds() {
    for manner in MANNERS {
        for first in 0..12 {
            for second in first..first + 6 {
                let took = both_end(manner, move |n| n == first || n == second);
                let longest = took.into_iter().max().unwrap_or_default();
                assert!(
                    longest <= 2 * 1000 * MS,
                    "{manner:?}, frames {first} and {second}: {took:?}"
                );
            }
        }
    }
}

/// A peer that goes on after the other process has ended loses nothing by that: it can end its own
/// side alone, and what it writes fails at once.
#[test]
fn leave__peer_may_close_whenever_it_likes() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.write_all(ToServer, c, b"all");
    pair.client.endpoint.release(pair.time, c, false);
    pair.client.endpoint.leave(pair.time);
    assert!(pair.drive_until(|p| p.client.endpoint.may_end()));
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    assert_eq!(pair.read_available(ToServer, s), b"all");
    assert!(pair.server.endpoint.state(s).can_send());
    assert_eq!(pair.server.endpoint.take_error(s), None);
    pair.server.endpoint.shutdown_send(pair.time, s);
    assert!(pair.server.endpoint.is_flushed(s));
    assert_eq!(pair.server.endpoint.take_error(s), None);
    assert_eq!(pair.server.endpoint.state(s), State::Close);
}

#[test]
fn leave__writing_to_a_peer_that_has_left_fails() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.client.endpoint.release(pair.time, c, false);
    pair.client.endpoint.leave(pair.time);
    assert!(pair.drive_until(|p| p.client.endpoint.may_end()));
    let mut batch = TransmitBatch::new(32, 1 << 20);
    let server = &mut pair.server.endpoint;
    assert!(!server.try_send_now(pair.time, s, b"x", Ending::Write, &mut batch));
    let write = server.write(pair.time, s, b"x", Ending::Write);
    assert_eq!(write, Err(WriteError::Conn(ConnError::PeerClosed)));
}

/// A process that ends with data unread resets its connections, and each RST may be lost.
#[test]
fn leave__a_lost_reset_is_followed_by_another_one() {
    for lost in 0..2 {
        let mut pair = Pair::default();
        let (c, s) = pair.established();
        pair.write_all(ToClient, s, b"unread");
        pair.drive();
        let mut frames = 0;
        pair.rule = Box::new(move |_, _| {
            frames += 1;
            if frames == lost + 1 { FrameAction::Drop } else { FrameAction::Pass }
        });
        pair.client.endpoint.release(pair.time, c, false);
        pair.client.endpoint.leave(pair.time);
        assert!(pair.drive_until(|p| p.client.endpoint.may_end()));
        pair.drive();
        assert_eq!(pair.server.endpoint.take_error(s), Some(ConnError::Reset), "frame {lost}");
    }
}

/// A thousand connections have ended just now. No acknowledgement of the server's ends arrives, and
/// the server has not repeated them.
fn thousand_ended() -> Pair {
    let mut pair = Pair::default();
    pair.latency = Duration::ZERO;
    let listener = pair.listen(80, ConnConfig::default());
    let begun = pair.time;
    for port in 40_000..41_000 {
        pair.rule = Box::new(|_, _| FrameAction::Pass);
        let (local, server) = (Some(Port::new(port)), Pair::server_addr(80));
        let client = &mut pair.client.endpoint;
        let c = client.connect(begun, server, local, ConnConfig::default(), |_| true).unwrap();
        pair.drive();
        let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
        pair.client.endpoint.release(pair.time, c, false);
        pair.drive();
        pair.rule =
            Box::new(|to, _| if to == ToServer { FrameAction::Drop } else { FrameAction::Pass });
        pair.server.endpoint.release(pair.time, s, false);
        pair.drive();
    }
    assert_eq!(pair.time, begun);
    pair
}

/// Of what a process says at last each frame is lost once.
#[test]
fn leave__peers_of_all_connections_that_ended_lately_are_notified() {
    let mut pair = thousand_ended();
    let mut lost = BTreeSet::new();
    pair.rule = Box::new(move |to, bytes| {
        let is_lost = to == ToServer && flags(bytes).contains(Flags::RST);
        if is_lost && lost.insert(bytes.to_vec()) { FrameAction::Drop } else { FrameAction::Pass }
    });
    pair.client.endpoint.leave(pair.time);
    assert!(pair.drive_until(|p| p.client.endpoint.may_end()));
    pair.drive();
    // Expect: none waits for the process that is gone.
    assert_eq!(pair.server.endpoint.handles().len(), 0);
}

/// The server's process runs every 40 ms, and its ring takes 512 frames meanwhile.
#[test]
fn leave__peers_with_one_ring_are_notified_bit_by_bit() {
    const PERIOD: Duration = Duration::from_millis(40);
    let mut pair = thousand_ended();
    let room = Arc::new(AtomicUsize::new(512));
    let left = room.clone();
    pair.rule = Box::new(move |to, _| {
        let takes = |n: usize| n.checked_sub(1);
        let is_lost = to == ToServer
            && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, takes).is_err();
        if is_lost { FrameAction::Drop } else { FrameAction::Pass }
    });
    let begun = pair.time;
    let mut ran = begun;
    pair.client.endpoint.leave(begun);
    let ended = pair.drive_until(|p| {
        if p.time.since(ran) >= PERIOD {
            ran = p.time;
            room.store(512, Ordering::Relaxed);
        }
        p.client.endpoint.may_end()
    });
    assert!(ended);
    assert!(pair.time.since(begun) <= Duration::from_millis(250));
    pair.drive();
    assert_eq!(pair.server.endpoint.handles().len(), 0);
}
