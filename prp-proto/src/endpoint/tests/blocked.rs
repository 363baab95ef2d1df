//! The counters that say why a connection with something to send did not send it.

use super::*;

fn blocked(pair: &Pair, conn: ConnHandle) -> [u64; 5] {
    let stats = pair.client.endpoint.conn_stats(conn).unwrap();
    [
        stats.blocked_by_peer_window,
        stats.blocked_by_congestion,
        stats.blocked_by_pace,
        stats.blocked_by_share,
        stats.blocked_by_short_end,
    ]
}

#[test]
fn blocked__by_a_peer_without_room() {
    let mut pair = Pair::default();
    let server = ConnConfig { recv_buffer: Some(20_000), ..plain() };
    let (c, _) = pair.established_with(plain(), server);
    for (len, full) in [(10_000, false), (15_000, true)] {
        pair.client.endpoint.write(pair.time, c, &pattern(len), Ending::Write).unwrap();
        pair.drive();
        let [window, _, pace, share, short_end] = blocked(&pair, c);
        assert_eq!(window > 0, full);
        assert_eq!([pace, share, short_end], [0; 3]);
    }
}

#[test]
fn blocked__by_the_congestion_window() {
    let mut pair = Pair::default();
    let config = ConnConfig { congestion: Controller::Aimd, ..plain() };
    let (c, _) = pair.established_with(config, plain());
    pair.client.endpoint.write(pair.time, c, &pattern(400_000), Ending::Write).unwrap();
    let mut batch = crate::TransmitBatch::new(1024, 1 << 20);
    while pair.client.endpoint.poll_transmit(pair.time, &mut batch) > 0 {
        batch.clear();
    }
    let [window, congestion, pace, share, short_end] = blocked(&pair, c);
    assert!(congestion > 0);
    assert_eq!([window, pace, share, short_end], [0; 4]);
}

#[test]
fn blocked__by_the_pace() {
    let mut pair = Pair::default();
    let config = ConnConfig { congestion: Controller::Delay, ..plain() };
    let (c, s) = pair.established_with(config, plain());
    let now = pair.time;
    assert_eq!(pair.client.endpoint.write(now, c, &pattern(200_000), Ending::Write), Ok(200_000));
    // Timeouts leave a window of so few segments that they are spread over the round trip.
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    pair.drive_for(Duration::from_secs(10));
    pair.rule = Box::new(|_, _| FrameAction::Pass);
    let mut left = 200_000;
    assert!(pair.drive_until(|p| {
        left -= p.read_available(ToServer, s).len();
        left == 0
    }));
    let [_, _, pace, share, short_end] = blocked(&pair, c);
    assert!(pace > 0);
    assert_eq!([share, short_end], [0; 2]);
}

#[test]
fn blocked__by_what_others_have_in_flight() {
    let mut pair = Pair::default();
    let conns: Vec<_> = (0..60).map(|_| pair.established().0).collect();
    // All of them together have more to say than may be in flight to one node.
    for conn in &conns {
        pair.client.endpoint.write(pair.time, *conn, &pattern(100_000), Ending::Write).unwrap();
    }
    let mut batch = crate::TransmitBatch::new(1024, 1 << 20);
    while pair.client.endpoint.poll_transmit(pair.time, &mut batch) > 0 {
        batch.clear();
    }
    assert!(conns.iter().any(|conn| blocked(&pair, *conn)[3] > 0));
}

#[test]
fn blocked__by_a_short_end_that_the_next_write_joins() {
    let mut pair = Pair::default();
    let (c, _) = pair.established();
    pair.client.endpoint.write(pair.time, c, &pattern(2000), Ending::More).unwrap();
    let mut batch = crate::TransmitBatch::new(32, 1 << 20);
    assert_eq!(pair.client.endpoint.poll_transmit(pair.time, &mut batch), 1);
    assert_eq!(blocked(&pair, c), [0, 0, 0, 0, 1]);
}
