//! Links on which a segment takes longer than a round trip does elsewhere. What waits for them must
//! not be taken for lost: what is sent twice takes its time twice, one after the other.

use super::*;

/// What became of a transfer.
#[derive(Debug)]
struct Course {
    /// Payload, of what the wire could have carried in that time.
    share: f64,
    /// Bytes on the wire for each that arrived.
    cost: f64,
    needless: u64,
}

/// A pair with a connection over a wire of `rate` bits a second that takes `burst` bytes at once.
fn connected(rate: u64, burst: u64, config: ConnConfig) -> (Pair, ConnHandle, ConnHandle) {
    let mut pair = Pair::default();
    pair.rate = Some((rate, burst));
    let listener = pair.listen(80, config);
    let c = pair.connect(80, config);
    assert!(pair.drive_until(|p| p.server.endpoint.pending(listener) > 0));
    let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
    (pair, c, s)
}

/// Sends `bytes` from the client to the server.
fn send(pair: &mut Pair, c: ConnHandle, s: ConnHandle, bytes: usize) -> Course {
    let (begun, before) = (pair.time, pair.carried[0]);
    let data = pattern(bytes);
    assert!(transfer(pair, ToServer, c, s, &data) == data);
    let took = pair.time.since(begun).as_secs_f64();
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    let rate = pair.rate.unwrap().0 as f64 * 1484.0 / 1514.0;
    Course {
        share: bytes as f64 * 8.0 / took / rate,
        cost: (pair.carried[0] - before) as f64 / bytes as f64,
        needless: pair.client.endpoint.conn_stats(c).unwrap().spurious,
    }
}

const POLICIES: [Reliability; 2] = [Reliability::SelectiveRepeat, Reliability::GoBackN];

/// The first round trips may be short, where there is room for some frames before the slow part of
/// the path, or all of them long.
#[test]
fn rate__of_slow_links_is_used_and_nothing_is_sent_twice() {
    for policy in POLICIES {
        for (rate, bytes) in [(64_000, 100 << 10), (256_000, 300 << 10), (1_000_000, 1 << 20)] {
            for burst in [0, 2048, 15_000] {
                let (mut pair, c, s) = connected(rate, burst, with_policy(policy));
                let course = send(&mut pair, c, s, bytes);
                let good = course.share >= 0.95 && course.cost <= 1.05;
                assert!(good && course.needless == 0, "{policy} {rate} {burst}: {course:?}");
            }
        }
    }
}

/// Small messages say that round trips are short; then comes a flow.
#[test]
fn rate__of_a_flow_after_small_messages() {
    for policy in POLICIES {
        let (mut pair, c, s) = connected(64_000, 0, with_policy(policy));
        for _ in 0..3 {
            for _ in 0..50 {
                assert_eq!(transfer(&mut pair, ToServer, c, s, b"question"), b"question");
                assert_eq!(transfer(&mut pair, ToClient, s, c, b"answer"), b"answer");
            }
            let course = send(&mut pair, c, s, 50 << 10);
            let good = course.share >= 0.9 && course.cost <= 1.1;
            assert!(good && course.needless == 0, "{policy}: {course:?}");
        }
    }
}

/// The link becomes a hundred times slower in the middle of a flow, and again.
#[test]
fn rate__that_falls_is_followed() {
    for policy in POLICIES {
        let (mut pair, c, s) = connected(100_000_000, 0, with_policy(policy));
        send(&mut pair, c, s, 1 << 20);
        for rate in [1_000_000, 64_000] {
            pair.rate = Some((rate, 0));
            let course = send(&mut pair, c, s, 100 << 10);
            let good = course.share >= 0.9 && course.cost <= 1.1;
            assert!(good && course.needless == 0, "{policy} {rate}: {course:?}");
        }
    }
}

/// What is lost there is found, and under selective repeat it alone is repeated.
#[test]
fn loss__on_a_slow_link_is_made_good() {
    for policy in POLICIES {
        let (mut pair, c, s) = connected(256_000, 2048, with_policy(policy));
        let mut n = 0;
        pair.rule = Box::new(move |_, bytes| {
            n += usize::from(is_data(bytes));
            if n % 40 == 39 && is_data(bytes) { FrameAction::Drop } else { FrameAction::Pass }
        });
        let course = send(&mut pair, c, s, 300 << 10);
        // A sender that goes back sends all again that waits in the queue.
        let most = if policy == Reliability::GoBackN { 2.5 } else { 1.1 };
        assert!(course.cost <= most, "{policy}: {course:?}");
    }
}

/// PRP-LOSS-3: a tail that is lost is found by what a probe is answered, and repeated then.
#[test]
fn tail__that_is_lost_is_asked_for() {
    for policy in POLICIES {
        let mut pair = Pair::default().traced();
        let (c, s) = pair.established_with(with_policy(policy), with_policy(policy));
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"hello"), b"hello");
        pair.drive_for(5 * MS);
        pair.rule = drop_nth(ToServer, &[2, 3]);
        let begun = pair.time;
        pair.trace = Some(Vec::new());
        let data = pattern(4 * 1484);
        assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
        assert!(pair.time.since(begun) < 3 * MS, "{:?}", pair.time.since(begun));
        assert_eq!(pair.client.endpoint.conn_stats(c).unwrap().retransmitted, 2, "{policy}");
        let trace = pair.trace.take().unwrap();
        assert_eq!(trace.iter().filter(|line| line.contains("probe")).count(), 1, "{trace:#?}");
    }
}

/// A message that is lost is there after one timer, a question with its answer, and half a round
/// trip more.
#[test]
fn tail__that_is_brief_is_asked_for() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"hello"), b"hello");
    pair.drive_for(5 * MS);
    pair.rule = drop_nth(ToServer, &[0]);
    let begun = pair.time;
    assert_eq!(transfer(&mut pair, ToServer, c, s, &[7; 128]), [7; 128]);
    assert!(pair.time.since(begun) < MS + MS / 2 + 60 * MS / 1000, "{:?}", pair.time.since(begun));
    assert_eq!(pair.client.endpoint.conn_stats(c).unwrap().retransmitted, 1);
}

/// PRP-LOSS-3: what has arrived, and whose acknowledgement is lost, is not repeated: neither a
/// message nor the brief end of a stream.
#[test]
fn tail__that_has_arrived_is_not_repeated() {
    for data in [pattern(128), pattern(2 * 1484 + 42)] {
        let mut pair = Pair::default();
        let (c, s) = pair.established();
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"hello"), b"hello");
        pair.drive_for(5 * MS);
        pair.rule = drop_nth(ToClient, &[0]);
        assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
        assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
        assert_eq!(pair.client.endpoint.conn_stats(c).unwrap().retransmitted, 0);
    }
}
