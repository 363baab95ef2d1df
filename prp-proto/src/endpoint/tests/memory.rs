//! How much of what peers send is kept for an application that does not read it (SPEC PRP-WIN-6).

use super::*;
use crate::addr::DeviceId;
use crate::buffer::Sink;
use crate::config::EndpointConfig;
use crate::transmit::TransmitBatch;

/// A pair whose processes keep `receive_memory` bytes.
fn limited(receive_memory: usize) -> Pair {
    Pair::with_config(EndpointConfig { receive_memory, ..EndpointConfig::default() }, 1500)
}

/// `count` connections, the client's ends and the server's.
fn connect_many(pair: &mut Pair, count: usize) -> Vec<(ConnHandle, ConnHandle)> {
    let listener =
        pair.server.endpoint.listen(Port::new(80), count, ConnConfig::default()).unwrap();
    let mut clients: Vec<_> = (0..count).map(|_| pair.connect(80, ConnConfig::default())).collect();
    assert!(
        pair.drive_until(|p| {
            clients.iter().all(|c| p.client.endpoint.state(*c) == State::OPEN)
        })
    );
    let mut servers = Vec::new();
    while let Some(s) = pair.server.endpoint.accept(pair.time, listener) {
        servers.push(s);
    }
    let peer = |pair: &Pair, s: &ConnHandle| pair.server.endpoint.ends(*s).unwrap().1;
    let end = |pair: &Pair, c: &ConnHandle| pair.client.endpoint.ends(*c).unwrap().0;
    clients.sort_by_key(|c| end(pair, c).port.number());
    servers.sort_by_key(|s| peer(pair, s).port.number());
    clients.into_iter().zip(servers).collect()
}

fn firsts(ends: &[(ConnHandle, ConnHandle)]) -> Vec<ConnHandle> {
    ends.iter().map(|(c, _)| *c).collect()
}

/// Every client writes as much as it can for a while.
fn fill(pair: &mut Pair, clients: &[ConnHandle], bytes: usize) {
    let data = pattern(bytes);
    let mut written: Vec<usize> = clients.iter().map(|_| 0).collect();
    for _ in 0..200 {
        for (c, at) in clients.iter().zip(&mut written) {
            let now = pair.time;
            let n = pair.client.endpoint.write(now, *c, &data[*at..], Ending::Write);
            *at += n.unwrap_or(0);
        }
        pair.drive_for(MS);
    }
}

/// A connection that no application has accepted advertises little, and grows when one does.
#[test]
fn unaccepted__advertises_little_until_it_is_accepted() {
    for mtu in [1500, 9000, 65536] {
        let mut pair = Pair::new(mtu);
        let listener = pair.listen(80, ConnConfig::default());
        let c = pair.connect(80, ConnConfig::default());
        pair.drive();
        fill(&mut pair, &[c], 400_000);
        let mss = usize::from(pair.client.endpoint.terms(c).unwrap().mss);
        let most = (64 * 1024).max(2 * mss);
        let held = pair.server.endpoint.receive_memory();
        assert!(held <= most && held >= most / 2, "{held} at an MTU of {mtu}");
        let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
        // Expect: the rest comes without being read for or probed for.
        pair.drive_for(10 * MS);
        assert_eq!(pair.server.endpoint.unread(s), 400_000);
        assert_eq!(pair.drops, []);
        let mut got = Vec::new();
        assert!(pair.drive_until(|p| {
            got.extend(p.read_available(ToServer, s));
            got.len() == 400_000
        }));
        assert_eq!(got, pattern(400_000));
    }
}

/// Nor does growing cost a frame where nothing has come yet.
#[test]
fn accept__of_a_silent_connection_sends_nothing() {
    let mut pair = Pair::default().traced();
    let (c, s) = pair.established();
    pair.drive();
    assert_eq!(pair.trace.as_ref().unwrap().len(), 2);
    // Expect: it grows with the acknowledgements of a flow.
    let begun = pair.time;
    let data = pattern(2_000_000);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
    assert!(pair.time.since(begun) < 20 * MS, "{:?}", pair.time.since(begun));
}

/// Whatever peers send on however many connections, what is kept is bounded, nothing is lost, and
/// connections that are read go on.
#[test]
fn limit__bounds_what_many_connections_hold() {
    const LIMIT: usize = 2 * 1024 * 1024;
    const COUNT: usize = 60;
    const EACH: usize = 300_000;
    for reliability in [Reliability::SelectiveRepeat, Reliability::GoBackN] {
        let mut pair = limited(LIMIT);
        let ends = connect_many(&mut pair, COUNT);
        fill(&mut pair, &firsts(&ends), EACH);
        let server = &pair.server.endpoint;
        let unread: usize = ends.iter().map(|(_, s)| server.unread(*s)).sum();
        let most = LIMIT + 512 * 1024 + COUNT * 2 * 1484;
        assert!(unread <= most && unread > LIMIT / 2, "{unread} {reliability}");
        assert!(server.receive_memory() <= most && server.receive_memory() >= unread);
        // Expect: one that reads gets all of its data, whatever the others hold.
        let s = ends[0].1;
        let mut got = pair.read_available(ToServer, s);
        let begun = pair.time;
        assert!(pair.drive_until(|p| {
            got.extend(p.read_available(ToServer, s));
            got.len() >= EACH
        }));
        assert_eq!(got, pattern(EACH));
        assert!(pair.time.since(begun) < Duration::from_secs(1));
        assert!(pair.server.endpoint.stats().windows_limited > 0);
        // Expect: when they are read and gone, nothing is charged any more.
        for (_, s) in &ends[1..] {
            let mut got = Vec::new();
            assert!(pair.drive_until(|p| {
                got.extend(p.read_available(ToServer, *s));
                got.len() >= EACH
            }));
            assert_eq!(got, pattern(EACH));
        }
        assert_eq!(pair.drops, [], "nothing that was advertised is dropped");
        for (c, s) in &ends {
            pair.client.endpoint.release(pair.time, *c, false);
            pair.server.endpoint.release(pair.time, *s, false);
        }
        assert!(pair.drive_until(|p| p.server.endpoint.connections() == 0));
        assert_eq!(pair.server.endpoint.receive_memory(), 0);
    }
}

/// Windows that had to shrink are large again once there is room.
#[test]
fn limit__is_forgotten_when_others_are_gone() {
    let mut pair = limited(4 * 1024 * 1024);
    let ends = connect_many(&mut pair, 40);
    fill(&mut pair, &firsts(&ends[1..]), 300_000);
    let (c, s) = ends[0];
    assert!(pair.server.endpoint.receive_memory() >= 2 * 1024 * 1024);
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"small"), b"small");
    for (c, s) in &ends[1..] {
        pair.client.endpoint.release(pair.time, *c, true);
        pair.server.endpoint.release(pair.time, *s, true);
    }
    pair.drive();
    assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(100_000)), pattern(100_000));
    fill(&mut pair, &[c], 500_000);
    assert!(pair.server.endpoint.unread(s) > 400_000, "{}", pair.server.endpoint.unread(s));
}

/// What the reader's own buffer has no room for goes where earlier bytes were, as what comes while
/// no reader waits does.
#[test]
fn memory__what_follows_a_full_sink_takes_no_fresh_memory() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let data = pattern(300_000);
    let mut held = Vec::new();
    for _ in 0..40 {
        assert_eq!(pair.client.endpoint.write(pair.time, c, &data, Ending::Write), Ok(data.len()));
        let mut buf = [0; 3500];
        let mut sink = Sink::new(s, &mut buf);
        let mut batch = TransmitBatch::new(256, 1 << 20);
        pair.client.endpoint.poll_transmit(pair.time, &mut batch);
        for i in 0..batch.len() {
            let frame = pair.client.endpoint.frame(&batch, i).concat();
            let device = DeviceId(0);
            pair.server.endpoint.handle_frame(pair.time, device, &frame, Some(&mut sink));
        }
        assert_eq!(sink.filled(), 3500);
        assert!(pair.drive_until(|p| p.server.endpoint.unread(s) + 3500 == data.len()));
        assert_eq!(buf[..], data[..3500]);
        assert_eq!(pair.read_available(ToServer, s), &data[3500..]);
        held.push(pair.server.endpoint.overhead());
    }
    assert!(held.iter().all(|bytes| *bytes < 600_000), "{held:?}");
}
