use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::ring::Ring;
use super::send::Span;
use super::*;
use crate::event::ConnHandle;
use crate::time::Instant;

#[derive(Clone, Debug)]
enum Op {
    Push(Vec<u8>),
    Consume(usize),
    Slices(usize, usize),
    Release,
}

fn arb_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..3000).prop_map(Op::Push),
        (0usize..4000).prop_map(Op::Consume),
        (0usize..4000, 0usize..4000).prop_map(|(a, l)| Op::Slices(a, l)),
        Just(Op::Release),
    ]
}

proptest! {
    /// The ring is a queue of bytes, whatever is done to it.
    #[test]
    fn ring__behaves_as_a_deque(ops in proptest::collection::vec(arb_op(), 0..60)) {
        let mut ring = Ring::default();
        let mut model: VecDeque<u8> = VecDeque::new();
        for op in ops {
            match op {
                Op::Push(bytes) => {
                    ring.push(&bytes).unwrap();
                    model.extend(&bytes);
                }
                Op::Consume(n) => {
                    ring.consume(n);
                    model.drain(..n.min(model.len()));
                }
                Op::Slices(at, len) => {
                    let expected: Vec<u8> = model.iter().skip(at).take(len).copied().collect();
                    prop_assert_eq!(ring.slices(at, len).concat(), expected);
                }
                Op::Release => ring.release_if_empty(),
            }
            prop_assert_eq!(ring.len(), model.len());
            let mut all = vec![0; model.len() + 1];
            prop_assert_eq!(ring.peek(&mut all), model.len());
            prop_assert!(model.iter().eq(&all[..model.len()]));
        }
    }

    /// However writes are cut into segments, the bytes come out in order and every message ends where
    /// it was ended.
    #[test]
    fn send__segments_spell_the_messages(
        messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..4000), 1..8),
        mss in 1u16..2000,
    ) {
        let mut send = SendBuffer::new(1 << 20);
        for m in &messages {
            prop_assert_eq!(send.write(m, Ending::Message).unwrap(), m.len());
        }
        let mut receive = RecvBuffer::new(1 << 20);
        while let Some(span) = send.peek_segment(mss, false) {
            prop_assert!(span.len <= mss);
            let bytes = send.slices(span.at, span.len).concat();
            receive.push(&bytes, span.eom, None).unwrap();
            send.commit_segment(span);
            send.release(span.at + u64::from(span.len));
        }
        prop_assert_eq!(send.len(), 0);
        for m in &messages {
            let mut got = Vec::new();
            loop {
                let mut piece = [0; 700];
                let part = receive.read_message(&mut piece).unwrap();
                got.extend_from_slice(&piece[..part.len]);
                if part.end { break }
            }
            prop_assert_eq!(&got, m);
        }
        prop_assert_eq!(receive.read_message(&mut [0; 1]), None);
    }
}

/// What is held goes along, also where it goes round the end of the old memory, which others can use then.
#[test]
fn ring__moves_to_memory_from_stock_with_what_it_holds() {
    let mut stock = Stock::default();
    let mut ring = Ring::default();
    ring.push(&vec![0; 110_000]).unwrap();
    ring.consume(100_000);
    let data: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
    ring.push(&data).unwrap();
    ring.consume(ring.len() - data.len());
    ring.draw(100_000, 1 << 20, Instant::ZERO, &mut stock);
    assert_eq!(ring.allocated(), 128 * 1024, "nothing to be had");

    let mut left = Ring::default();
    left.push(&vec![0xff; 400_000]).unwrap();
    left.give_back(Instant::ZERO, &mut stock);
    assert_eq!(stock.held(), 0, "it still holds something");
    left.consume(400_000);
    left.give_back(Instant::ZERO, &mut stock);
    assert_eq!((stock.held(), left.allocated()), (512 * 1024, 0));

    ring.draw(1000, 1 << 20, Instant::ZERO, &mut stock);
    assert_eq!(ring.allocated(), 128 * 1024, "so much fits");
    ring.draw(100_000, 256 * 1024, Instant::ZERO, &mut stock);
    assert_eq!(ring.allocated(), 128 * 1024, "more than it may have");
    ring.draw(100_000, 1 << 20, Instant::ZERO, &mut stock);
    assert_eq!((ring.allocated(), stock.held()), (512 * 1024, 128 * 1024));
    let mut all = vec![0; data.len() + 1];
    assert_eq!(ring.peek(&mut all), data.len());
    assert_eq!(all[..data.len()], data);
}

#[test]
fn send__takes_no_more_than_its_limit_and_frees_by_release() {
    let mut send = SendBuffer::new(10);
    assert_eq!(send.write(b"0123456789abc", Ending::Write).unwrap(), 10);
    assert_eq!(send.room(), 0);
    let span = send.peek_segment(4, false).unwrap();
    send.commit_segment(span);
    // Not past what has been cut into segments.
    send.release(100);
    assert_eq!(send.room(), 4);
}

#[test]
fn send__short_segment_of_an_unfinished_write_waits_unless_idle() {
    let mut send = SendBuffer::new(100);
    send.write(b"abcdef", Ending::More).unwrap();
    let first = Span { at: 0, len: 4, eom: false };
    assert_eq!(send.peek_segment(4, false), Some(first));
    send.commit_segment(first);
    assert_eq!(send.peek_segment(4, false), None);
    assert_eq!(send.peek_segment(4, true), Some(Span { at: 4, len: 2, eom: false }));
    send.finish_write();
    assert_eq!(send.peek_segment(4, false), Some(Span { at: 4, len: 2, eom: true }));
}

#[test]
fn send__unsent_writes_join_but_messages_do_not() {
    let mut send = SendBuffer::new(100);
    send.write(b"ab", Ending::Write).unwrap();
    send.write(b"cd", Ending::Write).unwrap();
    assert_eq!(send.peek_segment(10, false), Some(Span { at: 0, len: 4, eom: true }));
    send.write(b"ef", Ending::Message).unwrap();
    send.write(b"", Ending::Message).unwrap();
    send.write(b"gh", Ending::Write).unwrap();
    let expected = [
        Span { at: 0, len: 6, eom: true },
        Span { at: 6, len: 0, eom: true },
        Span { at: 6, len: 2, eom: true },
    ];
    for span in expected {
        assert_eq!(send.peek_segment(10, false), Some(span));
        send.commit_segment(span);
    }
    assert!(!send.has_unsent());
}

#[test]
fn receive__sink_takes_what_is_next_and_the_ring_the_rest() {
    let conn = ConnHandle { index: 0, generation: 0 };
    let mut receive = RecvBuffer::new(100);
    let mut buf = [0; 4];
    let mut sink = Sink::new(conn, &mut buf);
    receive.push(b"abcdef", true, Some(&mut sink)).unwrap();
    assert!(sink.is_full());
    assert_eq!(receive.len(), 2);
    // The ring is not empty: nothing may overtake it.
    let mut buf2 = [0; 4];
    let mut sink = Sink::new(conn, &mut buf2);
    receive.push(b"gh", true, Some(&mut sink)).unwrap();
    assert_eq!(sink.filled(), 0);
    assert_eq!(&buf, b"abcd");
    let mut out = [0; 8];
    assert_eq!(receive.read_message(&mut out), Some(MessagePart { len: 2, end: true }));
    assert_eq!(receive.read_message(&mut out), Some(MessagePart { len: 2, end: true }));
}

#[test]
fn receive__stream_reads_run_across_messages() {
    let mut receive = RecvBuffer::new(100);
    for m in [&b"ab"[..], b"", b"cd"] {
        receive.push(m, true, None).unwrap();
    }
    let mut out = [0; 3];
    assert_eq!(receive.read(&mut out), 3);
    assert_eq!(&out, b"abc");
    assert_eq!(receive.read_message(&mut out), Some(MessagePart { len: 1, end: true }));
    assert_eq!(receive.read_message(&mut out), None);
}
