//! Two nodes with the cluster's key (SPEC section 14).

mod attack;
mod nodes;
mod router;

use alloc::vec;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use prp_key::{Aes128Gcm, KeyFile, Keyring, Member, Mode, Secret, Seed};

use super::*;
use crate::endpoint::Endpoint;
use crate::event::ListenHandle;

/// What a frame is longer by than its payload with the headers.
const TRAILER: usize = prp_key::TRAILER_BYTES;

/// Frames that have passed the wire, with their directions.
type Seen = Arc<Mutex<Vec<(Direction, Vec<u8>)>>>;

/// A file with one secret, which both ends have unless they have another `id`.
fn file(mode: Mode, id: u16) -> KeyFile {
    KeyFile::new(mode, id, Secret::new([id as u8; 32]))
}

fn member(file: &KeyFile, seed: u8) -> Member<Aes128Gcm> {
    Member::new(Keyring::new(file), Seed::new([seed; 32]))
}

fn give(endpoint: &mut Endpoint, file: &KeyFile, seed: u8) {
    endpoint.set_member(member(file, seed));
}

/// A pair of which both ends have a file.
fn keyed(one: &KeyFile, two: &KeyFile) -> Pair {
    let mut pair = Pair::default();
    give(&mut pair.client.endpoint, one, 1);
    give(&mut pair.server.endpoint, two, 2);
    pair
}

/// A pair with one key, in `mode`.
fn in_mode(mode: Mode) -> Pair {
    keyed(&file(mode, 1), &file(mode, 1))
}

/// Has the wire note what passes it.
fn listen_in(pair: &mut Pair) -> Seen {
    let seen = Seen::default();
    let noted = Arc::clone(&seen);
    pair.rule = Box::new(move |direction, frame| {
        noted.lock().unwrap().push((direction, frame.to_vec()));
        FrameAction::Pass
    });
    seen
}

/// A wire that loses, doubles and delays frames, each one in `1 / odds`.
fn bad_wire(odds: u32, mut state: u32, seen: Seen) -> crate::testing::Rule {
    Box::new(move |direction, frame| {
        seen.lock().unwrap().push((direction, frame.to_vec()));
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match (state >> 16) % (3 * odds) {
            0 | 1 => FrameAction::Drop,
            2 => FrameAction::Duplicate,
            3 => FrameAction::Delay(MS / 20),
            _ => FrameAction::Pass,
        }
    })
}

fn drops(endpoint: &Endpoint, why: DropReason) -> u64 {
    endpoint.stats().drops[why]
}

/// The counters of protected frames, with their directions.
fn counters(seen: &Seen) -> Vec<(bool, [u8; 4])> {
    let seen = seen.lock().unwrap();
    let of = |(direction, frame): &(Direction, Vec<u8>)| {
        let flags = flags(frame);
        let is_outside = flags.intersects(Flags::CREQ | Flags::CACK | Flags::RST);
        let at = frame.len() - TRAILER;
        (!is_outside).then(|| (*direction == ToServer, *frame[at..].first_chunk().unwrap()))
    };
    seen.iter().filter_map(of).collect()
}

fn contains(frames: &Seen, text: &[u8]) -> bool {
    let frames = frames.lock().unwrap();
    frames.iter().any(|(_, frame)| frame.windows(text.len()).any(|window| window == text))
}

/// PRP-KEY-9, 10 and 15: all of it comes, whatever the wire does; no counter comes twice; in mode
/// seal nobody can read it, and in mode sign everybody can.
#[test]
fn key__streams_in_both_directions_over_a_bad_wire() {
    let data = pattern(200_000);
    for mode in [Mode::Sign, Mode::Seal] {
        for policy in [Reliability::GoBackN, Reliability::SelectiveRepeat] {
            let mut pair = in_mode(mode);
            let config = ConnConfig { crc: true, ..with_policy(policy) };
            let (c, s) = pair.established_with(config, config);
            let seen = Seen::default();
            pair.rule = bad_wire(10, 7, Arc::clone(&seen));
            assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data, "{mode} {policy}");
            assert_eq!(transfer(&mut pair, ToClient, s, c, &data), data, "{mode} {policy}");

            let terms = pair.client.endpoint.terms(c).unwrap();
            assert_eq!(terms, pair.server.endpoint.terms(s).unwrap());
            assert_eq!((terms.security, terms.key, terms.crc), (mode, Some(1), false));
            assert_eq!(terms.mss, 1484 - TRAILER as u16);
            assert!(pair.client.endpoint.conn_stats(c).unwrap().retransmitted > 0);
            let counters = counters(&seen);
            assert_eq!(counters.iter().collect::<HashSet<_>>().len(), counters.len());
            assert_eq!(contains(&seen, &data[5000..5064]), mode == Mode::Sign, "{mode}");
            assert!(drops(&pair.server.endpoint, DropReason::Replayed) > 0, "doubled frames");
            assert_eq!(drops(&pair.server.endpoint, DropReason::BadTag), 0);
        }
    }
}

/// Messages keep their ends, and empty ones are messages.
#[test]
fn key__messages() {
    for mode in [Mode::Sign, Mode::Seal] {
        let mut pair = in_mode(mode);
        let (c, s) = pair.established();
        pair.rule = bad_wire(10, 3, Seen::default());
        let messages = [pattern(5000), Vec::new(), pattern(1), pattern(1464), pattern(40_000)];
        for message in &messages {
            let now = pair.time;
            let ending = Ending::Message;
            let taken = pair.client.endpoint.write(now, c, message, ending);
            assert_eq!(taken.unwrap(), message.len());
        }
        let mut got = vec![Vec::<u8>::new()];
        pair.drive_until(|pair| {
            let mut buf = [0; 4096];
            let (now, endpoint) = (pair.time, &mut pair.server.endpoint);
            while let Ok(Some(part)) = endpoint.read_message(now, s, &mut buf) {
                got.last_mut().unwrap().extend(&buf[..part.len]);
                if part.end {
                    got.push(Vec::new());
                }
            }
            got.len() > messages.len()
        });
        assert_eq!(got[..messages.len()], messages, "{mode}");
    }
}

/// PRP-KEY-1: the stronger of what both ask for, and none where both ask for none.
#[test]
fn key__the_stronger_mode_of_both() {
    let modes = [Mode::Off, Mode::Sign, Mode::Seal];
    for (one, two) in modes.iter().flat_map(|one| modes.map(|two| (*one, two))) {
        let mut pair = keyed(&file(one, 1), &file(two, 1));
        let (c, s) = pair.established();
        let terms = pair.client.endpoint.terms(c).unwrap();
        assert_eq!(terms, pair.server.endpoint.terms(s).unwrap());
        assert_eq!(terms.security, one.max(two), "{one} {two}");
        assert_eq!((terms.crc, terms.key.is_none()), (one.max(two) == Mode::Off, terms.crc));
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"up"), b"up");
        assert_eq!(transfer(&mut pair, ToClient, s, c, b"down"), b"down");
        pair.client.endpoint.release(pair.time, c, false);
        pair.server.endpoint.release(pair.time, s, false);
        assert!(pair.drive_until(|p| p.server.endpoint.connections() == 0));
    }
}

/// A node without a key and one with it have no connection, and the counters of both say why; where
/// the one with it wants none of that node, they have one without.
#[test]
fn key__with_a_node_that_has_none() {
    let asks = |client: Option<Mode>, server: Option<Mode>| {
        let mut pair = Pair::default();
        if let Some(mode) = client {
            give(&mut pair.client.endpoint, &file(mode, 1), 1);
        }
        if let Some(mode) = server {
            give(&mut pair.server.endpoint, &file(mode, 1), 2);
        }
        let listener = pair.listen(80, ConnConfig::default());
        let c = pair.connect(80, ConnConfig::default());
        pair.drive_for(20_000 * MS);
        let (state, pending) =
            (pair.client.endpoint.state(c), pair.server.endpoint.pending(listener));
        assert_eq!(pending == 1, state == State::OPEN);
        (pair, c, state)
    };
    for mode in [Mode::Sign, Mode::Seal] {
        let (mut pair, c, state) = asks(Some(mode), None);
        assert_eq!(state, State::Close);
        let waited = ConnConfig::default().connect_timeout;
        assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::TimedOut { waited }));
        assert!(drops(&pair.server.endpoint, DropReason::UnknownKey) > 5);
        assert!(drops(&pair.client.endpoint, DropReason::Unsigned) > 5);
        assert_eq!(pair.server.endpoint.connections(), 0, "nothing is kept");

        let (pair, _, state) = asks(None, Some(mode));
        assert_eq!(state, State::Close);
        assert!(drops(&pair.server.endpoint, DropReason::Unsigned) > 5);
        assert!(drops(&pair.client.endpoint, DropReason::UnknownKey) > 5);
    }
    for (client, server) in [(Some(Mode::Off), None), (None, Some(Mode::Off))] {
        let (pair, c, state) = asks(client, server);
        assert_eq!(state, State::OPEN);
        assert_eq!(pair.client.endpoint.terms(c).unwrap().security, Mode::Off);
    }
}

/// A process that has no key, or none that a request was made with, says so of its own ports only:
/// of others it asks whose they are. A classic request is never answered.
#[test]
fn key__requests_to_ports_of_others() {
    let cases = [(Some(Mode::Seal), None), (None, Some(Mode::Seal))];
    for (client, server) in cases {
        let mut pair = Pair::default();
        if let Some(mode) = client {
            give(&mut pair.client.endpoint, &file(mode, 1), 1);
        }
        if let Some(mode) = server {
            give(&mut pair.server.endpoint, &file(mode, 1), 2);
        }
        pair.server.endpoint.report_unowned_ports(true);
        pair.server.foreign = vec![Port::new(80)];
        for port in [80, 81] {
            pair.connect(port, ConnConfig::default());
            pair.drive_for(MS);
            let sent = pair.server.endpoint.stats().refusals_sent;
            assert_eq!(sent, u64::from(port == 81), "only where no process has the port");
        }
        let dropped = pair.server.endpoint.stats().drops.occurred().collect::<Vec<_>>();
        assert_eq!(dropped, [(DropReason::NotOurPort, 2)]);
    }

    let mut pair = Pair::default();
    give(&mut pair.server.endpoint, &file(Mode::Seal, 1), 2);
    pair.listen(80, ConnConfig::default());
    pair.connect(80, ConnConfig { classic: Classic::Only, ..ConnConfig::default() });
    pair.drive_for(MS);
    assert_eq!(drops(&pair.server.endpoint, DropReason::Unsigned), 1);
    assert_eq!(pair.server.endpoint.stats().refusals_sent, 0);
}

/// Nodes with different secrets under different ids, and under the same.
#[test]
fn key__with_another_secret() {
    let mut pair = keyed(&file(Mode::Seal, 1), &file(Mode::Seal, 2));
    let listener = pair.listen(80, ConnConfig::default());
    pair.connect(80, ConnConfig::default());
    pair.drive_for(1000 * MS);
    assert!(drops(&pair.server.endpoint, DropReason::UnknownKey) > 1);
    assert!(drops(&pair.client.endpoint, DropReason::UnknownKey) > 1, "the answer is signed");

    let other = KeyFile::new(Mode::Seal, 1, Secret::new([99; 32]));
    let mut pair_2 = keyed(&file(Mode::Seal, 1), &other);
    pair_2.listen(80, ConnConfig::default());
    pair_2.connect(80, ConnConfig::default());
    pair_2.drive_for(1000 * MS);
    assert!(drops(&pair_2.server.endpoint, DropReason::BadTag) > 1);
    assert_eq!(pair.server.endpoint.pending(listener), 0);
}

/// A request that no listener serves is refused at once, by a reset that the key signs; and a
/// connection ends with one that is believed.
#[test]
fn key__refusals_and_resets_are_signed() {
    let mut pair = in_mode(Mode::Seal);
    let (c, s) = pair.established();
    let refused = pair.connect(80, ConnConfig::default());
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(refused), Some(ConnError::Refused));
    pair.server.endpoint.release(pair.time, s, true);
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
    assert_eq!(pair.drops, [DropReason::Refused]);
}

/// PRP-KEY-13: who asks for no protection of a node hears what it refuses, with or without a key
/// there.
#[test]
fn key__refusals_of_a_node_that_needs_no_key() {
    for server in [None, Some(Mode::Off), Some(Mode::Sign)] {
        let mut pair = Pair::default();
        give(&mut pair.client.endpoint, &file(Mode::Off, 1), 1);
        if let Some(mode) = server {
            give(&mut pair.server.endpoint, &file(mode, 1), 2);
        }
        // The port is the server's from then on.
        pair.established();
        let refused = pair.connect(80, ConnConfig::default());
        pair.drive();
        assert_eq!(pair.client.endpoint.take_error(refused), Some(ConnError::Refused));

        pair.listen(81, ConnConfig::default());
        let unlike = pair.connect(81, with_policy(Reliability::Detect));
        pair.drive();
        assert_eq!(pair.client.endpoint.take_error(unlike), Some(ConnError::NoCommonPolicy));
    }
}

/// PRP-KEY-13: who needs no key of a node signs what the node needs signed: what it refuses, what
/// it answers after it was started again, and its last words.
#[test]
fn key__resets_for_a_node_that_needs_them_signed() {
    for mode in [Mode::Sign, Mode::Seal] {
        let (needs, off) = (file(mode, 1), file(Mode::Off, 1));
        let mut pair = keyed(&needs, &off);
        let (c, _) = pair.established();
        let refused = pair.connect(80, ConnConfig::default());
        pair.drive();
        assert_eq!(pair.client.endpoint.take_error(refused), Some(ConnError::Refused));

        pair.restart(ToClient);
        give(&mut pair.server.endpoint, &off, 9);
        pair.listen(80, ConnConfig::default());
        pair.client.endpoint.write(pair.time, c, b"lost", Ending::Write).unwrap();
        assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
        assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));

        let mut pair = keyed(&off, &needs);
        let (c, s) = pair.established();
        pair.client.endpoint.release(pair.time, c, false);
        pair.client.endpoint.leave(pair.time);
        assert!(pair.drive_until(|p| p.client.endpoint.may_end()));
        pair.drive();
        assert_eq!(drops(&pair.server.endpoint, DropReason::Unsigned), 0);
        pair.rule = Box::new(|_, _| FrameAction::Drop);
        pair.server.endpoint.shutdown_send(pair.time, s);
        assert_eq!(pair.server.endpoint.state(s), State::Close, "it knows that nobody is there");
        assert_eq!(pair.server.endpoint.take_error(s), None);
    }
}

/// A connection of before both ends had a key goes on without one, and so it ends.
#[test]
fn key__connections_of_before_there_was_one() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    for (side, seed) in [(ToServer, 1), (ToClient, 2)] {
        give(&mut pair.sender(side).endpoint, &file(Mode::Seal, 1), seed);
    }
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"up"), b"up");
    assert_eq!(transfer(&mut pair, ToClient, s, c, b"down"), b"down");
    pair.server.endpoint.release(pair.time, s, true);
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
}

/// PRP-KEY-3: while the file changes on one node after the other, connections live on, and new ones
/// are made; in the end with the new secret.
#[test]
fn key__rotation_while_data_flow() {
    let [old, new] = [1, 2].map(|id| Secret::new([id; 32]));
    let mut both = KeyFile::new(Mode::Seal, 1, old);
    assert_eq!(both.add(new), Ok(2));
    let mut used = both.clone();
    used.use_key(2).unwrap();
    let mut only_new = used.clone();
    assert!(only_new.drop_key(1).unwrap());

    let mut pair = in_mode(Mode::Seal);
    let (c, s) = pair.established();
    let listener = pair.listen(90, ConnConfig::default());
    let data = pattern(50_000);
    for file in [&both, &used, &only_new] {
        for side in [ToServer, ToClient] {
            pair.sender(side).endpoint.set_keyring(Keyring::new(file));
            let conn = pair.connect(90, ConnConfig::default());
            pair.drive();
            assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data, "it lives on");
            let now = pair.time;
            let accepted = pair.server.endpoint.accept(now, listener).unwrap();
            let id = if pair.client.endpoint.keyring().unwrap().used_id() == 1 { 1 } else { 2 };
            let terms = pair.server.endpoint.terms(accepted).unwrap();
            assert_eq!((terms.security, terms.key), (Mode::Seal, Some(id)));
            assert_eq!(pair.client.endpoint.terms(conn).unwrap().key, Some(id));
        }
    }
    assert!(pair.drops.is_empty(), "{:?}", pair.drops);
    // Its reset is signed with a secret that both have, and not with the one that it began with.
    pair.server.endpoint.release(pair.time, s, true);
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
}

/// A process that was started again has another key of its own: old connections end, and new ones
/// are made from the same ports, at once.
#[test]
fn key__restart_of_either_end() {
    for side in [ToServer, ToClient] {
        let file = file(Mode::Seal, 1);
        let mut pair = in_mode(Mode::Seal);
        let (c, s) = pair.established();
        pair.restart(side);
        give(&mut pair.sender(side).endpoint, &file, 9);
        if side == ToServer {
            let listener = pair.listen(80, ConnConfig::default());
            let (now, remote) = (pair.time, Pair::server_addr(80));
            let port = pair.server.endpoint.ends(s).unwrap().1.port;
            let endpoint = &mut pair.client.endpoint;
            let again = endpoint.connect(now, remote, Some(port), ConnConfig::default(), |_| true);
            let again = again.unwrap();
            assert!(pair.drive_until(|p| p.client.endpoint.state(again) == State::OPEN));
            assert_eq!(pair.server.endpoint.take_error(s), Some(ConnError::Reset));
            pair.drive();
            let accepted = pair.server.endpoint.accept(pair.time, listener).unwrap();
            assert_eq!(transfer(&mut pair, ToServer, again, accepted, b"new"), b"new");
        } else {
            let listener = pair.listen(80, ConnConfig::default());
            pair.client.endpoint.write(pair.time, c, b"lost", Ending::Write).unwrap();
            assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
            assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
            let again = pair.connect(80, ConnConfig::default());
            pair.drive();
            let accepted = pair.server.endpoint.accept(pair.time, listener).unwrap();
            assert_eq!(transfer(&mut pair, ToServer, again, accepted, b"new"), b"new");
        }
    }
}

/// The connection and the server's end of it, once both have asked each other from port 70 and 80.
fn cross(pair: &mut Pair) -> [ConnHandle; 2] {
    let at = |node| PrpAddr::new(NodeId::new(node).unwrap(), Port::new(60 + 10 * node));
    let now = pair.time;
    [(ToServer, 1), (ToClient, 2)].map(|(direction, node)| {
        let (own, peer) = (at(node).port, at(3 - node));
        let endpoint = &mut pair.sender(direction).endpoint;
        endpoint.connect(now, peer, Some(own), ConnConfig::default(), |_| true).unwrap()
    })
}

/// PRP-CONN-13 and PRP-KEY-8: also while the two ask with different secrets, and whatever is lost.
#[test]
fn key__requests_that_cross() {
    let [old, new] = [1, 2].map(|id| Secret::new([id; 32]));
    let mut one = KeyFile::new(Mode::Sign, 1, old);
    assert_eq!(one.add(new), Ok(2));
    let mut two = one.clone();
    two.use_key(2).unwrap();
    for (one, two) in [(&one, &one), (&one, &two), (&two, &one)] {
        for lost in 0u32..1 << 6 {
            let mut pair = keyed(one, two);
            let mut n = 0;
            pair.rule = Box::new(move |_, _| {
                n += 1;
                let is_lost = n <= 6 && lost >> (n - 1) & 1 == 1;
                if is_lost { FrameAction::Drop } else { FrameAction::Pass }
            });
            let [c, s] = cross(&mut pair);
            let is_open = |p: &Pair| {
                p.client.endpoint.state(c) == State::OPEN
                    && p.server.endpoint.state(s) == State::OPEN
            };
            assert!(pair.drive_until(|p| is_open(p)), "{lost:b}");
            assert_eq!(transfer(&mut pair, ToServer, c, s, b"up"), b"up", "{lost:b}");
            assert_eq!(transfer(&mut pair, ToClient, s, c, b"down"), b"down", "{lost:b}");
            assert_eq!(pair.client.endpoint.terms(c), pair.server.endpoint.terms(s));
        }
    }
}

/// PRP-KEY-16: the application gets a connection one round trip after its request, before the
/// client says anything, and no later than a probe takes if the acknowledgement is lost.
#[test]
fn key__a_connection_is_offered_once_the_client_has_spoken() {
    for is_lost in [false, true] {
        let mut pair = in_mode(Mode::Sign);
        let listener = pair.listen(80, ConnConfig::default());
        let mut first = true;
        pair.rule = Box::new(move |direction, frame| {
            let is_first = direction == ToServer && !flags(frame).contains(Flags::CREQ) && first;
            first &= !is_first;
            if is_first && is_lost { FrameAction::Drop } else { FrameAction::Pass }
        });
        let c = pair.connect(80, ConnConfig::default());
        while pair.client.endpoint.state(c) != State::OPEN {
            assert!(pair.step());
            assert_eq!(pair.server.endpoint.pending(listener), 0, "nobody has spoken yet");
        }
        pair.drive();
        assert_eq!(pair.server.endpoint.pending(listener), usize::from(!is_lost));
        pair.drive_for(1100 * MS);
        assert_eq!(pair.server.endpoint.pending(listener), 1);
        assert_eq!(pair.server.endpoint.stats().accepted, 1);
    }
}

/// PRP-KEY-18: keys are renewed when they are old, and both ends go on with the new ones.
#[test]
fn key__old_keys_are_renewed() {
    let mut pair = in_mode(Mode::Seal);
    let (c, s) = pair.established();
    let epoch = |endpoint: &mut Endpoint, conn| {
        let conn = endpoint.table.get_mut(conn).unwrap();
        conn.protection.as_deref_mut().unwrap().session().unwrap().epoch()
    };
    for round in 1..=3 {
        pair.drive_for(121_000 * MS);
        for _ in 0..2 {
            assert_eq!(transfer(&mut pair, ToServer, c, s, b"up"), b"up");
            assert_eq!(transfer(&mut pair, ToClient, s, c, b"down"), b"down");
        }
        let epochs = [epoch(&mut pair.client.endpoint, c), epoch(&mut pair.server.endpoint, s)];
        assert_eq!(epochs, [round; 2]);
    }
    assert!(pair.drops.is_empty(), "{:?}", pair.drops);
}

/// Segments larger than 1484 bytes, empty parts of a frame and a reduced path: what is probed has
/// room for the trailer.
#[test]
fn key__segments_of_a_larger_link() {
    let mut pair = Pair::new(9000);
    for (side, seed) in [(ToServer, 1), (ToClient, 2)] {
        give(&mut pair.sender(side).endpoint, &file(Mode::Seal, 1), seed);
    }
    let seen = listen_in(&mut pair);
    let (c, s) = pair.established();
    let data = pattern(400_000);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
    let longest = seen.lock().unwrap().iter().map(|(_, frame)| frame.len()).max();
    assert_eq!(longest, Some(9014));
}

//= PRP-CTL-2, type=test
/// On the least MTU that prphosts takes, where a full acknowledgement has no room for all of its
/// bitmap beside the trailer.
#[test]
fn key__acknowledgements_fit_the_least_mtu() {
    let least = u32::from(crate::hosts::MIN_MTU);
    for (mtu, words) in [(least, 14), (least + 15, 15), (least + 16, 16)] {
        let mut pair = Pair::new(mtu);
        for (side, seed) in [(ToServer, 1), (ToClient, 2)] {
            give(&mut pair.sender(side).endpoint, &file(Mode::Seal, 1), seed);
        }
        let config = ConnConfig {
            recv_buffer: Some(1 << 20),
            send_buffer: 1 << 20,
            ..with_policy(Reliability::SelectiveRepeat)
        };
        let (c, s) = pair.established_with(config, config);
        let warm = pattern(2 << 20);
        assert_eq!(transfer(&mut pair, ToServer, c, s, &warm), warm);
        let longest = Arc::new(Mutex::new([0; 2]));
        let (seen, mut lost, mut sent) = (Arc::clone(&longest), None, 0);
        pair.rule = Box::new(move |direction, frame| {
            let at = usize::from(direction == ToClient);
            let mut longest = seen.lock().unwrap();
            longest[at] = longest[at].max(frame.len());
            // One segment is lost until all the window is beyond it.
            let number = frame[22..24].to_vec();
            let is_lost =
                direction == ToServer && *lost.get_or_insert_with(|| number.clone()) == number;
            sent += u32::from(direction == ToServer);
            if is_lost && sent < 1100 { FrameAction::Drop } else { FrameAction::Pass }
        });
        let data = pattern(300_000);
        assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
        let [segment, ack] = *longest.lock().unwrap();
        assert_eq!(segment, 14 + mtu as usize);
        assert_eq!(ack, crate::wire::HEADER_LEN + 24 + 8 * words + TRAILER, "MTU {mtu}");
    }
}

/// A listener that is gone by the time a client has spoken resets the connection.
#[test]
fn key__a_listener_that_is_gone() {
    let mut pair = in_mode(Mode::Seal);
    let listener: ListenHandle = pair.listen(80, ConnConfig::default());
    let c = pair.connect(80, ConnConfig::default());
    while pair.server.endpoint.connections() == 0 {
        assert!(pair.step());
    }
    pair.server.endpoint.unlisten(pair.time, listener);
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
    assert!(pair.drive_until(|p| p.server.endpoint.connections() == 0));
}
