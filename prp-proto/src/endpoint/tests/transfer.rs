use super::*;

#[test]
fn data__arrives_in_order_under_every_policy_and_segment_size() {
    for mtu in [576, 1500, 9000, 65535] {
        for policy in Reliability::STRONGEST_FIRST {
            for crc in [false, true] {
                let mut pair = Pair::new(mtu);
                let config = ConnConfig { crc, ..with_policy(policy) };
                let (c, s) = pair.established_with(config, config);
                let data = pattern(1_000_000);
                assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data, "{mtu} {policy}");
                assert_eq!(transfer(&mut pair, ToClient, s, c, &data[..70_000]), &data[..70_000]);
                assert_eq!(pair.drops, []);
            }
        }
    }
}

/// PRP-SEQ-4: the initial numbers are random, so half of them are in the upper half of what
/// travels. Both ends count alike from all of them, and no acknowledgement is refused.
#[test]
fn data__flows_from_whatever_number_is_the_first() {
    let mut pair = Pair::default();
    let server = pair.listen(80, ConnConfig::default());
    for _ in 0..32 {
        let c = pair.connect(80, ConnConfig::default());
        pair.drive();
        let now = pair.time;
        let s = pair.server.endpoint.accept(now, server).expect("the server has the request");
        let data = pattern(100_000);
        assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
        assert_eq!(transfer(&mut pair, ToClient, s, c, &data), data);
    }
    assert_eq!(pair.drops, []);
}

/// PRP-SEG-2: 1484 bytes a segment on a 1500-byte MTU, a trailer included.
#[test]
fn segments__are_1484_bytes_and_the_last_one_ends_the_message() {
    for (config, full, last) in
        [(plain(), "len 1484", "len 32"), (ConnConfig::default(), "len 1480", "len 40")]
    {
        let mut pair = Pair::default().traced();
        let (c, s) = pair.established_with(config, config);
        pair.write_all(ToServer, c, &pattern(3000));
        pair.drive();
        let trace = pair.trace.take().unwrap().split_off(2);
        let data: Vec<_> = trace.iter().filter(|l| !l.contains("CTL")).collect();
        assert_eq!(data.len(), 3);
        assert!(data[0].contains("[ACK]") && data[0].contains(full), "{}", data[0]);
        assert!(data[2].contains("[EOM ACK]") && data[2].contains(last), "{}", data[2]);
        assert_eq!(pair.read_available(ToServer, s).len(), 3000);
    }
}

/// A ping-pong puts two frames on the wire per round, however many rounds there are: every
/// acknowledgement rides on the answer (PRP-ACK-3).
#[test]
fn ping_pong__sends_no_extra_frame() {
    let mut pair = Pair::default().traced();
    let (c, s) = pair.established();
    for _ in 0..2000 {
        for (direction, from, to) in [(ToServer, c, s), (ToClient, s, c)] {
            pair.write_all(direction, from, &[7; 64]);
            pair.drive();
            assert_eq!(pair.read_available(direction, to), [7; 64]);
        }
    }
    assert_eq!(pair.trace.as_ref().unwrap().len(), 2 + 4000);
    // Expect: the last answer is acknowledged after the delay, and then all is quiet.
    pair.drive_for(Duration::from_secs(10));
    assert_eq!(pair.trace.unwrap().len(), 2 + 4001);
    assert!(pair.server.endpoint.is_flushed(s));
}

#[test]
fn messages__keep_their_ends() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let messages = [pattern(5000), Vec::new(), pattern(1), pattern(1484), pattern(1485)];
    for m in &messages {
        let now = pair.time;
        assert_eq!(pair.client.endpoint.write(now, c, m, Ending::Message), Ok(m.len()));
    }
    pair.drive();
    let mut buf = [0; 9000];
    for m in &messages {
        let part = pair.server.endpoint.read_message(pair.time, s, &mut buf).unwrap().unwrap();
        assert!(part.end);
        assert_eq!(&buf[..part.len], m);
    }
    let none = pair.server.endpoint.read_message(pair.time, s, &mut buf);
    assert_eq!(none, Err(ReadError::Blocked));
    pair.client.endpoint.shutdown_send(pair.time, c);
    pair.drive();
    assert_eq!(pair.server.endpoint.read_message(pair.time, s, &mut buf), Ok(None));
}

/// The device gets frames before anything is done about them; then their deadlines are set, whether
/// the caller says that they are sent or asks whether there are more.
#[test]
fn sent__deadlines_are_set_once_the_device_has_the_frames() {
    for says_so in [true, false] {
        let mut pair = Pair::default();
        let (c, _) = pair.established();
        // What the handshake left to do is over.
        pair.drive_for(Duration::from_secs(1));
        let now = pair.time;
        let soon =
            |pair: &Pair| pair.client.endpoint.poll_timeout().is_some_and(|at| at < now + 100 * MS);
        assert!(!soon(&pair), "nothing waits for anything");
        pair.client.endpoint.write(now, c, &pattern(64), Ending::Write).unwrap();
        let mut batch = crate::TransmitBatch::new(32, 1 << 20);
        assert_eq!(pair.client.endpoint.poll_transmit(now, &mut batch), 1);
        assert!(!soon(&pair) && pair.client.endpoint.wants_transmit());
        batch.clear();
        if says_so {
            pair.client.endpoint.handle_sent(now);
        } else {
            assert_eq!(pair.client.endpoint.poll_transmit(now, &mut batch), 0);
        }
        assert!(soon(&pair) && !pair.client.endpoint.wants_transmit());
    }
}

#[test]
fn sink__takes_arriving_data_past_the_receive_buffer() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let data = pattern(4000);
    let now = pair.time;
    pair.client.endpoint.write(now, c, &data, Ending::Write).unwrap();
    let mut batch = crate::TransmitBatch::new(32, 1 << 20);
    pair.client.endpoint.poll_transmit(now, &mut batch);
    let mut buf = [0; 3500];
    let mut sink = crate::endpoint::Sink::new(s, &mut buf);
    for i in 0..batch.len() {
        let frame = pair.client.endpoint.frame(&batch, i).concat();
        let device = crate::addr::DeviceId(0);
        pair.server.endpoint.handle_frame(now, device, &frame, Some(&mut sink));
    }
    assert_eq!(sink.filled(), 3500);
    assert_eq!(buf, data[..3500]);
    assert_eq!(pair.read_available(ToServer, s), &data[3500..]);
}

#[test]
fn sink__takes_nothing_of_another_connection() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let (_, other) = pair.established();
    for data in [b"first", b"again"] {
        let now = pair.time;
        pair.client.endpoint.write(now, c, data, Ending::Write).unwrap();
        let mut batch = crate::TransmitBatch::new(32, 1 << 20);
        assert_eq!(pair.client.endpoint.poll_transmit(now, &mut batch), 1);
        let frame = pair.client.endpoint.frame(&batch, 0).concat();
        let mut buf = [0; 100];
        let mut sink = crate::endpoint::Sink::new(other, &mut buf);
        let device = crate::addr::DeviceId(0);
        pair.server.endpoint.handle_frame(now, device, &frame, Some(&mut sink));
        assert_eq!(sink.filled(), 0);
        assert_eq!(pair.read_available(ToServer, s), data);
    }
}

/// Sequence numbers run through both wraps of the wire's 20 bits (and a classic peer's 16).
#[test]
fn numbers__wrap() {
    for classic in [false, true] {
        let policy = if classic { Reliability::Detect } else { Reliability::SelectiveRepeat };
        let kind = if classic { Classic::Only } else { Classic::Refuse };
        let config = ConnConfig { classic: kind, ..with_policy(policy) };
        let mut pair = Pair::new(168);
        let (c, s) = pair.established_with(config, config);
        let segment = usize::from(pair.client.endpoint.terms(c).unwrap().mss);
        let span = if classic { 1 << 16 } else { 1 << 20 };
        let chunk = pattern(segment * 512);
        for _ in 0..=span / 512 {
            assert_eq!(transfer(&mut pair, ToServer, c, s, &chunk), chunk);
        }
        assert!(pair.client.endpoint.conn_stats(c).unwrap().segments_sent > span as u64);
        assert_eq!(pair.drops, []);
    }
}

/// Jumbo segments are used only after a probe of their size has come through (PRP-SIZE-2).
#[test]
fn size_probe__finds_out_what_the_path_carries() {
    let data = pattern(100_000);
    let longest = |p: &Pair| {
        let lens = p.trace.as_ref().unwrap().iter().filter(|l| !l.contains("CTL"));
        lens.filter_map(|l| l.split("len ").nth(1)?.split(' ').next()?.parse::<u32>().ok()).max()
    };
    for (config, trailer) in [(plain(), 0), (ConnConfig::default(), 4)] {
        let mut pair = Pair::new(9000).traced();
        let (c, s) = pair.established_with(config, config);
        assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
        assert_eq!(longest(&pair), Some(8984 - trailer));

        // Expect: a switch between them takes 1500 only; data flows all the same.
        let mut pair = Pair::new(9000).traced();
        pair.rule =
            Box::new(|_, b| if b.len() > 1514 { FrameAction::Drop } else { FrameAction::Pass });
        let (c, s) = pair.established_with(config, config);
        assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
        assert_eq!(longest(&pair), Some(1484 - trailer));
        assert_eq!(pair.client.endpoint.conn_stats(c).unwrap().retransmitted, 0);
    }
}
