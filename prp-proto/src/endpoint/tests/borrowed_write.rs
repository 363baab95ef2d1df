use super::*;
use crate::TransmitBatch;
use crate::addr::DeviceId;
use crate::endpoint::{BorrowedWrite, Endpoint};
use crate::time::Instant;

/// The frames that may go now, while `borrowed_write` is lent.
fn frames(
    endpoint: &mut Endpoint,
    now: Instant,
    borrowed_write: Option<&BorrowedWrite<'_>>,
) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    loop {
        let mut batch = TransmitBatch::new(32, 1 << 20);
        if endpoint.poll_transmit_with(now, &mut batch, borrowed_write) == 0 {
            return frames;
        }
        let made = (0..batch.len())
            .map(|i| endpoint.frame_with_borrowed(&batch, i, borrowed_write).concat());
        frames.extend(made);
    }
}

/// Hands `frames` to `endpoint`.
fn take(endpoint: &mut Endpoint, now: Instant, frames: &[Vec<u8>]) {
    for frame in frames {
        endpoint.handle_frame(now, DeviceId(0), frame, None);
    }
    endpoint.handle_idle(now);
}

/// All of it is sent and acknowledged, in rounds, from where the writer has it; then nothing of it
/// is left to keep.
#[test]
fn borrowed_write__is_sent_from_where_it_lies() {
    for (mtu, crc) in [(1500, true), (9000, true), (65535, true), (1500, false)] {
        let mut pair = Pair::new(mtu);
        let config = ConnConfig { crc, ..ConnConfig::default() };
        let (c, s) = pair.established_with(config, config);
        assert_eq!(pair.client.endpoint.terms(c).unwrap().crc, crc);
        // Sizes are known to get through.
        assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(200_000)), pattern(200_000));
        pair.drive_for(1000 * MS);
        // What is unsent when the loan begins goes before it, and with it.
        let now = pair.time;
        pair.client.endpoint.write(now, c, b"before", Ending::More).unwrap();
        let bytes = pattern(1_000_000);
        let mut borrowed_write = BorrowedWrite::new(c, &bytes);
        let mut arrived = Vec::new();
        for _ in 0..1000 {
            pair.client.endpoint.handle_timeout(pair.time);
            let _ =
                pair.client.endpoint.write_borrowed(pair.time, &mut borrowed_write, Ending::Write);
            let sent = frames(&mut pair.client.endpoint, pair.time, Some(&borrowed_write));
            pair.time = pair.time + pair.latency;
            take(&mut pair.server.endpoint, pair.time, &sent);
            arrived.extend(pair.read_available(ToServer, s));
            let answers = frames(&mut pair.server.endpoint, pair.time, None);
            pair.time = pair.time + pair.latency;
            take(&mut pair.client.endpoint, pair.time, &answers);
        }
        assert_eq!(
            (borrowed_write.taken(), arrived.len()),
            (bytes.len(), 6 + bytes.len()),
            "{mtu}"
        );
        assert!(arrived[..6] == *b"before" && arrived[6..] == bytes);
        pair.client.endpoint.end_borrow(pair.time, borrowed_write);
        assert!(pair.client.endpoint.is_flushed(c), "{mtu}");
    }
}

/// What got lost is repeated, from where the writer has it during the loan, from what was kept
/// afterwards.
#[test]
fn borrowed_write__what_is_lost_is_repeated() {
    for late in [false, true] {
        for policy in [Reliability::SelectiveRepeat, Reliability::GoBackN] {
            let mut pair = Pair::default();
            let (c, s) = pair.established_with(with_policy(policy), with_policy(policy));
            let now = pair.time;
            let bytes = pattern(100_000);
            let mut borrowed_write = BorrowedWrite::new(c, &bytes);
            assert_eq!(
                pair.client.endpoint.write_borrowed(now, &mut borrowed_write, Ending::Write),
                Ok(bytes.len())
            );
            let mut sent = frames(&mut pair.client.endpoint, now, Some(&borrowed_write));
            assert!(sent.len() > 4);
            sent.remove(3);
            take(&mut pair.server.endpoint, now, &sent);
            if !late {
                // The report of the gap comes before the loan is over.
                let reports = frames(&mut pair.server.endpoint, now, None);
                take(&mut pair.client.endpoint, now, &reports);
                let repeats = frames(&mut pair.client.endpoint, now, Some(&borrowed_write));
                assert!(!repeats.is_empty());
                take(&mut pair.server.endpoint, now, &repeats);
            }
            pair.client.endpoint.end_borrow(now, borrowed_write);
            let mut arrived = Vec::new();
            assert!(pair.drive_until(|p| {
                arrived.extend(p.read_available(ToServer, s));
                arrived.len() >= bytes.len()
            }));
            assert!(arrived == bytes, "{policy} {late}");
        }
    }
}

/// A connection that ends during the loan takes nothing more, and what it had is forgotten.
#[test]
fn borrowed_write__to_a_connection_that_ends_meanwhile() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let now = pair.time;
    let bytes = pattern(2_000_000);
    let mut borrowed_write = BorrowedWrite::new(c, &bytes);
    let room = pair.client.endpoint.room(c).unwrap();
    assert_eq!(
        pair.client.endpoint.write_borrowed(now, &mut borrowed_write, Ending::Write),
        Ok(room)
    );
    assert_eq!(
        pair.client.endpoint.write_borrowed(now, &mut borrowed_write, Ending::Write),
        Err(WriteError::Blocked)
    );
    let _ = frames(&mut pair.client.endpoint, now, Some(&borrowed_write));
    pair.server.endpoint.release(now, s, true);
    let reset = frames(&mut pair.server.endpoint, now, None);
    take(&mut pair.client.endpoint, now, &reset);
    let error = Err(WriteError::Conn(ConnError::Reset));
    assert_eq!(pair.client.endpoint.write_borrowed(now, &mut borrowed_write, Ending::Write), error);
    pair.client.endpoint.end_borrow(now, borrowed_write);
    assert_eq!(pair.client.endpoint.unsent(c), 0);
}
