use super::*;

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn flight(n: u64) -> Flight {
    let mut f = Flight::new(Seq::new(0));
    for i in 0..n {
        f.push(i, 1, false, false, at(i));
    }
    f
}

fn news(now: u64, gap: bool) -> AckNews {
    let rtt = Duration::from_micros(100);
    AckNews { now: at(now), gap, rtt, least_rtt: rtt }
}

#[test]
fn detect__forgets_and_fails() {
    let p = policy(Reliability::Detect);
    assert!(!p.retains());
    assert_eq!(p.on_gap(), OnGap::Fail);
    let mut f = flight(3);
    assert_eq!(p.on_ack(&mut RecoveryState::default(), &mut f, &news(500, true)).lost, 0);
}

#[test]
fn go_back_n__rewinds_once_for_all_reports_of_one_gap() {
    let p = policy(Reliability::GoBackN);
    let (mut state, mut f) = (RecoveryState::default(), flight(4));
    assert_eq!(p.on_ack(&mut state, &mut f, &news(10, true)).lost, 4);
    while let Some((seq, _)) = f.next_lost() {
        f.resent(seq, at(11));
    }
    // Expect: the stragglers of the first flight rewind nothing.
    assert_eq!(p.on_ack(&mut state, &mut f, &news(20, true)).lost, 0);
    // Expect: the repeat was lost too, and a round trip and a half is over.
    assert_eq!(p.on_ack(&mut state, &mut f, &news(161, true)).lost, 4);
    // Expect: a gap elsewhere is another gap.
    f.ack_to(Seq::new(2), at(162));
    assert_eq!(p.on_ack(&mut state, &mut f, &news(163, true)).lost, 2);
}

#[test]
fn selective_repeat__marks_what_is_late_and_only_that() {
    let p = policy(Reliability::SelectiveRepeat);
    let (mut state, mut f) = (RecoveryState::default(), flight(5));
    f.mark_received(Seq::new(3));
    // Expect: 0 to 2 were sent before 3 but may still be in transit.
    let early = p.on_ack(&mut state, &mut f, &news(100, true));
    assert_eq!((early.lost, early.reorder_deadline), (0, Some(at(150))));
    // Expect: segment 0 is due at 0 + 100 + 50, segment 1 a microsecond later.
    let later = p.on_ack(&mut state, &mut f, &news(150, true));
    assert_eq!((later.lost, later.reorder_deadline), (1, Some(at(151))));
    let end = p.on_ack(&mut state, &mut f, &news(400, true));
    // Expect: segment 4 was sent after 3 and is not considered yet.
    assert_eq!((end.lost, end.reorder_deadline), (2, None));
    assert_eq!(f.get(Seq::new(4)).unwrap().fate, crate::flight::Fate::InFlight);
}

#[test]
fn selective_repeat__grows_patient_with_false_alarms() {
    let p = policy(Reliability::SelectiveRepeat);
    let (mut state, mut f) = (RecoveryState::default(), flight(2));
    state.on_spurious();
    f.mark_received(Seq::new(1));
    assert_eq!(p.on_ack(&mut state, &mut f, &news(150, true)).reorder_deadline, Some(at(200)));
}

#[test]
fn selective_repeat__patience_ends_after_sixteen_flights_without_a_false_alarm() {
    let p = policy(Reliability::SelectiveRepeat);
    let (mut state, mut f) = (RecoveryState::default(), flight(2));
    f.mark_received(Seq::new(1));
    state.on_spurious();
    (0..15).for_each(|_| state.on_flight());
    assert_eq!(p.on_ack(&mut state, &mut f, &news(140, true)).reorder_deadline, Some(at(200)));
    state.on_flight();
    assert_eq!(p.on_ack(&mut state, &mut f, &news(140, true)).reorder_deadline, Some(at(150)));
}
