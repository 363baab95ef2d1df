use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;
use crate::Aes128Gcm;
use crate::cipher::{CIPHER_KEY_BYTES, CIPHER_NONCE_BYTES};
use crate::testing::{DOWN, UP};

/// Both ends of a connection; the first one leads.
fn pair<C: Cipher>(mode: Mode) -> [Session<C>; 2] {
    let (up, down) = (Secret::new([1; 32]), Secret::new([2; 32]));
    [Session::new(mode, 5, true, &up, &down), Session::new(mode, 5, false, &down, &up)]
}

/// A frame in transit.
#[derive(Clone, Debug, PartialEq)]
struct Frame {
    header: Header,
    payload: Vec<u8>,
    trailer: Vec<u8>,
}

fn send<C: Cipher>(from: &mut Session<C>, header: Header, payload: &[u8]) -> Frame {
    let mut payload = payload.to_vec();
    let trailer = from.protect(&header, &mut payload).unwrap().to_vec();
    Frame { header, payload, trailer }
}

fn receive<C: Cipher>(to: &mut Session<C>, frame: &Frame) -> Result<Vec<u8>, Refusal> {
    let mut text = Vec::new();
    let opened = to.open(&frame.header, &frame.payload, &frame.trailer, &mut text);
    opened.map(<[u8]>::to_vec)
}

#[test]
fn open__gives_what_was_protected_in_both_modes_and_directions() {
    for mode in [Mode::Sign, Mode::Seal] {
        let [mut a, mut b] = pair::<Aes128Gcm>(mode);
        for length in [0, 1, 11, 12, 13, 16, 100, 1484] {
            let payload: Vec<_> = (0..length).map(|i| i as u8).collect();
            for control in [0, 0x20] {
                let mut header = UP;
                header[15] |= control;
                let frame = send(&mut a, header, &payload);
                // Mode sign leaves all readable, mode seal a control block's ids.
                let readable = if mode == Mode::Sign {
                    length
                } else {
                    length.min(if control == 0 { 0 } else { 12 })
                };
                assert_eq!(frame.payload[..readable], payload[..readable]);
                assert!(length < readable + 8 || frame.payload[readable..] != payload[readable..]);
                assert_eq!(receive(&mut b, &frame), Ok(payload.clone()));
                let back = send(&mut b, DOWN, &payload);
                assert_eq!(receive(&mut a, &back), Ok(payload.clone()));
            }
        }
    }
}

#[test]
fn open__padding_and_hops_do_not_count() {
    for mode in [Mode::Sign, Mode::Seal] {
        let [mut a, mut b] = pair::<Aes128Gcm>(mode);
        let mut frame = send(&mut a, UP, b"hello");
        frame.header[14] |= 0xf0;
        frame.trailer.extend([0; 5]);
        assert_eq!(receive(&mut b, &frame).unwrap(), b"hello");
    }
}

#[test]
fn open__a_flipped_bit_of_any_field_is_refused_and_changes_nothing() {
    for mode in [Mode::Sign, Mode::Seal] {
        for control in [0, 0x20] {
            let [mut a, mut b] = pair::<Aes128Gcm>(mode);
            let mut header = UP;
            header[15] |= control;
            let frame = send(&mut a, header, b"a payload of 22 bytes.");
            for bit in (0..8 * (16 + 22 + TRAILER_BYTES)).filter(|bit| !(116..120).contains(bit)) {
                let mut changed = frame.clone();
                let field = match bit / 8 {
                    at @ 0..16 => &mut changed.header[at],
                    at @ 16..38 => &mut changed.payload[at - 16],
                    at => &mut changed.trailer[at - 38],
                };
                *field ^= 1 << (bit % 8);
                let refusal = receive(&mut b, &changed).unwrap_err();
                // The upper bits of the counter name an epoch that there is not; its lowest bit
                // names the next one.
                let is_epoch = (38 * 8 + 1..39 * 8).contains(&bit);
                let expected = if is_epoch { Refusal::UnknownKey } else { Refusal::BadTag };
                assert_eq!(refusal, expected, "bit {bit}");
            }
            assert_eq!(b.incoming.epoch(), 0);
            assert!(receive(&mut b, &frame).is_ok(), "the true one is taken after all of them");
        }
    }
}

#[test]
fn open__a_cut_frame_is_unsigned() {
    let [mut a, mut b] = pair::<Aes128Gcm>(Mode::Seal);
    let frame = send(&mut a, UP, b"hello");
    for length in 0..TRAILER_BYTES {
        let cut = Frame { trailer: frame.trailer[..length].to_vec(), ..frame.clone() };
        assert_eq!(receive(&mut b, &cut), Err(Refusal::Unsigned), "{length}");
    }
}

#[test]
fn open__takes_a_frame_once_and_none_that_is_too_old() {
    let [mut a, mut b] = pair::<Aes128Gcm>(Mode::Sign);
    let frames: Vec<_> = (0..3000_u32).map(|i| send(&mut a, UP, &i.to_be_bytes())).collect();
    // The second half comes first, and frames of before that while they are not too old.
    for frame in frames[1500..].iter().chain(&frames[952..1500]) {
        assert!(receive(&mut b, frame).is_ok());
    }
    for frame in &frames {
        assert_eq!(receive(&mut b, frame), Err(Refusal::Replayed));
    }
}

#[test]
fn open__frames_of_others_are_refused() {
    let [mut a, mut b] = pair::<Aes128Gcm>(Mode::Seal);
    let frame = send(&mut a, UP, b"hello");
    assert_eq!(receive(&mut a, &frame), Err(Refusal::BadTag), "its own direction");
    let [mut other, _] = pair::<Aes128Gcm>(Mode::Sign);
    assert_eq!(receive(&mut b, &send(&mut other, UP, b"hello")), Err(Refusal::BadTag), "mode");
    let (up, down) = (Secret::new([3; 32]), Secret::new([2; 32]));
    let mut other = Session::<Aes128Gcm>::new(Mode::Seal, 5, true, &up, &down);
    assert_eq!(receive(&mut b, &send(&mut other, UP, b"hello")), Err(Refusal::BadTag), "keys");
    assert!(receive(&mut b, &frame).is_ok());
}

/// SPEC PRP-KEY-11 and 12.
#[test]
fn renew__one_end_leads_and_the_other_follows() {
    let [mut a, mut b] = pair::<Aes128Gcm>(Mode::Seal);
    b.renew();
    let first = send(&mut b, DOWN, b"1");
    let heard = send(&mut b, DOWN, b"heard");
    assert_eq!(b.epoch(), 0, "it follows");
    a.renew();
    let late = send(&mut a, UP, b"late");
    assert_eq!(a.epoch(), 0, "not before the other end is heard at all");
    assert!(receive(&mut a, &heard).is_ok());
    let frame = send(&mut a, UP, b"2");
    assert_eq!((a.epoch(), frame.trailer[0]), (1, 1));
    a.renew();
    send(&mut a, UP, b"lost");
    assert_eq!(a.epoch(), 1, "not before the other end is seen in this epoch");
    assert!(receive(&mut b, &frame).is_ok());
    assert_eq!(b.epoch(), 1, "an authentic frame takes it along");
    assert!(receive(&mut b, &late).is_ok(), "a frame of before");
    assert!(receive(&mut a, &first).is_ok(), "a frame of before");
    assert_eq!(a.epoch(), 1);
    let answer = send(&mut b, DOWN, b"3");
    assert!(receive(&mut a, &answer).is_ok());
    let frame = send(&mut a, UP, b"4");
    assert_eq!((a.epoch(), frame.trailer[0]), (2, 2), "what was asked for is done now");
    assert!(receive(&mut b, &frame).is_ok());
    assert_eq!(receive(&mut b, &late), Err(Refusal::UnknownKey), "two epochs ago");
}

#[test]
fn renew__after_so_many_frames_of_either_direction() {
    for is_upward in [true, false] {
        let [mut a, mut b] = pair::<Aes128Gcm>(Mode::Sign);
        a.set_renews_after(10);
        let heard = send(&mut b, DOWN, b"");
        assert!(receive(&mut a, &heard).is_ok());
        for _ in 0..12 {
            let (frame, to) = if is_upward {
                (send(&mut a, UP, b""), &mut b)
            } else {
                (send(&mut b, DOWN, b""), &mut a)
            };
            assert!(receive(to, &frame).is_ok());
        }
        assert_eq!(a.epoch() == 1, is_upward, "the leader goes on when it sends");
        send(&mut a, UP, b"");
        assert_eq!(a.epoch(), 1);
    }
}

/// A frame that only claims to be of the next epoch has no effect, however often it comes.
#[test]
fn open__a_forged_next_epoch_changes_nothing() {
    let [mut a, mut b] = pair::<Aes128Gcm>(Mode::Seal);
    let mut forged = send(&mut a, UP, b"hello");
    forged.trailer[0] = 1;
    for _ in 0..10 {
        assert_eq!(receive(&mut b, &forged), Err(Refusal::BadTag));
        assert_eq!((b.epoch(), b.incoming.epoch()), (0, 0));
    }
    let frame = send(&mut a, UP, b"hello");
    assert!(receive(&mut b, &frame).is_ok());
    a.renew();
    let frame = send(&mut a, UP, b"hello");
    assert!(receive(&mut b, &frame).is_ok());
}

std::thread_local! {
    /// The keys and nonces that [`Noting`] has sealed with.
    static USED: RefCell<BTreeSet<([u8; CIPHER_KEY_BYTES], [u8; CIPHER_NONCE_BYTES])>> =
        const { RefCell::new(BTreeSet::new()) };
}

/// A cipher that hides nothing and fails where a nonce comes again.
struct Noting([u8; CIPHER_KEY_BYTES]);

impl Cipher for Noting {
    fn new(key: &[u8; CIPHER_KEY_BYTES]) -> Self {
        Self(*key)
    }

    fn seal(&self, nonce: &[u8; CIPHER_NONCE_BYTES], associated: &[u8], text: &mut [u8]) -> Tag {
        let is_new = USED.with_borrow_mut(|used| used.insert((self.0, *nonce)));
        assert!(is_new, "a nonce is used twice");
        self.sum(nonce, associated, text)
    }

    fn open(
        &self,
        nonce: &[u8; CIPHER_NONCE_BYTES],
        associated: &[u8],
        sealed: &[u8],
        text: &mut [u8],
        tag: &Tag,
    ) -> bool {
        text.copy_from_slice(sealed);
        self.sum(nonce, associated, sealed) == *tag
    }

    fn is_tag(
        &self,
        nonce: &[u8; CIPHER_NONCE_BYTES],
        front: &Header,
        payload: &[u8],
        tag: &Tag,
    ) -> bool {
        self.sum(nonce, payload, front) == *tag
    }
}

impl Noting {
    /// Bytes that tell keys, nonces and texts apart, and protect from nobody.
    fn sum(&self, nonce: &[u8; CIPHER_NONCE_BYTES], associated: &[u8], text: &[u8]) -> Tag {
        let mut sum = [0_u64; 2];
        for byte in [&self.0[..], nonce, associated, &[0xff], text].concat() {
            sum[0] = (sum[0] ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3).rotate_left(17);
            sum[1] = (sum[1] ^ sum[0]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        let mut tag = [0; TAG_BYTES];
        tag[..8].copy_from_slice(&sum[0].to_be_bytes());
        tag[8..].copy_from_slice(&sum[1].to_be_bytes());
        tag
    }
}

proptest! {
    /// Whatever is sent, repeated, renewed and delivered: no key has the same nonce twice.
    #[test]
    fn protect__no_nonce_is_used_twice(
        steps in proptest::collection::vec((0_u8..5, any::<bool>()), 1..300),
        mode in prop_oneof![Just(Mode::Sign), Just(Mode::Seal)],
    ) {
        USED.with_borrow_mut(BTreeSet::clear);
        let mut ends = pair::<Noting>(mode);
        ends.iter_mut().for_each(|end| end.set_renews_after(20));
        let mut last = [None, None];
        for (step, is_first) in steps {
            let (from, to) = if is_first { (0, 1) } else { (1, 0) };
            match step {
                // A repeat of a segment is protected again.
                0..3 => last[from] = Some(send(&mut ends[from], UP, b"segment")),
                3 => if let Some(frame) = last[from].take() {
                    prop_assert!(receive(&mut ends[to], &frame).is_ok());
                },
                _ => ends[from].renew(),
            }
        }
    }
}

/// One run: two ends that send, renew and receive over a network that loses, doubles and reorders
/// by chance. Returns the epochs reached.
fn run(seed: u64) -> u32 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut chance = move |below: u32| random.next_u32() % below;
    USED.with_borrow_mut(BTreeSet::clear);
    let mode = if chance(2) == 0 { Mode::Sign } else { Mode::Seal };
    let mut ends = pair::<Noting>(mode);
    ends.iter_mut().for_each(|end| end.set_renews_after(4));
    let loss = chance(60);
    let mut wires: [VecDeque<Frame>; 2] = Default::default();
    // Frames that were taken, which must not be taken again.
    let mut taken: [Vec<Frame>; 2] = Default::default();
    for step in 0..300 {
        let from = chance(2) as usize;
        if chance(20) == 0 {
            ends[from].renew();
        }
        let frame = send(&mut ends[from], UP, &[step as u8]);
        if chance(100) >= loss {
            // Up to eight frames overtake it.
            let place = wires[from].len().saturating_sub(chance(8) as usize);
            wires[from].insert(place, frame);
        }
        let direction = chance(2) as usize;
        if let Some(frame) = wires[direction].pop_front() {
            // Only a frame of two epochs ago is refused: it was overtaken by a whole round trip.
            let to = &mut ends[1 - direction];
            let is_late = frame.trailer[0] < to.incoming.epoch().saturating_sub(1) as u8;
            let done = receive(to, &frame);
            let expected = if is_late { Err(Refusal::UnknownKey) } else { Ok(()) };
            assert_eq!(done.map(drop), expected, "seed {seed}, step {step}");
            if expected.is_ok() {
                taken[direction].push(frame);
            }
        }
        if let Some(frame) = taken[direction].get(chance(300) as usize) {
            let refusal = receive(&mut ends[1 - direction], frame).unwrap_err();
            assert_ne!(refusal, Refusal::BadTag, "seed {seed}, step {step}: its key was known");
        }
        assert!(ends[0].epoch().abs_diff(ends[1].epoch()) <= 1, "seed {seed}, step {step}");
        assert!(ends[1].epoch() <= ends[0].epoch(), "seed {seed}, step {step}: one leads");
    }
    // What is sent once nothing is in transit any more is taken.
    for from in [0, 1, 0, 1] {
        let frame = send(&mut ends[from], UP, b"end");
        assert!(receive(&mut ends[1 - from], &frame).is_ok(), "seed {seed}");
    }
    assert_eq!(ends[0].epoch(), ends[1].epoch(), "seed {seed}");
    ends[0].epoch()
}

#[test]
fn rotation__both_ends_agree_under_loss_and_reordering() {
    let epochs: u32 = (0..300).map(run).sum();
    assert!(epochs > 3000, "{epochs} renewals in 300 runs");
}

/// `netns-scripts/soak-key` runs it.
#[test]
#[ignore = "takes a minute"]
fn rotation__a_hundred_thousand_runs() {
    for seed in 0..100_000 {
        run(seed);
    }
}

#[test]
#[should_panic(expected = "the payload is to be encrypted")]
fn sign__refuses_to_send_in_clear_what_is_to_be_sealed() {
    let [mut a, _] = pair::<Aes128Gcm>(Mode::Seal);
    let _ = a.sign(&UP, b"secret");
}

#[test]
fn sign__is_protect_of_a_payload_that_stays() {
    let [mut a, _] = pair::<Aes128Gcm>(Mode::Sign);
    let [mut same, mut b] = pair::<Aes128Gcm>(Mode::Sign);
    let trailer = a.sign(&UP, b"hello").unwrap().to_vec();
    let frame = send(&mut same, UP, b"hello");
    assert_eq!(frame, Frame { header: UP, payload: vec![b'h', b'e', b'l', b'l', b'o'], trailer });
    assert!(receive(&mut b, &frame).is_ok());
}
