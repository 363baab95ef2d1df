use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use proptest::prelude::*;

use super::pool::CHUNK;
use super::queue::ByteQueue;
use super::send::Span;
use super::*;
use crate::event::ConnHandle;
use crate::time::Instant;

#[derive(Clone, Debug)]
enum Op {
    /// This number of bytes, after memory for them was asked of the buffer pool, or not.
    Push(usize, bool),
    Consume(usize),
    Slices(usize, usize),
    GiveBack,
    Release,
}

/// Numbers of bytes, mostly few, some of them of several pieces or a byte more or less.
fn arb_len() -> impl Strategy<Value = usize> {
    let edge = (1..4usize, 0..3usize).prop_map(|(pieces, more)| pieces * CHUNK + more - 1);
    prop_oneof![4 => 0usize..3000, 1 => 0..3 * CHUNK, 2 => edge]
}

fn arb_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (arb_len(), any::<bool>()).prop_map(|(n, draw)| Op::Push(n, draw)),
        3 => arb_len().prop_map(Op::Consume),
        2 => (arb_len(), arb_len()).prop_map(|(at, len)| Op::Slices(at, len)),
        1 => Just(Op::GiveBack),
        1 => Just(Op::Release),
    ]
}

#[derive(Clone, Debug)]
enum SendOp {
    Write(usize),
    /// This number of bytes more, which stay with the writer.
    Lend(usize),
    Keep,
    /// Cuts a segment.
    Cut(u16),
    /// This number of the segments have arrived.
    Release(usize),
    /// All take and give back what memory there is.
    Trade(usize),
}

fn arb_send_op() -> impl Strategy<Value = SendOp> {
    prop_oneof![
        2 => arb_len().prop_map(SendOp::Write),
        3 => arb_len().prop_map(SendOp::Lend),
        1 => Just(SendOp::Keep),
        5 => (1u16..).prop_map(SendOp::Cut),
        3 => (0usize..6).prop_map(SendOp::Release),
        1 => arb_len().prop_map(SendOp::Trade),
    ]
}

/// Bytes of a stream from offset `from` on.
fn stream(from: usize, len: usize) -> Vec<u8> {
    // The high bits too, or a piece would equal the next one.
    (from..from + len).map(|i| (i ^ i >> 8 ^ i >> 16) as u8).collect()
}

proptest! {
    /// Wherever the bytes lie, every segment that is in flight is what was written.
    #[test]
    fn send__lent_bytes_are_those_that_were_written(
        ops in proptest::collection::vec(arb_send_op(), 0..80),
    ) {
        let mut send = SendBuffer::new(5 * CHUNK);
        let mut pool = BufferPool::default();
        let mut written = 0;
        let mut lent = Vec::new();
        let mut in_flight = VecDeque::new();
        for op in ops {
            match op {
                SendOp::Write(n) => {
                    send.end_borrow(&mem::take(&mut lent));
                    send.acquire(n, &mut pool);
                    written += send.write(&stream(written, n), Ending::Write).unwrap();
                }
                SendOp::Lend(n) => {
                    send.acquire(n, &mut pool);
                    let n = send.write_borrowed(n, Ending::Write).unwrap();
                    lent.extend(stream(written, n));
                    written += n;
                }
                SendOp::Keep => send.end_borrow(&mem::take(&mut lent)),
                SendOp::Cut(mss) => {
                    if let Some(span) = send.peek_segment(mss, true) {
                        prop_assert!((1..=mss).contains(&span.len));
                        send.commit_segment(span);
                        in_flight.push_back(span);
                    }
                }
                SendOp::Release(n) => {
                    let last = in_flight.drain(..n.min(in_flight.len())).next_back();
                    send.release(last.map_or(0, |span: Span| span.at + u64::from(span.len)));
                }
                SendOp::Trade(n) => {
                    send.release_chunks(Instant::ZERO, &mut pool);
                    send.acquire(n, &mut pool);
                    send.trim();
                }
            }
            prop_assert_eq!(send.end(), written as u64);
            for span in &in_flight {
                let pieces = send.slices(span.at, span.len, &lent).concat();
                prop_assert!(pieces == stream(span.at as usize, usize::from(span.len)), "{span:?}");
            }
        }
    }

    /// It is a queue of bytes, whatever is done to it and wherever its memory is from.
    #[test]
    fn queue__behaves_as_a_deque(ops in proptest::collection::vec(arb_op(), 0..60)) {
        let mut queue = ByteQueue::default();
        let mut pool = BufferPool::default();
        let mut model: VecDeque<u8> = VecDeque::new();
        let mut next = 0;
        for op in ops {
            match op {
                Op::Push(n, draw) => {
                    let bytes = stream(next, n);
                    next += n;
                    if draw {
                        queue.acquire(n, usize::MAX, &mut pool);
                    }
                    queue.push(&bytes).unwrap();
                    model.extend(&bytes);
                }
                Op::Consume(n) => {
                    queue.consume(n);
                    model.drain(..n.min(model.len()));
                }
                Op::Slices(at, len) => {
                    let len = len.min(CHUNK);
                    let expected: Vec<u8> = model.iter().skip(at).take(len).copied().collect();
                    prop_assert_eq!(queue.slices(at, len).concat(), expected);
                }
                Op::GiveBack => {
                    queue.release_chunks(Instant::ZERO, &mut pool);
                    prop_assert!(!queue.has_left());
                    prop_assert!(queue.allocated() < queue.len() + 2 * CHUNK + 1024);
                }
                Op::Release => queue.release_if_empty(),
            }
            prop_assert_eq!(queue.len(), model.len());
            let mut all = vec![0; model.len() + 1];
            prop_assert_eq!(queue.peek(&mut all), model.len());
            prop_assert!(model.iter().eq(&all[..model.len()]));
        }
    }

    /// However writes are cut into segments, the bytes come out in order and every message ends
    /// where it was ended.
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
            let bytes = send.slices(span.at, span.len, &[]).concat();
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

/// What one has left is what the next one, or the same, writes to; few bytes need none of it.
#[test]
fn queue__draws_the_pieces_others_have_left() {
    let mut pool = BufferPool::default();
    let mut left = ByteQueue::default();
    left.push(&vec![0xff; 4 * CHUNK]).unwrap();
    assert!(!left.has_left(), "it holds something everywhere");
    left.consume(3 * CHUNK);
    left.release_chunks(Instant::ZERO, &mut pool);
    assert_eq!(pool.held(), 3 * CHUNK);

    let mut queue = ByteQueue::default();
    queue.acquire(10, CHUNK, &mut pool);
    assert_eq!(pool.held(), 3 * CHUNK, "so few have a place of their own");
    queue.push(&[1; 10]).unwrap();
    let own = queue.allocated();
    queue.acquire(own - 10, CHUNK, &mut pool);
    assert_eq!(pool.held(), 3 * CHUNK, "so much fits");
    queue.acquire(own, CHUNK, &mut pool);
    assert_eq!(pool.held(), 2 * CHUNK);
    queue.push(&vec![2; own]).unwrap();
    queue.consume(10 + own);
    assert!(queue.has_left());
    queue.release_chunks(Instant::ZERO, &mut pool);
    assert_eq!(pool.held(), 3 * CHUNK);
    assert!((own..own + 1024).contains(&queue.allocated()), "its own is kept");

    queue.acquire(5 * CHUNK, 5 * CHUNK, &mut pool);
    assert_eq!(pool.held(), 0, "all there is");
    queue.push(&vec![3; 5 * CHUNK]).unwrap();
    assert_eq!(queue.len(), 5 * CHUNK);
}

/// Whose limit is below a piece gets none, however many there are.
#[test]
fn draw__not_where_a_piece_is_more_than_the_limit() {
    let mut pool = BufferPool::default();
    pool.put(Instant::ZERO, vec![0; CHUNK]);
    let mut small = (SendBuffer::new(CHUNK - 1), RecvBuffer::new(CHUNK - 1));
    small.0.acquire(CHUNK, &mut pool);
    small.1.acquire(CHUNK, None, &mut pool);
    assert_eq!(pool.held(), CHUNK);
    SendBuffer::new(CHUNK).acquire(CHUNK, &mut pool);
    assert_eq!(pool.held(), 0);
}

/// What is lent has room of its own in the buffer, from the buffer pool as for what is written.
#[test]
fn lend__draws_room_for_all_that_is_lent() {
    let mut pool = BufferPool::default();
    (0..3).for_each(|_| pool.put(Instant::ZERO, vec![0; CHUNK]));
    let mut send = SendBuffer::new(3 * CHUNK);
    for left in [2, 1, 0] {
        send.acquire(CHUNK, &mut pool);
        assert_eq!(send.write_borrowed(CHUNK, Ending::Write).unwrap(), CHUNK);
        assert_eq!(pool.held(), left * CHUNK);
    }
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
        Span { at: 0, len: 4, eom: true },
        Span { at: 4, len: 2, eom: true },
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
    assert_eq!(sink.filled(), 4);
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

/// A message without bytes that waits is something, and comes before the bytes behind it.
#[test]
fn receive__sink_takes_nothing_before_the_end_of_a_message_that_waits() {
    let conn = ConnHandle { index: 0, generation: 0 };
    let mut receive = RecvBuffer::new(100);
    assert!(!receive.is_readable());
    receive.push(b"", true, None).unwrap();
    let mut buf = [0; 4];
    let mut sink = Sink::new(conn, &mut buf);
    assert!(!receive.passes(b"ab", &sink));
    receive.push(b"ab", false, Some(&mut sink)).unwrap();
    assert_eq!(sink.filled(), 0);
    let mut out = [0; 8];
    assert_eq!(receive.read_message(&mut out), Some(MessagePart { len: 0, end: true }));
    assert!(receive.is_readable(), "the message goes on");
    assert_eq!(receive.read_message(&mut out), Some(MessagePart { len: 2, end: false }));
    assert!(!receive.is_readable());
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

#[test]
fn receive__push_says_if_there_is_more_to_read() {
    let conn = ConnHandle { index: 0, generation: 0 };
    let mut receive = RecvBuffer::new(100);
    let mut buf = [0; 2];
    let mut sink = Sink::new(conn, &mut buf);
    assert_eq!(receive.push(b"", false, None), Ok(false));
    assert_eq!(receive.push(b"ab", true, Some(&mut sink)), Ok(false), "the reader has it");
    assert_eq!(receive.push(b"cd", false, Some(&mut sink)), Ok(true));
    assert_eq!(receive.push(b"", true, None), Ok(true));
    let mut out = [0; 9];
    for _ in 0..2 {
        assert_eq!(receive.peek(&mut out), 2);
        assert_eq!(&out[..2], b"cd");
    }
    assert_eq!(receive.len(), 2, "peeking takes nothing");
}

/// SPEC PRP-SEG-7: ends of messages without bytes are forgotten if they take more than half of what
/// is advertised.
#[test]
fn receive__empty_messages_are_passed_over_until_they_take_half() {
    for (count, forgets) in [(0, false), (3, false), (4, false), (5, true), (8, true)] {
        let mut receive = RecvBuffer::new(64);
        (0..count).for_each(|_| _ = receive.push(b"", true, None));
        assert_eq!(receive.pass_empty_messages(), forgets, "{count}");
        assert!(!receive.is_readable());
        let left = receive.read_message(&mut []).is_some();
        assert_eq!(left, count > 0 && !forgets, "{count}");
    }
}

/// A segment that begins in what is held and goes on in what is lent may have to be shorter.
#[test]
fn full_segments__lie_before_what_is_lent_or_in_it() {
    let mut send = SendBuffer::new(1 << 16);
    send.write(&[0; 3_000], Ending::More).unwrap();
    assert_eq!(send.full_segments(1_000), 2, "the last one may end the write");
    send.write_borrowed(10_000, Ending::Write).unwrap();
    assert_eq!(send.full_segments(1_000), 3);
    assert_eq!(send.full_segments(1_400), 2);
    for _ in 0..3 {
        let span = send.peek_segment(1_000, false).unwrap();
        send.commit_segment(span);
    }
    assert_eq!(send.full_segments(1_000), 9);
}
