//! What a station that has no key, and hears and sends what it likes, cannot do (SPEC PRP-KEY-5 to
//! 17): have anything delivered, ended, moved or accepted.

use alloc::format;
use alloc::string::String;

use super::super::hostile::forge;
use super::*;
use crate::addr::DeviceId;
use crate::endpoint::ConnInfo;
use crate::event::Disposition;
use crate::time::Instant;
use crate::wire::Control;

/// Bytes before the packet of a frame.
const ETHERNET: usize = crate::wire::ETHERNET_LEN;

/// Bits of HOPS, which routers change, in a packet.
const HOPS: core::ops::Range<usize> = 112..116;

/// What nobody else may change of a connection: all but when it last heard of its peer, and what
/// was dropped.
fn state_of(endpoint: &Endpoint, conn: ConnHandle) -> String {
    let info = endpoint.conn_info(Instant::ZERO, conn);
    let info = info.map(|info| {
        let ConnInfo { state, receive_queue, send_queue, in_flight, peer_window, terms, .. } = info;
        let bytes = (info.stats.bytes_received, info.stats.segments_received);
        let acks = (info.stats.acks_received, info.next_hop, info.rtt);
        (state, receive_queue, send_queue, in_flight, peer_window, terms, bytes, acks)
    });
    format!("{info:?} {}", endpoint.is_readable(conn))
}

/// Gives `frame` to the endpoint that it goes to; why it was dropped.
pub(super) fn give_frame(
    pair: &mut Pair,
    direction: Direction,
    frame: &[u8],
) -> Option<DropReason> {
    let now = pair.time;
    let endpoint = &mut pair.receiver(direction).endpoint;
    match endpoint.handle_frame(now, DeviceId(0), frame, None) {
        Disposition::Dropped(why) => Some(why),
        Disposition::Transit(_) => Some(DropReason::NotOurNode),
        Disposition::Accepted => None,
    }
}

/// A conversation of an open connection that has data, acknowledgements, probes and answers in both
/// directions: its ends, and what has passed the wire since the handshake.
fn conversation(mode: Mode) -> (Pair, ConnHandle, ConnHandle, Vec<(Direction, Vec<u8>)>) {
    let mut pair = in_mode(mode);
    let seen = listen_in(&mut pair);
    let (c, s) = pair.established();
    for (direction, from, to) in [(ToServer, c, s), (ToClient, s, c)] {
        let data = pattern(4000);
        assert_eq!(transfer(&mut pair, direction, from, to, &data), data);
        pair.sender(direction).endpoint.table.get_mut(from).unwrap().pending.probe = true;
        let now = pair.time;
        pair.sender(direction).endpoint.settle(from, now);
        pair.drive();
    }
    let frames = seen.lock().unwrap().clone();
    assert!(frames.iter().any(|(_, frame)| flags(frame).contains(Flags::CTL)));
    assert!(pair.drops.is_empty(), "{:?}", pair.drops);
    pair.rule = Box::new(|_, _| FrameAction::Pass);
    (pair, c, s, frames)
}

/// PRP-KEY-10 and 12: a frame with a bit flipped, and any frame that comes again.
#[test]
fn attack__flipped_bits_and_replays_change_nothing() {
    for mode in [Mode::Sign, Mode::Seal] {
        let (mut pair, c, s, frames) = conversation(mode);
        let before = [state_of(&pair.client.endpoint, c), state_of(&pair.server.endpoint, s)];
        for (direction, frame) in &frames {
            let is_handshake = flags(frame).intersects(Flags::CREQ | Flags::CACK);
            let why = give_frame(&mut pair, *direction, frame);
            if is_handshake {
                // The same request gets the same answer, which the client has.
                assert!(matches!(why, None | Some(DropReason::Duplicate)), "{why:?}");
                continue;
            }
            assert_eq!(why, Some(DropReason::Replayed), "{direction:?} {frame:02x?}");
            let packet_bits = 8 * (frame.len() - ETHERNET);
            // All of the headers, of a block's first bytes and of the trailer; some between.
            let (first, last) = (8 * 60, packet_bits - 8 * 21);
            let is_taken = |bit: &usize| {
                !HOPS.contains(bit) && (*bit < first || *bit > last || bit.is_multiple_of(97))
            };
            for bit in (0..packet_bits).filter(is_taken) {
                let mut frame = frame.clone();
                frame[ETHERNET + bit / 8] ^= 0x80 >> (bit % 8);
                let why = give_frame(&mut pair, *direction, &frame);
                assert!(why.is_some(), "{direction:?} bit {bit} of {frame:02x?}");
            }
        }
        // Only questions about what nobody believes may be in transit.
        pair.drive();
        let after = [state_of(&pair.client.endpoint, c), state_of(&pair.server.endpoint, s)];
        let states =
            |all: &[String; 2]| all.iter().map(|s| s.contains("ESTAB")).collect::<Vec<_>>();
        assert_eq!(states(&after), [true; 2]);
        assert!(!pair.client.endpoint.is_readable(c) && !pair.server.endpoint.is_readable(s));
        assert!(before.iter().zip(&after).all(|(one, two)| one.len() <= two.len() + 40));
        for endpoint in [&pair.client.endpoint, &pair.server.endpoint] {
            assert!(drops(endpoint, DropReason::BadTag) > 100);
            assert!(drops(endpoint, DropReason::Replayed) > 5);
        }
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"alive"), b"alive");
        assert_eq!(transfer(&mut pair, ToClient, s, c, b"alive"), b"alive");
    }
}

/// What one flipped or forged frame does to a connection in itself: nothing at all.
#[test]
fn attack__a_refused_frame_leaves_the_state_as_it_was() {
    let (mut pair, c, s, frames) = conversation(Mode::Seal);
    for (direction, frame) in frames.iter().filter(|(_, frame)| is_data(frame)) {
        let before = [state_of(&pair.client.endpoint, c), state_of(&pair.server.endpoint, s)];
        let mut frame = frame.clone();
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert!(give_frame(&mut pair, *direction, &frame).is_some());
        let after = [state_of(&pair.client.endpoint, c), state_of(&pair.server.endpoint, s)];
        assert_eq!(before, after);
        assert!(!pair.client.endpoint.wants_transmit() && !pair.server.endpoint.wants_transmit());
    }
}

/// PRP-KEY-5 and 7: no bit of a request or of an answer can be changed, and no option be left out.
#[test]
fn attack__handshakes_cannot_be_changed() {
    for (changed, answers) in [(ToServer, false), (ToClient, true)] {
        let len = HEADER + 20 + prp_key::OPTION_BYTES;
        for bit in (8 * ETHERNET..8 * len).filter(|bit| !HOPS.contains(&(bit - 8 * ETHERNET))) {
            let mut pair = in_mode(Mode::Sign);
            pair.rule = Box::new(move |direction, frame| {
                if direction != changed || flags(frame).contains(Flags::CACK) != answers {
                    return FrameAction::Pass;
                }
                let mut frame = frame.to_vec();
                frame[bit / 8] ^= 0x80 >> (bit % 8);
                with_crc(&mut frame);
                // What is no frame any more is none that gets anywhere.
                let is_frame = Frame::parse(&frame, ETHERTYPE).is_ok();
                if is_frame { FrameAction::Replace(frame) } else { FrameAction::Drop }
            });
            let listener = pair.listen(80, ConnConfig::default());
            let c = pair.connect(80, ConnConfig::default());
            pair.drive_for(10 * MS);
            assert_eq!(pair.client.endpoint.state(c), State::ConnWait, "bit {bit}");
            assert_eq!(pair.server.endpoint.pending(listener), 0, "bit {bit}");
        }
    }
}

const HEADER: usize = crate::wire::HEADER_LEN;

/// Gives `frame`, a frame with options, the trailer that any station can make.
fn with_crc(frame: &mut Vec<u8>) {
    let head = *frame.first_chunk::<HEADER>().unwrap();
    let len = usize::from(u16::from_be_bytes([head[24], head[25]]));
    let end = (HEADER + len).min(frame.len() - 4);
    let crc = checksum(CrcKey::NONE, packet_header(&head), [&frame[HEADER..end], &[]]);
    frame.truncate(end);
    frame.extend(crc);
}

/// PRP-KEY-1 and 14: the key's option is cut off, on the path there or back, so that both ends seem
/// to want none.
#[test]
fn attack__protection_cannot_be_taken_off() {
    for (cut, flag) in [(ToServer, Flags::CREQ), (ToClient, Flags::CACK)] {
        let mut pair = in_mode(Mode::Sign);
        pair.rule = Box::new(move |direction, frame| {
            if direction != cut || !flags(frame).contains(flag) {
                return FrameAction::Pass;
            }
            let mut frame = frame[..HEADER + 20].to_vec();
            frame[24..26].copy_from_slice(&20u16.to_be_bytes());
            frame.extend([0; 4]);
            with_crc(&mut frame);
            FrameAction::Replace(frame)
        });
        let listener = pair.listen(80, ConnConfig::default());
        let c = pair.connect(80, ConnConfig::default());
        pair.drive_for(100 * MS);
        assert_eq!(pair.client.endpoint.state(c), State::ConnWait);
        assert_eq!(pair.server.endpoint.pending(listener), 0);
        assert!(drops(&pair.receiver(cut).endpoint, DropReason::Unsigned) > 1);
    }
}

/// PRP-KEY-16: recorded requests, also after the server was started again, give connections that no
/// application sees, of which no more are kept than there may be unconfirmed ones.
#[test]
fn attack__recorded_requests_are_never_accepted() {
    let mut pair = in_mode(Mode::Seal);
    let seen = listen_in(&mut pair);
    let listener = pair.listen(80, ConnConfig::default());
    for _ in 0..200 {
        let c = pair.connect(80, ConnConfig::default());
        pair.drive();
        let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
        pair.client.endpoint.release(pair.time, c, true);
        pair.drive();
        pair.server.endpoint.release(pair.time, s, false);
        pair.drive_for(200 * MS);
    }
    let recorded = seen.lock().unwrap().clone();
    pair.restart(ToClient);
    give(&mut pair.server.endpoint, &file(Mode::Seal, 1), 9);
    let listener = pair.listen(80, ConnConfig::default());
    // The client is not there: nobody says that these are not its.
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    for _ in 0..3 {
        for (_, frame) in recorded.iter().filter(|(direction, _)| *direction == ToServer) {
            give_frame(&mut pair, ToServer, frame);
            assert_eq!(pair.server.endpoint.pending(listener), 0);
        }
        pair.drive_for(10 * MS);
    }
    assert!(pair.server.endpoint.connections() <= 128);
    assert_eq!(pair.server.endpoint.stats().accepted, 0);
    assert!(drops(&pair.server.endpoint, DropReason::BadTag) > 0);
    pair.drive_for(60_000 * MS);
    assert_eq!(pair.server.endpoint.connections(), 0, "they end");
}

/// PRP-KEY-13 and 17: resets that nobody has signed, that another cluster has signed, and that have
/// been signed for another connection.
#[test]
fn attack__resets_end_nothing() {
    let mut pair = in_mode(Mode::Sign);
    let (c, s) = pair.established();
    let (to, from) = pair.client.endpoint.ends(c).unwrap();
    let ids = {
        let conn = pair.client.endpoint.table.get(c).unwrap();
        (conn.ids.local, conn.ids.remote)
    };
    let block =
        |receiver, sender| ResetBlock { reason: ResetReason::Aborted, receiver, sender }.emit();
    let named = block(ids.0, ids.1);
    let plain = forge(from, to, Flags::RST, 0, &named, Some(CrcKey::NONE));
    assert_eq!(give_frame(&mut pair, ToClient, &plain), Some(DropReason::Unsigned));

    let signed = |payload: &[u8], by: &KeyFile| {
        let mut frame = forge(from, to, Flags::RST, 0, payload, None);
        let header = frame[ETHERNET..].first_chunk().unwrap();
        let trailer = Keyring::new(by).sign(header, payload);
        frame.extend(trailer);
        frame
    };
    let other = KeyFile::new(Mode::Sign, 1, Secret::new([99; 32]));
    let forged = signed(&named, &other);
    assert_eq!(give_frame(&mut pair, ToClient, &forged), Some(DropReason::BadTag));
    let forged = signed(&named, &file(Mode::Sign, 3));
    assert_eq!(give_frame(&mut pair, ToClient, &forged), Some(DropReason::UnknownKey));
    // A member can be had to sign one that names this end's id and no other, and the reverse.
    for (receiver, sender) in [(ids.0, 0), (ids.0, 77), (0, ids.1), (77, ids.1)] {
        let elicited = signed(&block(receiver, sender), &file(Mode::Sign, 1));
        assert_eq!(give_frame(&mut pair, ToClient, &elicited), Some(DropReason::BadId));
    }
    pair.drive();
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"alive"), b"alive");
    assert_eq!(transfer(&mut pair, ToClient, s, c, b"alive"), b"alive");
    let real = signed(&named, &file(Mode::Sign, 1));
    assert_eq!(give_frame(&mut pair, ToClient, &real), None, "that is how one is made");
}

/// PRP-KEY-17: whatever any station has the server answer, by frames in the client's name that
/// nobody has signed, ends neither a request of the client's nor its connection.
#[test]
fn attack__members_sign_nothing_that_ends_connections() {
    for is_open in [false, true] {
        let mut pair = in_mode(Mode::Sign);
        let listener = pair.listen(80, ConnConfig::default());
        let c = pair.connect(80, ConnConfig::default());
        let (from, to) = pair.client.endpoint.ends(c).unwrap();
        let id = pair.client.endpoint.table.get(c).unwrap().ids.local;
        if is_open {
            pair.drive();
            pair.server.endpoint.accept(pair.time, listener).unwrap();
        }
        let theirs = pair.client.endpoint.table.get(c).unwrap().ids.remote;
        let mut probe = [0; crate::wire::MAX_CONTROL_LEN];
        for to_id in [theirs, 0, 77] {
            let len = Control::Probe { to: to_id, from: id, number: 0 }.emit(&mut probe);
            let frame = forge(from, to, Flags::CTL, 0, &probe[..len], Some(CrcKey::NONE));
            pair.inject(ToServer, &frame);
        }
        let offer = |id, echo| Offer {
            id,
            echo,
            reliability: ReliabilitySet::RELIABLE,
            crc: true,
            mss: 1484,
            window: 100,
        };
        for (flag, echo) in [(Flags::CREQ, 0), (Flags::CACK, 0), (Flags::CACK, theirs)] {
            let frame = forge(from, to, flag, 0, &offer(id, echo).emit(), Some(CrcKey::NONE));
            pair.inject(ToServer, &frame);
        }
        pair.inject(ToServer, &forge(from, to, Flags::ACK, 0, b"data", None));
        pair.drive_for(50 * MS);
        assert_eq!(pair.client.endpoint.state(c), State::OPEN, "open before: {is_open}");
        assert_eq!(pair.client.endpoint.take_error(c), None);
    }
}

/// Frames of one connection are none of another between the same ends of the cable, and none of an
/// earlier one between the same ports (PRP-KEY-8).
#[test]
fn attack__frames_of_another_connection() {
    let (mut pair, c, s, frames) = conversation(Mode::Seal);
    let ports = pair.client.endpoint.ends(c).unwrap();
    let (other_c, other_s) = pair.established();
    let other = pair.client.endpoint.ends(other_c).unwrap().0.port;
    for (_, frame) in frames.iter().filter(|(d, frame)| *d == ToServer && is_data(frame)) {
        let mut frame = frame.clone();
        frame[18..20].copy_from_slice(&other.number().to_be_bytes());
        // Behind those that have come on that one.
        for place in [1, 40, 0x0100_0001] {
            let at = frame.len() - TRAILER;
            frame[at..at + 4].copy_from_slice(&u32::to_be_bytes(place));
            assert_eq!(give_frame(&mut pair, ToServer, &frame), Some(DropReason::BadTag));
        }
    }
    assert_eq!(transfer(&mut pair, ToServer, other_c, other_s, b"alive"), b"alive");

    pair.client.endpoint.release(pair.time, c, true);
    pair.drive();
    pair.server.endpoint.release(pair.time, s, false);
    pair.drive_for(500 * MS);
    let listener = pair.listen(80, ConnConfig::default());
    let now = pair.time;
    let (client, port) = (&mut pair.client.endpoint, Some(ports.0.port));
    let again = client.connect(now, ports.1, port, ConnConfig::default(), |_| true).unwrap();
    pair.drive();
    let accepted = pair.server.endpoint.accept(pair.time, listener).unwrap();
    for (direction, frame) in &frames {
        let why = give_frame(&mut pair, *direction, frame);
        assert!(why.is_some(), "{direction:?} {frame:02x?}");
    }
    pair.drive();
    assert_eq!(transfer(&mut pair, ToServer, again, accepted, b"alive"), b"alive");
}

/// PRP-KEY-13: what a router says of a request is believed if it is signed, whatever this end asks
/// of the router itself.
#[test]
fn attack__a_router_that_has_no_key_ends_no_request() {
    let choices = [false, true].map(|signed| [false, true].map(|trusted| (signed, trusted)));
    for (is_signed, is_router_trusted) in choices.into_iter().flatten() {
        let mut pair = in_mode(Mode::Sign);
        pair.rule = Box::new(|_, _| FrameAction::Drop);
        let c = pair.connect(80, ConnConfig::default());
        if is_router_trusted {
            // The request is protected all the same.
            pair.client.endpoint.set_keyring(Keyring::new(&file(Mode::Off, 1)));
        }
        let (local, remote) = pair.client.endpoint.ends(c).unwrap();
        let id = pair.client.endpoint.table.get(c).unwrap().ids.local;
        let block = crate::wire::NodeBlock {
            kind: crate::wire::NodeKind::Unreachable,
            hops: 0,
            sequence: remote.port.number(),
            id,
            stamp: remote.node.number().into(),
        };
        let from = PrpAddr::new(remote.node, Port::CONTROL);
        let crc = (!is_signed).then_some(CrcKey::NONE);
        let mut frame = forge(from, local, Flags::CTL, 0, &block.emit(), crc);
        if is_signed {
            let ring = Keyring::new(&file(Mode::Sign, 1));
            frame.extend(ring.sign(frame[ETHERNET..].first_chunk().unwrap(), &block.emit()));
        }
        let why = give_frame(&mut pair, ToClient, &frame);
        assert_eq!(why, (!is_signed).then_some(DropReason::Unsigned));
        let state = if is_signed { State::Close } else { State::ConnWait };
        assert_eq!(pair.client.endpoint.state(c), state);
    }
}

/// PRP-KEY-17: a recorded request that seems to cross has the end with the higher address ask
/// again, with another secret; the answer to what it asked first is still one.
#[test]
fn attack__a_recorded_crossing_request_spoils_no_answer() {
    let mut one = file(Mode::Sign, 1);
    assert_eq!(one.add(Secret::new([2; 32])), Ok(2));
    let mut two = one.clone();
    two.use_key(2).unwrap();
    let [client, server] = [(1, 70), (2, 80)]
        .map(|(node, port)| PrpAddr::new(NodeId::new(node).unwrap(), Port::new(port)));
    let config = ConnConfig::default();

    let mut pair = keyed(&two, &two);
    let seen = listen_in(&mut pair);
    let now = pair.time;
    let endpoint = &mut pair.client.endpoint;
    endpoint.connect(now, server, Some(client.port), config, |_| true).unwrap();
    pair.drive_for(MS);
    let recorded = seen.lock().unwrap()[0].1.clone();

    let mut pair = keyed(&one, &one);
    pair.client.endpoint.listen(client.port, 16, config).unwrap();
    let now = pair.time;
    let endpoint = &mut pair.server.endpoint;
    let s = endpoint.connect(now, client, Some(server.port), config, |_| true).unwrap();
    let mut answers = 0;
    pair.rule = Box::new(move |direction, frame| {
        let is_answer = direction == ToServer && flags(frame).contains(Flags::CACK);
        answers += u32::from(is_answer);
        if is_answer && answers == 1 { FrameAction::Drop } else { FrameAction::Pass }
    });
    pair.drive_for(MS);
    assert_eq!(pair.server.endpoint.state(s), State::ConnWait);
    pair.inject(ToServer, &recorded);
    assert!(pair.drive_until(|p| p.server.endpoint.state(s) != State::ConnWait));
    assert_eq!(pair.server.endpoint.state(s), State::OPEN);
    assert_eq!(pair.server.endpoint.terms(s).unwrap().key, Some(1));
}

/// PRP-KEY-14: requests of more new processes than there is public-key work for are dropped, and
/// those of known ones are not.
#[test]
fn attack__public_key_work_has_a_budget() {
    let mut pair = in_mode(Mode::Seal);
    let listener = pair.listen(80, ConnConfig::default());
    pair.connect(80, ConnConfig::default());
    pair.drive();
    assert_eq!(pair.server.endpoint.pending(listener), 1);
    let security = pair.server.endpoint.security.as_deref_mut().unwrap();
    security.pairs = crate::token_bucket::TokenBucket::new(0);
    pair.connect(80, ConnConfig::default());
    pair.drive();
    assert_eq!(pair.server.endpoint.pending(listener), 2, "a known process");
    pair.restart(ToServer);
    give(&mut pair.client.endpoint, &file(Mode::Seal, 1), 9);
    pair.connect(80, ConnConfig::default());
    pair.drive();
    assert_eq!(pair.server.endpoint.pending(listener), 2);
    assert_eq!(drops(&pair.server.endpoint, DropReason::KeyBusy), 1);
}
