use super::*;
use crate::endpoint::Device;

fn small_buffer() -> ConnConfig {
    ConnConfig { recv_buffer: Some(20_000), ..plain() }
}

/// PRP-WIN-7: over Ethernet a sender keeps no more for a peer with a large window.
#[test]
fn write__keeps_the_usual_window_for_a_larger_one() {
    let mut pair = Pair::default();
    let large = ConnConfig { recv_buffer: Some(4 << 20), ..ConnConfig::default() };
    let (c, s) = pair.established_with(ConnConfig::default(), large);
    // It states its whole window once the connection is accepted.
    for _ in 0..2 {
        pair.client.endpoint.write(pair.time, c, &pattern(300_000), Ending::Write).unwrap();
        pair.drive();
        let read = pair.server.endpoint.read(pair.time, s, &mut [0; 300_000]);
        assert_eq!(read, Ok(300_000));
        pair.drive();
    }
    let now = pair.time;
    let written = pair.client.endpoint.write(now, c, &[0; 1 << 20], Ending::Write);
    assert_eq!(written, Ok(Device::WINDOW));
}

/// PRP-WIN-1: a receiver that does not read bounds what is sent to it.
#[test]
fn window__a_reader_that_sleeps_stops_the_sender() {
    for policy in Reliability::STRONGEST_FIRST {
        let mut pair = Pair::default();
        let server = ConnConfig { reliability: ReliabilitySet::ALL, ..small_buffer() };
        let (c, s) = pair.established_with(with_policy(policy), server);
        let now = pair.time;
        let written = pair.client.endpoint.write(now, c, &pattern(100_000), Ending::Write);
        assert_eq!(written, Ok(100_000));
        pair.drive_for(Duration::from_secs(3));
        let received = pair.server.endpoint.conn_stats(s).unwrap().bytes_received;
        assert!(received <= 20_000 && received > 15_000, "{policy} {received}");
        assert_eq!(pair.drops, [], "{policy}");
        // Expect: reading opens it again without waiting for a probe.
        let mut got = Vec::new();
        let start = pair.time;
        assert!(pair.drive_until(|p| {
            got.extend(p.read_available(ToServer, s));
            got.len() == 100_000
        }));
        assert_eq!(got, pattern(100_000));
        assert!(pair.time.since(start) < 5 * MS, "{policy} {:?}", pair.time.since(start));
    }
}

/// A writer without room tries again whenever something has come: each attempt asks for nothing, or
/// the writer would try for ever without a sleep.
#[test]
fn write__that_is_blocked_by_a_shut_window_leaves_nothing_to_do() {
    let mut pair = Pair::default();
    let (c, _) = pair.established_with(plain(), small_buffer());
    // What the peer takes makes room, and the send buffer grows: until both have an end.
    while pair.client.endpoint.write(pair.time, c, &pattern(100_000), Ending::Write).is_ok() {
        while pair.client.endpoint.write(pair.time, c, &pattern(9), Ending::Write).is_ok() {}
        pair.drive_for(Duration::from_secs(3));
    }
    for bytes in [1, 100_000] {
        let written = pair.client.endpoint.write(pair.time, c, &pattern(bytes), Ending::Write);
        assert_eq!(written, Err(WriteError::Blocked), "{bytes}");
        assert!(!pair.client.endpoint.wants_transmit(), "{bytes}");
    }
}

/// Reading says that the window has opened by 25 %, long before it was shut, and says nothing of
/// less.
#[test]
fn window__a_quarter_is_announced_and_no_less() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(ConnConfig::default(), small_buffer());
    // Six of the thirteen segments that there is room for.
    pair.client.endpoint.write(pair.time, c, &pattern(6 * 1484), Ending::Write).unwrap();
    pair.drive_for(10 * MS);
    let acks_sent = |pair: &Pair| pair.server.endpoint.conn_stats(s).unwrap().acks_sent;
    let before = acks_sent(&pair);
    let mut segment = [0; 1484];
    for more in [0, 0, 1] {
        let now = pair.time;
        assert_eq!(pair.server.endpoint.read(now, s, &mut segment), Ok(1484));
        pair.drive_for(10 * MS);
        assert_eq!(acks_sent(&pair), before + more);
    }
}

/// PRP-ACK-2: nor of less than a quarter where two segments may come; of any where fewer may.
#[test]
fn window__news_of_room_by_what_is_unread_and_read() {
    for (written, read, expected) in [(2, 2, 0), (3, 3, 1), (11, 1, 0), (12, 1, 1)] {
        let mut pair = Pair::default();
        let (c, s) = pair.established_with(ConnConfig::default(), small_buffer());
        pair.write_all(ToServer, c, &pattern(written * 1484));
        pair.drive_for(10 * MS);
        let acks_sent = |pair: &Pair| pair.server.endpoint.conn_stats(s).unwrap().acks_sent;
        let before = acks_sent(&pair);
        for _ in 0..read {
            let now = pair.time;
            assert_eq!(pair.server.endpoint.read(now, s, &mut [0; 1484]), Ok(1484));
        }
        pair.drive_for(10 * MS);
        assert_eq!(acks_sent(&pair), before + expected, "{read} of {written}");
    }
}

/// PRP-WIN-5: the news of an opened window may be lost; a probe finds out.
#[test]
fn window__lost_update_is_found_by_a_probe() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(ConnConfig::default(), small_buffer());
    pair.client.endpoint.write(pair.time, c, &pattern(60_000), Ending::Write).unwrap();
    pair.drive_for(Duration::from_secs(1));
    let mut first = true;
    pair.rule = Box::new(move |d, _| {
        let hit = d == ToClient && core::mem::take(&mut first);
        if hit { FrameAction::Drop } else { FrameAction::Pass }
    });
    let mut got = pair.read_available(ToServer, s);
    assert!(pair.drive_until(|p| {
        got.extend(p.read_available(ToServer, s));
        got.len() == 60_000
    }));
    assert_eq!(got, pattern(60_000));
}

/// A window closed for long is probed with longer and longer pauses, and neither end gives up while
/// the peer answers.
#[test]
fn window__closed_for_minutes_keeps_the_connection() {
    let mut pair = Pair::default().traced();
    let (c, s) = pair.established_with(ConnConfig::default(), small_buffer());
    pair.client.endpoint.write(pair.time, c, &pattern(60_000), Ending::Write).unwrap();
    pair.drive_for(Duration::from_secs(300));
    assert_eq!(pair.client.endpoint.state(c), State::OPEN);
    let probes = pair.trace.as_ref().unwrap().iter().filter(|l| l.contains("probe")).count();
    assert!((100..250).contains(&probes), "{probes}");
    let mut got = Vec::new();
    assert!(pair.drive_until(|p| {
        got.extend(p.read_available(ToServer, s));
        got.len() == 60_000
    }));
}

/// PRP-WIN-4: an acknowledgement on data promises no room that is not there.
#[test]
fn window__both_directions_with_a_slow_reader() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(small_buffer(), small_buffer());
    let data = pattern(400_000);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let (mut up_sent, mut down_sent) = (0, 0);
    let mut send_slot = 0u32;
    assert!(pair.drive_until(|p| {
        send_slot += 1;
        let now = p.time;
        if let Ok(n) = p.client.endpoint.write(now, c, &data[up_sent..], Ending::Write) {
            up_sent += n;
        }
        if let Ok(n) = p.server.endpoint.write(now, s, &data[down_sent..], Ending::Write) {
            down_sent += n;
        }
        if send_slot.is_multiple_of(5) {
            let mut few = [0; 3000];
            let n = p.server.endpoint.read(now, s, &mut few).unwrap_or(0);
            up.extend_from_slice(&few[..n]);
        }
        down.extend(p.read_available(ToClient, c));
        up.len() == data.len() && down.len() == data.len()
    }));
    assert_eq!(up, data);
    assert_eq!(down, data);
    assert!(!pair.drops.contains(&DropReason::OutOfWindow), "{:?}", pair.drops);
    assert!(!pair.drops.contains(&DropReason::NoBuffer), "{:?}", pair.drops);
}

#[test]
fn write__blocks_at_the_send_buffer_and_tells_when_there_is_room() {
    let mut pair = Pair::default();
    let config = ConnConfig { send_buffer: 10_000, ..ConnConfig::default() };
    let (c, s) = pair.established_with(config, ConnConfig::default());
    let now = pair.time;
    assert_eq!(pair.client.endpoint.write(now, c, &pattern(30_000), Ending::Write), Ok(10_000));
    let more = pair.client.endpoint.write(now, c, b"x", Ending::Write);
    assert_eq!(more, Err(WriteError::Blocked));
    assert!(!pair.client.endpoint.is_writable(c));
    pair.client.events.clear();
    pair.drive();
    let writable = |e: &Event| matches!(e, Event::Conn(h, r) if *h == c && r.writable);
    assert!(pair.client.events.iter().any(writable));
    assert_eq!(pair.read_available(ToServer, s), pattern(30_000)[..10_000]);
}

/// A writer is not woken for every acknowledgement.
#[test]
fn write__is_invited_when_half_the_buffer_is_free() {
    let mut pair = Pair::default();
    let config =
        ConnConfig { send_buffer: 60_000, send_buffer_max: 60_000, ..ConnConfig::default() };
    let (c, s) = pair.established_with(config, small_buffer());
    let now = pair.time;
    assert_eq!(pair.client.endpoint.write(now, c, &pattern(90_000), Ending::Write), Ok(60_000));
    pair.client.events.clear();
    pair.drive_for(100 * MS);
    // The peer has taken its 20,000 and reads none of them.
    assert!(pair.client.endpoint.room(c).is_some_and(|room| (15_000..20_000).contains(&room)));
    let writable = |e: &Event| matches!(e, Event::Conn(h, r) if *h == c && r.writable);
    assert!(!pair.client.events.iter().any(writable) && !pair.client.endpoint.is_writable(c));
    pair.read_available(ToServer, s);
    pair.drive_for(100 * MS);
    assert!(pair.client.events.iter().any(writable) && pair.client.endpoint.is_writable(c));
}

/// PRP-WIN-1: messages without bytes take room too, or a reader that sleeps would hold any number
/// of their ends.
#[test]
fn window__empty_messages_are_bounded_like_bytes() {
    for policy in Reliability::STRONGEST_FIRST {
        let mut pair = Pair::default();
        let (client, server) = (with_policy(policy), with_policy(policy));
        let (client, server) = (
            ConnConfig { send_buffer: 20_000, ..client },
            ConnConfig { recv_buffer: Some(20_000), ..server },
        );
        let (c, s) = pair.established_with(client, server);
        let mut written = 0;
        for _ in 0..100_000 {
            let now = pair.time;
            match pair.client.endpoint.write(now, c, b"", Ending::Message) {
                Ok(_) => written += 1,
                Err(error) => assert_eq!(error, WriteError::Blocked),
            }
            pair.drive();
        }
        assert!(written < 10_000, "{policy}: {written} messages were taken");
        for (endpoint, conn) in [(&pair.client.endpoint, c), (&pair.server.endpoint, s)] {
            let (_, memory) = endpoint.memory(conn).unwrap();
            assert!(memory < 100_000, "{policy}: {memory} bytes");
        }
        // Expect: each of them arrives, once.
        let mut got = 0;
        assert!(pair.drive_until(|p| {
            let now = p.time;
            while let Ok(Some(part)) = p.server.endpoint.read_message(now, s, &mut []) {
                assert_eq!((part.len, part.end), (0, true));
                got += 1;
            }
            got == written
        }));
    }
}

/// Thirteen full segments, which leave less than one of room in [`small_buffer`].
const FILLS: usize = 13 * 1484;

/// PRP-WIN-5: what is written into a window that is closed already is sent too, though the news of
/// its opening was lost.
#[test]
fn window__written_into_after_the_lost_update() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(ConnConfig::default(), small_buffer());
    pair.write_all(ToServer, c, &pattern(FILLS));
    pair.drive_for(Duration::from_secs(1));
    pair.rule = Box::new(|d, _| if d == ToClient { FrameAction::Drop } else { FrameAction::Pass });
    assert_eq!(pair.read_available(ToServer, s).len(), FILLS);
    pair.drive();
    pair.rule = Box::new(|_, _| FrameAction::Pass);
    let start = pair.time;
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"more"), b"more");
    // Expect: a question after the retransmission timeout, not after half a minute of silence.
    assert!(pair.time.since(start) < 100 * MS, "{:?}", pair.time.since(start));
}

/// PRP-WIN-4: data sent back at the moment the window opens does not swallow the news of it.
#[test]
fn window__update_is_sent_beside_data() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(ConnConfig::default(), small_buffer());
    pair.write_all(ToServer, c, &pattern(FILLS));
    pair.drive_for(Duration::from_secs(1));
    assert_eq!(pair.read_available(ToServer, s).len(), FILLS);
    pair.write_all(ToClient, s, b"thanks");
    pair.drive();
    let start = pair.time;
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"more"), b"more");
    assert!(pair.time.since(start) < MS, "{:?}", pair.time.since(start));
}
