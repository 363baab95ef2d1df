//! Processes that end with their last connection (SPEC PRP-CLOSE-10).

use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::endpoint::Endpoint;
use crate::time::Instant;

/// Whether nothing keeps a process that is about to end, as the driver asks.
fn may_end(endpoint: &Endpoint) -> bool {
    let is_done = |conn| endpoint.is_flushed(conn) && !endpoint.state(conn).is_finished();
    endpoint.handles().into_iter().all(is_done) && !endpoint.wants_transmit()
}

/// One of two processes that read to the end, answer with an end of their own, and end as soon as they may.
#[derive(Default)]
struct Process {
    answered: bool,
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
        if ended && endpoint.is_flushed(conn) && self.left.is_none() {
            assert_eq!(endpoint.take_error(conn), None);
            self.left = Some(now);
            endpoint.release(now, conn, false);
            endpoint.leave(now);
        }
    }

    /// Whether it ends now, after which nobody hears or says anything in its name.
    fn ends(&mut self, endpoint: &Endpoint, now: Instant) -> bool {
        let ends = self.took.is_none() && self.left.is_some() && may_end(endpoint);
        if ends {
            self.took = self.left.map(|left| now.since(left));
        }
        ends
    }
}

/// How long the client's and the server's process take to end, once they have heard all and know that all they said was heard.
/// Both announce their ends at once if these are to be `crossing`; the wire loses every frame that `is_lost`, by number.
fn both_end(crossing: bool, is_lost: impl Fn(usize) -> bool + Send + 'static) -> [Duration; 2] {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let one_is_gone = Arc::new(AtomicBool::new(false));
    let (gone, mut frames) = (one_is_gone.clone(), 0);
    pair.rule = Box::new(move |_, _| {
        frames += 1;
        let lost = gone.load(Ordering::Relaxed) || is_lost(frames - 1);
        if lost { Verdict::Drop } else { Verdict::Pass }
    });
    pair.write_all(ToServer, c, b"last words");
    pair.client.endpoint.shutdown_send(pair.time, c);
    let [mut client, mut server] = [(); 2].map(|()| Process::default());
    client.answered = true;
    if crossing {
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
        assert!(pair.time < Instant::from_nanos(10_000_000_000), "it hangs");
    }
    [client, server].map(|process| process.took.unwrap_or_default())
}

/// A round trip takes 20 us here.
#[test]
fn leave__takes_a_round_trip_where_nothing_is_lost() {
    for crossing in [false, true] {
        for took in both_end(crossing, |_| false) {
            assert!(took <= Duration::from_micros(40), "crossing {crossing}: {took:?}");
        }
    }
}

/// Two frames in a row, whichever: nobody waits for an end that is gone, or takes all it said for lost.
#[test]
fn leave__after_any_lost_frames_is_a_matter_of_two_seconds() {
    for crossing in [false, true] {
        for first in 0..12 {
            for second in first..first + 6 {
                let took = both_end(crossing, move |n| n == first || n == second);
                let longest = took.into_iter().max().unwrap_or_default();
                assert!(longest <= 2 * 1000 * MS, "frames {first} and {second}: {took:?}");
            }
        }
    }
}
