//! Runs of segments: what leaves does not depend on how many leave at once.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::TransmitBatch;
use crate::endpoint::BorrowedWrite;

/// A step of the client's program: what it writes, and what the server reads after it.
#[derive(Clone, Debug)]
struct Step {
    len: usize,
    ending: Ending,
    /// Whether the bytes stay with the writer meanwhile.
    lends: bool,
    read: usize,
}

fn arb_step() -> impl Strategy<Value = Step> {
    let len = prop_oneof![1..3_000usize, 10_000..200_000usize, Just(1_484), Just(14_840)];
    let ending = prop::sample::select(alloc::vec![
        Ending::Write,
        Ending::More,
        Ending::Part,
        Ending::Message,
    ]);
    (len, ending, any::<bool>(), 0..400_000usize).prop_map(|(len, ending, lends, read)| Step {
        len,
        ending,
        lends,
        read,
    })
}

/// Takes `frames` at a time out of one endpoint, and has the other one receive all but every one
/// whose running number is a multiple of `lost`. Returns those with data.
fn cross(
    pair: &mut Pair,
    direction: Direction,
    frames: usize,
    lent: Option<&BorrowedWrite<'_>>,
    (count, lost): (&mut usize, usize),
) -> Vec<Vec<u8>> {
    let now = pair.time;
    let (mut batch, mut all) = (TransmitBatch::new(frames, 1 << 20), Vec::new());
    let endpoint = &mut pair.sender(direction).endpoint;
    while endpoint.poll_transmit_with(now, &mut batch, lent) > 0 {
        let frame = |i| endpoint.frame_with_borrowed(&batch, i, lent).concat();
        all.extend((0..batch.len()).map(frame));
        batch.clear();
    }
    for frame in &all {
        if is_data(frame) {
            *count += 1;
            if *count % lost == 0 {
                continue;
            }
        }
        let side = pair.receiver(direction);
        side.endpoint.handle_frame(now, crate::addr::DeviceId(0), frame, None);
    }
    all.retain(|frame| is_data(frame));
    all
}

/// The frames with data that leave where `frames` leave at a time, at most.
fn sent(steps: &[Step], room: usize, lost: usize, frames: usize) -> Vec<Vec<u8>> {
    let mut pair = Pair::default();
    let client = ConnConfig { send_buffer: 1 << 18, ..plain() };
    let (c, s) = pair.established_with(client, ConnConfig { recv_buffer: Some(room), ..plain() });
    let (mut sent, mut count) = (Vec::new(), 0);
    for step in steps {
        let now = pair.time;
        let bytes = pattern(step.len);
        let mut lent = BorrowedWrite::new(c, &bytes);
        let client = &mut pair.client.endpoint;
        if step.lends {
            let _ = client.write_borrowed(now, &mut lent, step.ending);
        } else {
            let _ = client.write(now, c, &bytes, step.ending);
        }
        for _ in 0..4 {
            pair.time = pair.time + Duration::from_micros(20);
            sent.extend(cross(&mut pair, ToServer, frames, Some(&lent), (&mut count, lost)));
            let now = pair.time;
            let _ = pair.server.endpoint.read(now, s, &mut alloc::vec![0; step.read]);
            cross(&mut pair, ToClient, 32, None, (&mut 0, usize::MAX));
        }
        pair.client.endpoint.end_borrow(pair.time, lent);
    }
    sent
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// SPEC PRP-SEG-1 to 3: a run is as many segments one after the other.
    #[test]
    fn transmit__same_segments_one_by_one_and_in_runs(
        steps in vec(arb_step(), 1..20),
        room in prop_oneof![Just(16_384usize), Just(131_072), Just(1 << 20)],
        lost in prop_oneof![Just(usize::MAX), Just(29)],
    ) {
        let one_by_one = sent(&steps, room, lost, 1);
        let in_runs = sent(&steps, room, lost, 256);
        prop_assert!(one_by_one == in_runs, "{} and {}", one_by_one.len(), in_runs.len());
    }
}

/// A policy that repeats nothing keeps nothing of what has left.
#[test]
fn transmit__what_is_not_repeated_is_not_kept() {
    let mut pair = Pair::default();
    let config = ConnConfig { send_buffer: 1 << 16, ..with_policy(Reliability::Detect) };
    let (c, _) = pair.established_with(config, config);
    let (now, client) = (pair.time, &mut pair.client.endpoint);
    assert_eq!(client.write(now, c, &pattern(20 * 1_484), Ending::Write), Ok(29_680));
    let mut batch = TransmitBatch::new(256, 1 << 20);
    assert_eq!(client.poll_transmit(now, &mut batch), 9, "as many as the congestion window lets");
    client.handle_sent(now);
    let room = (1 << 16) - 11 * 1_484;
    assert_eq!(client.write(now, c, &pattern(1 << 16), Ending::Write), Ok(room));
}
