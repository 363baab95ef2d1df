//! Runs of received packets: what becomes of a packet does not depend on how many come at once.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::TransmitBatch;
use crate::addr::DeviceId;
use crate::buffer::Sink;
use crate::device::PacketRun;
use crate::endpoint::Endpoint;
use crate::time::Instant;
use crate::wire::ethernet_source;

const ETH0: DeviceId = DeviceId(0);

/// What happens to a frame on its way.
#[derive(Copy, Clone, Debug)]
enum Fate {
    Arrives,
    IsLost,
    ComesTwice,
    /// Both before and after the one before.
    ComesAround,
    /// It changes places with the one before.
    IsLate,
    /// A bit changes, of the byte whose number has this remainder.
    Changes(usize),
}

/// Writes of the client, and how what it sends reaches the server.
#[derive(Clone, Debug)]
struct Step {
    writes: usize,
    len: usize,
    ending: Ending,
    fates: Vec<Fate>,
    /// Room in the buffer of a reader who waits, if one does.
    sink: Option<usize>,
    /// Packets of a run at most, and bytes between two.
    most: usize,
    gap: usize,
    /// Bytes that the server reads afterwards.
    read: usize,
}

fn arb_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        30 => Just(Fate::Arrives),
        1 => Just(Fate::IsLost),
        1 => Just(Fate::ComesTwice),
        1 => Just(Fate::ComesAround),
        1 => Just(Fate::IsLate),
        1 => any::<usize>().prop_map(Fate::Changes),
    ]
}

fn arb_step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![1..3_000usize, 10_000..100_000usize, Just(1_480), Just(14_800)];
    let ending = prop::sample::select(alloc::vec![Ending::Write, Ending::Part, Ending::Message]);
    let sink = prop_oneof![Just(None), Just(Some(1 << 17)), (1..20_000usize).prop_map(Some)];
    let run = (2..50usize, 0..40usize);
    let written = (1..6usize, len, ending);
    (written, vec(arb_fate(), 1..80), sink, run, 0..200_000usize).prop_map(
        |((writes, len, ending), fates, sink, (most, gap), read)| Step {
            writes,
            len,
            ending,
            fates,
            sink,
            most,
            gap,
            read,
        },
    )
}

/// Everything that `endpoint` has to send.
fn sent(now: Instant, endpoint: &mut Endpoint) -> Vec<Vec<u8>> {
    let (mut batch, mut all) = (TransmitBatch::new(64, 1 << 20), Vec::new());
    while endpoint.poll_transmit(now, &mut batch) > 0 {
        all.extend((0..batch.len()).map(|i| endpoint.frame(&batch, i).concat()));
        batch.clear();
        endpoint.handle_sent(now);
    }
    all
}

/// What is left of `frames` after their `fates`.
fn carried(frames: Vec<Vec<u8>>, fates: &[Fate]) -> Vec<Vec<u8>> {
    let mut came: Vec<Vec<u8>> = Vec::new();
    for (mut frame, fate) in frames.into_iter().zip(fates.iter().cycle()) {
        match fate {
            Fate::Arrives => {}
            Fate::IsLost => continue,
            Fate::ComesTwice => came.push(frame.clone()),
            Fate::ComesAround => came.insert(came.len().saturating_sub(1), frame.clone()),
            Fate::IsLate => {
                let before = came.len().saturating_sub(1);
                came.insert(before, frame);
                continue;
            }
            Fate::Changes(at) => {
                let at = at % frame.len();
                frame[at] ^= 1;
            }
        }
        came.push(frame);
    }
    came
}

/// Hands `frames` over in runs: neighbours of one length.
fn hand_over_runs(
    now: Instant,
    endpoint: &mut Endpoint,
    frames: &[Vec<u8>],
    step: &Step,
    mut sink: Option<Sink<'_>>,
) {
    let mut rest = frames;
    while let Some(first) = rest.first() {
        let is_like = |frame: &&Vec<u8>| frame.len() == first.len();
        let length = rest.iter().take(step.most).take_while(is_like).count();
        let (run, others) = rest.split_at(length);
        let mut memory = run.join(&alloc::vec![0xaa; step.gap][..]);
        memory.truncate(length * (first.len() + step.gap) - step.gap);
        let mut run = PacketRun::new(&memory, first.len(), first.len() + step.gap);
        let from = ethernet_source(first);
        while endpoint.handle_run(now, ETH0, from, &mut run, sink.as_mut()).is_some() {}
        rest = others;
    }
}

/// Reads `len` bytes at most: messages.
fn read(now: Instant, endpoint: &mut Endpoint, conn: ConnHandle, len: usize) -> Vec<Vec<u8>> {
    let mut bytes = alloc::vec![0; len];
    let (mut at, mut messages) = (0, Vec::from([Vec::new()]));
    while let Ok(Some(part)) = endpoint.read_message(now, conn, &mut bytes[at..]) {
        messages.last_mut().unwrap().extend_from_slice(&bytes[at..at + part.len]);
        at += part.len;
        if part.end {
            messages.push(Vec::new());
        } else {
            break;
        }
    }
    endpoint.note_read(now, conn);
    messages
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// SPEC PRP-SEG-4 and 5, PRP-ACK-1, PRP-CRC-3.
    #[test]
    fn receive__same_one_by_one_and_in_runs(
        steps in vec(arb_step(), 1..20),
        room in prop_oneof![Just(16_384usize), Just(131_072), Just(1 << 20)],
        crc in any::<bool>(),
    ) {
        let mut pair = Pair::default();
        let config = ConnConfig { crc, ..ConnConfig::default() };
        let (c, s) =
            pair.established_with(config, ConnConfig { recv_buffer: Some(room), ..config });
        for step in steps {
            pair.time = pair.time + Duration::from_micros(20);
            let (now, client) = (pair.time, &mut pair.client.endpoint);
            for _ in 0..step.writes {
                let _ = client.write(now, c, &pattern(step.len), step.ending);
            }
            let frames = carried(sent(now, client), &step.fates);
            let in_runs = &mut pair.server.endpoint;
            let mut alone = in_runs.clone();
            let mut buffers = [const { Vec::new() }; 2].map(|_: Vec<u8>| {
                alloc::vec![0; step.sink.unwrap_or(0)]
            });
            let [one, other] = &mut buffers;
            let mut sink = step.sink.map(|_| Sink::new(s, one));
            for frame in &frames {
                alone.handle_frame(now, ETH0, frame, sink.as_mut());
            }
            let sink = step.sink.map(|_| Sink::new(s, other));
            hand_over_runs(now, in_runs, &frames, &step, sink);
            let (answers, same) = (sent(now, in_runs), sent(now, &mut alone));
            prop_assert_eq!(&answers, &same);
            let [a, b] = [&mut *in_runs, &mut alone].map(|e| read(now, e, s, step.read));
            prop_assert_eq!(a, b);
            prop_assert!(buffers[0] == buffers[1]);
            let conn_stats = in_runs.conn_stats(s).cloned();
            prop_assert_eq!(conn_stats, alone.conn_stats(s).cloned());
            prop_assert_eq!(in_runs.stats(), alone.stats());
            prop_assert_eq!(in_runs.next_deadline(), alone.next_deadline());
            prop_assert_eq!(in_runs.receive_memory(), alone.receive_memory());
            let answers = [answers, sent(now, in_runs)].concat();
            for frame in answers {
                pair.client.endpoint.handle_frame(now, ETH0, &frame, None);
            }
            pair.time = pair.time + Duration::from_millis(1);
            let now = pair.time;
            pair.client.endpoint.handle_timeout(now);
            pair.server.endpoint.handle_timeout(now);
        }
    }
}

/// What continues a run is taken with its first packet, but for what says anything else.
#[test]
fn receive__a_run_at_once() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let (now, client) = (pair.time, &mut pair.client.endpoint);
    client.write(now, c, &pattern(9 * 1_480), Ending::Message).unwrap();
    let frames = sent(now, client);
    let mss = usize::from(client.terms(c).unwrap().mss);
    assert_eq!((frames.len(), mss), (9, 1_480));
    let memory = frames.concat();
    let mut run = PacketRun::new(&memory, frames[0].len(), frames[0].len());
    let server = &mut pair.server.endpoint;
    let mut left = Vec::new();
    while server.handle_run(now, ETH0, ethernet_source(&frames[0]), &mut run, None).is_some() {
        left.push(run.len());
    }
    // The first one confirms the connection, and the last one ends the message.
    assert_eq!(left, [1, 0]);
    assert_eq!(server.stats().frames_received, 1 + 9);
    assert_eq!(read(now, server, s, 1 << 16), [pattern(9 * 1_480), Vec::new()]);
}

/// All of a run takes the memory that others have left.
#[test]
fn receive__a_run_takes_no_fresh_memory() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    // What is read late leaves much.
    for _ in 0..2 {
        pair.write_all(ToServer, c, &pattern(300_000));
        assert!(pair.drive_until(|pair| pair.server.endpoint.unread(s) == 300_000));
        assert_eq!(pair.read_available(ToServer, s).len(), 300_000);
        pair.drive();
    }
    let held = |pair: &Pair| {
        pair.server.endpoint.overhead() + pair.server.endpoint.memory(s).map_or(0, |(_, b)| b)
    };
    let (now, before) = (pair.time, held(&pair));
    pair.client.endpoint.write(now, c, &pattern(100 * 1_480), Ending::Write).unwrap();
    let frames = sent(now, &mut pair.client.endpoint);
    assert_eq!(frames.len(), 100);
    let memory = frames.concat();
    let mut run = PacketRun::new(&memory, frames[0].len(), frames[0].len());
    let server = &mut pair.server.endpoint;
    while server.handle_run(now, ETH0, ethernet_source(&frames[0]), &mut run, None).is_some() {}
    assert_eq!(server.unread(s), 100 * 1_480);
    assert!(held(&pair) < before + 10_000, "{} after {before}", held(&pair));
}
