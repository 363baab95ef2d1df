//! What a connection shows of itself when it does not move.

use super::*;
use crate::endpoint::ConnInfo;

fn info(pair: &Pair, conn: ConnHandle) -> ConnInfo {
    pair.client.endpoint.conn_info(pair.time, conn).expect("it stands")
}

#[test]
fn info__of_a_peer_that_does_not_read() {
    let mut pair = Pair::default();
    let server = ConnConfig { recv_buffer: Some(20_000), ..plain() };
    let (c, _) = pair.established_with(plain(), server);
    assert_eq!((info(&pair, c).blocked_by, info(&pair, c).ends_in), (None, None));
    pair.write_all(ToServer, c, &pattern(40_000));
    pair.drive_for(Duration::from_secs(30));
    let shown = info(&pair, c);
    assert_eq!(shown.blocked_by, Some("peer_window"));
    // It answers each question about its window.
    assert!(shown.silent < Duration::from_secs(5) && !shown.is_rtt_stale, "{shown:?}");
    let ends_in = shown.ends_in.expect("the user timeout");
    assert_eq!(ends_in + shown.silent, Duration::from_secs(60));
}

#[test]
fn queueing_delay__is_what_a_round_trip_takes_beyond_the_shortest() {
    let mut pair = Pair::default();
    let (c, _) = pair.established();
    pair.write_all(ToServer, c, b"known");
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    assert_eq!(pair.client.endpoint.queueing_delay(c), Duration::ZERO, "nothing is in flight");
    pair.latency = Duration::from_millis(8);
    pair.write_all(ToServer, c, &pattern(400_000));
    pair.drive_for(Duration::from_millis(60));
    let shown = info(&pair, c);
    assert!(shown.in_flight > 0, "{shown:?}");
    let delay = shown.rtt.unwrap() - shown.least_rtt.unwrap();
    assert!(delay > Duration::from_millis(4), "{shown:?}");
    assert_eq!(pair.client.endpoint.queueing_delay(c), delay);
}

#[test]
fn info__of_a_peer_that_is_gone() {
    let mut pair = Pair::default();
    let (c, _) = pair.established();
    pair.write_all(ToServer, c, b"known");
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    assert!(info(&pair, c).rtt.is_some() && !info(&pair, c).is_rtt_stale);
    // Idle: nothing is due from the peer.
    pair.drive_for(Duration::from_secs(10));
    assert_eq!((info(&pair, c).ends_in, info(&pair, c).is_rtt_stale), (None, false));
    let silent = info(&pair, c).silent;
    assert!(silent >= Duration::from_secs(9), "{silent:?}");
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    pair.write_all(ToServer, c, b"lost");
    let begun = pair.time;
    pair.drive_for(Duration::from_secs(4));
    let shown = info(&pair, c);
    assert!(shown.is_rtt_stale && shown.rtt.is_some());
    assert!(shown.silent >= silent + Duration::from_secs(4), "{shown:?}");
    let ends_in = shown.ends_in.expect("data wait");
    let ends_at = pair.time + ends_in;
    assert_eq!(ends_at.since(begun), Duration::from_secs(60));
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    let late = pair.time.since(ends_at);
    assert!(pair.time >= ends_at && late <= Duration::from_secs(2), "{late:?}");
}

#[test]
fn info__of_a_peer_that_falls_silent_while_the_window_is_full() {
    let mut pair = Pair::default();
    let server = ConnConfig { recv_buffer: Some(10_000), ..plain() };
    let (c, _) = pair.established_with(plain(), server);
    pair.write_all(ToServer, c, b"known");
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    pair.client.endpoint.write(pair.time, c, &pattern(40_000), Ending::Write).unwrap();
    pair.drive_for(Duration::from_micros(100));
    assert_eq!(info(&pair, c).blocked_by, Some("peer_window"), "{:?}", info(&pair, c));
    pair.drive_for(Duration::from_secs(5));
    assert_eq!(info(&pair, c).blocked_by, Some("answer"), "{:?}", info(&pair, c));
}

#[test]
fn info__of_an_idle_connection_that_is_probed() {
    let mut pair = Pair::default();
    let (c, _) = pair.established();
    pair.write_all(ToServer, c, b"confirmed");
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    pair.drive_for(Duration::from_secs(35));
    let shown = info(&pair, c);
    let ends_in = shown.ends_in.expect("a probe is unanswered");
    let ends_at = pair.time + ends_in;
    assert!(shown.is_rtt_stale);
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    assert_eq!(pair.time, ends_at);
}

#[test]
fn info__of_a_request_without_an_answer() {
    let mut pair = Pair::default();
    let c = pair.connect(7, plain());
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    pair.drive_for(Duration::from_secs(3));
    let ends_in = info(&pair, c).ends_in.expect("it waits");
    assert!(ends_in <= Duration::from_secs(12) && ends_in > Duration::from_secs(11), "{ends_in:?}");
    assert_eq!(info(&pair, c).blocked_by, None);
}

#[test]
fn info__of_what_has_to_wait_at_this_end() {
    let mut pair = Pair::default();
    let (c, _) = pair.established();
    pair.client.endpoint.write(pair.time, c, &pattern(2000), Ending::More).unwrap();
    let mut batch = crate::TransmitBatch::new(1024, 1 << 20);
    while pair.client.endpoint.poll_transmit(pair.time, &mut batch) > 0 {
        batch.clear();
    }
    assert_eq!(info(&pair, c).blocked_by, Some("short_end"));
    let config = ConnConfig { congestion: Controller::Aimd, ..plain() };
    let (c, _) = pair.established_with(config, plain());
    pair.client.endpoint.write(pair.time, c, &pattern(400_000), Ending::Write).unwrap();
    while pair.client.endpoint.poll_transmit(pair.time, &mut batch) > 0 {
        batch.clear();
    }
    assert_eq!(info(&pair, c).blocked_by, Some("congestion"));
}

/// A path that carries less than the devices of its ends.
#[test]
fn info__has_the_size_of_segments_in_use() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let agreed = info(&pair, c).terms.mss;
    assert_eq!(info(&pair, c).mss, agreed);
    pair.rule =
        Box::new(|_, frame| if frame.len() > 1400 { FrameAction::Drop } else { FrameAction::Pass });
    let data = pattern(100_000);
    assert!(transfer(&mut pair, ToServer, c, s, &data) == data);
    let shown = info(&pair, c);
    assert!(shown.mss < agreed && shown.terms.mss == agreed, "{shown:?}");
    assert!(shown.stats.segment_reductions > 0);
}
