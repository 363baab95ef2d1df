mod nodes;

use std::borrow::ToOwned;

use super::*;
use crate::testing::{DOWN, UP, connect, digits, file, hex, member, options};
use crate::{Aes128Gcm, KeyFile, Trailer};

/// Whether the two ends have the same keys, in both directions.
fn agree(a: &mut Session<Aes128Gcm>, b: &mut Session<Aes128Gcm>) -> bool {
    let through = |from: &mut Session<Aes128Gcm>, to: &mut Session<Aes128Gcm>| {
        let mut payload = *b"hello";
        let trailer: Trailer = from.protect(&UP, &mut payload).unwrap();
        to.open(&UP, &payload, &trailer, &mut Vec::new()).is_ok_and(|text| text == b"hello")
    };
    through(a, b) && through(b, a)
}

/// Keys of RFC 7748, 6.1, and what Python's `cryptography` makes of them by the words of SPEC
/// PRP-KEY-4 to 11.
#[test]
fn handshake__values_of_another_implementation() {
    let of = |mode, seed: &str| {
        Member::<Aes128Gcm>::new(Keyring::new(&file(mode)), Seed::new(hex(seed)))
    };
    let a = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a";
    let b = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
    let (mut asking, mut answering) = (of(Mode::Sign, a), of(Mode::Seal, b));
    let (mut request, mut answer) = (options(11), options(12));
    answer[11] = 11;
    let asked = asking.ask(&UP, Nonce::new([3; 16]), &mut request);
    let nonce = Nonce::new([4; 16]);
    let mut there =
        answering.answer((&UP, &request), nonce, (&DOWN, &mut answer), || true).unwrap();
    let mut here = asking.finish(&asked, (&DOWN, &answer)).unwrap();
    assert_eq!((request.len(), answer.len()), (20 + OPTION_BYTES, 20 + OPTION_BYTES));
    let share = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
    assert_eq!(digits(&request[26..58]), share);
    let share = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
    assert_eq!(digits(&answer[26..58]), share);
    assert_eq!(digits(&request[74..]), "20da65b6c59a89af07c8b4009973bbdd");
    assert_eq!(digits(&answer[74..]), "55531de21e2af0fa4727e21462cfa4a3");

    let header = |control: u8, length| {
        let mut header = UP;
        header[8..16].copy_from_slice(&[0, 9, 0, length, 0, 7, 0, 0x14]);
        header[8..12].copy_from_slice(&[0, 9, 0, length]);
        header[15] |= control;
        header
    };
    let mut sent = |header: &Header, payload: &[u8]| {
        let mut payload = payload.to_vec();
        let trailer = here.protect(header, &mut payload).unwrap();
        assert!(there.open(header, &payload, &trailer, &mut Vec::new()).is_ok());
        (digits(&payload), digits(&trailer))
    };
    let of = |payload: &str, trailer: &str| (payload.into(), trailer.into());
    let data = header(0, 5);
    let expected = of("e0dbe5284c", "000000009d50d2e012dfce77f06f74b05e4f806e");
    assert_eq!(sent(&data, b"hello"), expected);
    let expected = of("885e5e5359", "00000001846ba3502641ac8e65579e821e050917");
    assert_eq!(sent(&data, b"hello"), expected);
    let block: [u8; 16] = core::array::from_fn(|i| i as u8);
    let (payload, trailer) = sent(&header(0x20, 16), &block);
    assert_eq!(payload, "000102030405060708090a0ba992246a");
    assert_eq!(trailer, "00000002812c874ea4062416cc08bada3b8b28c1");

    let mut payload = *b"hello";
    let mut down = DOWN;
    down[8..16].copy_from_slice(&data[8..16]);
    let trailer = there.protect(&down, &mut payload).unwrap();
    let found = (digits(&payload), digits(&trailer));
    assert_eq!(found, of("d9cb1a6af5", "000000002773e1709b921c2104848a9f64295ddb"));
    here.open(&down, &payload, &trailer, &mut Vec::new()).unwrap();
    here.renew();
    let mut payload = *b"hello";
    let trailer = here.protect(&data, &mut payload).unwrap();
    let found = (digits(&payload), digits(&trailer));
    assert_eq!(found, of("eccc2164c4", "010000002acac364443bcab560682addc0b8e446"));

    let mut asking = Member::<Aes128Gcm>::new(Keyring::new(&file(Mode::Sign)), Seed::new(hex(a)));
    let mut answering =
        Member::<Aes128Gcm>::new(Keyring::new(&file(Mode::Sign)), Seed::new(hex(b)));
    let [mut here, _] = connect(&mut asking, &mut answering, [3, 4]).unwrap();
    let trailer = here.sign(&data, b"hello").unwrap();
    assert_eq!(digits(&trailer), "0000000003043a7c3413d96c52c7141654b9f706");
}

/// SPEC PRP-KEY-1.
#[test]
fn handshake__the_stronger_mode_of_the_two_ends() {
    let modes = [Mode::Off, Mode::Sign, Mode::Seal];
    for (one, two) in modes.iter().flat_map(|one| modes.map(|two| (*one, two))) {
        let (mut a, mut b) = (member(&file(one), 1), member(&file(two), 2));
        let made = connect(&mut a, &mut b, [3, 4]);
        let expected = one.max(two);
        if expected == Mode::Off {
            assert_eq!(made.unwrap_err(), Refusal::Unsigned, "there is nothing to agree on");
            continue;
        }
        let [mut here, mut there] = made.unwrap();
        assert_eq!((here.mode(), there.mode()), (expected, expected), "{one} {two}");
        assert_eq!((here.key_id(), there.key_id()), (5, 5));
        assert!(agree(&mut here, &mut there));
    }
    let text = "mode sign\nnode 2 seal\nkey 5 ".to_owned()
        + &file(Mode::Off).used().secret().reveal()
        + " use\n";
    let file_of_node = KeyFile::parse(text.as_bytes()).unwrap();
    let ring = Keyring::new(&file_of_node);
    assert_eq!((ring.least(2), ring.least(3)), (Mode::Seal, Mode::Sign));
    let (mut a, mut b) = (member(&file_of_node, 1), member(&file(Mode::Off), 2));
    let [here, _] = connect(&mut a, &mut b, [3, 4]).unwrap();
    assert_eq!(here.mode(), Mode::Seal, "that of the node");
}

/// No offer can be changed in transit (PRP-KEY-5 and 7): not the modes, nor the options of others.
#[test]
fn handshake__a_flipped_bit_of_either_frame_is_refused() {
    let (mut a, mut b) = (member(&file(Mode::Seal), 1), member(&file(Mode::Sign), 2));
    let mut request = options(11);
    let asked = a.ask(&UP, Nonce::new([3; 16]), &mut request);
    let nonce = Nonce::new([4; 16]);
    let frame_bits = 8 * (UP.len() + request.len());
    let is_hops = |bit: &usize| (116..120).contains(bit);
    let flip = |header: &Header, block: &[u8], bit: usize| {
        let mut frame = [&header[..], block].concat();
        frame[bit / 8] ^= 1 << (bit % 8);
        let (header, block) = frame.split_first_chunk::<16>().unwrap();
        (*header, block.to_vec())
    };
    for bit in (0..frame_bits).filter(|bit| !is_hops(bit)) {
        let (header, block) = flip(&UP, &request, bit);
        let found = b.answer((&header, &block), nonce, (&DOWN, &mut options(12)), || true);
        assert!(found.is_err(), "bit {bit} of the request");
    }
    assert_eq!(b.pairs.len(), 0, "nothing was computed");
    let mut answer = options(12);
    b.answer((&UP, &request), nonce, (&DOWN, &mut answer), || true).unwrap();
    for bit in (0..frame_bits).filter(|bit| !is_hops(bit)) {
        let (header, block) = flip(&DOWN, &answer, bit);
        assert!(a.finish(&asked, (&header, &block)).is_err(), "bit {bit} of the answer");
    }
    assert_eq!(a.pairs.len(), 0, "nothing was computed");
    let mut hops = DOWN;
    hops[14] |= 0x20;
    a.finish(&asked, (&hops, &answer)).expect("the true one is taken after all of them");
}

#[test]
fn handshake__without_the_option_is_unsigned() {
    let (mut a, mut b) = (member(&file(Mode::Sign), 1), member(&file(Mode::Sign), 2));
    let mut request = options(11);
    let asked = a.ask(&UP, Nonce::new([3; 16]), &mut request);
    let nonce = Nonce::new([4; 16]);
    let mut lengths: Vec<_> = (0..20).chain([20, 21, 36, 60, 89]).collect();
    lengths.dedup();
    for length in lengths {
        let cut = &request[..length];
        let found = b.answer((&UP, cut), nonce, (&DOWN, &mut options(12)), || true);
        assert_eq!(found.err(), Some(Refusal::Unsigned), "{length} bytes of a request");
        let found = a.finish(&asked, (&DOWN, cut));
        assert_eq!(found.err(), Some(Refusal::Unsigned), "{length} bytes of an answer");
    }
}

/// An answer of a member that agrees to less than was asked for.
#[test]
fn finish__refuses_a_weaker_mode_also_of_a_member() {
    let (mut a, b) = (member(&file(Mode::Seal), 1), member(&file(Mode::Sign), 2));
    let (mut request, mut answer) = (options(11), options(12));
    let asked = a.ask(&UP, Nonce::new([3; 16]), &mut request);
    let (share, nonce) = (b.share, [4; 16]);
    let offer = Offer { mode: Mode::Sign, with_nodes: false, key_id: 5, share, nonce };
    let key = b.keyring.used(1);
    offer.append(&mut answer, |unsigned| {
        schedule::code(&key.answer, &[&UP, &request, &DOWN, unsigned])
    });
    assert_eq!(a.finish(&asked, (&DOWN, &answer)).err(), Some(Refusal::Unsigned));
}

#[test]
fn finish__an_answer_to_another_request_is_refused() {
    let (mut a, mut b) = (member(&file(Mode::Seal), 1), member(&file(Mode::Seal), 2));
    let (mut first, mut answer) = (options(11), options(12));
    let asked = a.ask(&UP, Nonce::new([3; 16]), &mut first);
    b.answer((&UP, &first), Nonce::new([4; 16]), (&DOWN, &mut answer), || true).unwrap();
    let again = a.ask(&UP, Nonce::new([5; 16]), &mut options(11));
    assert_eq!(a.finish(&again, (&DOWN, &answer)).err(), Some(Refusal::BadTag), "a recorded one");
    assert!(a.finish(&asked, (&DOWN, &answer)).is_ok());
    // Nor is a request its own answer.
    assert_eq!(a.finish(&asked, (&UP, &first)).err(), Some(Refusal::BadTag));
}

#[test]
fn answer__another_secret_or_id_is_refused() {
    let mut b = member(&file(Mode::Seal), 2);
    let mut refusal_of = |id, secret| {
        let a = member(&KeyFile::new(Mode::Seal, id, secret), 1);
        let mut request = options(11);
        a.ask(&UP, Nonce::new([3; 16]), &mut request);
        b.answer((&UP, &request), Nonce::new([4; 16]), (&DOWN, &mut options(12)), || true).err()
    };
    let right = file(Mode::Seal).used().secret().clone();
    assert_eq!(refusal_of(5, Secret::new([9; 32])), Some(Refusal::BadTag));
    assert_eq!(refusal_of(6, right.clone()), Some(Refusal::UnknownKey));
    assert_eq!(refusal_of(5, right), None);
}

/// SPEC PRP-KEY-6 and 8.
#[test]
fn answer__a_pair_takes_public_key_work_once() {
    let (mut a, mut b) = (member(&file(Mode::Seal), 1), member(&file(Mode::Seal), 2));
    let mut answer = |seed: u8, may_pair| {
        let mut request = options(11);
        member(&file(Mode::Seal), seed).ask(&UP, Nonce::new([3; 16]), &mut request);
        let nonce = Nonce::new([4; 16]);
        b.answer((&UP, &request), nonce, (&DOWN, &mut options(12)), || may_pair).err()
    };
    assert_eq!(answer(1, false), Some(Refusal::Busy));
    assert_eq!(answer(1, true), None);
    assert_eq!(answer(1, false), None, "the secret of the pair is known");
    assert_eq!(answer(3, false), Some(Refusal::Busy), "a process that was started again");
    let [mut first, mut first_there] = connect(&mut a, &mut b, [3, 4]).unwrap();
    let [mut second, mut second_there] = connect(&mut a, &mut b, [5, 6]).unwrap();
    assert!(!agree(&mut first, &mut second_there), "each connection has its own keys");
    assert!(agree(&mut second, &mut second_there) || agree(&mut first, &mut first_there));
}

/// A recorded request makes a connection with other keys: what was recorded behind it is refused.
#[test]
fn answer__a_recorded_session_is_refused() {
    let (mut a, mut b) = (member(&file(Mode::Seal), 1), member(&file(Mode::Seal), 2));
    let (mut request, mut answer) = (options(11), options(12));
    let asked = a.ask(&UP, Nonce::new([3; 16]), &mut request);
    b.answer((&UP, &request), Nonce::new([4; 16]), (&DOWN, &mut answer), || true).unwrap();
    let mut here = a.finish(&asked, (&DOWN, &answer)).unwrap();
    let mut payload = *b"hello";
    let trailer = here.protect(&UP, &mut payload).unwrap();
    let restarted = member(&file(Mode::Seal), 7);
    for mut answering in [b, restarted] {
        let nonce = Nonce::new([8; 16]);
        let mut there =
            answering.answer((&UP, &request), nonce, (&DOWN, &mut options(12)), || true).unwrap();
        assert_eq!(there.open(&UP, &payload, &trailer, &mut Vec::new()), Err(Refusal::BadTag));
    }
}

/// SPEC PRP-KEY-8: requests that cross (PRP-CONN-13).
#[test]
fn handshake__requests_that_cross_give_the_same_keys() {
    let (mut a, mut b) = (member(&file(Mode::Sign), 1), member(&file(Mode::Seal), 2));
    let (nonce_a, nonce_b) = (Nonce::new([3; 16]), Nonce::new([4; 16]));
    let (mut from_a, mut from_b) = (options(11), options(12));
    let asked_a = a.ask(&UP, nonce_a, &mut from_a);
    let asked_b = b.ask(&DOWN, nonce_b, &mut from_b);
    let (mut answer_a, mut answer_b) = (options(11), options(12));
    a.answer((&DOWN, &from_b), nonce_a, (&UP, &mut answer_a), || true).unwrap();
    b.answer((&UP, &from_a), nonce_b, (&DOWN, &mut answer_b), || true).unwrap();
    let mut at_a = a.finish(&asked_a, (&DOWN, &answer_b)).unwrap();
    let mut at_b = b.finish(&asked_b, (&UP, &answer_a)).unwrap();
    assert_eq!((at_a.mode(), at_b.mode()), (Mode::Seal, Mode::Seal));
    assert!(agree(&mut at_a, &mut at_b));
}

/// SPEC PRP-KEY-3: a secret is put in, used and removed, in any order of the two nodes.
#[test]
fn rotation__of_the_cluster_s_secret_in_any_order_of_nodes() {
    let old = file(Mode::Seal);
    let mut both = old.clone();
    let id = both.add(Secret::new([9; 32])).unwrap();
    let mut new = both.clone();
    new.use_key(id).unwrap();
    let mut last = new.clone();
    last.drop_key(5).unwrap();
    let stages = [old, both, new, last];
    let (mut a, mut b) = (member(&stages[0], 1), member(&stages[0], 2));
    let [mut here, mut there] = connect(&mut a, &mut b, [1, 2]).unwrap();
    for stage in 1..stages.len() {
        for is_a_first in [true, false] {
            // One of them is a stage ahead of the other.
            let ring = |index: usize| Keyring::new(&stages[index]);
            a.set_keyring(ring(if is_a_first { stage } else { stage - 1 }));
            b.set_keyring(ring(if is_a_first { stage - 1 } else { stage }));
            for nonces in [[stage as u8, 7], [stage as u8, 8]] {
                let sessions = connect(&mut a, &mut b, nonces);
                let [mut one, mut two] = sessions.unwrap_or_else(|e| panic!("{stage}: {e}"));
                assert!(agree(&mut one, &mut two));
                core::mem::swap(&mut a, &mut b);
            }
            assert!(agree(&mut here, &mut there), "connections keep their keys");
        }
    }
    assert_eq!(a.keyring().used_id(), id);
}

/// A member whose public key leaves nothing secret (RFC 7748, 6.1).
#[test]
fn answer__a_public_key_that_contributes_nothing_is_refused() {
    let (a, mut b) = (member(&file(Mode::Seal), 1), member(&file(Mode::Seal), 2));
    let mut request = options(11);
    let (share, nonce) = ([0; 32], [3; 16]);
    let offer = Offer { mode: Mode::Seal, with_nodes: false, key_id: 5, share, nonce };
    let key = a.keyring.used(2);
    offer.append(&mut request, |unsigned| schedule::code(&key.request, &[&UP, unsigned]));
    let found = b.answer((&UP, &request), Nonce::new([4; 16]), (&DOWN, &mut options(12)), || true);
    assert_eq!(found.err(), Some(Refusal::BadTag));
}

#[test]
fn pairs__the_ones_unused_for_longest_are_forgotten() {
    let mut pairs = Pairs::default();
    let [one, two] = [5, 6].map(|id| {
        let file = KeyFile::new(Mode::Seal, id, Secret::new([7; 32]));
        Keyring::new(&file).used(2).name()
    });
    let share = |i: usize| {
        let mut share = [0; SHARE_BYTES];
        share[..8].copy_from_slice(&i.to_be_bytes());
        share
    };
    for i in 0..MAX_PAIRS + 10 {
        pairs.note(one, &share(i), &Secret::new([1; 32]));
        pairs.note(one, &share(0), &Secret::new([1; 32]));
    }
    assert_eq!(pairs.len(), MAX_PAIRS);
    assert!(pairs.find(one, &share(0)).is_some() && pairs.find(one, &share(1)).is_none());
    assert!(pairs.find(two, &share(0)).is_none(), "another secret of the cluster");
}

/// A secret that has changed under its id: nothing of the old one is used any more.
#[test]
fn set_keyring__forgets_the_pairs_of_before() {
    let (mut a, mut b) = (member(&file(Mode::Seal), 1), member(&file(Mode::Seal), 2));
    connect(&mut a, &mut b, [1, 2]).unwrap();
    let changed = KeyFile::new(Mode::Seal, 5, Secret::new([9; 32]));
    a.set_keyring(Keyring::new(&changed));
    // The same process for `a`, by its public key, but one that never had the old secret.
    let mut b = member(&changed, 2);
    let [mut here, mut there] = connect(&mut a, &mut b, [3, 4]).unwrap();
    assert!(agree(&mut here, &mut there));
}
