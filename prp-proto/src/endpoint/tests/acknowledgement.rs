//! When acknowledgements are sent (SPEC PRP-ACK-2 to 5).

use super::*;
use crate::TransmitBatch;
use crate::addr::DeviceId;

/// Has the server take `segments` full segments one by one, before it has nothing else to do, and
/// gives how many it had taken at each acknowledgement.
fn acknowledged_at(pair: &mut Pair, c: ConnHandle, s: ConnHandle, segments: usize) -> Vec<usize> {
    let now = pair.time;
    let mss = usize::from(pair.client.endpoint.terms(c).unwrap().mss);
    let all = pattern(segments * mss);
    assert_eq!(pair.client.endpoint.write(now, c, &all, Ending::Write), Ok(all.len()));
    let mut batch = TransmitBatch::new(segments, 1 << 20);
    assert_eq!(pair.client.endpoint.poll_transmit(now, &mut batch), segments);
    pair.client.endpoint.handle_sent(now);
    let acks_sent = |pair: &Pair| pair.server.endpoint.conn_stats(s).unwrap().acks_sent;
    let mut at = Vec::new();
    for i in 0..segments {
        let frame = pair.client.endpoint.frame(&batch, i).concat();
        pair.server.endpoint.handle_frame(now, DeviceId(0), &frame, None);
        let before = acks_sent(pair);
        let mut answer = TransmitBatch::new(1, 1 << 20);
        pair.server.endpoint.poll_transmit(now, &mut answer);
        if acks_sent(pair) > before {
            at.push(i + 1);
        }
    }
    at
}

/// PRP-ACK-2: a small window is not used up before its sender hears of what has arrived.
#[test]
fn acknowledgement__of_an_eighth_of_a_small_window() {
    for (window, expected) in [(13, &[1, 2, 3, 4, 5, 6][..]), (24, &[3, 6]), (33, &[4])] {
        let mut pair = Pair::default();
        let server = ConnConfig { recv_buffer: Some(window * 1484), ..plain() };
        let (c, s) = pair.established_with(plain(), server);
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"first"), b"first");
        pair.drive_for(Duration::from_secs(1));
        assert_eq!(acknowledged_at(&mut pair, c, s, 6), expected, "{window}");
    }
}

/// PRP-ACK-5: the report of a gap may be lost, so each sixteenth segment behind it makes another,
/// whatever rides on data meanwhile.
#[test]
fn acknowledgement__go_back_n_reports_a_gap_at_every_sixteenth_segment() {
    for answers in [false, true] {
        let mut pair = Pair::default();
        let config = with_policy(Reliability::GoBackN);
        let (c, s) = pair.established_with(config, config);
        // The congestion window grows.
        let data = pattern(200_000);
        assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
        pair.drive_for(Duration::from_secs(1));
        let now = pair.time;
        let client = &mut pair.client.endpoint;
        assert_eq!(client.write(now, c, &pattern(40 * 1484), Ending::Write), Ok(40 * 1484));
        let mut batch = TransmitBatch::new(40, 1 << 20);
        assert_eq!(client.poll_transmit(now, &mut batch), 40);
        let server = &mut pair.server.endpoint;
        let mut reported = Vec::new();
        for i in 1..40 {
            let frame = client.frame(&batch, i).concat();
            server.handle_frame(now, DeviceId(0), &frame, None);
            if answers && i % 16 == 1 {
                assert_eq!(server.write(now, s, b"answer", Ending::Write), Ok(6));
            }
            let before = server.conn_stats(s).unwrap().acks_sent;
            server.poll_transmit(now, &mut TransmitBatch::new(9, 1 << 20));
            if server.conn_stats(s).unwrap().acks_sent > before {
                reported.push(i);
            }
        }
        assert_eq!(reported, [1, 17, 33], "{answers}");
    }
}

/// PRP-WIN-4: who has sent its end needs no room, however much is read after it.
#[test]
fn acknowledgement__none_of_room_after_the_end() {
    let mut pair = Pair::default();
    let server = ConnConfig { recv_buffer: Some(20_000), ..plain() };
    let (c, s) = pair.established_with(plain(), server);
    pair.write_all(ToServer, c, &pattern(10 * 1484));
    pair.client.endpoint.shutdown_send(pair.time, c);
    pair.drive_for(Duration::from_secs(1));
    let acks_sent = |pair: &Pair| pair.server.endpoint.conn_stats(s).unwrap().acks_sent;
    let before = acks_sent(&pair);
    assert_eq!(pair.read_available(ToServer, s).len(), 10 * 1484);
    pair.drive_for(MS);
    assert_eq!(acks_sent(&pair), before);
}

/// PRP-ACK-6: it is clear which copy of a segment arrived that was sent twice, so a path whose
/// first copies are all lost is measured, too.
#[test]
fn acknowledgement__of_a_repeat_measures_the_round_trip() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(plain(), plain());
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"first"), b"first");
    pair.latency = 5 * MS;
    pair.rule = Box::new(|direction, bytes| {
        let is_first = is_data(bytes) && !flags(bytes).contains(Flags::RTX);
        if direction == ToServer && is_first { FrameAction::Drop } else { FrameAction::Pass }
    });
    for _ in 0..20 {
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"again"), b"again");
        pair.drive_for(100 * MS);
    }
    let rtt = pair.client.endpoint.conn_info(pair.time, c).unwrap().rtt;
    assert!(rtt.is_some_and(|rtt| rtt > 9 * MS && rtt < 11 * MS), "{rtt:?}");
}

/// PRP-SEG-4: a segment that has arrived before is acknowledged again, and is no sign of its peer
/// if it is from longer ago than the largest window.
#[test]
fn acknowledgement__again_of_what_has_arrived_before() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(plain(), plain());
    let now = pair.time;
    pair.client.endpoint.write(now, c, b"first", Ending::Write).unwrap();
    let mut batch = TransmitBatch::new(1, 1 << 20);
    assert_eq!(pair.client.endpoint.poll_transmit(now, &mut batch), 1);
    let first = pair.client.endpoint.frame(&batch, 0).concat();
    pair.client.endpoint.handle_sent(now);
    pair.inject(ToServer, &first);
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(pair.read_available(ToServer, s), b"first");
    let acks_sent = |pair: &Pair| pair.server.endpoint.conn_stats(s).unwrap().acks_sent;
    for (segments, expected) in
        [(0, DropReason::Duplicate), (1023, DropReason::Duplicate), (1, DropReason::OutOfWindow)]
    {
        for _ in 0..segments {
            assert_eq!(transfer(&mut pair, ToServer, c, s, b"more"), b"more");
        }
        let before = acks_sent(&pair);
        pair.inject(ToServer, &first);
        pair.drive();
        assert_eq!(core::mem::take(&mut pair.drops), [expected], "{segments}");
        assert_eq!(acks_sent(&pair), before + 1, "{segments}");
    }
}

/// PRP-ACK-7: the copy that arrives is the first one, which was late and not lost.
#[test]
fn acknowledgement__of_a_first_copy_tells_a_needless_repeat() {
    let mut pair = Pair::default();
    let config = with_policy(Reliability::SelectiveRepeat);
    let (c, s) = pair.established_with(config, config);
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"first"), b"first");
    pair.drive_for(Duration::from_secs(1));
    let mut is_first = true;
    pair.rule = Box::new(move |direction, bytes| {
        if direction == ToClient || !is_data(bytes) {
            FrameAction::Pass
        } else if flags(bytes).contains(Flags::RTX) {
            FrameAction::Delay(8 * MS)
        } else if core::mem::take(&mut is_first) {
            FrameAction::Delay(4 * MS)
        } else {
            FrameAction::Pass
        }
    });
    pair.write_all(ToServer, c, &pattern(6 * 1484));
    pair.drive_for(100 * MS);
    assert_eq!(pair.read_available(ToServer, s), pattern(6 * 1484));
    assert_eq!(pair.client.endpoint.conn_stats(c).unwrap().spurious, 1);
}
