use super::*;
use crate::addr::DeviceId;
use crate::endpoint::{ConnectionChange, Device, EstablishedId};
use crate::forward::{Forwarder, reset};

fn news(pair: &mut Pair) -> Vec<ConnectionChange> {
    core::iter::from_fn(|| pair.client.endpoint.poll_connection_change()).collect()
}

#[test]
fn connection_log__lists_a_connection_from_the_handshake_to_the_end() {
    let mut pair = Pair::default();
    let (first, _) = pair.established();
    assert_eq!(news(&mut pair), [], "nobody wants to know");
    pair.client.endpoint.track_connections(true);
    assert!(
        matches!(news(&mut pair)[..], [ConnectionChange::Enter(slot, _)] if slot == first.slot())
    );
    // Expect: one that is still asking is not established, and then it is.
    let listener = pair.listen(81, ConnConfig::default());
    let second = pair.connect(81, ConnConfig::default());
    assert_eq!(news(&mut pair), []);
    pair.drive();
    let entered = news(&mut pair);
    let [ConnectionChange::Enter(slot, established)] = entered[..] else { panic!("{entered:?}") };
    assert_eq!((slot, established.remote), (second.slot(), Pair::server_addr(81)));
    let accepted = pair.server.endpoint.accept(pair.time, listener).unwrap();
    // Expect: it leaves once, when both directions are closed, and not when its application lets
    // go.
    pair.client.endpoint.release(pair.time, second, false);
    pair.drive();
    assert_eq!(news(&mut pair), []);
    pair.server.endpoint.release(pair.time, accepted, false);
    pair.drive_for(MS * 1000);
    assert_eq!(news(&mut pair), [ConnectionChange::Leave(second.slot())]);
    pair.client.endpoint.release(pair.time, first, true);
    pair.drive_for(MS * 1000);
    assert_eq!(news(&mut pair), [ConnectionChange::Leave(first.slot())]);
}

#[test]
fn connection_log__has_no_classic_peers() {
    let mut pair = Pair::default();
    pair.client.endpoint.track_connections(true);
    let classic = ConnConfig { classic: Classic::Only, ..ConnConfig::default() };
    pair.established_with(classic, classic);
    assert_eq!(news(&mut pair), [], "they know no reset");
}

/// PRP-RST-7: what the connection log says is enough for a witness to end the connection, and less
/// is not.
#[test]
fn reset__in_the_name_of_a_dead_process_is_believed_if_it_has_the_id() {
    let mut pair = Pair::default();
    pair.client.endpoint.track_connections(true);
    let (_, s) = pair.established();
    let entered = news(&mut pair);
    let [ConnectionChange::Enter(_, established)] = entered[..] else { panic!("{entered:?}") };
    let mac = crate::addr::MacAddr([2, 0, 0, 0, 0, 1]);
    let devices = alloc::vec![Device::ethernet(mac, 1500)];
    let router = Forwarder::new(ETHERTYPE, pair.client.endpoint.routes().clone(), devices);
    let wrong = EstablishedId { peer_id: established.peer_id ^ 1, ..established };
    pair.rule = Box::new(
        |direction, _| if direction == ToServer { FrameAction::Drop } else { FrameAction::Pass },
    );
    for (established, over) in [(wrong, false), (established, true)] {
        let answer = reset(&router, &established).expect("there is a path");
        assert_eq!(answer.device, DeviceId(0));
        pair.inject(ToServer, &answer.bytes);
        pair.drive();
        let state = pair.server.endpoint.state(s);
        assert_eq!(state == State::Close, over, "{state:?}");
    }
    let read = pair.server.endpoint.read(pair.time, s, &mut [0; 9]);
    assert_eq!(read, Err(ReadError::Conn(ConnError::Reset)));
    let nowhere = NodeId::new(9).expect("a node");
    let remote = PrpAddr::new(nowhere, Port::new(80));
    assert_eq!(reset(&router, &EstablishedId { remote, ..established }), None);
}
