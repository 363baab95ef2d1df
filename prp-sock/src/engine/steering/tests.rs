use super::*;
use crate::testing::Numbers;

const fn port(number: u16) -> Port {
    Port::new(number)
}

/// A process that has joined with request 5, owning ports 80 and 81.
fn member() -> Steering {
    let mut steering = Steering::default();
    let join = steering.begin([80, 81].map(port).into_iter(), 5);
    assert_eq!(join, Request::Join(vec![port(80), port(81)]));
    steering
}

/// The steward answers the oldest question.
fn answer(steering: &mut Steering, reply: Reply) {
    let request = steering.outbox.remove(0);
    steering.pending.push((6, request));
    steering.hear(6, reply);
}

#[test]
fn missing__is_nothing_for_a_process_by_itself() {
    let steering = Steering::default();
    assert_eq!(steering.missing(Some(port(9))), None);
    assert_eq!(steering.missing(None), None);
}

#[test]
fn missing__is_what_was_not_agreed() {
    let mut steering = member();
    assert_eq!(steering.missing(Some(port(80))), None, "it came with the sockets");
    let claim = steering.missing(Some(port(9))).expect("nobody has agreed");
    for _ in 0..2 {
        steering.ask(claim.clone());
    }
    assert_eq!(steering.outbox, [Request::Claim(port(9))], "one question is enough");
    answer(&mut steering, Reply::Steered);
    assert_eq!(steering.missing(Some(port(9))), None);
    // Given up, it has to be agreed again.
    steering.release(port(9), &mut Calls::default());
    assert_eq!(steering.outbox, [Request::Release(port(9))]);
    assert_eq!(steering.missing(Some(port(9))), Some(claim));
}

#[test]
fn claim__takes_only_what_was_reserved_and_reserves_more_each_time() {
    let numbers = Numbers::reserve();
    let mut claims = Claims::new(numbers.alpha());
    let mut steering = member();
    assert!(!steering.claim(&mut claims, port(200)).unwrap());
    let mut asked = Vec::new();
    for first in [192, 256] {
        let request = steering.missing(None).expect("nothing is left");
        steering.ask(request.clone());
        asked.push(request);
        answer(&mut steering, Reply::Reserved(port(first), port(first + 31)));
        assert!(!steering.is_short());
        for number in first..first + 32 {
            assert!(steering.claim(&mut claims, port(number)).unwrap(), "{number}");
        }
        assert!(steering.is_short());
    }
    assert_eq!(asked, [Request::Reserve(FIRST_RESERVE), Request::Reserve(32)]);
    assert_eq!(steering.missing(None), Some(Request::Reserve(64)));
    // What is given up stays reserved.
    steering.release(port(200), &mut Calls::default());
    assert!(steering.outbox.is_empty());
    assert_eq!(steering.missing(None), None);
    assert!(steering.claim(&mut claims, port(200)).unwrap());
}

#[test]
fn hear__late_news_of_rows_make_a_process_leave_them() {
    let mut steering = member();
    steering.end();
    steering.hear(0, Reply::Enlisted);
    assert!(steering.enlisted);
    assert_eq!(steering.trouble, Some(Trouble::Asked));
}

#[test]
fn disturb__is_trouble_for_members_only() {
    let mut steering = Steering::default();
    steering.disturb(&mut Calls::default());
    assert_eq!(steering.trouble, None);
    let mut steering = member();
    steering.disturb(&mut Calls::default());
    steering.be_troubled(Trouble::Silence);
    assert_eq!(steering.trouble, Some(Trouble::Disorder), "the steward has to hear of it");
    steering.end();
    assert_eq!((steering.trouble, steering.missing(None)), (None, None));
}
