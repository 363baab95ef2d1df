//! Peers that know the paper's header and no more (SPEC PRP-OPT-5, PRP-CLASSIC-1 to 3).

use super::*;

/// A server of 1997.
fn of_1997() -> ConnConfig {
    ConnConfig { classic: Classic::Only, ..with_policy(Reliability::Detect) }
}

#[test]
fn peer__without_options_talks_detect() {
    for (ask, grant) in [(Classic::Only, Classic::Allow), (Classic::Only, Classic::Only)] {
        let mut pair = Pair::default().traced();
        let ask = ConnConfig { classic: ask, ..with_policy(Reliability::Detect) };
        let grant = ConnConfig { classic: grant, ..with_policy(Reliability::Detect) };
        let (c, s) = pair.established_with(ask, grant);
        let message = pattern(4000);
        assert_eq!(transfer(&mut pair, ToServer, c, s, &message), message);
        assert_eq!(transfer(&mut pair, ToClient, s, c, b"answer"), b"answer");
        pair.client.endpoint.shutdown_send(pair.time, c);
        pair.drive();
        assert_eq!(pair.server.endpoint.read(pair.time, s, &mut [0; 9]), Ok(0));
        pair.server.endpoint.shutdown_send(pair.time, s);
        pair.drive();
        assert_eq!(pair.client.endpoint.read(pair.time, c, &mut [0; 9]), Ok(0));
        // PRP-CLASSIC-2: the paper's four flags and nothing else, ever.
        for line in pair.trace.as_ref().unwrap() {
            let flags = line.split(['[', ']']).nth(1).unwrap();
            let ok = flags.split(' ').all(|f| ["CREQ", "CACK", "EOM", "EOC", "-"].contains(&f));
            assert!(ok && line.contains("seq 0+"), "{line}");
        }
    }
}

/// A pair whose server is of 1997: it ignores the options of a request, and answers without.
fn old_server() -> Pair {
    let mut pair = Pair::default();
    pair.rule = Box::new(|_, bytes| {
        let mut frame = bytes.to_vec();
        if flags(bytes).contains(Flags::CREQ) {
            frame[24..26].copy_from_slice(&[0, 0]);
        }
        FrameAction::Replace(frame)
    });
    pair
}

/// A CACK without payload for the request of `c`, as any host can make that knows its ends.
fn forge_grant(pair: &Pair, c: ConnHandle, seq: u16) -> Vec<u8> {
    let (ours, theirs) = pair.client.endpoint.ends(c).unwrap();
    hostile::forge(theirs, ours, Flags::CACK, seq, &[], None)
}

#[test]
fn grant__of_a_classic_server_is_an_error_in_the_end_unless_the_caller_allows_it() {
    let mut pair = old_server();
    pair.listen(80, of_1997());
    let timeout = Duration::from_secs(2);
    let config = ConnConfig { connect_timeout: timeout, ..ConnConfig::default() };
    let c = pair.connect(80, config);
    pair.drive_for(timeout - MS);
    assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
    pair.drive_for(MS);
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::ClassicPeer));
    let allowed = ConnConfig { classic: Classic::Allow, ..config };
    let c = pair.connect(80, allowed);
    pair.drive_for(199 * MS);
    assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
    pair.drive_for(2 * MS);
    assert_eq!(pair.client.endpoint.state(c), State::OPEN);
    assert_eq!(pair.client.endpoint.terms(c).unwrap().reliability, Reliability::Detect);
    assert_eq!(pair.client.endpoint.stats().connected, 1);
    // Expect: a caller who is in more of a hurry has it when the time is up.
    let hasty = ConnConfig { connect_timeout: 50 * MS, ..allowed };
    let c = pair.connect(80, hasty);
    pair.drive_for(50 * MS);
    assert_eq!(pair.client.endpoint.state(c), State::OPEN);
}

/// A CACK without payload names no id: a host need not have seen the request to make one.
#[test]
fn grant__that_is_forged_does_not_end_a_request_nor_make_it_classic() {
    for classic in [Classic::Refuse, Classic::Allow] {
        let mut pair = Pair::default();
        let listener = pair.listen(80, ConnConfig::default());
        let mut requests = 0;
        pair.rule = Box::new(move |_, bytes| {
            requests += u32::from(flags(bytes).contains(Flags::CREQ));
            // The server is slow, or its first answers are lost.
            if requests < 4 { FrameAction::Drop } else { FrameAction::Pass }
        });
        let c = pair.connect(80, ConnConfig { classic, ..ConnConfig::default() });
        for seq in 0..100 {
            let grant = forge_grant(&pair, c, seq);
            pair.inject(ToClient, &grant);
            pair.drive_for(MS);
        }
        assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
        assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::OPEN));
        let terms = pair.client.endpoint.terms(c).unwrap();
        assert!(terms.extended, "{classic:?}");
        let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"hello"), b"hello");
        assert_eq!(transfer(&mut pair, ToClient, s, c, b"you too"), b"you too");
    }
}

/// What a classic server says behind its CACK it says once: it is there when the CACK is believed.
#[test]
fn data__behind_a_classic_grant_is_kept_until_that_is_believed() {
    let mut pair = old_server();
    let listener = pair.listen(80, of_1997());
    let c = pair.connect(80, ConnConfig { classic: Classic::Allow, ..ConnConfig::default() });
    pair.drive();
    let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
    let banner = pattern(10_000);
    pair.write_all(ToClient, s, &banner);
    pair.server.endpoint.shutdown_send(pair.time, s);
    pair.drive();
    assert_eq!(pair.client.endpoint.unread(c), 0);
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) != State::ConnWait));
    assert_eq!(pair.read_available(ToClient, c), banner);
    assert_eq!(pair.client.endpoint.read(pair.time, c, &mut [0; 9]), Ok(0));
}

/// What a classic server says behind its CACK is kept, but no more of it than the receive buffer
/// would take.
#[test]
fn data__behind_a_classic_grant_is_bounded() {
    let mut pair = Pair::default();
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    let config = ConnConfig {
        classic: Classic::Allow,
        recv_buffer: Some(64 * 1024),
        connect_timeout: 300 * MS,
        ..ConnConfig::default()
    };
    let c = pair.connect(80, config);
    let (ours, theirs) = pair.client.endpoint.ends(c).unwrap();
    let grant = forge_grant(&pair, c, 7);
    pair.inject(ToClient, &grant);
    for seq in 0..100 {
        let frame = hostile::forge(theirs, ours, Flags::NONE, 7 + seq, &[1; 1484], None);
        pair.inject(ToClient, &frame);
    }
    pair.drive();
    let refused = pair.drops.iter().filter(|why| **why == DropReason::NoBuffer).count();
    assert_eq!(refused, 100 - 64 * 1024 / 1514);
}
