use super::*;
use crate::TransmitBatch;

/// Whether `bytes` are a message on an idle connection of the client's `conn`, written now.
fn can_send_now(pair: &Pair, conn: ConnHandle, bytes: &[u8]) -> bool {
    let mut batch = TransmitBatch::new(32, 1 << 20);
    let mut endpoint = pair.client.endpoint.clone();
    let can_send_now = endpoint.try_send_now(pair.time, conn, bytes, Ending::Write, &mut batch);
    assert_eq!(batch.len(), usize::from(can_send_now));
    can_send_now
}

/// SPEC PRP-SEG-1: nothing is sent that `write` would not take, or has to keep for later.
#[test]
fn try_send_now__what_write_sends_at_once() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    transfer(&mut pair, ToServer, c, s, b"to and fro");
    pair.drive_for(MS);
    assert!(can_send_now(&pair, c, b"x"));
    assert!(!can_send_now(&pair, c, b""), "there is nothing to send");
    let mut waits = Pair::default();
    let (other, _) = waits.established();
    waits.client.endpoint.table.get_mut(other).unwrap().send_slot.enqueue(1);
    assert!(!can_send_now(&waits, other, b"x"), "it stands in line");
    pair.client.endpoint.shutdown_send(pair.time, c);
    pair.drive_for(MS);
    assert!(!can_send_now(&pair, c, b"x"), "it has said that it writes no more");
}

/// A writer that was told that there is this much room may wait for it.
#[test]
fn try_send_now__leaves_half_of_the_buffer() {
    let small = ConnConfig { send_buffer: ConnConfig::MIN_BUFFER, ..ConnConfig::default() };
    let mut pair = Pair::new(65_535);
    let (c, s) = pair.established_with(small, ConnConfig::default());
    // Segments of that size have to be known to get through.
    transfer(&mut pair, ToServer, c, s, &pattern(200_000));
    pair.drive_for(MS);
    let half = ConnConfig::MIN_BUFFER / 2;
    assert!(can_send_now(&pair, c, &pattern(half)));
    assert!(!can_send_now(&pair, c, &pattern(half + 1)));
}

/// PRP-CONN-11: patience begins when something is sent, however long nothing was before.
#[test]
fn user_timeout__counts_from_the_message_after_a_silence() {
    let impatient = ConnConfig { user_timeout: Some(2000 * MS), ..ConnConfig::default() };
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(impatient, ConnConfig::default());
    transfer(&mut pair, ToServer, c, s, b"before");
    pair.drive_for(10_000 * MS);
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    pair.write_all(ToServer, c, b"after");
    pair.drive_for(1900 * MS);
    assert!(pair.client.endpoint.state(c).can_send(), "it waits on");
    pair.drive_for(60_000 * MS);
    assert_eq!(pair.client.endpoint.state(c), State::Close);
}
