//! What is answered for ports that no process owns (SPEC PRP-CONN-8, PRP-CTL-3, PRP-RST-2): the
//! process that had them has ended, and another one of its node answers.

use super::*;
use crate::addr::DeviceId;
use crate::seq::Seq;
use crate::wire::{Control, MAX_CONTROL_LEN};

/// The client's process ends, and another one of its node answers for ports that no process owns.
fn end_client(pair: &mut Pair) {
    pair.restart(ToServer);
    pair.client.endpoint.report_unowned_ports(true);
}

#[test]
fn grant__to_a_process_that_has_ended_leaves_no_ghost() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    pair.connect(80, ConnConfig::default());
    pair.drive_for(Duration::ZERO);
    end_client(&mut pair);
    pair.drive();
    assert_eq!(pair.server.endpoint.stats().accepted, 1);
    assert_eq!(pair.server.endpoint.connections(), 0);
    assert!(pair.server.endpoint.accept(pair.time, listener).is_none());
}

#[test]
fn grant__is_not_answered_for_a_process_that_owns_the_port() {
    let mut pair = Pair::default();
    pair.listen(80, ConnConfig::default());
    pair.connect(80, ConnConfig::default());
    pair.drive_for(Duration::ZERO);
    end_client(&mut pair);
    pair.client.foreign = (1..=u16::MAX).map(Port::new).collect();
    pair.drive();
    assert_eq!(pair.server.endpoint.connections(), 1);
}

/// A process that only reads hears of it with the first probe.
#[test]
fn probe__of_a_process_that_has_ended_is_answered_by_a_reset() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    transfer(&mut pair, ToServer, c, s, b"hello");
    let begun = pair.time;
    end_client(&mut pair);
    assert!(pair.drive_until(|p| p.server.endpoint.state(s) == State::Close));
    assert_eq!(pair.server.endpoint.take_error(s), Some(ConnError::Reset));
    let idle = Keepalive::default().idle;
    assert!((idle..idle + MS).contains(&pair.time.since(begun)), "{:?}", pair.time);
}

/// A process that writes hears of it with the first probe (PRP-LOSS-3).
#[test]
fn segment__for_a_process_that_has_ended_is_followed_by_a_probe() {
    let mut pair = Pair::default();
    let (_, s) = pair.established();
    end_client(&mut pair);
    let begun = pair.time;
    pair.write_all(ToClient, s, b"anybody?");
    assert!(pair.drive_until(|p| p.server.endpoint.state(s) == State::Close));
    assert_eq!(pair.server.endpoint.take_error(s), Some(ConnError::Reset));
    assert!(pair.time.since(begun) < Duration::from_secs(1), "{:?}", pair.time);
}

/// Finding out which process owns a port costs system calls: their rate is limited before the
/// question is asked (PRP-RST-6).
#[test]
fn flood__has_few_ports_checked() {
    let offer = Offer {
        id: 1,
        echo: 0,
        reliability: ReliabilitySet::RELIABLE,
        crc: false,
        mss: 1484,
        window: 10,
    };
    let mut block = [0; MAX_CONTROL_LEN];
    let len = Control::Probe { to: 1, from: 2, number: 0 }.emit(&mut block);
    let none = Some(CrcKey::NONE);
    let kinds = [
        (Flags::CREQ, &offer.emit()[..], none),
        (Flags::CACK, &offer.emit()[..], none),
        (Flags::CTL, &block[..len], None),
    ];
    let mut pair = Pair::default();
    let server = &mut pair.server.endpoint;
    server.report_unowned_ports(true);
    let node = NodeId::new(1).unwrap();
    for port in 1..5000 {
        for (flags, payload, key) in kinds {
            let to = Pair::server_addr(port);
            let from = PrpAddr::new(node, Port::new(port));
            let frame = hostile::forge(from, to, flags, 0, payload, key);
            server.handle_frame(pair.time, DeviceId(0), &frame, None);
        }
    }
    let events = core::iter::from_fn(|| server.poll_event()).count();
    assert_eq!(events, 1000);
    // Expect: the ports that are its own do not suffer from that.
    server.listen(Port::new(80), 1, ConnConfig::default()).unwrap();
    let from = PrpAddr::new(node, Port::new(7));
    let to = Pair::server_addr(80);
    let frame = hostile::forge(from, to, Flags::CACK, 0, &offer.emit(), none);
    server.handle_frame(pair.time, DeviceId(0), &frame, None);
    assert_eq!(server.stats().refusals_sent, 1);
}

/// Data is not: the end that repeats it asks, and most of it is for other processes.
#[test]
fn frames__that_wait_for_no_answer_have_no_port_checked() {
    let mut pair = Pair::default();
    pair.server.endpoint.report_unowned_ports(true);
    let (from, to) = (PrpAddr::new(NodeId::new(1).unwrap(), Port::new(7)), Pair::server_addr(80));
    let mut ack = [0; MAX_CONTROL_LEN];
    let len = Control::SizeProbeAck { to: 1, size: 100 }.emit(&mut ack);
    let reset = ResetBlock { reason: ResetReason::Aborted, receiver: 1, sender: 2 }.emit();
    for (flags, payload) in [
        (Flags::NONE.with_ack(Seq::new(1)), &b"data"[..]),
        (Flags::CTL, &ack[..len]),
        (Flags::RST, &reset),
        (Flags::CREQ, &[]),
        (Flags::CACK, &[]),
    ] {
        pair.inject(ToServer, &hostile::forge(from, to, flags, 0, payload, Some(CrcKey::NONE)));
        pair.drive();
    }
    assert_eq!(pair.server.events, []);
}
