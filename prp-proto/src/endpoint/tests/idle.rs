use super::*;

fn quick() -> ConnConfig {
    let second = Duration::from_secs(1);
    let keepalive = Some(Keepalive { idle: 5 * second, interval: second, probes: 3 });
    ConnConfig { keepalive, ..ConnConfig::default() }
}

#[test]
fn keepalive__finds_a_peer_that_is_gone() {
    let mut pair = Pair::default();
    let (c, _) = pair.established_with(quick(), quick());
    pair.rule = Box::new(|_, _| Verdict::Drop);
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    let error = pair.client.endpoint.take_error(c);
    assert_eq!(
        error,
        Some(ConnError::TimedOut {
            waited: pair.time.since(crate::time::Instant::from_nanos(20_000))
        })
    );
    assert!(pair.time.as_nanos() / 1_000_000_000 == 8);
}

#[test]
fn keepalive__answered_probes_keep_an_idle_connection() {
    let mut pair = Pair::default().traced();
    let (c, s) = pair.established_with(quick(), quick());
    pair.drive_for(Duration::from_secs(60));
    assert_eq!(pair.client.endpoint.state(c), State::OPEN);
    assert_eq!(pair.server.endpoint.state(s), State::OPEN);
    // One probe and one answer every five seconds, from one side or the other.
    let frames = pair.trace.unwrap().len();
    assert!(frames <= 2 + 2 * 12 + 2, "{frames}");
}

#[test]
fn keepalive__peer_that_forgot_the_connection_resets_it() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(quick(), quick());
    let port = pair.server.endpoint.ends(s).unwrap().0.port;
    pair.restart(ToClient);
    // The new process owns the port, or the frames would not reach it.
    pair.server.endpoint.listen(port, 1, ConnConfig::default()).unwrap();
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
    assert!(pair.time.as_nanos() < 5_100_000_000);
}

/// PRP-RST-4: data for a connection the peer forgot is answered by a reset nobody could have forged.
#[test]
fn forgotten__data_is_answered_by_a_credible_reset() {
    let mut pair = Pair::default().traced();
    let (c, s) = pair.established();
    let port = pair.server.endpoint.ends(s).unwrap().0.port;
    pair.restart(ToClient);
    pair.server.endpoint.listen(port, 1, ConnConfig::default()).unwrap();
    pair.write_all(ToServer, c, b"hello?");
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
    let trace = pair.trace.unwrap();
    let kinds: Vec<_> = trace.iter().skip(2).filter_map(|l| l.split(['[', ']']).nth(1)).collect();
    assert_eq!(kinds, ["EOM ACK", "RST", "CTL", "RST"]);
}

#[test]
fn idle__memory_is_small_and_given_back() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(quick(), quick());
    let data = pattern(400_000);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
    pair.drive_for(Duration::from_secs(20));
    for (endpoint, conn) in [(&pair.client.endpoint, c), (&pair.server.endpoint, s)] {
        let (fixed, buffers) = endpoint.memory(conn).unwrap();
        assert!(fixed < 2048, "{fixed}");
        assert_eq!(buffers, 0);
    }
}

/// Buffers of connections that have ended serve those that come next, and soon nobody.
#[test]
fn ended__memory_serves_the_next_connection_and_is_freed() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    let fill = |pair: &mut Pair| {
        let c = pair.connect(80, ConnConfig::default());
        pair.drive();
        let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
        pair.write_all(ToServer, c, &pattern(400_000));
        pair.drive();
        let endpoints = [&pair.client.endpoint, &pair.server.endpoint];
        let held = endpoints.map(|e| e.overhead() / 4096);
        assert_eq!(held, [0, 0], "pages that no connection uses");
        (c, s)
    };
    for _ in 0..2 {
        let (c, s) = fill(&mut pair);
        assert_eq!(pair.read_available(ToServer, s).len(), 400_000);
        // Expect: both let go of it as soon as it is of no use, not when they are closed.
        pair.client.endpoint.shutdown_send(pair.time, c);
        pair.drive();
        let kept = [&pair.client.endpoint, &pair.server.endpoint].map(|e| e.overhead() / 4096);
        assert_eq!(kept, [512 / 4; 2], "pages for the next");
        let buffers = [(&pair.client.endpoint, c), (&pair.server.endpoint, s)];
        let buffers = buffers.map(|(endpoint, conn)| endpoint.memory(conn).unwrap().1 / 65536);
        assert_eq!(buffers, [0, 0]);
        pair.server.endpoint.release(pair.time, s, false);
        pair.client.endpoint.release(pair.time, c, false);
        pair.drive();
    }
    pair.drive_for(Duration::from_secs(3));
    let endpoints = [&pair.client.endpoint, &pair.server.endpoint];
    assert_eq!(endpoints.map(|e| e.overhead() / 4096), [0, 0]);
}

/// Deadlines that are overtaken by earlier ones are not queued again and again: what waits in the timer
/// queue does not grow with the frames exchanged.
#[test]
fn busy__timer_queue_does_not_grow_with_traffic() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let mut most = 0;
    for _ in 0..2000 {
        // One message a millisecond: each sets and misses the deadline of its acknowledgement.
        pair.write_all(ToServer, c, b"tick");
        pair.drive_for(MS);
        assert_eq!(pair.read_available(ToServer, s), b"tick");
        most = most.max(pair.server.endpoint.overhead());
    }
    assert!(most < 4096, "{most}");
}

/// Connections that come and go leave no deadlines behind that pile up.
#[test]
fn churn__timer_queue_is_cleared_of_connections_that_ended() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    let mut most = 0;
    for _ in 0..3000 {
        let c = pair.connect(80, ConnConfig::default());
        pair.drive();
        let now = pair.time;
        let s = pair.server.endpoint.accept(now, listener).unwrap();
        pair.client.endpoint.release(now, c, true);
        pair.server.endpoint.release(now, s, true);
        pair.drive();
        most = most.max(pair.client.endpoint.overhead()).max(pair.server.endpoint.overhead());
    }
    assert!(most < 30_000, "{most}");
}
