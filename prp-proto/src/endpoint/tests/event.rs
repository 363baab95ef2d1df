//! Events name what a thread may wait for, and nothing else: each costs the caller a check.

use super::*;

use crate::addr::DeviceId;
use crate::endpoint::Sink;
use crate::event::Readiness;

/// What the events of one side, since the last call, said of `conn`.
fn take_readiness(pair: &mut Pair, direction: Direction, conn: ConnHandle) -> Readiness {
    let mut all = Readiness::default();
    for event in pair.sender(direction).events.drain(..) {
        if let Event::Conn(of, ready) = event
            && of == conn
        {
            all.readable |= ready.readable;
            all.writable |= ready.writable;
            all.connected |= ready.connected;
            all.flushed |= ready.flushed;
        }
    }
    all
}

/// Gives the server all frames that the client sends now, with a reader's buffer at hand.
fn hand_over(pair: &mut Pair, sink: &mut Sink<'_>) {
    let now = pair.time;
    let mut batch = crate::TransmitBatch::new(32, 1 << 20);
    pair.client.endpoint.poll_transmit(now, &mut batch);
    for i in 0..batch.len() {
        let frame = pair.client.endpoint.frame(&batch, i).concat();
        pair.server.endpoint.handle_frame(now, DeviceId(0), &frame, Some(&mut *sink));
    }
}

#[test]
fn readable__not_for_what_a_reader_has_got_already() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    for (message, news) in [(64, false), (65, true), (0, true)] {
        take_readiness(&mut pair, ToClient, s);
        let now = pair.time;
        let data = pattern(message);
        pair.client.endpoint.write(now, c, &data, Ending::Message).expect("there is room");
        let mut buf = [0; 64];
        hand_over(&mut pair, &mut Sink::new(s, &mut buf));
        assert_eq!(pair.server.endpoint.has_news(), news, "{message} bytes");
        while let Some(event) = pair.server.endpoint.poll_event() {
            pair.server.events.push(event);
        }
        assert_eq!(take_readiness(&mut pair, ToClient, s).readable, news, "{message} bytes");
        pair.read_available(ToServer, s);
        while pair.server.endpoint.read_message(now, s, &mut [0; 64]).is_ok_and(|m| m.is_some()) {}
    }
}

#[test]
fn writable__only_after_a_write_that_left_little_room() {
    let mut pair = Pair::default();
    let config = ConnConfig { send_buffer: 8192, ..ConnConfig::default() };
    let (c, s) = pair.established_with(config, ConnConfig::default());
    for (size, news) in [(64, false), (4096, false), (8192, true), (4097, true)] {
        take_readiness(&mut pair, ToServer, c);
        pair.write_all(ToServer, c, &pattern(size));
        pair.drive();
        assert_eq!(pair.read_available(ToServer, s).len(), size);
        // Expect: all of it acknowledged, some milliseconds later.
        assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
        assert_eq!(take_readiness(&mut pair, ToServer, c).writable, news, "{size} bytes");
    }
}

/// The end of a message takes room while it is unsent, so a writer may be out of room for a while
/// only.
#[test]
fn writable__after_messages_without_bytes() {
    let mut pair = Pair::default();
    let config = ConnConfig { send_buffer: 2048, ..ConnConfig::default() };
    let (c, _) = pair.established_with(config, ConnConfig::default());
    take_readiness(&mut pair, ToServer, c);
    let now = pair.time;
    while pair.client.endpoint.write(now, c, &[], Ending::Message).is_ok() {}
    pair.drive_for(100 * MS);
    assert!(take_readiness(&mut pair, ToServer, c).writable);
}

/// Bytes that go straight to a reader acknowledge what the thread waits for.
#[test]
fn flushed__by_an_answer_to_a_reader() {
    let mut pair = Pair::default();
    let plain = ConnConfig { crc: false, ..ConnConfig::default() };
    let (c, s) = pair.established_with(plain, plain);
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"first"), b"first");
    pair.drive_for(Duration::from_secs(1));
    pair.write_all(ToClient, s, b"question");
    assert!(!pair.server.endpoint.await_flushed(s));
    let (now, mut batch) = (pair.time, crate::TransmitBatch::new(1, 1 << 20));
    assert_eq!(pair.server.endpoint.poll_transmit(now, &mut batch), 1);
    pair.server.endpoint.handle_sent(now);
    let question = pair.server.endpoint.frame(&batch, 0).concat();
    pair.client.endpoint.handle_frame(now, DeviceId(0), &question, None);
    pair.client.endpoint.write(now, c, b"answer", Ending::Write).unwrap();
    let mut buf = [0; 64];
    let mut sink = Sink::new(s, &mut buf);
    hand_over(&mut pair, &mut sink);
    assert_eq!(sink.filled(), 6);
    let mut events = core::iter::from_fn(|| pair.server.endpoint.poll_event());
    assert!(events.any(|e| matches!(e, Event::Conn(of, ready) if of == s && ready.flushed)));
}

#[test]
fn flushed__only_for_a_thread_that_asked() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    for asks in [false, true, false] {
        take_readiness(&mut pair, ToServer, c);
        pair.write_all(ToServer, c, &pattern(100));
        if asks {
            assert!(!pair.client.endpoint.await_flushed(c));
        }
        pair.drive();
        assert_eq!(pair.read_available(ToServer, s).len(), 100);
        assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
        assert_eq!(take_readiness(&mut pair, ToServer, c).flushed, asks);
        assert!(pair.client.endpoint.await_flushed(c), "it is");
    }
}
