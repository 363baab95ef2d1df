//! What a `SendVec` puts on a socket.

use std::os::fd::AsFd;
use std::os::unix::net::UnixDatagram;

use super::*;

/// Frames in pieces: one that is copied, one too large for that, and one in a single piece.
fn frames() -> Vec<Vec<Vec<u8>>> {
    vec![
        vec![vec![1; 14], vec![2; 16], vec![], vec![3; 9]],
        vec![vec![4; 30], vec![], vec![5; 5000], vec![6; 3984]],
        vec![vec![7; 700], vec![], vec![], vec![]],
    ]
}

/// What comes of `frames` if `sender` sends them one by one, and all at once.
fn sent(sender: &mut SendVec, frames: &[Vec<Vec<u8>>]) -> [Vec<Vec<u8>>; 2] {
    let (a, b) = UnixDatagram::pair().expect("a pair of sockets");
    let receive = || {
        let mut datagram = vec![0; 1 << 16];
        let n = b.recv(&mut datagram).expect("a datagram");
        datagram.truncate(n);
        datagram
    };
    let pieces = |frame: &'static [Vec<u8>]| std::array::from_fn(|i| &frame[i][..]);
    let frames: &'static _ = Vec::leak(frames.to_vec());
    let alone = frames.iter().map(|frame| {
        sender.send_one(a.as_fd(), pieces(frame)).expect("it is sent");
        receive()
    });
    let alone = alone.collect();
    let mut batch = sender.load(frames.iter().map(|frame| pieces(frame)));
    assert_eq!(batch.send(a.as_fd(), 0).expect("they are sent"), frames.len());
    [alone, frames.iter().map(|_| receive()).collect()]
}

#[test]
fn insert_tag__behind_the_addresses_of_each_frame() {
    let tag = [0x81, 0, 0xa0, 7];
    let tagged = |frame: &Vec<Vec<u8>>| {
        let whole = frame.concat();
        [&whole[..12], &tag, &whole[12..]].concat()
    };
    let expected: Vec<_> = frames().iter().map(tagged).collect();
    let mut sender = SendVec::default();
    sender.insert_tag(Some(tag));
    assert_eq!(sent(&mut sender, &frames()), [expected.clone(), expected.clone()]);
    let mut sender = SendVec::in_one_piece();
    sender.insert_tag(Some(tag));
    for (at, datagrams) in sent(&mut sender, &frames()).into_iter().enumerate() {
        for (datagram, expected) in datagrams.iter().zip(&expected) {
            let (prefix, frame) = datagram.split_at(PREFIX);
            assert_eq!(frame, expected, "{at}");
            let head = u16::from_ne_bytes([prefix[2], prefix[3]]);
            // What is copied leaves how to keep it to the kernel.
            assert!(head == 0 || usize::from(head) == expected.len(), "{at}: {head}");
        }
    }
}

#[test]
fn send__frames_whole_alone_and_together() {
    let whole: Vec<Vec<u8>> = frames().iter().map(|f| f.concat()).collect();
    assert_eq!(sent(&mut SendVec::default(), &frames()), [whole.clone(), whole]);
}

#[test]
fn in_one_piece__says_how_long_each_frame_is() {
    for (at, datagrams) in sent(&mut SendVec::in_one_piece(), &frames()).into_iter().enumerate() {
        for (datagram, frame) in datagrams.iter().zip(frames()) {
            let (prefix, rest) = datagram.split_at(size_of::<Prefix>());
            assert_eq!(rest, frame.concat());
            // The kernel keeps a small frame in one piece by itself.
            let copied = at == 0 && rest.len() <= SMALL;
            let expected = if copied { 0 } else { rest.len() as u16 };
            assert_eq!(prefix[2..4], expected.to_ne_bytes());
            assert_eq!([&prefix[..2], &prefix[4..]].concat(), [0; 8]);
        }
    }
}

#[test]
fn in_one_piece__says_so_of_the_next_batch_as_well() {
    let mut sender = SendVec::in_one_piece();
    let first = sent(&mut sender, &frames());
    let shorter: Vec<_> = frames().into_iter().rev().collect();
    let second = sent(&mut sender, &shorter);
    assert!(first[1].iter().rev().eq(&second[1]));
}
