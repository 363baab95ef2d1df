use super::*;

const SEGMENT: usize = 1548;

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn ack(c: &mut Delay, now: u64, acked: usize, rtt: u64) {
    let rtt = Some(Duration::from_micros(rtt));
    let sample = AckSample { now: at(now), acked, in_flight: 0, limited: true, rtt };
    c.on_ack(&sample);
}

fn lose(c: &mut Delay, now: u64) {
    c.on_loss(&LossSample { now: at(now), lost: SEGMENT, new_flight: true });
}

/// A controller that has seen round trips of 100 us and of a millisecond, and one congestion.
fn seasoned() -> Delay {
    let mut c = Delay::new(SEGMENT);
    for i in 0..40 {
        ack(&mut c, i, 10 * SEGMENT, 100);
    }
    for i in 40..80 {
        ack(&mut c, i, SEGMENT, 1000);
    }
    lose(&mut c, 80);
    c
}

/// PRP-CC-2.
#[test]
fn loss__counts_only_while_the_queue_is_long() {
    let mut c = seasoned();
    let before = c.window();
    lose(&mut c, 90);
    assert!(c.window() < before, "the queue takes almost a millisecond");
    for i in 100..200 {
        ack(&mut c, i, SEGMENT, 110);
    }
    let before = c.window();
    lose(&mut c, 210);
    assert_eq!(c.window(), before, "the queue is empty");
    c.on_loss(&LossSample { now: at(220), lost: SEGMENT, new_flight: false });
    assert_eq!(c.window(), before);
}

/// PRP-CC-2: what a loss at a long queue costs follows how much is lost.
#[test]
fn loss__takes_as_much_as_is_lost_says() {
    for (every, least, most) in [(1000, 0.7, 0.99), (50, 0.6, 0.9), (12, 0.5, 0.51)] {
        let mut c = seasoned();
        for i in 0..5000 {
            ack(&mut c, 100 + i, SEGMENT, 1000);
            if i % every == every - 1 {
                c.on_loss(&LossSample { now: at(100 + i), lost: SEGMENT, new_flight: false });
            }
        }
        let before = c.window();
        lose(&mut c, 6000);
        let left = c.window() as f64 / before as f64;
        assert!((least..=most).contains(&left), "one in {every}: {left}");
    }
}

/// PRP-CC-2: 1/3 of the longest is long, however short that is.
#[test]
fn loss__counts_at_a_third_of_the_longest_queue() {
    for (rtt, halves) in [(150, true), (130, false)] {
        let mut c = Delay::new(SEGMENT);
        for i in 0..40 {
            ack(&mut c, i, SEGMENT, 100);
        }
        for i in 40..120 {
            ack(&mut c, i, SEGMENT, 220);
        }
        lose(&mut c, 120);
        for i in 121..200 {
            ack(&mut c, i, SEGMENT, rtt);
        }
        let before = c.window();
        lose(&mut c, 200);
        assert_eq!(c.window() < before, halves, "{rtt} us, between 100 and 220");
    }
}

/// PRP-CC-2: no cable is that bad.
#[test]
fn loss__counts_when_it_is_much() {
    let mut c = seasoned();
    for i in 100..300 {
        ack(&mut c, i, SEGMENT, 110);
    }
    let before = c.window();
    for i in 300..1000 {
        lose(&mut c, i);
        ack(&mut c, i, SEGMENT, 110);
    }
    assert!(c.window() < before / 2);
}

#[test]
fn loss__the_first_ends_slow_start() {
    let mut c = Delay::new(SEGMENT);
    ack(&mut c, 1, 10 * SEGMENT, 100);
    assert_eq!(c.window(), 20 * SEGMENT);
    lose(&mut c, 2);
    assert_eq!(c.window(), 10 * SEGMENT);
    ack(&mut c, 3, 10 * SEGMENT, 100);
    assert!(c.window() <= 11 * SEGMENT);
}

/// PRP-CC-3: below four segments the pace says what the window no longer can.
#[test]
fn pace__takes_over_from_small_windows() {
    let mut c = seasoned();
    assert_eq!(c.pacing_rate(), None);
    let mut last = u64::MAX;
    for i in 0..30 {
        for j in 0..50 {
            ack(&mut c, 1000 * i + j, 0, 1000);
        }
        lose(&mut c, 1000 * i + 60);
        if let Some(rate) = c.pacing_rate() {
            assert!(rate <= last);
            last = rate;
        }
    }
    assert_eq!(c.window(), LEAST_IN_FLIGHT * SEGMENT);
    // Expect: 1/16 of a segment in a millisecond.
    let least = (SEGMENT / LEAST_PART) as u64 * 1000;
    assert!((least..least * 11 / 10).contains(&last), "{last}");
    // Expect: acknowledgements bring it back.
    for i in 0..3000 {
        ack(&mut c, 40_000 + i, SEGMENT, 100);
    }
    assert_eq!(c.pacing_rate(), None);
}

#[test]
fn window__does_not_grow_while_something_else_limits() {
    let mut c = Delay::new(SEGMENT);
    let sample = AckSample { now: at(1), acked: SEGMENT, in_flight: 0, limited: false, rtt: None };
    c.on_ack(&sample);
    assert_eq!(c.window(), INITIAL_SEGMENTS * SEGMENT);
}

#[test]
fn window__comes_back_when_the_loss_was_none() {
    let mut c = seasoned();
    let before = c.window();
    lose(&mut c, 90);
    c.on_spurious();
    assert_eq!(c.window(), before);
}

/// Round trips of long ago are forgotten: the path may have changed.
#[test]
fn extreme__forgets_after_two_epochs() {
    let mut least = Extreme::default();
    let (five, seven) = (5_000, 7_000);
    least.take(at(1), five, u64::min);
    for second in 1..=12 {
        least.take(at(second * 1_000_000), seven, u64::min);
    }
    assert_eq!(least.value(u64::min), Some(seven));
}
