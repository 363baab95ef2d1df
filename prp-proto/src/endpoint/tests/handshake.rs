use super::*;
use crate::time::Instant;

#[test]
fn connect__takes_two_frames_and_establishes_both_ends() {
    let mut pair = Pair::default().traced();
    let (c, s) = pair.established();
    assert_eq!(pair.client.endpoint.state(c), State::OPEN);
    assert_eq!(pair.server.endpoint.state(s), State::OPEN);
    assert_eq!(pair.trace.as_ref().unwrap().len(), 2);
    let (local, remote) = pair.client.endpoint.ends(c).unwrap();
    assert_eq!(pair.server.endpoint.ends(s), Some((remote, local)));
    assert_eq!(pair.client.endpoint.stats().connected, 1);
    assert_eq!(pair.server.endpoint.stats().accepted, 1);
}

/// PRP-CONN-5: whatever is lost of the handshake, it goes through and makes one connection.
#[test]
fn connect__survives_lost_and_doubled_frames() {
    for lost in 0..4 {
        let mut pair = Pair::default();
        let mut n = 0;
        pair.rule = Box::new(move |_, _| {
            n += 1;
            if n <= lost { FrameAction::Drop } else { FrameAction::Duplicate }
        });
        let listener = pair.listen(80, ConnConfig::default());
        let c = pair.connect(80, ConnConfig::default());
        assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::OPEN), "lost {lost}");
        pair.drive_for(100 * MS);
        assert_eq!(pair.server.endpoint.connections(), 1);
        assert!(pair.server.endpoint.accept(pair.time, listener).is_some());
        assert!(pair.server.endpoint.accept(pair.time, listener).is_none());
    }
}

/// PRP-CONN-6: connections without data delay no others.
#[test]
fn connect__many_in_a_row_without_data() {
    let mut pair = Pair::default();
    pair.server.endpoint.listen(Port::new(80), 1000, ConnConfig::default()).unwrap();
    let begun = pair.time;
    for n in 0..500 {
        let c = pair.connect(80, ConnConfig::default());
        assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::OPEN), "number {n}");
    }
    assert_eq!(pair.server.endpoint.stats().drops[DropReason::PeerLimit], 0);
    assert!(pair.time.since(begun) < 20 * MS, "no request had to be repeated");
}

/// PRP-CONN-6: a lost probe, or answer, costs no client its connection where its place is wanted.
#[test]
fn connect__many_in_a_row_where_two_probes_of_each_are_lost() {
    let mut pair = Pair::default();
    let listener = pair.server.endpoint.listen(Port::new(80), 1000, ConnConfig::default()).unwrap();
    pair.rule = Box::new(|direction, bytes| {
        let is_request = flags(bytes).contains(Flags::CREQ);
        if direction == ToServer && !is_request { FrameAction::Drop } else { FrameAction::Pass }
    });
    for _ in 0..128 {
        pair.connect(80, ConnConfig::default());
    }
    pair.drive_for(1500 * MS);
    pair.rule = Box::new(|_, _| FrameAction::Pass);
    pair.drive_for(550 * MS);
    let last = pair.connect(80, ConnConfig::default());
    assert!(pair.drive_until(|p| p.client.endpoint.state(last) == State::OPEN));
    pair.drive_for(3000 * MS);
    assert_eq!(pair.server.endpoint.pending(listener), 129);
}

#[test]
fn connect__refused_at_once_without_a_listener() {
    let mut pair = Pair::default();
    let c = pair.connect(80, ConnConfig::default());
    // Node 2 owns no port 80, but its caller finds that no other process does either.
    pair.server.endpoint.report_unowned_ports(true);
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Refused));
    assert_eq!(pair.client.endpoint.state(c), State::Close);
}

#[test]
fn connect__not_refused_when_another_process_owns_the_port() {
    let mut pair = Pair::default();
    pair.server.endpoint.report_unowned_ports(true);
    pair.server.foreign.push(Port::new(80));
    let c = pair.connect(80, ConnConfig::default());
    pair.drive();
    assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
}

#[test]
fn connect__times_out_with_backed_off_repeats() {
    let mut pair = Pair::default().traced();
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    let config = ConnConfig { connect_timeout: Duration::from_secs(3), ..ConnConfig::default() };
    let c = pair.connect(80, config);
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    let error = pair.client.endpoint.take_error(c);
    assert_eq!(error, Some(ConnError::TimedOut { waited: Duration::from_secs(3) }));
    assert_eq!(pair.time.as_nanos(), 3_000_000_000);
    // 0, 20, 60, 140, 300, 620, 1260, 2260 ms.
    assert_eq!(pair.trace.unwrap().len(), 8);
}

/// PRP-HOPS-1: a hop limit holds for the request as well, except where a classic peer would be
/// taken.
#[test]
fn connect__counts_routers_from_the_hop_limit_on() {
    for (classic, limit, hops) in
        [(Classic::Refuse, 15, 0), (Classic::Refuse, 1, 14), (Classic::Allow, 1, 0)]
    {
        let mut pair = Pair::default();
        let mut batch = crate::TransmitBatch::new(1, 2000);
        pair.connect(80, ConnConfig { classic, hop_limit: limit, ..ConnConfig::default() });
        assert_eq!(pair.client.endpoint.poll_transmit(pair.time, &mut batch), 1);
        let request = pair.client.endpoint.frame(&batch, 0).concat();
        assert!(flags(&request).contains(Flags::CREQ));
        assert_eq!(flags(&request).hops(), hops, "{classic:?} {limit}");
    }
}

/// PRP-CONN-12.
#[test]
fn connect__no_route_is_known_at_once() {
    let mut pair = Pair::default();
    let nowhere = PrpAddr::new(NodeId::new(99).unwrap(), Port::new(1));
    let result =
        pair.client.endpoint.connect(pair.time, nowhere, None, ConnConfig::default(), |_| true);
    assert_eq!(result, Err(crate::error::ConnectError::NoRoute(nowhere.node)));
}

/// PRP-OPT-3: the strongest policy both accept, the smaller segment, a trailer where both want it.
#[test]
fn options__both_ends_agree() {
    use Reliability::*;
    let cases = [
        (ReliabilitySet::RELIABLE, ReliabilitySet::RELIABLE, SelectiveRepeat),
        (ReliabilitySet::RELIABLE, ReliabilitySet::only(GoBackN), GoBackN),
        (ReliabilitySet::only(Detect), ReliabilitySet::ALL, Detect),
    ];
    for (client, server, expected) in cases {
        let mut pair = Pair::new(9000);
        let ask = ConnConfig { reliability: client, max_segment: 4000, ..ConnConfig::default() };
        let grant = ConnConfig { reliability: server, crc: true, ..ConnConfig::default() };
        let (c, s) = pair.established_with(ask, grant);
        let terms = pair.client.endpoint.terms(c).unwrap();
        assert_eq!(terms, pair.server.endpoint.terms(s).unwrap());
        assert_eq!((terms.reliability, terms.mss, terms.crc), (expected, 3996, true));
    }
}

/// PRP-CRC-5: trailers unless either end does without them.
#[test]
fn options__trailers_only_where_both_ends_want_them() {
    for (ask, grant) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut pair = Pair::default();
        let [client, server] = [ask, grant].map(|crc| ConnConfig { crc, ..ConnConfig::default() });
        let (c, s) = pair.established_with(client, server);
        let terms = pair.client.endpoint.terms(c).unwrap();
        assert_eq!(terms, pair.server.endpoint.terms(s).unwrap());
        assert_eq!(terms.crc, ask && grant);
    }
}

#[test]
fn options__no_common_policy_is_an_error_at_connect() {
    let mut pair = Pair::default();
    pair.listen(80, ConnConfig::default());
    let c = pair.connect(80, with_policy(Reliability::Detect));
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::NoCommonPolicy));
    assert_eq!(pair.server.endpoint.connections(), 0);
}

/// PRP-CONN-8: a CACK that no connection waits for is reset, so that no ghost stays at the server.
#[test]
fn accept__ghost_of_a_stale_request_goes_away() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    let c = pair.connect(80, ConnConfig::default());
    // The request is in transit when its maker gives it up.
    pair.drive_for(Duration::ZERO);
    pair.client.endpoint.release(pair.time, c, false);
    assert_eq!(pair.client.endpoint.connections(), 0);
    pair.drive();
    assert_eq!(pair.server.endpoint.stats().accepted, 1);
    // Expect: it is gone with the answer to its CACK, long before either end probes.
    assert_eq!(pair.server.endpoint.connections(), 0);
    assert!(pair.server.endpoint.accept(pair.time, listener).is_none());
}

/// PRP-CONN-9: ... and if the client's node is gone altogether, probes find out within half a
/// minute.
#[test]
fn accept__unconfirmed_connection_does_not_stay() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    pair.connect(80, ConnConfig::default());
    pair.rule = Box::new(|d, _| if d == ToServer { FrameAction::Pass } else { FrameAction::Drop });
    pair.drive();
    let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    let start = pair.time;
    assert!(pair.drive_until(|p| p.server.endpoint.state(s) == State::Close));
    assert!(pair.time.since(start) < Duration::from_secs(30));
    assert!(matches!(pair.server.endpoint.take_error(s), Some(ConnError::TimedOut { .. })));
}

/// PRP-CONN-7: the peer restarted: its request ends the old connection and then makes the new one.
#[test]
fn restart__old_connection_is_reset_and_the_new_one_is_established() {
    let mut pair = Pair::default();
    let (_, s) = pair.established();
    let listener = pair.listen(80, ConnConfig::default());
    // The client's process is replaced; by chance it uses the same port.
    let port = pair.server.endpoint.ends(s).unwrap().1.port;
    pair.restart(ToServer);
    let config = ConnConfig::default();
    let c = pair
        .client
        .endpoint
        .connect(pair.time, Pair::server_addr(80), Some(port), config, |_| true)
        .unwrap();
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::OPEN));
    assert_eq!(pair.server.endpoint.take_error(s), Some(ConnError::Reset));
    let s2 = pair.server.endpoint.accept(pair.time, listener).unwrap();
    assert_eq!(transfer(&mut pair, ToServer, c, s2, b"hello"), b"hello");
}

/// A request with another id, made up by a stranger, does not harm the connection (PRP-CONN-7).
#[test]
fn restart__forged_request_changes_nothing() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.listen(80, ConnConfig::default());
    let (local, remote) = pair.client.endpoint.ends(c).unwrap();
    let offer = Offer {
        id: 12345,
        echo: 0,
        reliability: ReliabilitySet::RELIABLE,
        crc: false,
        mss: 1484,
        window: 10,
    };
    let forged = hostile::forge(local, remote, Flags::CREQ, 1, &offer.emit(), Some(CrcKey::NONE));
    pair.inject(ToServer, &forged);
    pair.drive();
    assert_eq!(pair.drops, [DropReason::BadId]);
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"still here"), b"still here");
}

#[test]
fn backlog__full_one_drops_requests_until_there_is_room() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    let conns: Vec<_> = (0..17).map(|_| pair.connect(80, ConnConfig::default())).collect();
    pair.drive();
    assert_eq!(pair.server.endpoint.pending(listener), 16);
    assert_eq!(pair.server.endpoint.stats().drops[DropReason::BacklogFull], 1);
    pair.server.endpoint.accept(pair.time, listener).unwrap();
    assert!(pair.drive_until(|p| conns.iter().all(|c| p.client.endpoint.state(*c) == State::OPEN)));
}

#[test]
fn same_node__talks_to_itself_through_the_loopback_device() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    let now = pair.time;
    let me = Pair::server_addr(80);
    let server = &mut pair.server.endpoint;
    let c = server.connect(now, me, None, ConnConfig::default(), |_| true).unwrap();
    pair.drive();
    let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
    let data = pattern(200_000);
    // PRP-CRC-5: nothing crosses a wire, so there is no trailer.
    let terms = pair.server.endpoint.terms(c).unwrap();
    assert_eq!((terms.mss, terms.crc), (65520, false));
    pair.server.endpoint.write(pair.time, c, &data, Ending::Write).unwrap();
    pair.drive();
    let mut got = alloc::vec![0; data.len()];
    assert_eq!(pair.server.endpoint.read(pair.time, s, &mut got), Ok(data.len()));
    assert_eq!(got, data);
}

/// PRP-CONN-9: a probe that comes while the CACK is lost does not undo the connection.
#[test]
fn probe__of_an_unconfirmed_server_makes_the_client_ask_again() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    // No CACK arrives until after the server's first probe, which comes after a second.
    let mut probed = false;
    pair.rule = Box::new(move |d, bytes| {
        probed |= flags(bytes).contains(Flags::CTL);
        if d == ToClient && !probed { FrameAction::Drop } else { FrameAction::Pass }
    });
    let c = pair.connect(80, ConnConfig::default());
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::OPEN));
    // Expect: the probe brought the request forward, which was due at 1.26 s.
    assert!(pair.time.as_nanos() < 1_010_000_000, "{:?}", pair.time);
    let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"hello"), b"hello");
    assert_eq!(pair.server.endpoint.stats().resets, 0);
}

/// A request that was granted and whose connection then ended was reset, not refused.
#[test]
fn connect__is_reset_if_the_server_gives_up_before_its_answer_arrives() {
    let mut pair = Pair::default();
    let impatient = ConnConfig { user_timeout: Some(200 * MS), ..ConnConfig::default() };
    let listener = pair.listen(80, impatient);
    pair.rule = Box::new(|d, bytes| {
        let lost = d == ToClient && !flags(bytes).contains(Flags::RST);
        if lost { FrameAction::Drop } else { FrameAction::Pass }
    });
    let c = pair.connect(80, ConnConfig::default());
    pair.drive();
    let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
    pair.write_all(ToClient, s, b"anybody?");
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
    let error = pair.server.endpoint.take_error(s);
    assert!(matches!(error, Some(ConnError::TimedOut { .. })), "{error:?}");
}

/// PRP-CONN-3: a request ends in time, be it before it would be repeated.
#[test]
fn connect__gives_up_before_the_first_repeat_if_it_is_to() {
    let mut pair = Pair::default();
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    let impatient = ConnConfig { connect_timeout: 5 * MS, ..ConnConfig::default() };
    let c = pair.connect(80, impatient);
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    assert_eq!(pair.time, Instant::ZERO + 5 * MS);
    let error = pair.client.endpoint.take_error(c);
    assert_eq!(error, Some(ConnError::TimedOut { waited: 5 * MS }));
}

/// PRP-CONN-8: a grant is for the request whose id it names, or for none.
#[test]
fn connect__grant_for_another_request_is_dropped() {
    let mut pair = Pair::default();
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    let c = pair.connect(80, ConnConfig::default());
    pair.drive();
    let (ours, theirs) = pair.client.endpoint.ends(c).unwrap();
    let stale = Offer {
        id: 5,
        echo: 77,
        reliability: ReliabilitySet::only(Reliability::SelectiveRepeat),
        crc: false,
        mss: 1484,
        window: 10,
    };
    let key = Some(CrcKey::NONE);
    let frame = hostile::forge(theirs, ours, Flags::CACK, 0, &stale.emit(), key);
    pair.inject(ToClient, &frame);
    pair.drive_for(MS);
    assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
    assert!(pair.drops.contains(&DropReason::BadId));
}
