//! Nodes with keys of their own: a member is the node that it says (SPEC PRP-KEY-20 to 24).

use std::collections::BTreeMap;

use super::super::hostile::forge;
use super::attack::give_frame;
use super::*;
use crate::key::{NodeKey, NodeKeyFile, NodeKeys, NodeSecret};

/// What prphosts has: nodes and the numbers of their keys.
type Lines = [(u16, &'static [u8])];

/// Nodes 1 and 2, and a third one.
const LINES: &Lines = &[(1, &[11]), (2, &[12]), (7, &[17])];

fn key(n: u8) -> NodeKey {
    NodeSecret::new(&Secret::new([n; 32])).key()
}

/// The keys of `file` and those of `node`, with these private ones.
fn ring(file: &KeyFile, node: u16, lines: &Lines, private: &[u8]) -> Keyring {
    let (first, others) = private.split_first().unwrap();
    let mut own = NodeKeyFile::new(Secret::new([*first; 32]));
    for n in others {
        own.add(Secret::new([*n; 32])).unwrap();
    }
    let lines: BTreeMap<_, Vec<_>> =
        lines.iter().map(|(node, keys)| (*node, keys.iter().map(|n| key(*n)).collect())).collect();
    let keys = NodeKeys::new(node, lines, Some(&own)).unwrap();
    Keyring::new(file).with_nodes(keys)
}

/// A pair whose ends have these keys.
fn with_rings(one: Keyring, two: Keyring) -> Pair {
    let mut pair = Pair::default();
    for (side, ring, seed) in [(ToServer, one, 1), (ToClient, two, 2)] {
        let member = Member::new(ring, Seed::new([seed; 32]));
        pair.sender(side).endpoint.set_member(member);
    }
    pair
}

/// A pair of which each end has its node's keys, in `mode`.
fn with_nodes(mode: Mode) -> Pair {
    let file = file(mode, 1);
    with_rings(ring(&file, 1, LINES, &[11]), ring(&file, 2, LINES, &[12]))
}

#[test]
fn nodes__streams_both_ways_over_a_bad_wire() {
    let data = pattern(50_000);
    for mode in [Mode::Off, Mode::Sign, Mode::Seal] {
        let mut pair = with_nodes(mode);
        let (c, s) = pair.established();
        pair.rule = bad_wire(10, 7, Seen::default());
        assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data, "{mode}");
        assert_eq!(transfer(&mut pair, ToClient, s, c, &data), data, "{mode}");
        assert_eq!(pair.client.endpoint.terms(c).unwrap().security, mode);
    }
}

/// PRP-KEY-13, 19 and 21: what is said outside connections, by ends that were started again too.
#[test]
fn nodes__refusals_and_resets_are_believed() {
    let mut pair = with_nodes(Mode::Seal);
    let (c, _) = pair.established();
    let refused = pair.connect(80, ConnConfig::default());
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(refused), Some(ConnError::Refused));
    pair.restart(ToClient);
    let ring = ring(&file(Mode::Seal, 1), 2, LINES, &[12]);
    pair.server.endpoint.set_member(Member::new(ring, Seed::new([9; 32])));
    pair.listen(80, ConnConfig::default());
    pair.client.endpoint.write(pair.time, c, b"lost", Ending::Write).unwrap();
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
}

/// PRP-KEY-21: a member with the cluster's secret that says it is node 1, or node 2: by the key of
/// its own node, by that key on the other's line, and without any node key.
#[test]
fn attack__a_member_is_no_other_node() {
    let file = file(Mode::Sign, 1);
    let forged: &Lines = &[(1, &[17]), (2, &[17])];
    let plain = || Keyring::new(&file);
    for (liar, why) in [
        (ring(&file, 7, LINES, &[17]), DropReason::BadTag),
        (ring(&file, 1, &[(1, &[17]), (2, &[12])], &[17]), DropReason::BadTag),
        (plain(), DropReason::Unsigned),
    ] {
        let mut pair = with_rings(liar, ring(&file, 2, LINES, &[12]));
        let listener = pair.listen(80, ConnConfig::default());
        let c = pair.connect(80, ConnConfig::default());
        pair.drive_for(100 * MS);
        assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
        assert_eq!(pair.server.endpoint.pending(listener), 0);
        assert_eq!(pair.server.endpoint.connections(), 0, "nothing is kept of it");
        assert!(drops(&pair.server.endpoint, why) > 0, "{why:?}");
    }
    for liar in [ring(&file, 2, forged, &[17]), plain()] {
        // It answers all that it can.
        let mut pair = with_rings(ring(&file, 1, LINES, &[11]), liar);
        pair.listen(80, ConnConfig::default());
        let c = pair.connect(80, ConnConfig::default());
        pair.drive_for(100 * MS);
        assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
    }
}

/// PRP-KEY-21 and 22: between two nodes with keys, a member cuts the node keys off a request.
#[test]
fn attack__node_keys_cannot_be_taken_off() {
    const HEADER: usize = crate::wire::HEADER_LEN;
    let mut pair = with_nodes(Mode::Sign);
    let version = HEADER + 20 + 2;
    pair.rule = Box::new(move |direction, frame| {
        if direction != ToServer || !flags(frame).contains(Flags::CREQ) {
            return FrameAction::Pass;
        }
        assert_eq!(frame[version], 2);
        // Its own request in the place of the other, made with all that a member has.
        let mut frame = frame.to_vec();
        frame[version] = 1;
        frame.truncate(HEADER + 20);
        let header = *frame[crate::wire::ETHERNET_LEN..].first_chunk().unwrap();
        let mut block = frame.split_off(HEADER);
        let nonce = prp_key::Nonce::new([3; 16]);
        let liar: Member<Aes128Gcm> = member(&file(Mode::Sign, 1), 7);
        liar.ask(&header, nonce, &mut block);
        frame.extend(&block);
        let crc = checksum(CrcKey::NONE, &header, [&block, &[]]);
        frame.extend(crc);
        FrameAction::Replace(frame)
    });
    let listener = pair.listen(80, ConnConfig::default());
    let c = pair.connect(80, ConnConfig::default());
    pair.drive_for(100 * MS);
    assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
    assert_eq!(pair.server.endpoint.pending(listener), 0);
    assert!(drops(&pair.server.endpoint, DropReason::Unsigned) > 1);
}

/// PRP-KEY-13 and 21: a member that reads the ids of a connection resets it as little as a
/// stranger, whether it signs with its node's key or with the cluster's secret alone.
#[test]
fn attack__a_member_resets_no_connection_of_others() {
    let file = file(Mode::Sign, 1);
    let mut pair = with_nodes(Mode::Sign);
    let (c, s) = pair.established();
    let (to, from) = pair.client.endpoint.ends(c).unwrap();
    let (receiver, sender) = {
        let conn = pair.client.endpoint.table.get(c).unwrap();
        (conn.ids.local, conn.ids.remote)
    };
    let block = ResetBlock { reason: ResetReason::Aborted, receiver, sender }.emit();
    let signed = |by: &Keyring| {
        let mut frame = forge(from, to, Flags::RST, 0, &block, None);
        let header = frame[crate::wire::ETHERNET_LEN..].first_chunk().unwrap();
        let trailer = by.sign(header, &block);
        frame.extend(trailer);
        frame
    };
    for (by, why) in [
        (Keyring::new(&file), DropReason::Unsigned),
        (ring(&file, 7, LINES, &[17]), DropReason::BadTag),
        (ring(&file, 2, &[(1, &[11]), (2, &[17])], &[17]), DropReason::BadTag),
    ] {
        assert_eq!(give_frame(&mut pair, ToClient, &signed(&by)), Some(why));
    }
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"alive"), b"alive");
    let real = ring(&file, 2, LINES, &[12]);
    assert_eq!(give_frame(&mut pair, ToClient, &signed(&real)), None, "node 2 itself");
}

/// PRP-KEY-24: a node's key is replaced while data flow, on the other node first or last; and the
/// two ask each other at once meanwhile.
#[test]
fn nodes__a_key_is_replaced_while_data_flow() {
    let stages: [&Lines; 4] = [
        &[(1, &[11]), (2, &[12])],
        &[(1, &[11]), (2, &[12, 32])],
        &[(1, &[11]), (2, &[32, 12])],
        &[(1, &[11]), (2, &[32])],
    ];
    let file = file(Mode::Seal, 1);
    let mut pair = with_rings(ring(&file, 1, stages[0], &[11]), ring(&file, 2, stages[0], &[12]));
    let listener = pair.listen(90, ConnConfig::default());
    let c = pair.connect(90, ConnConfig::default());
    pair.drive();
    let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
    let data = pattern(20_000);
    for stage in 1..stages.len() {
        for is_server_ahead in [true, false] {
            let lines = |is_ahead: bool| stages[stage - usize::from(!is_ahead)];
            let one = ring(&file, 1, lines(!is_server_ahead), &[11]);
            let two = ring(&file, 2, lines(is_server_ahead), &[12, 32]);
            pair.client.endpoint.set_keyring(one);
            pair.server.endpoint.set_keyring(two);
            let conn = pair.connect(90, ConnConfig::default());
            pair.drive();
            let accepted = pair.server.endpoint.accept(pair.time, listener).unwrap();
            assert_eq!(transfer(&mut pair, ToServer, conn, accepted, b"new"), b"new");
            assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data, "it lives on");
            let [one, two] = cross(&mut pair);
            pair.drive();
            assert_eq!(transfer(&mut pair, ToServer, one, two, b"crossed"), b"crossed");
            assert_eq!(transfer(&mut pair, ToClient, two, one, b"back"), b"back");
            for (end, conn) in [(ToServer, one), (ToClient, two)] {
                let now = pair.time;
                pair.sender(end).endpoint.release(now, conn, false);
            }
            pair.drive_for(1000 * MS);
        }
    }
    pair.server.endpoint.release(pair.time, s, true);
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
}

/// PRP-KEY-24: a router between two nodes with keys says that an echo has gone too far, which the
/// asker believes, and not that there is no route.
#[test]
fn router__says_of_an_echo_of_others_only_what_ends_nothing() {
    use crate::addr::MacAddr;
    use crate::forward::{ForwardDrop, Forwarder, answer};
    use crate::seq::{Seq, SeqWidth};
    use crate::wire::{NodeBlock, NodeKind, sealed_by};

    let file = file(Mode::Sign, 1);
    let pair = with_nodes(Mode::Sign);
    let router = |endpoint: &Endpoint, ring: Keyring| {
        let devices = vec![crate::endpoint::Device::ethernet(MacAddr([2, 0, 0, 0, 0, 2]), 1500)];
        let mut router = Forwarder::new(ETHERTYPE, endpoint.routes().clone(), devices);
        router.set_keyring(Some(ring));
        router
    };
    let [client_mac, server_mac] = [1, 2].map(|last| MacAddr([2, 0, 0, 0, 0, last]));
    let asker = router(&pair.client.endpoint, ring(&file, 1, LINES, &[11]));
    // Node 2 is on the path to node 7.
    let between = router(&pair.server.endpoint, ring(&file, 2, LINES, &[12]));
    let mut transport =
        TransportHeader::new(Port::new(61_000), Port::CONTROL, Seq::default(), SeqWidth::Bits20, 0);
    transport.flags |= Flags::CTL;
    let [client, far] = [1, 7].map(|node| NodeId::new(node).unwrap());
    let head = Head {
        ethernet: Some(EthernetHeader { dst: server_mac, src: client_mac, ethertype: ETHERTYPE }),
        network: NetworkHeader { src: client, dst: far },
        transport,
    };
    let block = NodeBlock { kind: NodeKind::Echo, hops: 0, sequence: 3, id: 4, stamp: 5 };
    let echo = sealed_by(asker.keyring(), head, &[&block.emit()]);
    let echo = Frame::parse(&echo, ETHERTYPE).unwrap();
    for (dropped, is_said) in [
        (ForwardDrop::HopLimit, true),
        (ForwardDrop::TooBig, true),
        (ForwardDrop::NoRoute, false),
        (ForwardDrop::AllDown, false),
    ] {
        let said = answer(&between, &echo, Some(dropped));
        assert_eq!(said.is_some(), is_said, "{dropped:?}");
        if let Some(said) = said {
            let said = Frame::parse(&said.bytes, ETHERTYPE).unwrap();
            assert!(asker.authenticate(&said).is_ok_and(|said| said.is_authentic()));
        }
    }
}
