use alloc::sync::Arc;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::*;

/// Frame costs of 512 KiB.
const SHARE: usize = 512 * 1024 / (1484 + 64) + 1;

/// Most segments a connection sends in one quantum.
const QUANTUM: usize = 64 * 1024 / (1484 + 64) + 1;

fn many(pair: &mut Pair, number: usize) -> Vec<(ConnHandle, ConnHandle)> {
    (0..number).map(|_| pair.established()).collect()
}

/// Writes `bytes` into every connection, all at one time.
fn write_each(pair: &mut Pair, conns: &[(ConnHandle, ConnHandle)], bytes: &[u8]) {
    let now = pair.time;
    for (c, _) in conns {
        let written = pair.client.endpoint.write(now, *c, bytes, Ending::Write);
        assert_eq!(written, Ok(bytes.len()));
    }
}

/// Windows grow to what `bytes` need.
fn warm_up(pair: &mut Pair, conns: &[(ConnHandle, ConnHandle)], bytes: &[u8]) {
    write_each(pair, conns, bytes);
    arrives(pair, conns, bytes);
}

fn arrives(pair: &mut Pair, conns: &[(ConnHandle, ConnHandle)], bytes: &[u8]) {
    let mut got = alloc::vec![Vec::new(); conns.len()];
    let done = pair.drive_until(|pair| {
        for (got, (_, s)) in got.iter_mut().zip(conns) {
            got.extend(pair.read_available(ToServer, *s));
        }
        got.iter().all(|got| got.len() >= bytes.len())
    });
    assert!(done && got.iter().all(|got| got == bytes));
}

fn source(bytes: &[u8]) -> u16 {
    Frame::parse(bytes, ETHERTYPE).unwrap().head.transport.src_port.number()
}

#[test]
fn schedule__many_connections_share_the_window_of_one() {
    let mut pair = Pair::default();
    let conns = many(&mut pair, 64);
    let sent = Arc::new(AtomicUsize::new(0));
    let seen = sent.clone();
    pair.rule = Box::new(move |direction, bytes| {
        seen.fetch_add(usize::from(direction == ToServer && is_data(bytes)), Relaxed);
        FrameAction::Pass
    });
    pair.latency = 10 * MS;
    let data = pattern(300_000);
    write_each(&mut pair, &conns, &data);
    pair.drive_for(9 * MS);
    // Ten segments each, as many as a new connection may send, would be 640.
    let sent = sent.load(Relaxed);
    assert!((SHARE..SHARE + QUANTUM).contains(&sent), "{sent}");
    arrives(&mut pair, &conns, &data);
    assert_eq!(pair.drops, []);
}

#[test]
fn schedule__a_connection_sends_on_for_its_whole_quantum() {
    let mut pair = Pair::default();
    let conns = many(&mut pair, 8);
    let data = pattern(300_000);
    warm_up(&mut pair, &conns, &data);
    let (frames, quanta) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, changes) = (frames.clone(), quanta.clone());
    let mut last = 0;
    pair.rule = Box::new(move |direction, bytes| {
        if direction == ToServer && is_data(bytes) {
            count.fetch_add(1, Relaxed);
            changes.fetch_add(usize::from(source(bytes) != last), Relaxed);
            last = source(bytes);
        }
        FrameAction::Pass
    });
    write_each(&mut pair, &conns, &data);
    arrives(&mut pair, &conns, &data);
    let (frames, quanta) = (frames.load(Relaxed), quanta.load(Relaxed));
    // The first segment of each goes at once.
    assert!(quanta - conns.len() <= 2 * frames / QUANTUM, "{frames} frames in {quanta} quanta");
    assert!(frames / quanta < QUANTUM, "and then others have theirs");
}

#[test]
fn schedule__a_connection_with_little_passes_those_with_much() {
    let mut pair = Pair::default();
    let bulk = many(&mut pair, 64);
    let (c, s) = pair.established();
    let data = pattern(300_000);
    warm_up(&mut pair, &bulk, &data);
    pair.latency = MS;
    write_each(&mut pair, &bulk, &data);
    pair.drive_for(4 * MS);
    let begun = pair.time;
    write_each(&mut pair, &[(c, s)], &data[..10_000]);
    arrives(&mut pair, &[(c, s)], &data[..10_000]);
    // Eight round trips would go by before all the others have sent.
    assert!(pair.time.since(begun) <= 4 * MS, "{:?}", pair.time.since(begun));
    arrives(&mut pair, &bulk, &data);
}

/// What is lost delays no other connection.
#[test]
fn schedule__connections_that_are_cut_off_do_not_hold_up_others() {
    let mut pair = Pair::default();
    let cut_off = many(&mut pair, 64);
    let others = many(&mut pair, 2);
    let ports: Vec<_> = cut_off
        .iter()
        .map(|(c, _)| pair.client.endpoint.ends(*c).unwrap().0.port.number())
        .collect();
    pair.rule = Box::new(move |direction, bytes| {
        let lost = direction == ToServer && ports.contains(&source(bytes));
        if lost { FrameAction::Drop } else { FrameAction::Pass }
    });
    let data = pattern(300_000);
    write_each(&mut pair, &cut_off, &data);
    pair.drive_for(Duration::from_micros(100));
    let begun = pair.time;
    write_each(&mut pair, &others, &data[..50_000]);
    arrives(&mut pair, &others, &data[..50_000]);
    assert!(pair.time.since(begun) < 500 * MS, "{:?}", pair.time.since(begun));
}
