//! Handshakes with keys of nodes (SPEC PRP-KEY-20 to 24).

use alloc::collections::BTreeMap;

use super::*;
use crate::{NodeKey, NodeKeyFile, NodeKeys, NodeSecret};

/// The private key with the number `n`.
fn secret(n: u8) -> Secret {
    Secret::new([n; 32])
}

fn key(n: u8) -> NodeKey {
    NodeSecret::new(&secret(n)).key()
}

/// What prphosts has of nodes: their numbers, and the numbers of their keys.
fn listed(lines: &[(u16, &[u8])]) -> BTreeMap<u16, Vec<NodeKey>> {
    lines.iter().map(|(node, keys)| (*node, keys.iter().map(|n| key(*n)).collect())).collect()
}

/// The keys of `node` with these private ones.
fn ring(node: u16, lines: &[(u16, &[u8])], private: &[u8]) -> Keyring {
    let mut file: Option<NodeKeyFile> = None;
    for &n in private {
        match &mut file {
            None => file = Some(NodeKeyFile::new(secret(n))),
            Some(file) => {
                file.add(secret(n)).unwrap();
            }
        }
    }
    let keys = NodeKeys::new(node, listed(lines), file.as_ref()).unwrap();
    Keyring::new(&super::file(Mode::Seal)).with_nodes(keys)
}

fn process(ring: Keyring, seed: u8) -> Member<Aes128Gcm> {
    Member::new(ring, Seed::new([seed; 32]))
}

/// Nodes 1 and 2 with the keys 11 and 12, and node 7 with 17.
const LINES: &[(u16, &[u8])] = &[(1, &[11]), (2, &[12]), (7, &[17])];

fn one() -> Member<Aes128Gcm> {
    process(ring(1, LINES, &[11]), 1)
}

fn two() -> Member<Aes128Gcm> {
    process(ring(2, LINES, &[12]), 2)
}

/// The request of `asking` in the name of the node that [`UP`] comes from, and why node 2 drops it.
fn refusal_of(asking: &Member<Aes128Gcm>, answering: &mut Member<Aes128Gcm>) -> Option<Refusal> {
    let mut request = options(11);
    asking.ask(&UP, Nonce::new([3; 16]), &mut request);
    let nonce = Nonce::new([4; 16]);
    answering.answer((&UP, &request), nonce, (&DOWN, &mut options(12)), || true).err()
}

#[test]
fn nodes__with_keys_on_both_lines() {
    let (mut a, mut b) = (one(), two());
    let [mut here, mut there] = connect(&mut a, &mut b, [3, 4]).unwrap();
    assert!(agree(&mut here, &mut there));
    assert_eq!((here.mode(), here.key_id(), there.key_id()), (Mode::Seal, 5, 5));
    let mut request = options(11);
    let asked = a.ask(&UP, Nonce::new([3; 16]), &mut request);
    assert_eq!(request[22], 2, "PRP-KEY-22: the version");
    assert_eq!(b.check_request(&UP, &request), Ok(asked.key()));
}

/// Who has the private key of one of two nodes can tell who has made what is between them.
#[test]
fn captured__what_is_between_this_node_and_another() {
    let (a, mut b) = (one(), two());
    let (mut request, mut answer) = (options(11), options(12));
    a.ask(&UP, Nonce::new([3; 16]), &mut request);
    b.answer((&UP, &request), Nonce::new([4; 16]), (&DOWN, &mut answer), || true).unwrap();
    let reset = a.keyring().sign(&UP, b"reset");
    let check = |ring: &Keyring| {
        assert!(names_node_keys(&request) && names_node_keys(&answer));
        [
            check_request(ring, &UP, &request),
            check_answer(ring, (&UP, &request), (&DOWN, &answer)),
            ring.check_captured(&UP, b"reset", &reset),
        ]
    };
    for ring in [a.keyring(), b.keyring()] {
        assert_eq!(check(ring), [Ok(5); 3]);
    }
    // A third node, and who has the cluster's key alone, cannot.
    for other in [&ring(7, LINES, &[17]), &Keyring::new(&file(Mode::Seal))] {
        assert_eq!(check(other), [Err(Refusal::UnknownKey); 3]);
    }
    // Another private key in the name of node 1 is none.
    let wrong = ring(1, &[(1, &[13]), (2, &[12])], &[13]);
    assert_eq!(check(&wrong), [Err(Refusal::BadTag); 3]);
}

/// PRP-KEY-21: where one of the two lines has none, the cluster's secret is used.
#[test]
fn nodes__of_which_one_has_no_key() {
    let lines: &[(u16, &[u8])] = &[(1, &[11]), (7, &[17])];
    let (mut a, mut b) = (process(ring(1, lines, &[11]), 1), process(ring(2, lines, &[]), 2));
    let [mut here, mut there] = connect(&mut a, &mut b, [3, 4]).unwrap();
    assert!(agree(&mut here, &mut there));
    let mut request = options(11);
    a.ask(&UP, Nonce::new([3; 16]), &mut request);
    assert_eq!(request[22], 1);
}

/// A member with the cluster's secret, and with the key of its own node, is no other node.
#[test]
fn nodes__a_member_is_no_other_node() {
    // It says that it is node 1, with all that node 7 has.
    let seven = process(ring(7, LINES, &[17]), 7);
    assert_eq!(refusal_of(&seven, &mut two()), Some(Refusal::BadTag));
    // With a prphosts that has its own key on the line of node 1.
    let lines: &[(u16, &[u8])] = &[(1, &[17]), (2, &[12])];
    let liar = process(ring(1, lines, &[17]), 7);
    assert_eq!(refusal_of(&liar, &mut two()), Some(Refusal::BadTag));
    // Without any node keys: a downgrade.
    let plain = member(&file(Mode::Seal), 1);
    assert_eq!(refusal_of(&plain, &mut two()), Some(Refusal::Unsigned));
    // With node keys that this end has none of.
    let mut without = member(&file(Mode::Seal), 2);
    assert_eq!(refusal_of(&one(), &mut without), Some(Refusal::UnknownKey));
    assert_eq!(refusal_of(&one(), &mut two()), None);
}

/// A member that answers in the place of node 2.
#[test]
fn nodes__a_member_answers_for_no_other_node() {
    let mut a = one();
    let (mut request, mut answer) = (options(11), options(12));
    let asked = a.ask(&UP, Nonce::new([3; 16]), &mut request);
    let key = member(&file(Mode::Seal), 7).keyring.used(2).clone();
    let (share, nonce) = ([9; 32], [4; 16]);
    for with_nodes in [false, true] {
        let offer = Offer { mode: Mode::Seal, with_nodes, key_id: 5, share, nonce };
        let mut answer = answer.clone();
        offer.append(&mut answer, |unsigned| {
            schedule::code(&key.answer, &[&UP, &request, &DOWN, unsigned])
        });
        let why = if with_nodes { Refusal::BadTag } else { Refusal::Unsigned };
        assert_eq!(a.finish(&asked, (&DOWN, &answer)).err(), Some(why));
    }
    two().answer((&UP, &request), Nonce::new([4; 16]), (&DOWN, &mut answer), || true).unwrap();
    assert!(a.finish(&asked, (&DOWN, &answer)).is_ok());
}

/// PRP-KEY-23: who has got the private key of node 2 has a request in the name of node 1 answered,
/// and does not get the connection's keys.
#[test]
fn nodes__a_stolen_key_does_not_speak_to_its_node_as_another() {
    let mut b = two();
    let stolen = ring(2, LINES, &[12]);
    let of_both = stolen.used(1).clone();
    let own = StaticSecret::from([7; 32]);
    let share = PublicKey::from(&own).to_bytes();
    let (mut request, mut answer) = (options(11), options(12));
    let offer = Offer { mode: Mode::Seal, with_nodes: true, key_id: 5, share, nonce: [3; 16] };
    offer.append(&mut request, |unsigned| schedule::code(&of_both.request, &[&UP, unsigned]));
    let nonce = Nonce::new([4; 16]);
    let mut there = b.answer((&UP, &request), nonce, (&DOWN, &mut answer), || true).unwrap();
    let (theirs, ..) = Offer::read(&answer).unwrap();
    // The best it can do: its process's key, and the node's in the place of node 1's.
    for nodes in [None, of_both.nodes.clone()] {
        let key = ClusterKey { nodes, ..of_both.clone() };
        let pair = pair_secret(&own, &share, &key, &theirs.share).unwrap();
        let ends = Ends { header: &UP, own: (id(&request), &offer), peer: (id(&answer), &theirs) };
        let mut here: Session<Aes128Gcm> = ends.session(Mode::Seal, &pair);
        assert!(!agree(&mut here, &mut there));
    }
}

/// PRP-KEY-21: a member has the cluster's secret, and both public keys.
#[test]
fn nodes__have_a_secret_in_common_that_no_other_member_knows() {
    let of_both = ring(2, LINES, &[12]).used(1).root.clone();
    let cluster = Keyring::new(&file(Mode::Seal)).used(1).root.clone();
    let root_of = |agreed: &[u8]| {
        let shared = schedule::extract(cluster.bytes(), agreed);
        let (one, two) = (key(11), key(12));
        let ends = [&1u16.to_be_bytes()[..], one.bytes(), &2u16.to_be_bytes(), two.bytes()];
        *schedule::derive(&shared, Purpose::Nodes, &ends).bytes()
    };
    let agreed = NodeSecret::new(&secret(11)).agree(key(12).bytes()).unwrap();
    assert_eq!(root_of(agreed.as_bytes()), *of_both.bytes());
    for guess in [&[][..], &[0; 32], key(11).bytes(), key(12).bytes()] {
        assert_ne!(root_of(guess), *of_both.bytes());
    }
}

/// PRP-KEY-24: behind the old key, in front of it, without it; whichever node has the next prphosts
/// first. Its file has both private keys meanwhile.
#[test]
fn nodes__a_key_is_replaced_in_any_order_of_nodes() {
    let stages: [&[(u16, &[u8])]; 4] = [
        &[(1, &[11]), (2, &[12])],
        &[(1, &[11, 31]), (2, &[12])],
        &[(1, &[31, 11]), (2, &[12])],
        &[(1, &[31]), (2, &[12])],
    ];
    let (mut a, mut b) = (one(), two());
    let [mut here, mut there] = connect(&mut a, &mut b, [1, 2]).unwrap();
    for stage in 1..stages.len() {
        for is_first_ahead in [true, false] {
            let of = |node, is_ahead: bool, private| {
                ring(node, stages[stage - usize::from(!is_ahead)], private)
            };
            a.set_keyring(of(1, is_first_ahead, &[11, 31]));
            b.set_keyring(of(2, !is_first_ahead, &[12]));
            let [mut one, mut two] = connect(&mut a, &mut b, [3, 4]).unwrap();
            assert!(agree(&mut one, &mut two));
            // The same the other route.
            let (mut request, mut answer) = (options(12), options(11));
            let asked = b.ask(&DOWN, Nonce::new([5; 16]), &mut request);
            let said = (&DOWN, &request[..]);
            a.answer(said, Nonce::new([6; 16]), (&UP, &mut answer), || true).unwrap();
            b.finish(&asked, (&UP, &answer)).unwrap();
            assert!(agree(&mut here, &mut there), "connections keep their keys");
        }
    }
    // The old private key is not needed any more.
    a.set_keyring(ring(1, stages[3], &[31]));
    assert!(connect(&mut a, &mut b, [7, 8]).is_ok());
}

/// PRP-KEY-13 and 21: resets and what routers say.
#[test]
fn sign__frames_outside_connections_of_nodes_with_keys() {
    let [of_one, of_two, of_seven] =
        [(1, 11), (2, 12), (7, 17)].map(|(node, private)| ring(node, LINES, &[private]));
    let payload = *b"what a router says";
    let trailer = of_one.sign(&UP, &payload);
    assert_eq!(trailer[..4], [0, 1, 0, 5], "PRP-KEY-22: the id and 2^16");
    assert_eq!(of_two.check(&UP, &payload, &trailer), Ok(5));
    assert_eq!(of_seven.check(&UP, &payload, &trailer), Err(Refusal::BadTag), "not for node 7");
    assert_eq!(of_two.check(&UP, &payload, &of_seven.sign(&UP, &payload)), Err(Refusal::BadTag));
    let plain = Keyring::new(&file(Mode::Seal));
    let weak = plain.sign(&UP, &payload);
    assert_eq!(of_two.check(&UP, &payload, &weak), Err(Refusal::Unsigned));
    assert_eq!(plain.check(&UP, &payload, &trailer), Err(Refusal::UnknownKey));
    let mut other = UP;
    other[1] = 9;
    let weak = plain.sign(&other, &payload);
    assert_eq!(of_two.check(&other, &payload, &weak), Ok(5), "node 9 has no key");
}

/// A public key in prphosts that contributes nothing is nobody's.
#[test]
fn nodes__a_public_key_that_contributes_nothing() {
    let zero: NodeKey = "0".repeat(64).parse().unwrap();
    let nodes = [(1, std::vec![zero]), (2, std::vec![key(12)])].into();
    let file_of_two = NodeKeyFile::new(secret(12));
    let keys = NodeKeys::new(2, nodes, Some(&file_of_two)).unwrap();
    let mut b = process(Keyring::new(&file(Mode::Seal)).with_nodes(keys), 2);
    assert_eq!(refusal_of(&one(), &mut b), Some(Refusal::BadTag));
    assert_eq!(refusal_of(&member(&file(Mode::Seal), 1), &mut b), Some(Refusal::Unsigned));
    assert!(b.keyring().used(1).nodes.is_some(), "it asks with no less");
}

/// Keys are distinct for each pair of nodes, and those of a node and itself are its own.
#[test]
fn nodes__the_processes_of_one_node() {
    let own: Header = [0, 1, 0, 1, 0x9c, 0x40, 0, 80, 0, 0, 0, 90, 0, 0, 0, 1];
    let back: Header = [0, 1, 0, 1, 0, 80, 0x9c, 0x40, 0, 0, 0, 90, 0, 0, 0, 2];
    let (mut a, mut b) = (one(), process(ring(1, LINES, &[11]), 9));
    let (mut request, mut answer) = (options(11), options(12));
    let asked = a.ask(&own, Nonce::new([3; 16]), &mut request);
    let said = (&own, &request[..]);
    let mut there = b.answer(said, Nonce::new([4; 16]), (&back, &mut answer), || true).unwrap();
    let mut here = a.finish(&asked, (&back, &answer)).unwrap();
    assert!(agree(&mut here, &mut there));
    let names = [1, 2, 7].map(|node| a.keyring.used(node).name());
    assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2]);
}
