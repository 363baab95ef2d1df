//! Messages that are taken in parts (SPEC PRP-SEG-6), and messages without bytes (PRP-SEG-3).

use super::*;
use crate::endpoint::MessagePart;
use crate::wire::CLASSIC_MSS;

/// What the server reads as messages, until nothing is left: the bytes of each, and if it has its
/// end.
fn messages(pair: &mut Pair, s: ConnHandle) -> Vec<(Vec<u8>, bool)> {
    let mut all = Vec::new();
    let mut buf = [0; 4096];
    let mut begun = None;
    pair.drive();
    while let Ok(Some(MessagePart { len, end })) =
        pair.server.endpoint.read_message(pair.time, s, &mut buf)
    {
        begun.get_or_insert_with(Vec::new).extend_from_slice(&buf[..len]);
        if end {
            all.extend(begun.take().map(|bytes| (bytes, true)));
        }
        pair.drive();
    }
    all.extend(begun.map(|bytes| (bytes, false)));
    all
}

/// A client with a send buffer of 10,000 bytes.
fn pair_with_small_buffer() -> (Pair, ConnHandle, ConnHandle) {
    let mut pair = Pair::default();
    let (c, s) =
        pair.established_with(ConnConfig { send_buffer: 10_000, ..plain() }, ConnConfig::default());
    (pair, c, s)
}

/// PRP-SEG-6: however long the caller waits with the rest, and whatever it says meanwhile.
#[test]
fn message__that_was_taken_in_part_ends_with_its_rest() {
    for says_so in [false, true] {
        let (mut pair, c, s) = pair_with_small_buffer();
        let data = pattern(25_000);
        let mut sent = 0;
        while sent < data.len() {
            let now = pair.time;
            let n = pair.client.endpoint.write(now, c, &data[sent..], Ending::Message).unwrap();
            assert!(n <= 10_000, "it is taken in parts");
            sent += n;
            if says_so {
                pair.client.endpoint.finish_write(now, c);
            }
            pair.drive_for(Duration::from_secs(5));
            assert_eq!(pair.server.endpoint.unread(s), sent, "what was taken is sent");
        }
        assert_eq!(messages(&mut pair, s), [(data, true)]);
    }
}

/// PRP-SEG-6: what is written before the message has its end belongs to it, also where it goes by
/// the quickest path.
#[test]
fn message__that_was_taken_in_part_goes_on_with_whatever_is_written() {
    let (mut pair, c, s) = pair_with_small_buffer();
    let write = |pair: &mut Pair, bytes: &[u8], ending| {
        let now = pair.time;
        assert_eq!(pair.client.endpoint.write(now, c, bytes, ending), Ok(bytes.len()));
        pair.client.endpoint.finish_write(now, c);
        pair.drive_for(MS);
    };
    write(&mut pair, b"begun", Ending::Part);
    let mut batch = crate::TransmitBatch::new(32, 1 << 20);
    pair.drive_for(Duration::from_secs(1));
    let at_once =
        pair.client.endpoint.try_send_now(pair.time, c, b", w", Ending::Write, &mut batch);
    assert!(at_once, "nothing waits");
    let frame = pair.client.endpoint.frame(&batch, 0).concat();
    assert!(!flags(&frame).contains(Flags::EOM));
    pair.client.endpoint.handle_sent(pair.time);
    pair.inject(ToServer, &frame);
    pair.drive();
    write(&mut pair, b"ritten", Ending::Write);
    write(&mut pair, b", more", Ending::More);
    write(&mut pair, b"", Ending::Message);
    write(&mut pair, b"next", Ending::Message);
    write(&mut pair, b"stream", Ending::Write);
    let expected = [&b"begun, written, more"[..], b"next", b"stream"];
    assert_eq!(messages(&mut pair, s), expected.map(|m| (m.to_vec(), true)));
}

/// PRP-SEG-6: a stream that is closed within a message has ended, and the message has not.
#[test]
fn message__that_was_taken_in_part_has_no_end_if_the_stream_is_closed() {
    for finishes in [false, true] {
        let (mut pair, c, s) = pair_with_small_buffer();
        let taken = pair.client.endpoint.write(pair.time, c, &pattern(25_000), Ending::Message);
        assert_eq!(taken, Ok(10_000));
        if finishes {
            pair.client.endpoint.finish_write(pair.time, c);
        }
        pair.client.endpoint.release(pair.time, c, false);
        assert_eq!(messages(&mut pair, s), [(pattern(10_000), false)]);
        assert_eq!(pair.server.endpoint.read_message(pair.time, s, &mut [0; 9]), Ok(None));
    }
}

/// PRP-SEG-1: a message has its bytes and no others, also if stream writes before it have not left.
#[test]
fn message__begins_with_a_segment_of_its_own() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(plain(), plain());
    let full = pattern(usize::from(CLASSIC_MSS));
    let now = pair.time;
    for (bytes, ending) in [
        (&b"str"[..], Ending::Write),
        (b"eam", Ending::Write),
        (b"message", Ending::Message),
        (b"", Ending::Message),
        (b"str", Ending::More),
        (b"eam", Ending::Write),
        (b"", Ending::Message),
        (&full, Ending::Write),
        (b"par", Ending::Part),
        (b"ts", Ending::Message),
    ] {
        assert_eq!(pair.client.endpoint.write(now, c, bytes, ending), Ok(bytes.len()));
    }
    let expected = [&b"stream"[..], b"message", b"", b"stream", b"", &full, b"parts"];
    assert_eq!(messages(&mut pair, s), expected.map(|m| (m.to_vec(), true)));
}

/// PRP-SEG-7: an empty message is there to be read until it is taken; a stream read that finds
/// nothing else takes nothing, and has seen it.
#[test]
fn empty_message__is_readable_until_it_is_read_or_passed_over() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let send = |pair: &mut Pair, bytes: &[u8]| {
        let now = pair.time;
        pair.client.endpoint.write(now, c, bytes, Ending::Message).unwrap();
        pair.drive();
    };
    let empty = Ok(Some(MessagePart { len: 0, end: true }));
    let mut buf = [0; 9];
    send(&mut pair, b"");
    let (now, endpoint) = (pair.time, &mut pair.server.endpoint);
    assert!(endpoint.is_readable(s));
    assert_eq!(endpoint.read_message(now, s, &mut buf), empty);
    assert!(!endpoint.is_readable(s));
    for peeks in [false, true] {
        send(&mut pair, b"");
        let (now, endpoint) = (pair.time, &mut pair.server.endpoint);
        assert_eq!(endpoint.read(now, s, &mut []), Ok(0));
        assert!(endpoint.is_readable(s), "nothing was asked for");
        let read =
            if peeks { endpoint.peek(now, s, &mut buf) } else { endpoint.read(now, s, &mut buf) };
        assert_eq!(read, Err(ReadError::Blocked));
        assert!(!endpoint.is_readable(s), "a reader of the stream would ask again and again");
        // Another one is news, and none is lost.
        send(&mut pair, b"");
        let (now, endpoint) = (pair.time, &mut pair.server.endpoint);
        assert!(endpoint.is_readable(s));
        assert_eq!(endpoint.read_message(now, s, &mut buf), empty);
        assert!(endpoint.is_readable(s));
        assert_eq!(endpoint.read_message(now, s, &mut buf), empty);
        assert!(!endpoint.is_readable(s));
    }
}

/// PRP-SEG-7: bytes are read with the end of their message; empty messages behind it are left, and
/// those before it are gone.
#[test]
fn empty_message__behind_bytes_that_a_stream_read_took_is_left() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    for bytes in [&b""[..], b"", b"abc", b"", b"", b"def"] {
        pair.client.endpoint.write(pair.time, c, bytes, Ending::Message).unwrap();
    }
    pair.drive();
    let mut buf = [0; 3];
    assert_eq!(pair.server.endpoint.read(pair.time, s, &mut buf), Ok(3));
    let expected = [&b""[..], b"", b"def"];
    assert_eq!(messages(&mut pair, s), expected.map(|m| (m.to_vec(), true)));
}

/// PRP-SEG-7: a reader of the stream takes no empty messages, and any number of them keeps no bytes
/// from it.
#[test]
fn empty_message__any_number_keeps_no_bytes_from_a_stream_reader() {
    let mut pair = Pair::default();
    let server = ConnConfig { recv_buffer: Some(20_000), ..ConnConfig::default() };
    let (c, s) = pair.established_with(ConnConfig::default(), server);
    for _ in 0..20_000 {
        let now = pair.time;
        pair.client.endpoint.write(now, c, b"", Ending::Message).unwrap();
        pair.drive();
        assert_eq!(pair.server.endpoint.read(pair.time, s, &mut [0; 9]), Err(ReadError::Blocked));
    }
    let start = pair.time;
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"bytes"), b"bytes");
    assert!(pair.time.since(start) < MS, "nothing held them back");
}

/// PRP-CLOSE-7: an empty message that was not read is a message that was not read; one that a
/// stream read has passed over is nothing to a reader of the stream.
#[test]
fn empty_message__that_is_unread_resets() {
    for reads in [false, true] {
        let mut pair = Pair::default();
        let (c, s) = pair.established();
        pair.client.endpoint.write(pair.time, c, b"", Ending::Message).unwrap();
        pair.drive();
        if reads {
            let read = pair.server.endpoint.read(pair.time, s, &mut [0; 9]);
            assert_eq!(read, Err(ReadError::Blocked));
        }
        pair.server.endpoint.release(pair.time, s, false);
        pair.drive();
        let error = (!reads).then_some(ConnError::Reset);
        assert_eq!(pair.client.endpoint.take_error(c), error);
    }
}
