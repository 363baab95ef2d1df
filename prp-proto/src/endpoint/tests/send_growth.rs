//! Send buffers grow for writers whose peer does not read (SPEC PRP-WIN-7).

use super::*;
use crate::config::EndpointConfig;

const BEFORE: usize = 512 * 1024;

/// Writes what it can of `bytes` bytes for the given time, at both ends or at the client's; how
/// many went at either.
fn write_for(
    pair: &mut Pair,
    (c, s): (ConnHandle, ConnHandle),
    data: &[u8],
    both: bool,
    span: Duration,
) -> [usize; 2] {
    let mut written = [0; 2];
    let until = pair.time + span;
    while pair.time < until {
        for (n, (direction, conn)) in written.iter_mut().zip([(ToServer, c), (ToClient, s)]) {
            if direction == ToServer || both {
                let now = pair.time;
                let endpoint = &mut pair.sender(direction).endpoint;
                *n += endpoint.write(now, conn, &data[*n..], Ending::Write).unwrap_or(0);
            }
        }
        pair.drive_for(MS);
    }
    written
}

/// Both ends may write some megabytes before either reads, and nothing of it is wrong.
#[test]
fn both_ends__write_megabytes_before_either_reads() {
    let data = pattern(4_400_000);
    for mtu in [1500, 9000, 65536] {
        let mut pair = Pair::new(mtu);
        let (c, s) = pair.established();
        let written = write_for(&mut pair, (c, s), &data, true, Duration::from_secs(1));
        assert_eq!(written, [data.len(); 2], "{mtu}");
        let (mut up, mut down) = (Vec::new(), Vec::new());
        assert!(pair.drive_until(|p| {
            up.extend(p.read_available(ToServer, s));
            down.extend(p.read_available(ToClient, c));
            up.len() == data.len() && down.len() == data.len()
        }));
        assert!(up == data && down == data, "{mtu}");
        assert_eq!(pair.drops, []);
    }
}

/// A writer that waits for room is told when it has grown.
#[test]
fn writer__is_notified_of_room_that_has_grown() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    write_for(&mut pair, (c, s), &pattern(2 * BEFORE), false, 5 * MS);
    assert!(!pair.client.endpoint.is_writable(c));
    pair.client.events.clear();
    pair.drive_for(Duration::from_secs(1));
    let writable = |e: &Event| matches!(e, Event::Conn(h, r) if *h == c && r.writable);
    assert!(pair.client.events.iter().any(writable) && pair.client.endpoint.is_writable(c));
    // Expect: once, as long as the application does not write.
    let room = pair.client.endpoint.room(c).unwrap();
    assert!((BEFORE..BEFORE + 4096).contains(&room), "{room}");
}

/// A buffer whose size was said stays as it is, and so does one whose reader keeps up.
#[test]
fn send_buffer__does_not_grow_without_need() {
    let mut pair = Pair::default();
    let fixed =
        ConnConfig { send_buffer: BEFORE, send_buffer_max: BEFORE, ..ConnConfig::default() };
    let ends = pair.established_with(fixed, ConnConfig::default());
    let data = pattern(8 * BEFORE);
    let [written, _] = write_for(&mut pair, ends, &data, false, Duration::from_secs(5));
    assert!(written <= 2 * BEFORE, "{written}");

    let mut pair = Pair::default();
    let (c, s) = pair.established();
    assert!(transfer(&mut pair, ToServer, c, s, &data) == data);
    pair.drive_for(MS);
    assert_eq!(pair.client.endpoint.room(c), Some(BEFORE));
}

/// What all connections together grow by is bounded, and given back when they end, or hold nothing
/// for long.
#[test]
fn growth__is_bounded_over_all_connections() {
    let config = EndpointConfig { receive_memory: 3 * BEFORE, ..EndpointConfig::default() };
    let data = pattern(16 * BEFORE);
    let second = Duration::from_secs(1);
    for closes in [true, false] {
        let mut pair = Pair::with_config(config, 1500);
        let first = pair.established();
        let [written, _] = write_for(&mut pair, first, &data, false, second);
        // The peer's window, and twice what was kept at first: the next step would be twice as
        // large.
        assert!((2 * BEFORE + 1..=3 * BEFORE).contains(&written), "{written}");
        let other = pair.established();
        let [written, _] = write_for(&mut pair, other, &data, false, second);
        assert!(written <= 2 * BEFORE + 64 * 1024, "{written}");
        if closes {
            pair.client.endpoint.release(pair.time, first.0, true);
        } else {
            assert!(pair.drive_until(|p| {
                p.read_available(ToServer, first.1);
                p.client.endpoint.room(first.0) == Some(2 * BEFORE)
            }));
            pair.drive_for(100 * second);
            assert_eq!(pair.client.endpoint.room(first.0), Some(BEFORE));
        }
        let [written, _] = write_for(&mut pair, other, &data, false, second);
        assert!(written >= BEFORE, "{written}");
    }
}
