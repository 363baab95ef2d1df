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
    pair.rule = Box::new(|_, _| FrameAction::Drop);
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

/// It ends a connection with data that nobody acknowledges, too, however long the user timeout is.
#[test]
fn keepalive__gives_up_a_silent_peer_before_the_user_timeout() {
    let mut pair = Pair::default();
    let (c, _) = pair.established_with(ConnConfig { user_timeout: None, ..quick() }, quick());
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    pair.write_all(ToServer, c, b"is anybody there?");
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    let error = pair.client.endpoint.take_error(c);
    assert!(matches!(error, Some(ConnError::TimedOut { .. })), "{error:?}");
    assert_eq!(pair.time.as_nanos() / 1_000_000_000, 8);
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

/// PRP-RST-4: data for a connection the peer forgot is answered by a reset that no host could have
/// forged.
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

/// Memory in which nothing is held any more serves the next connection that needs some, and soon
/// none.
#[test]
fn emptied__memory_serves_the_next_connection_and_is_freed() {
    const PIECES: usize = 400_000usize.div_ceil(65536);
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    let held = |pair: &Pair| {
        let endpoints = [&pair.client.endpoint, &pair.server.endpoint];
        endpoints.map(|endpoint| endpoint.overhead() / 65536)
    };
    let mut open = Vec::new();
    for _ in 0..2 {
        let c = pair.connect(80, ConnConfig::default());
        pair.drive();
        let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
        open.push((c, s));
        pair.write_all(ToServer, c, &pattern(400_000));
        pair.drive();
        assert_eq!(held(&pair), [PIECES, 0], "all is acknowledged, and nothing read");
        assert_eq!(pair.read_available(ToServer, s), pattern(400_000));
        assert_eq!(held(&pair), [PIECES; 2], "the second connection needs no more than the first");
        for (endpoint, conn) in [(&pair.client.endpoint, c), (&pair.server.endpoint, s)] {
            assert!(endpoint.memory(conn).unwrap().1 < 65536, "none of it is a connection's");
        }
    }
    pair.drive_for(Duration::from_secs(3));
    assert_eq!(held(&pair), [0; 2]);
}

/// Deadlines that are overtaken by earlier ones are not queued again and again: what waits in the
/// timer queue does not grow with the frames exchanged.
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
    // 49,152 of them are what peers would be told if the process ended (PRP-CLOSE-10).
    assert!(most < 55_000, "{most}");
}
