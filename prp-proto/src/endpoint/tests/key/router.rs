//! What routers say where there is a key (SPEC PRP-KEY-19).

use super::attack::give_frame;
use super::*;
use crate::addr::MacAddr;
use crate::endpoint::{ConnectionChange, Device};
use crate::forward::{Answer, Forwarder, answer, refuse, reset};
use crate::seq::{Seq, SeqWidth};
use crate::wire::{NodeBlock, NodeKind, sealed_by};

/// The router of the node of `endpoint`, with the key of `file`.
fn router(endpoint: &Endpoint, file: Option<&KeyFile>) -> Forwarder {
    let mac = MacAddr([2, 0, 0, 0, 0, endpoint.local_node().number() as u8]);
    let devices = vec![Device::ethernet(mac, 1500)];
    let mut router = Forwarder::new(ETHERTYPE, endpoint.routes().clone(), devices);
    router.set_keyring(file.map(Keyring::new));
    router
}

fn parsed(bytes: &[u8]) -> Frame<'_> {
    Frame::parse(bytes, ETHERTYPE).expect("a frame")
}

/// Whether `answer` is signed with the secret of `file`.
fn is_signed(answer: &Answer, file: &KeyFile) -> bool {
    let frame = parsed(&answer.bytes);
    let checked = Keyring::new(file).check(frame.packet_header(), frame.payload, frame.rest());
    assert_eq!(checked.is_ok(), !frame.crc_ok(CrcKey::NONE), "one or the other");
    checked.is_ok()
}

/// PRP-RST-7, PRP-KEY-19: the peer of a process that has died is told with the key, and believes
/// nothing without; the peer of a connection without one is told without.
#[test]
fn router__resets_connections_of_the_dead_as_they_were() {
    for mode in [Mode::Off, Mode::Sign, Mode::Seal] {
        let mut pair = in_mode(mode);
        pair.client.endpoint.track_connections(true);
        let (_, s) = pair.established();
        let news = pair.client.endpoint.poll_connection_change();
        let Some(ConnectionChange::Enter(_, established)) = news else { panic!("{news:?}") };
        assert_eq!(established.is_protected, mode != Mode::Off);
        pair.rule = Box::new(|direction, _| match direction {
            ToServer => FrameAction::Drop,
            ToClient => FrameAction::Pass,
        });
        let key = file(mode, 1);
        for (key, ends) in [(None, mode == Mode::Off), (Some(&key), true)] {
            let answer = reset(&router(&pair.client.endpoint, key), &established).expect("a path");
            assert_eq!(is_signed(&answer, &file(mode, 1)), mode != Mode::Off && key.is_some());
            give_frame(&mut pair, ToServer, &answer.bytes);
            assert_eq!(pair.server.endpoint.state(s) == State::Close, ends, "{mode}");
            if ends {
                break;
            }
        }
    }
}

/// PRP-RST-2, PRP-KEY-19: a request with a key to a port without an owner is refused with one, by a
/// router that has it; one without is refused without.
#[test]
fn router__refuses_requests_as_they_are_protected() {
    for mode in [Mode::Off, Mode::Sign, Mode::Seal] {
        let mut pair = in_mode(mode);
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        pair.rule = Box::new(move |_, frame| {
            noted.lock().unwrap().push(frame.to_vec());
            FrameAction::Drop
        });
        let c = pair.connect(80, ConnConfig::default());
        pair.drive_for(MS);
        let request = requests.lock().unwrap().first().cloned().expect("it has asked");
        let key = file(mode, 1);
        for (key, ends) in [(None, mode == Mode::Off), (Some(&key), true)] {
            let answer = refuse(&router(&pair.server.endpoint, key), &parsed(&request));
            let answer = answer.expect("it is a request");
            assert_eq!(is_signed(&answer, &file(mode, 1)), mode != Mode::Off && key.is_some());
            give_frame(&mut pair, ToClient, &answer.bytes);
            let is_over = pair.client.endpoint.state(c) == State::Close;
            assert_eq!(is_over, ends, "{mode}");
            if is_over {
                break;
            }
        }
    }
}

/// PRP-KEY-13: an answer is signed if the echo is, and the router has the secret.
#[test]
fn router__answers_echoes_as_they_are_signed() {
    let pair = in_mode(Mode::Seal);
    let (own, other) = (file(Mode::Seal, 1), file(Mode::Seal, 2));
    let [client, server] = [1, 2].map(|node| NodeId::new(node).expect("a node"));
    let [from, to] = [1, 2].map(|last| MacAddr([2, 0, 0, 0, 0, last]));
    let mut transport =
        TransportHeader::new(Port::new(61_000), Port::CONTROL, Seq::default(), SeqWidth::Bits20, 0);
    transport.flags |= Flags::CTL;
    let head = Head {
        ethernet: Some(EthernetHeader { dst: to, src: from, ethertype: ETHERTYPE }),
        network: NetworkHeader { src: client, dst: server },
        transport,
    };
    let block = NodeBlock { kind: NodeKind::Echo, hops: 0, sequence: 3, id: 4, stamp: 5 };
    let echo = |key: Option<&KeyFile>| {
        let keyring = key.map(Keyring::new);
        sealed_by(keyring.as_ref(), head, &[&block.emit(), b"padding"])
    };
    for (asked_with, has, signed) in [
        (None, None, Some(false)),
        (None, Some(&own), Some(false)),
        (Some(&own), Some(&own), Some(true)),
        // Nobody can say who has asked.
        (Some(&own), None, None),
        (Some(&other), Some(&own), None),
    ] {
        let bytes = echo(asked_with);
        let said = answer(&router(&pair.server.endpoint, has), &parsed(&bytes), None);
        assert_eq!(said.as_ref().map(|said| is_signed(said, &own)), signed);
        let padding = said.map(|said| parsed(&said.bytes).payload[NodeBlock::LEN..].to_vec());
        assert!(padding.is_none_or(|padding| padding == b"padding"));
    }
    // Who asks for protection believes no answer without.
    let asker = router(&pair.client.endpoint, Some(&own));
    let unsigned = answer(&router(&pair.server.endpoint, None), &parsed(&echo(None)), None);
    let unsigned = unsigned.expect("it is an echo").bytes;
    let refusal = asker.authenticate(&parsed(&unsigned)).map(drop);
    assert_eq!(refusal, Err(prp_key::Refusal::Unsigned));
    // Nor can anyone believe what is signed with a secret that he does not have.
    for has in [None, Some(&other), Some(&file(Mode::Off, 2))] {
        let asker = router(&pair.client.endpoint, has);
        let refusal = asker.authenticate(&parsed(&echo(Some(&own)))).map(drop);
        assert_eq!(refusal, Err(prp_key::Refusal::UnknownKey));
    }
}
