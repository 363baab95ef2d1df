//! Bytes go through, in order, all of them.

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::thread;

use prp_proto::wire::Reliability;

use super::pattern;
use crate::builder::Builder;
use crate::testing::{FrameAction, Pair, Rule, within_patience};

#[test]
fn write__what_one_end_writes_the_other_reads() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        for len in [0, 1, 1483, 1484, 1485, 5000, 100_000] {
            ours.write_all(&pattern(len)).unwrap();
            let mut bytes = vec![0; len];
            theirs.read_exact(&mut bytes).unwrap();
            assert_eq!(bytes, pattern(len));
            theirs.write_all(&bytes).unwrap();
            ours.read_exact(&mut bytes).unwrap();
            assert_eq!(bytes, pattern(len));
        }
    });
}

#[test]
fn write__to_the_node_itself() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.alpha.listen(0, &Builder::new()).unwrap();
        let addr = listener.local_addr().unwrap();
        let serving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let mut stream = pair.alpha.connect(addr, &Builder::new()).unwrap();
        stream.write_all(&pattern(1 << 20)).unwrap();
        drop(stream);
        assert_eq!(serving.join().unwrap(), pattern(1 << 20));
    });
}

/// As over TCP, some megabytes: the send buffer grows while the peer does not read.
#[test]
fn write__in_both_directions_before_either_reads() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let both = [ours, theirs].map(|mut stream| {
            thread::spawn(move || {
                stream.write_all(&pattern(4 << 20)).unwrap();
                let mut bytes = vec![0; 4 << 20];
                stream.read_exact(&mut bytes).unwrap();
                assert!(bytes == pattern(4 << 20), "other bytes");
            })
        });
        both.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Every size of buffer there can be, down to ones smaller than what a writer waits for.
#[test]
fn write__through_small_buffers() {
    for buffer in [1, 6 * 1024, 10 * 1024, 20 * 1024, 100 * 1024] {
        within_patience(move || {
            let pair = Pair::new();
            let small = Builder::new().send_buffer(buffer).recv_buffer(buffer);
            let (mut ours, mut theirs) = pair.streams_with(&small, &small);
            let writing = thread::spawn(move || ours.write_all(&pattern(1 << 20)).unwrap());
            let mut bytes = Vec::new();
            theirs.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, pattern(1 << 20), "buffers of {buffer}");
            writing.join().unwrap();
        });
    }
}

#[test]
fn write__many_small_writes_arrive_in_order() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        let writing = thread::spawn(move || {
            for (i, byte) in pattern(100_000).chunks(7).enumerate() {
                ours.write_all(byte).unwrap_or_else(|e| panic!("write {i}: {e}"));
            }
        });
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, pattern(100_000));
        writing.join().unwrap();
    });
}

#[test]
fn write_vectored__is_one_write_of_all_the_pieces() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        // Few bytes are put in one piece first: up to where that ends, and far beyond.
        for len in [3, 1535, 1536, 1537, 300_000] {
            let all = pattern(len);
            let (a, rest) = all.split_at(1);
            let (b, c) = rest.split_at(len / 2);
            let pieces = [IoSlice::new(a), IoSlice::new(&[]), IoSlice::new(b), IoSlice::new(c)];
            assert_eq!(ours.write_vectored(&pieces).unwrap(), all.len());
            let mut bytes = vec![0; all.len()];
            theirs.read_exact(&mut bytes).unwrap();
            assert_eq!(bytes, all);
        }
    });
}

/// Writes of every size about those from which on bytes are sent from where they lie, and more than
/// is written under one hold of the lock, between small ones that are not; with trailers, where
/// none are.
#[test]
fn write__much_and_little_alternately() {
    for crc in [false, true] {
        within_patience(move || {
            let pair = Pair::new();
            let (mut ours, mut theirs) =
                pair.streams_with(&Builder::new().crc(crc), &Builder::new());
            let all = pattern(3_000_000);
            let sent = all.clone();
            let writing = thread::spawn(move || {
                let mut rest = &sent[..];
                for len in [7, 32_767, 1, 32_768, 100, 500_000, 9, 1_700_000, usize::MAX] {
                    let (now, later) = rest.split_at(len.min(rest.len()));
                    assert_eq!(ours.write(now).unwrap(), now.len());
                    rest = later;
                }
            });
            let mut bytes = Vec::new();
            theirs.read_to_end(&mut bytes).unwrap();
            assert!(bytes == all, "trailers {crc}");
            writing.join().unwrap();
        });
    }
}

#[test]
fn read_vectored__fills_the_pieces_in_order() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        let all = pattern(10_000);
        ours.write_all(&all).unwrap();
        // Everything is there before it is read.
        theirs.peek_exactly(all.len());
        let (mut a, mut b, mut c) = ([0; 10], vec![0; 5000], vec![0; 10_000]);
        let mut pieces = [
            IoSliceMut::new(&mut a),
            IoSliceMut::new(&mut []),
            IoSliceMut::new(&mut b),
            IoSliceMut::new(&mut c),
        ];
        assert_eq!(theirs.read_vectored(&mut pieces).unwrap(), all.len());
        c.truncate(all.len() - a.len() - b.len());
        assert_eq!([&a[..], &b, &c].concat(), all);
    });
}

/// A reader that takes everything with several buffers, and then computes, has told its peer of the
/// room.
#[test]
fn read_vectored__tells_the_peer_of_the_room() {
    within_patience(|| {
        const BUFFER: usize = 64 * 1024;
        let pair = Pair::new();
        let small = Builder::new().recv_buffer(BUFFER);
        let (mut ours, mut theirs) = pair.streams_with(&Builder::new(), &small);
        ours.write_all(&pattern(2 * BUFFER)).unwrap();
        let full = BUFFER - BUFFER % usize::from(ours.terms().unwrap().mss);
        theirs.peek_exactly(full);
        let (mut a, mut b) = ([0; 1], vec![0; BUFFER]);
        let mut pieces = [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)];
        assert_eq!(theirs.read_vectored(&mut pieces).unwrap(), full);
        // Expect: nothing waits until another call sends it.
        assert!(!pair.beta.engine().lock().endpoint.wants_transmit());
        theirs.peek_exactly(full);
    });
}

impl crate::PrpStream {
    /// Waits until `len` bytes are there to read.
    fn peek_exactly(&self, len: usize) {
        let mut buf = vec![0; len];
        crate::testing::wait_until(format_args!("{len} bytes"), || {
            self.peek(&mut buf).unwrap() == len
        });
    }
}

/// Loses every `lose`th frame and repeats every `repeat`th.
fn faulty(lose: u64, repeat: u64) -> Option<Rule> {
    let mut count = 0;
    Some(Box::new(move |_| {
        count += 1;
        match count {
            n if n % lose == 0 => FrameAction::Drop,
            n if n % repeat == 0 => FrameAction::Duplicate,
            _ => FrameAction::Pass,
        }
    }))
}

#[test]
fn write__over_a_bad_link() {
    write_over(|to_alpha, to_beta| Pair::with_rules(to_alpha, to_beta));
}

#[test]
fn write__by_unix_sockets_that_lose_packets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    write_over(move |to_alpha, to_beta| Pair::on_unix(&path, to_alpha, to_beta));
}

/// Writes in both directions at a time, between nodes that lose and repeat packets.
fn write_over(pair: impl Fn(Option<Rule>, Option<Rule>) -> Pair + Clone + Send + 'static) {
    for policy in [Reliability::GoBackN, Reliability::SelectiveRepeat] {
        let pair = pair.clone();
        within_patience(move || {
            let pair = pair(faulty(13, 7), faulty(11, 5));
            let builder = Builder::new().reliability(policy);
            let (ours, theirs) = pair.streams_with(&builder, &builder);
            let ends = [ours, theirs].map(|mut stream| {
                thread::spawn(move || {
                    let mut writer = stream.try_clone().unwrap();
                    let writing = thread::spawn(move || writer.write_all(&pattern(500_000)));
                    let mut bytes = vec![0; 500_000];
                    stream.read_exact(&mut bytes).unwrap();
                    writing.join().unwrap().unwrap();
                    assert!(bytes == pattern(500_000), "other bytes");
                    stream
                })
            });
            let _both = ends.map(|end| end.join().unwrap());
        });
    }
}

#[test]
fn write__with_a_checksum_on_every_frame() {
    within_patience(|| {
        let pair = Pair::new();
        let checked = Builder::new().crc(true);
        let (mut ours, mut theirs) = pair.streams_with(&checked, &Builder::new());
        assert!(ours.terms().unwrap().crc && theirs.terms().unwrap().crc);
        ours.write_all(&pattern(100_000)).unwrap();
        drop(ours);
        let mut bytes = Vec::new();
        theirs.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, pattern(100_000));
    });
}
