use super::*;
use crate::exchange::tests::{header, pair};

#[test]
fn streams__of_a_rank_that_has_left_are_waited_on_as_it_may_come_back() {
    let [mut stays, mut leaves] = pair();
    leaves.send_goodbye();
    stays.progress();
    assert!(stays.all_have_left());
    assert_eq!(stays.streams().len(), 1);
    assert!(stays.has_local());
}

#[test]
fn all_have_left__not_once_one_is_back() {
    let [mut stays, mut leaves] = pair();
    leaves.send_leave();
    leaves.send_return();
    stays.progress();
    assert!(!stays.all_have_left());
    leaves.send_leave();
    stays.progress();
    assert!(stays.all_have_left());
}

#[test]
fn all_have_left__also_a_rank_that_is_in_a_session_behind_the_end_of_the_world() {
    let [mut stays, mut leaves] = pair();
    leaves.send_goodbye();
    leaves.send_return();
    stays.progress();
    assert!(stays.all_have_left());
}

#[test]
fn is_all_out__once_there_was_room_for_it() {
    let [mut sends, mut takes] = pair();
    sends.send(1, header(0), &Region::owned(1 << 20));
    assert!(!sends.is_all_out());
    while !sends.is_all_out() {
        takes.progress();
        sends.progress();
    }
    assert_eq!(takes.unexpected().count(), 1);
}
