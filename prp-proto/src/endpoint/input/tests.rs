use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::{BuildHasher, Hasher};
use core::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;
use crate::TransmitBatch;
use crate::buffer::Ending;
use crate::config::{ConnConfig, Keepalive};
use crate::seq::{Seq, SeqWidth};
use crate::testing::{Pair, Side};
use crate::timer::Timer;
use crate::wire::{
    AckBlock, Bitmap, Control, ETHERTYPE, HEADER_LEN, MAX_CONTROL_LEN, Reliability, ReliabilitySet,
    TransportHeader,
};

/// An endpoint as it decides what happens next, with what it has counted for a connection.
fn observed(endpoint: &Endpoint, conn: ConnHandle) -> (u64, String) {
    let mut state = foldhash::quality::FixedState::default().build_hasher();
    endpoint.fingerprint(&mut state);
    let counted = format!("{:?} {:?}", endpoint.conn_stats(conn), endpoint.next_deadline());
    (state.finish(), counted)
}

/// Hands over a frame as if none were ever expected.
fn handle_unexpected(endpoint: &mut Endpoint, now: Instant, bytes: &[u8], sink: &mut Sink<'_>) {
    let frame = Frame::parse(bytes, endpoint.config.ethertype).unwrap();
    let peer = PrpAddr::new(frame.head.network.src, frame.head.transport.src_port);
    let port = frame.head.transport.dst_port;
    let known = endpoint.table.find_for_frame(port, peer);
    let Some(handle) = known.filter(|_| !frame.flags().intersects(Flags::CREQ)) else {
        endpoint.handle_frame(now, DeviceId(0), bytes, Some(sink));
        return;
    };
    let follows = endpoint.may_adopt_peer_path(now, handle, DeviceId(0), &frame);
    let outcome = endpoint.deliver(now, handle, &frame, &mut PacketRun::default(), Some(sink));
    if follows && is_believed(outcome) {
        endpoint.adopt_peer_path(handle, DeviceId(0), &frame);
    }
}

/// What is in flight between two endpoints that write, read, lose, repeat and reorder at random.
struct Channel {
    rng: ChaCha8Rng,
    frames: [VecDeque<Vec<u8>>; 2],
    batch: TransmitBatch,
    lossy: bool,
    seen: Seen,
}

/// Frames that header prediction took, messages that fast send took, and the others.
#[derive(Copy, Clone, Debug, Default)]
struct Seen {
    expected: usize,
    unexpected: usize,
    sent_fast: usize,
    sent_slowly: usize,
}

impl Channel {
    fn pick(&mut self, below: u32) -> u32 {
        self.rng.next_u32() % below
    }

    /// Whether something that comes up once in `often` times does.
    fn now_and_then(&mut self, often: u32) -> bool {
        self.pick(often) == 0
    }

    /// Takes out what `side` sends; the device may be slow to say that it has it.
    fn carry(&mut self, now: Instant, side: &mut Side, at: usize) {
        self.batch.clear();
        let count = side.endpoint.poll_transmit(now, &mut self.batch);
        for i in 0..count {
            self.frames[at].push_back(side.endpoint.frame(&self.batch, i).concat());
        }
        if !self.now_and_then(4) {
            side.endpoint.handle_sent(now);
        }
    }

    /// Writes `bytes`; if they are a message on an idle connection, compares that with how any
    /// other is sent.
    fn write(
        &mut self,
        now: Instant,
        (side, at): (&mut Side, usize),
        conn: ConnHandle,
        bytes: &[u8],
        ending: Ending,
    ) {
        let mut slow = side.endpoint.clone();
        let before = observed(&slow, conn);
        self.batch.clear();
        if !side.endpoint.try_send_now(now, conn, bytes, ending, &mut self.batch) {
            assert_eq!(observed(&side.endpoint, conn), before);
            self.seen.sent_slowly += 1;
            let _ = side.endpoint.write(now, conn, bytes, ending);
            return;
        }
        self.seen.sent_fast += 1;
        let mut batch = TransmitBatch::new(32, 1 << 20);
        assert_eq!(slow.write(now, conn, bytes, ending), Ok(bytes.len()));
        assert_eq!(slow.poll_transmit(now, &mut batch), 1);
        assert_eq!(self.batch.len(), 1);
        let sent = side.endpoint.frame(&self.batch, 0).concat();
        assert_eq!(sent, slow.frame(&batch, 0).concat());
        assert_eq!(observed(&side.endpoint, conn), observed(&slow, conn));
        assert_eq!(side.endpoint.stats(), slow.stats());
        slow.handle_sent(now);
        side.endpoint.handle_sent(now);
        assert_eq!(observed(&side.endpoint, conn), observed(&slow, conn));
        self.frames[at].push_back(sent);
    }

    /// Hands a frame for `conn` to `side`, and compares.
    fn deliver(&mut self, now: Instant, side: &mut Side, from: usize, conn: ConnHandle) {
        let swap = self.lossy && self.frames[from].len() > 1 && self.now_and_then(20);
        let frame = self.frames[from].remove(usize::from(swap));
        let Some(frame) = frame.filter(|_| !self.lossy || !self.now_and_then(30)) else { return };
        if self.lossy && self.now_and_then(30) {
            self.frames[from].push_back(frame.clone());
        }
        let mut buffers = [[0; 3000], [0; 3000]];
        let [one, other] = &mut buffers;
        let len = if self.now_and_then(3) { self.pick(3000) as usize } else { 3000 };
        let (mut sink, mut same) =
            (Sink::new(conn, &mut one[..len]), Sink::new(conn, &mut other[..len]));
        let mut slow = side.endpoint.clone();
        self.note_expected(now, &slow, conn, &frame);
        side.endpoint.handle_frame(now, DeviceId(0), &frame, Some(&mut sink));
        handle_unexpected(&mut slow, now, &frame, &mut same);
        assert_eq!(sink.filled(), same.filled());
        assert_eq!(observed(&side.endpoint, conn), observed(&slow, conn));
        // A deadline for which nothing is called would be none.
        if let Some(deadline) = side.endpoint.next_deadline() {
            assert!(side.endpoint.poll_timeout().is_some_and(|at| at <= deadline));
        }
        assert_eq!(buffers[0], buffers[1]);
    }

    fn note_expected(&mut self, now: Instant, endpoint: &Endpoint, conn: ConnHandle, bytes: &[u8]) {
        let frame = Frame::parse(bytes, endpoint.config.ethertype).unwrap();
        let mut buf = [0; 3000];
        let mut conn = endpoint.table.get(conn).unwrap().clone();
        let handle = conn.handle;
        let expected = conn.try_fast_receive(now, &frame, &mut Sink::new(handle, &mut buf));
        *(if expected { &mut self.seen.expected } else { &mut self.seen.unexpected }) += 1;
    }
}

/// Two endpoints under `policy` that do as `seed` has it; what was seen.
fn run(seed: u64, policy: Reliability) -> Seen {
    let often = Duration::from_millis(5);
    let mut config = ConnConfig {
        reliability: ReliabilitySet::only(policy),
        keepalive: Some(Keepalive { idle: often, interval: often, probes: 9 }),
        crc: seed % 4 < 2,
        ..ConnConfig::default()
    };
    // An end that has room for so little and seldom reads closes its window.
    let has_small_buffers = seed % 2 == 1;
    if has_small_buffers {
        (config.send_buffer, config.recv_buffer) = (4096, Some(4096));
    }
    let mut pair = Pair::default();
    let (client, server) = pair.established_with(config, config);
    pair.drive_for(Duration::from_millis(1));
    let conns = [client, server];
    let mut channel = Channel {
        rng: ChaCha8Rng::seed_from_u64(seed),
        frames: Default::default(),
        batch: TransmitBatch::new(32, 1 << 20),
        // One loss ends a connection that does not repeat.
        lossy: policy != Reliability::Detect,
        seen: Seen::default(),
    };
    let mut now = pair.time;
    // Most of the time one message goes to and fro, which is what is expected.
    let mut send_slot = 0;
    for _ in 0..600 {
        now = now + Duration::from_nanos(u64::from(channel.pick(4000)));
        let at = if channel.now_and_then(5) { channel.pick(2) as usize } else { send_slot };
        let (me, conn) =
            if at == 0 { (&mut pair.client, conns[0]) } else { (&mut pair.server, conns[1]) };
        let ending = if channel.now_and_then(3) { Ending::Message } else { Ending::Write };
        let most =
            if channel.now_and_then(if has_small_buffers { 3 } else { 10 }) { 6000 } else { 200 };
        let len = channel.pick(most) as usize;
        let ending = if channel.now_and_then(20) { Ending::More } else { ending };
        channel.write(now, (&mut *me, at), conn, &[at as u8; 6000][..len], ending);
        channel.carry(now, me, at);
        if channel.now_and_then(40) {
            now = now + Duration::from_millis(u64::from(channel.pick(30)));
        }
        for side in [1 - at, at] {
            let (me, conn) =
                if side == 0 { (&mut pair.client, conns[0]) } else { (&mut pair.server, conns[1]) };
            for _ in 0..=channel.pick(4) {
                channel.deliver(now, me, 1 - side, conn);
            }
            if channel.now_and_then(8) {
                me.endpoint.handle_idle(now);
            }
            if channel.now_and_then(if has_small_buffers { 4 } else { 1 }) {
                let _ = me.endpoint.read(now, conn, &mut [0; 8000]);
                me.endpoint.note_read(now, conn);
            }
            me.endpoint.handle_timeout(now);
            if side != at || channel.now_and_then(2) {
                channel.carry(now, me, side);
            }
            while me.endpoint.poll_event().is_some() {}
        }
        send_slot = 1 - at;
    }
    channel.seen
}

/// SPEC PRP-SEG-1 to 5, PRP-ACK-1 to 8: an expected frame and a message on an idle connection do
/// what any would, and nothing else.
#[test]
fn prediction_and_fast_send__do_what_the_long_forms_do() {
    for policy in [Reliability::SelectiveRepeat, Reliability::GoBackN, Reliability::Detect] {
        let mut all = Seen::default();
        for seed in 0..40 {
            std::println!("{policy:?}, seed {seed}");
            let seen = run(seed, policy);
            all.expected += seen.expected;
            all.unexpected += seen.unexpected;
            all.sent_fast += seen.sent_fast;
            all.sent_slowly += seen.sent_slowly;
        }
        std::println!("{policy:?}: {all:?}");
        assert!(all.expected > 1000 && all.unexpected > 1000, "{all:?}");
        // Where nothing is kept to be repeated none is.
        let enough =
            if policy == Reliability::Detect { all.sent_fast == 0 } else { all.sent_fast > 1000 };
        assert!(enough && all.sent_slowly > 1000, "{all:?}");
    }
}

/// The segment that comes `after` others behind `first`, with another payload.
fn segment(first: &[u8], after: u32, payload: &[u8]) -> Vec<u8> {
    let mut head = Frame::parse(first, ETHERTYPE).unwrap().head;
    let TransportHeader { src_port, dst_port, flags, .. } = head.transport;
    let width = SeqWidth::Bits20;
    let seq = head.transport.first_seq(width) + after;
    let acked = Seq::new(u32::from(flags.ackno()));
    head.transport = TransportHeader::new(src_port, dst_port, seq, width, payload.len() as u16);
    head.transport.flags = head.transport.flags.with_ack(acked);
    [&head.emit()[..], payload].concat()
}

/// SPEC PRP-SEG-4, PRP-WIN-1: what breaks the terms is not expected, be it next in order and a
/// reader at hand.
#[test]
fn expected__nothing_that_breaks_the_terms() {
    let mut pair = Pair::default();
    let plain = ConnConfig { crc: false, ..ConnConfig::default() };
    let (client, conn) = pair.established_with(plain, plain);
    let now = pair.time;
    pair.client.endpoint.write(now, client, &[7], Ending::Write).unwrap();
    let mut batch = TransmitBatch::new(32, 1 << 20);
    pair.client.endpoint.poll_transmit(now, &mut batch);
    let first = pair.client.endpoint.frame(&batch, 0).concat();
    let server = &mut pair.server.endpoint;
    let mss = usize::from(server.terms(conn).unwrap().mss);
    let mut buf = std::vec![0; 1 << 20];
    let mut sink = Sink::new(conn, &mut buf);
    let mut hand_over = |server: &mut Endpoint, payload: &[u8]| {
        let frame = segment(&first, sink.filled() as u32, payload);
        server.handle_frame(now, DeviceId(0), &frame, Some(&mut sink))
    };
    assert_eq!(hand_over(server, &[7]), Disposition::Accepted);
    let long = hand_over(server, &std::vec![0; mss + 1]);
    assert_eq!(long, Disposition::Dropped(DropReason::TooLong));
    // No frame says meanwhile that there is more room.
    let mut taken = 1;
    let beyond = loop {
        match hand_over(server, &[7]) {
            Disposition::Accepted => taken += 1,
            other => break other,
        }
    };
    assert_eq!(beyond, Disposition::Dropped(DropReason::OutOfWindow));
    // What a connection advertises that was not accepted when it was established (PRP-WIN-6).
    assert_eq!(taken, 64 * 1024 / mss);
    assert_eq!(sink.filled(), taken);
}

/// SPEC PRP-WIN-1: a run goes no further than the window.
#[test]
fn expected__a_run_ends_with_the_window() {
    let mut pair = Pair::default();
    let plain = ConnConfig { crc: false, ..ConnConfig::default() };
    let (client, conn) = pair.established_with(plain, plain);
    let now = pair.time;
    pair.client.endpoint.write(now, client, &[7], Ending::Part).unwrap();
    pair.client.endpoint.write(now, client, &[7], Ending::Part).unwrap();
    let mut batch = TransmitBatch::new(32, 1 << 20);
    pair.client.endpoint.poll_transmit(now, &mut batch);
    let first = pair.client.endpoint.frame(&batch, 0).concat();
    let server = &mut pair.server.endpoint;
    let window = 64 * 1024 / usize::from(server.terms(conn).unwrap().mss);
    let frames: Vec<_> = (0..window as u32 + 3).map(|n| segment(&first, n, &[7])).collect();
    let memory = frames.concat();
    let mut run = PacketRun::new(&memory, frames[0].len(), frames[0].len());
    let from = crate::wire::ethernet_source(&first);
    while server.handle_run(now, DeviceId(0), from, &mut run, None).is_some() {}
    assert_eq!(server.read(now, conn, &mut [0; 100]), Ok(window));
    assert_eq!(server.stats().drops[DropReason::OutOfWindow], 3);
}

/// SPEC PRP-CRC-3: a frame that would be the expected one but for its trailer is a lost one.
#[test]
fn expected__not_without_its_trailer() {
    let mut pair = Pair::default();
    let (client, conn) = pair.established();
    assert!(pair.server.endpoint.terms(conn).unwrap().crc);
    // Before the first segment nothing is expected.
    pair.client.endpoint.write(pair.time, client, &[1], Ending::Write).unwrap();
    pair.drive();
    assert_eq!(pair.server.endpoint.read(pair.time, conn, &mut [0; 9]), Ok(1));
    let now = pair.time;
    pair.client.endpoint.write(now, client, &[7; 100], Ending::Write).unwrap();
    let mut batch = TransmitBatch::new(32, 1 << 20);
    pair.client.endpoint.poll_transmit(now, &mut batch);
    let frame = pair.client.endpoint.frame(&batch, 0).concat();
    let mut buf = [0; 1000];
    let mut sink = Sink::new(conn, &mut buf);
    let server = &mut pair.server.endpoint;
    for at in [HEADER_LEN, HEADER_LEN + 99, HEADER_LEN + 100] {
        let mut broken = frame.clone();
        broken[at] ^= 1;
        let disposition = server.handle_frame(now, DeviceId(0), &broken, Some(&mut sink));
        assert_eq!(disposition, Disposition::Dropped(DropReason::BadCrc));
    }
    assert_eq!(sink.filled(), 0);
    let disposition = server.handle_frame(now, DeviceId(0), &frame, Some(&mut sink));
    assert_eq!((disposition, sink.filled()), (Disposition::Accepted, 100));
}

/// SPEC PRP-ACK-8: what acknowledges more than was sent is not expected, be a single segment in
/// flight.
#[test]
fn expected__not_with_an_acknowledgement_of_what_was_never_sent() {
    let mut pair = Pair::default();
    let plain = ConnConfig { crc: false, ..ConnConfig::default() };
    let (client, conn) = pair.established_with(plain, plain);
    pair.client.endpoint.write(pair.time, client, &[1], Ending::Write).unwrap();
    pair.drive();
    assert_eq!(pair.server.endpoint.read(pair.time, conn, &mut [0; 9]), Ok(1));
    let (now, mut batch) = (pair.time, TransmitBatch::new(32, 1 << 20));
    let server = &mut pair.server.endpoint;
    server.write(now, conn, &[7], Ending::Write).unwrap();
    assert_eq!(server.poll_transmit(now, &mut batch), 1);
    server.handle_sent(now);
    pair.client.endpoint.write(now, client, &[7; 100], Ending::Write).unwrap();
    batch.clear();
    pair.client.endpoint.poll_transmit(now, &mut batch);
    let frame = pair.client.endpoint.frame(&batch, 0).concat();
    let acked = Frame::parse(&frame, ETHERTYPE).unwrap().flags().ackno();
    let mut buf = [0; 1000];
    let mut sink = Sink::new(conn, &mut buf);
    for (more, expected) in [
        (2, Disposition::Dropped(DropReason::BadAck)),
        (3, Disposition::Dropped(DropReason::BadAck)),
        (1, Disposition::Accepted),
    ] {
        let mut other = frame.clone();
        let acked = acked.wrapping_add(more).to_be_bytes();
        other[HEADER_LEN - 4..HEADER_LEN - 2].copy_from_slice(&acked);
        assert_eq!(server.handle_frame(now, DeviceId(0), &other, Some(&mut sink)), expected);
    }
    assert_eq!(sink.filled(), 100);
}

/// SPEC PRP-WIN-4: a window that was said to be closed, and has not been said to be open, is asked
/// about.
#[test]
fn expected__leaves_a_closed_window_watched() {
    let mut pair = Pair::default();
    let small = ConnConfig { recv_buffer: Some(4096), crc: false, ..ConnConfig::default() };
    let (client, server) = pair.established_with(ConnConfig::default(), small);
    let (now, mut batch) = (pair.time, TransmitBatch::new(32, 1 << 20));
    pair.server.endpoint.write(now, server, &[7], Ending::Write).unwrap();
    pair.server.endpoint.poll_transmit(now, &mut batch);
    let data = pair.server.endpoint.frame(&batch, 0).concat();
    let client_side = &mut pair.client.endpoint;
    client_side.write(now, client, &[7; 20_000], Ending::Write).unwrap();
    batch.clear();
    assert_eq!(client_side.poll_transmit(now, &mut batch), 4, "as many as there is room for");
    client_side.handle_sent(now);
    let sent = client_side.frame(&batch, 0).concat();
    let first = Frame::parse(&sent, ETHERTYPE).unwrap().head.transport.first_seq(SeqWidth::Bits20);
    // Expect: three have arrived, where there is no more room; then the fourth.
    let (next, received) = (first + 3, Bitmap::EMPTY);
    let (window, gap, echo, probe, finished, leaves) = (0, false, None, None, false, false);
    let ack = AckBlock { next, window, gap, echo, probe, finished, leaves, received };
    let to = client_side.table.get(client).unwrap().ids.local;
    let mut block = [0; MAX_CONTROL_LEN];
    let len = Control::Ack { to, ack }.emit(&mut block);
    let mut frame = segment(&data, 0, &block[..len]);
    frame[HEADER_LEN - 1] = (Flags::CTL.bits() & 0xff) as u8;
    client_side.handle_frame(now, DeviceId(0), &frame, None);
    let mut fourth = data;
    let acked = (first + 4).truncate(SeqWidth::Bits16) as u16;
    fourth[HEADER_LEN - 4..HEADER_LEN - 2].copy_from_slice(&acked.to_be_bytes());
    let mut buf = [0; 100];
    let mut sink = Sink::new(client, &mut buf);
    client_side.handle_frame(now, DeviceId(0), &fourth, Some(&mut sink));
    assert_eq!(sink.filled(), 1);
    let conn = client_side.table.get(client).unwrap();
    assert!(
        client_side.unsent(client) > 0
            && conn.has_nothing_in_flight()
            && conn.timers.is_set(Timer::Persist)
    );
}
