use super::*;

const PEER: UdpPeer = UdpPeer(3);
const SIZE: usize = 1472;
const PROBES: (usize, usize) = (GsoProbe::MAX_PROBES, SIZE);
/// What pays for a test.
const PRICE: usize = 2 * GsoProbe::MAX_PROBES * SIZE * BYTES_FOR_EACH_TESTED as usize;
const ALL: u16 = 0xffff;
/// All that left alone, and the first of the GSO batch.
const FIRST_ONLY: u16 = 0xff01;

/// Time goes on by `time`; a test is due then, and `came` is what the neighbour says. Whether
/// GSO batches may be sent after that.
fn test(offload: &mut Offload, now: &mut Instant, time: Duration, came: u16) -> bool {
    *now += time;
    offload.note_sent(PEER, PRICE);
    offload.is_on(PEER, *now);
    let id = offload.start_test(PEER, PROBES, *now).expect("a test is due");
    assert_eq!(offload.start_test(PEER, PROBES, *now), None, "one goes on");
    *now += Duration::from_micros(50);
    offload.note_report(PEER, id + 1, ALL, *now);
    offload.note_report(PEER, id, came & 0xff, *now);
    offload.note_report(PEER, id, came & 0xff00, *now);
    *now += GRACE;
    offload.is_on(PEER, *now)
}

#[test]
fn is_on__once_all_of_a_gso_batch_have_come() {
    let (mut offload, mut now) = (Offload::default(), Instant::now());
    assert!(!offload.is_on(PEER, now));
    assert!(test(&mut offload, &mut now, Duration::ZERO, ALL));
    assert!(!offload.is_on(UdpPeer(4), now), "that is another path");
    // Expect: the next test is due later, and single losses do not end it.
    assert_eq!(offload.start_test(PEER, PROBES, now), None);
    assert!(test(&mut offload, &mut now, TEST_EVERY, 0xfe3f));
    assert!(test(&mut offload, &mut now, TEST_AGAIN, ALL));
    assert_eq!(offload.outcomes(), Outcomes::default());
}

#[test]
fn is_on__not_where_gso_batches_are_lost_and_single_datagrams_are_not() {
    let (mut offload, mut now) = (Offload::default(), Instant::now());
    let begun = now;
    assert!(test(&mut offload, &mut now, Duration::ZERO, ALL));
    let lost = now;
    assert!(test(&mut offload, &mut now, TEST_EVERY, FIRST_ONLY), "one may fail by a full queue");
    assert!(!test(&mut offload, &mut now, Duration::ZERO, FIRST_ONLY));
    assert!(now - lost < Duration::from_secs(1));
    assert_eq!(offload.outcomes(), Outcomes { failed: 2, withdrawn: 1 });
    // Expect: no test for a while, and then another one, which GSO batches have to pass first.
    now += REST - Duration::from_secs(1);
    assert!(!offload.is_on(PEER, now));
    assert_eq!(offload.start_test(PEER, PROBES, now), None);
    assert!(!test(&mut offload, &mut now, Duration::from_secs(1), FIRST_ONLY));
    assert!(test(&mut offload, &mut now, Duration::ZERO, ALL));
    assert!(now > begun + REST);
}

#[test]
fn is_on__a_test_without_answers_says_nothing() {
    let (mut offload, mut now) = (Offload::default(), Instant::now());
    assert!(test(&mut offload, &mut now, Duration::ZERO, ALL));
    // Expect: datagrams that left alone are lost as well.
    assert!(test(&mut offload, &mut now, TEST_EVERY, 0x1001));
    assert!(test(&mut offload, &mut now, GIVE_UP, 0));
    assert!(test(&mut offload, &mut now, GIVE_UP, ALL));
    assert_eq!(offload.outcomes(), Outcomes::default());
}

#[test]
fn refuse__is_for_that_neighbour_and_for_a_while() {
    let (mut offload, mut now) = (Offload::default(), Instant::now());
    assert!(test(&mut offload, &mut now, Duration::ZERO, ALL));
    offload.refuse(PEER, now);
    assert!(!offload.is_on(PEER, now));
    assert!(test(&mut offload, &mut now, REST, ALL));
    offload.put_test_off(PEER, now);
    offload.note_sent(PEER, PRICE);
    assert_eq!(offload.start_test(PEER, PROBES, now), None);
    assert!(offload.start_test(PEER, PROBES, now + TEST_AGAIN).is_some());
}

#[test]
fn start_test__takes_a_small_part_of_what_is_sent() {
    let (mut offload, mut now) = (Offload::default(), Instant::now());
    offload.note_sent(PEER, PRICE - 1);
    assert_eq!(offload.start_test(PEER, PROBES, now), None, "a slow link is left to the data");
    offload.note_sent(PEER, 100 * PRICE);
    // Expect: few tests, however much was sent before. Those of short datagrams cost little.
    for size in [SIZE, 64, SIZE] {
        let probes = (GsoProbe::MAX_PROBES, size);
        let id = offload.start_test(PEER, probes, now).expect("it is paid for");
        offload.note_report(PEER, id, ALL, now);
        now += TEST_EVERY;
        offload.note_sent(PEER, PRICE * 64 / SIZE + 1);
    }
    assert_eq!(offload.start_test(PEER, PROBES, now), None);
}

/// Little is sent while GSO batches are lost.
#[test]
fn start_test__the_one_after_a_failure_costs_nothing() {
    let (mut offload, mut now) = (Offload::default(), Instant::now());
    offload.note_sent(PEER, PRICE);
    let id = offload.start_test(PEER, PROBES, now).expect("it is paid for");
    offload.note_report(PEER, id, FIRST_ONLY, now);
    now += GRACE;
    offload.is_on(PEER, now);
    let id = offload.start_test(PEER, PROBES, now).expect("GSO batches are lost");
    offload.note_report(PEER, id, FIRST_ONLY, now);
    now += GRACE;
    offload.is_on(PEER, now);
    assert_eq!(offload.outcomes().withdrawn, 1);
}

#[test]
fn is_on__as_long_as_tests_are_made() {
    let (mut offload, mut now) = (Offload::default(), Instant::now());
    for _ in 0..3 {
        assert!(test(&mut offload, &mut now, LASTS - GRACE - Duration::from_millis(1), ALL));
    }
    now += LASTS - GRACE;
    assert!(!offload.is_on(PEER, now), "nothing is known of a flow that is too slow to be tested");
    assert!(test(&mut offload, &mut now, Duration::ZERO, ALL));
}
