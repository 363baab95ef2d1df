use super::*;
use crate::Aes128Gcm;

/// SPEC PRP-KEY-9.
#[test]
fn next__ends_before_a_counter_comes_again() {
    let mut outgoing = Outgoing::<Aes128Gcm>::new(&Secret::new([1; 32]));
    outgoing.next.index = INDICES - 1;
    assert_eq!(outgoing.next().unwrap().0.wire(), [0, 0xff, 0xff, 0xff]);
    assert_eq!(outgoing.next().err(), Some(Exhausted));
    assert_eq!(outgoing.next().err(), Some(Exhausted));
    // The next epoch has another key.
    outgoing.follow(1);
    assert_eq!(outgoing.next().unwrap().0.wire(), [1, 0, 0, 0]);
}
