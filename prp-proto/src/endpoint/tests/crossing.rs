//! Both ends ask each other at the same time (SPEC PRP-CONN-13).

use super::*;

const PORTS: [Port; 2] = [Port::new(70), Port::new(80)];

fn address(node: usize) -> PrpAddr {
    PrpAddr::new(NodeId::new(node as u16 + 1).unwrap(), PORTS[node])
}

/// Has both ends ask; the client's connection and the server's.
fn cross(pair: &mut Pair, configs: [ConnConfig; 2]) -> [ConnHandle; 2] {
    let now = pair.time;
    [(ToServer, 0), (ToClient, 1)].map(|(direction, node)| {
        let endpoint = &mut pair.sender(direction).endpoint;
        let asked =
            endpoint.connect(now, address(1 - node), Some(PORTS[node]), configs[node], |_| true);
        asked.unwrap()
    })
}

fn both_established(pair: &Pair, [c, s]: [ConnHandle; 2]) -> bool {
    pair.client.endpoint.state(c) == State::OPEN && pair.server.endpoint.state(s) == State::OPEN
}

#[test]
fn requests__that_cross_connect_both_ends() {
    let mut pair = Pair::default().traced();
    let ends = cross(&mut pair, [ConnConfig::default(); 2]);
    pair.drive();
    assert!(both_established(&pair, ends));
    // Two requests, two grants.
    assert_eq!(pair.trace.as_ref().unwrap().len(), 4, "{:#?}", pair.trace);
    let [c, s] = ends;
    let terms = pair.client.endpoint.terms(c).unwrap();
    assert_eq!(terms, pair.server.endpoint.terms(s).unwrap());
    assert!(terms.extended && terms.crc);
    let stats = [pair.client.endpoint.stats(), pair.server.endpoint.stats()];
    assert_eq!(stats.map(|s| (s.connected, s.accepted)), [(1, 0); 2]);
    let data = pattern(300_000);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
    assert_eq!(transfer(&mut pair, ToClient, s, c, &data), data);
    pair.client.endpoint.release(pair.time, c, false);
    pair.server.endpoint.release(pair.time, s, false);
    assert!(pair.drive_until(|p| p.server.endpoint.connections() == 0));
    assert!(pair.drive_until(|p| p.client.endpoint.connections() == 0));
}

/// Whichever frames of the four are lost or doubled, for a while.
#[test]
fn requests__that_cross_survive_lost_and_doubled_frames() {
    for lost in 0u32..1 << 8 {
        let mut pair = Pair::default();
        let mut n = 0;
        pair.rule = Box::new(move |_, _| {
            n += 1;
            if n <= 8 && lost >> (n - 1) & 1 == 1 {
                FrameAction::Drop
            } else {
                FrameAction::Duplicate
            }
        });
        let ends = cross(&mut pair, [ConnConfig::default(); 2]);
        assert!(pair.drive_until(|p| both_established(p, ends)), "{lost:b}");
        let [c, s] = ends;
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"hello"), b"hello");
        assert_eq!(transfer(&mut pair, ToClient, s, c, b"you too"), b"you too");
        pair.drive_for(100 * MS);
        assert!(both_established(&pair, ends), "{lost:b}");
    }
}

/// PRP-OPT-3: each is the other's server, and both come to the same.
#[test]
fn requests__that_cross_agree() {
    use Reliability::{Detect, GoBackN};
    let mut pair = Pair::new(9000);
    let one = ConnConfig { max_segment: 4000, recv_buffer: Some(40_000), ..ConnConfig::default() };
    let two = ConnConfig { crc: false, ..with_policy(GoBackN) };
    let [c, s] = cross(&mut pair, [one, two]);
    pair.drive();
    let terms = pair.client.endpoint.terms(c).unwrap();
    assert_eq!(terms, pair.server.endpoint.terms(s).unwrap());
    assert_eq!((terms.reliability, terms.mss, terms.crc), (GoBackN, 4000, false));
    let data = pattern(300_000);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
    assert_eq!(transfer(&mut pair, ToClient, s, c, &data), data);

    let mut pair = Pair::default();
    let [c, s] = cross(&mut pair, [with_policy(Detect), with_policy(GoBackN)]);
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::NoCommonPolicy));
    assert_eq!(pair.server.endpoint.take_error(s), Some(ConnError::NoCommonPolicy));
}

/// A request names no id of ours: made up by a stranger, it neither makes a connection nor hinders
/// one.
#[test]
fn request__that_crosses_and_is_forged_changes_nothing() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    let mut n = 0;
    pair.rule = Box::new(move |d, bytes| {
        n += usize::from(d == ToServer && flags(bytes).contains(Flags::CREQ));
        if n < 3 { FrameAction::Drop } else { FrameAction::Pass }
    });
    let config = ConnConfig::default();
    let now = pair.time;
    let c =
        pair.client.endpoint.connect(now, address(1), Some(PORTS[0]), config, |_| true).unwrap();
    let offer = Offer {
        id: 5,
        echo: 0,
        reliability: ReliabilitySet::RELIABLE,
        crc: false,
        mss: 700,
        window: 3,
    };
    let key = Some(CrcKey::NONE);
    let forged = hostile::forge(address(1), address(0), Flags::CREQ, 9, &offer.emit(), key);
    for _ in 0..10 {
        pair.inject(ToClient, &forged);
        pair.drive_for(MS);
        assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
    }
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::OPEN));
    let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
    assert_eq!(pair.client.endpoint.terms(c).unwrap().mss, 1480);
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"hello"), b"hello");
}
