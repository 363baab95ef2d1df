use super::*;
use crate::endpoint::MAX_TIME_WAIT;
use crate::event::ListenHandle;

fn connect_to(pair: &mut Pair, remote: PrpAddr) -> ConnHandle {
    let now = pair.time;
    pair.client.endpoint.connect(now, remote, None, ConnConfig::default(), |_| true).unwrap()
}

fn local(pair: &Pair, conn: ConnHandle) -> u16 {
    pair.client.endpoint.ends(conn).unwrap().0.port()
}

/// Connects to what may be a classic peer, which knows the paper's ports only.
fn connect_classic(pair: &mut Pair, remote: PrpAddr) -> ConnHandle {
    let config = ConnConfig { classic: Classic::Allow, ..ConnConfig::default() };
    let now = pair.time;
    pair.client.endpoint.connect(now, remote, None, config, |_| true).unwrap()
}

/// PRP-PORT-2: automatic ports are above those that people serve on; the paper's are for peers that
/// know no others.
#[test]
fn pick__high_ports_and_low_ones_for_classic_peers() {
    let mut pair = Pair::default();
    let mut seen = Vec::new();
    for _ in 0..2000 {
        let c = connect_to(&mut pair, Pair::server_addr(80));
        seen.push(local(&pair, c));
    }
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() == 2000 && seen[0] >= 32768);
    let listener = pair.client.endpoint.pick_port(|_| true).unwrap();
    assert!(listener.number() >= 32768 && !seen.contains(&listener.number()));
    let c = connect_classic(&mut pair, Pair::server_addr(81));
    assert!((1..=1024).contains(&local(&pair, c)));
}

/// PRP-PORT-2: a listener that names no port gets a new one, and none that connections have had
/// just now, be it one of the paper's.
#[test]
fn pick_port__none_that_is_kept_for_the_next_connection() {
    for classic in [false, true] {
        let mut pair = Pair::default();
        let connect = if classic { connect_classic } else { connect_to };
        let c = connect(&mut pair, Pair::server_addr(80));
        let port = local(&pair, c);
        pair.client.endpoint.release(pair.time, c, true);
        assert!(pair.client.endpoint.owns(Port::new(port)), "it is kept");
        let listener = pair.client.endpoint.pick_port(|_| true).unwrap().number();
        assert!(listener >= 32768 && listener != port, "{listener} after {port}");
    }
}

/// Classic ports that are free come first, then ones that connections to others have, and high ones
/// last.
#[test]
fn pick__classic_ports_are_shared_before_others_are_taken() {
    let mut pair = Pair::default();
    let a = Pair::server_addr(80);
    let mut seen = Vec::new();
    for _ in 0..1024 {
        let c = connect_classic(&mut pair, a);
        seen.push(local(&pair, c));
    }
    seen.sort_unstable();
    assert!(seen.iter().copied().eq(1..=1024));
    // Expect: another peer address can share a port.
    let c = connect_classic(&mut pair, Pair::server_addr(81));
    assert!((1..=1024).contains(&local(&pair, c)));
    // Expect: the same one cannot.
    let c = connect_classic(&mut pair, a);
    assert!(local(&pair, c) >= 32768);
}

/// Classic ports are shared also where a search of all of them found none before, and something has
/// changed since.
#[test]
fn pick__shares_again_what_has_become_free_for_a_peer() {
    let mut pair = Pair::default();
    let (a, b) = (Pair::server_addr(80), Pair::server_addr(81));
    let mut to_a: Vec<_> = (0..1024).map(|_| connect_classic(&mut pair, a)).collect();
    let to_b: Vec<_> = (0..1024).map(|_| connect_classic(&mut pair, b)).collect();
    for high in 0..3 {
        let c = connect_classic(&mut pair, a);
        assert!(local(&pair, c) >= 32768, "{high}");
    }
    // Expect: a port that still has a connection to the other peer is shared again.
    let gone = to_a.swap_remove(500);
    let port = local(&pair, gone);
    pair.client.endpoint.release(pair.time, gone, true);
    pair.drive();
    let c = connect_classic(&mut pair, a);
    assert_eq!(local(&pair, c), port);
    let c = connect_classic(&mut pair, b);
    assert!(local(&pair, c) >= 32768);
    assert!(to_b.iter().any(|c| local(&pair, *c) == port));
}

/// Where no other port can be had, for want of descriptors, connections to different peers share
/// one.
#[test]
fn pick__shares_where_there_are_no_more() {
    let mut pair = Pair::default();
    let now = pair.time;
    let first = connect_to(&mut pair, Pair::server_addr(80));
    let config = ConnConfig::default();
    let mut tried = 0;
    let none = |_: Port| {
        tried += 1;
        false
    };
    let remote = Pair::server_addr(81);
    let second = pair.client.endpoint.connect(now, remote, None, config, none).unwrap();
    assert_eq!(local(&pair, second), local(&pair, first));
    assert!(tried <= 1024, "{tried}");
    let asked = pair.client.endpoint.connect(now, remote, None, config, |_| false);
    assert_eq!(asked, Err(crate::error::ConnectError::InUse));
}

#[test]
fn pick__skips_what_other_processes_own_and_what_is_named() {
    let mut pair = Pair::default();
    let now = pair.time;
    pair.client.endpoint.listen(Port::new(40_007), 1, ConnConfig::default()).unwrap();
    let free = [40_007, 40_009, 40_011];
    let mut got = Vec::new();
    for _ in 0..2 {
        let claim = |p: Port| free.contains(&p.number());
        let remote = Pair::server_addr(80);
        let asked =
            pair.client.endpoint.connect(now, remote, None, ConnConfig::default(), claim).unwrap();
        got.push(local(&pair, asked));
    }
    got.sort_unstable();
    assert_eq!(got, [40_009, 40_011]);
}

/// PRP-PORT-3: the next connection may have the port of the last one, for a second; then it is
/// given back.
#[test]
fn release__ports_are_kept_for_the_next_connection_for_a_second() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let port = local(&pair, c);
    pair.client.endpoint.release(pair.time, c, false);
    pair.drive();
    // The listener is gone, but its connection still needs the port.
    assert!(pair.server.endpoint.owns(Port::new(80)));
    assert_eq!(pair.server.endpoint.poll_released_port(), None);
    pair.server.endpoint.release(pair.time, s, false);
    assert!(pair.drive_until(|p| p.client.endpoint.connections() == 0));
    assert_eq!(pair.server.endpoint.poll_released_port(), Some(Port::new(80)));
    assert!(!pair.server.endpoint.owns(Port::new(80)));
    // Expect: a listener's is given back at once, a client's is kept.
    assert!(pair.client.endpoint.owns(Port::new(port)));
    let again = connect_to(&mut pair, Pair::server_addr(80));
    assert_eq!(local(&pair, again), port);
    pair.client.endpoint.release(pair.time, again, true);
    pair.drive_for(999 * MS);
    assert!(pair.client.endpoint.owns(Port::new(port)));
    pair.drive_for(2 * MS);
    assert_eq!(pair.client.endpoint.poll_released_port(), Some(Port::new(port)));
    assert_eq!(pair.client.endpoint.ports().count(), 0);
    pair.drive_for(Duration::from_secs(2));
    assert_eq!(pair.client.endpoint.poll_timeout(), None);
}

/// PRP-PORT-3: a port that the application asked for is given back at once, and no other connection
/// gets it meanwhile.
#[test]
fn release__a_named_port_is_given_back_and_never_to_another_connection() {
    let mut pair = Pair::default();
    let now = pair.time;
    let config = ConnConfig::default();
    let port = Port::new(40_000);
    let remote = Pair::server_addr(80);
    let named = pair.client.endpoint.connect(now, remote, Some(port), config, |_| true).unwrap();
    let other = Pair::server_addr(81);
    let asked = pair.client.endpoint.connect(now, other, None, config, |_| false);
    assert_eq!(asked, Err(crate::error::ConnectError::InUse), "it is not shared");
    pair.client.endpoint.release(now, named, true);
    assert_eq!(pair.client.endpoint.poll_released_port(), Some(port));
    assert!(!pair.client.endpoint.owns(port));
}

/// A port that is wanted again before the driver has heard that it was given up is not given up.
#[test]
fn release__not_of_a_port_that_is_wanted_again() {
    let config = ConnConfig::default();
    let remote = Pair::server_addr(80);
    for again in [Some(Port::new(40_000)), None] {
        let mut pair = Pair::default();
        let (now, client) = (pair.time, &mut pair.client.endpoint);
        let first = client.connect(now, remote, Some(Port::new(40_000)), config, |_| true).unwrap();
        client.release(now, first, true);
        // Every other port is another process's.
        let claim = |port: Port| {
            assert_ne!(port.number(), 40_000, "it has never been given back");
            false
        };
        let second = client.connect(now, remote, again, config, claim).unwrap();
        assert_eq!(client.poll_released_port(), None, "it is in use");
        client.release(now, second, true);
        client.handle_timeout(now + Duration::from_secs(2));
        assert_eq!(client.poll_released_port(), Some(Port::new(40_000)));
        assert_eq!(client.poll_released_port(), None);
    }
}

#[test]
fn listen__twice_on_one_port_is_refused() {
    let mut pair = Pair::default();
    let l: ListenHandle = pair.listen(80, ConnConfig::default());
    let second = pair.server.endpoint.listen(Port::new(80), 1, ConnConfig::default());
    assert_eq!(second, Err(crate::error::ListenError::InUse));
    pair.server.endpoint.unlisten(pair.time, l);
    assert!(pair.server.endpoint.listen(Port::new(80), 1, ConnConfig::default()).is_ok());
}

#[test]
fn unlisten__resets_what_was_not_accepted() {
    let mut pair = Pair::default();
    let l = pair.listen(80, ConnConfig::default());
    let c = pair.connect(80, ConnConfig::default());
    pair.drive();
    pair.server.endpoint.unlisten(pair.time, l);
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
    assert_eq!(pair.server.endpoint.connections(), 0);
}

/// PRP-PORT-5: a client that got its own target for a port would answer itself until it timed out.
#[test]
fn pick__never_the_address_that_is_asked() {
    let mut pair = Pair::default();
    let own = PrpAddr::new(NodeId::new(1).unwrap(), Port::new(40_081));
    let now = pair.time;
    // Expect: neither a new port, nor one kept from before, nor one that the application insists
    // on.
    let only = |port: Port| port == Port::new(40_081);
    let config = ConnConfig::default();
    let asked = pair.client.endpoint.connect(now, own, None, config, only);
    assert_eq!(asked, Err(crate::error::ConnectError::InUse));
    let kept =
        pair.client.endpoint.connect(now, Pair::server_addr(80), None, config, only).unwrap();
    pair.client.endpoint.release(now, kept, true);
    pair.drive();
    assert!(pair.client.endpoint.owns(Port::new(40_081)));
    let asked = pair.client.endpoint.connect(now, own, None, config, |_| false);
    assert_eq!(asked, Err(crate::error::ConnectError::InUse));
    let asked = pair.client.endpoint.connect(now, own, Some(Port::new(40_081)), config, |_| true);
    assert_eq!(asked, Err(crate::error::ConnectError::InUse));
}

/// A client that closes first stays in TIME-WAIT, on a port of its own. However many connections it
/// makes in that time, it needs ports for some hundred.
#[test]
fn stay__connections_in_a_row_take_few_ports() {
    let mut pair = Pair::default();
    pair.latency = Duration::ZERO;
    let listener = pair.server.endpoint.listen(Port::new(80), 1, ConnConfig::default()).unwrap();
    let begun = pair.time;
    let mut most = 0;
    for _ in 0..2000 {
        let c = pair.connect(80, ConnConfig::default());
        pair.drive();
        let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
        pair.client.endpoint.release(pair.time, c, false);
        pair.drive();
        assert_eq!(pair.server.endpoint.read(pair.time, s, &mut [0]), Ok(0));
        pair.server.endpoint.release(pair.time, s, false);
        pair.drive();
        most = most.max(pair.client.endpoint.ports().count());
    }
    assert_eq!(pair.time.since(begun), Duration::ZERO, "nobody's time of quiet has passed");
    assert!((MAX_TIME_WAIT..MAX_TIME_WAIT + 64 + 2).contains(&most), "{most} ports");
    assert_eq!(pair.server.endpoint.stats().resets, 0);
}

/// The last acknowledgement of one that had to go early was lost: its peer is told, and the next
/// connection of the same ends is established all the same.
#[test]
fn time_wait__an_end_that_goes_early_leaves_the_peer_no_ghost() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let port = Port::new(local(&pair, c));
    pair.client.endpoint.release(pair.time, c, false);
    pair.drive();
    pair.rule = Box::new(|d, _| if d == ToServer { FrameAction::Drop } else { FrameAction::Pass });
    pair.server.endpoint.release(pair.time, s, false);
    pair.drive();
    pair.rule = Box::new(|_, _| FrameAction::Pass);
    assert!(pair.client.endpoint.end_oldest_time_wait(pair.time));
    assert!(!pair.client.endpoint.end_oldest_time_wait(pair.time));
    let (now, remote) = (pair.time, Pair::server_addr(80));
    pair.listen(80, ConnConfig::default());
    let again =
        pair.client.endpoint.connect(now, remote, Some(port), ConnConfig::default(), |_| true);
    let again = again.unwrap();
    let is_established = pair.drive_until(|pair| pair.client.endpoint.state(again) == State::OPEN);
    assert!(is_established);
    assert_eq!(pair.server.endpoint.connections(), 1);
}
