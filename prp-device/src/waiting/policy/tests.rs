use super::*;
use crate::waiting::gather_limits::GatherLimits;
use crate::waiting::tuning::{BUDGET, FLOW_FRAMES, PATIENT_BUDGET};

const AT: Instant = Instant::from_nanos(1 << 40);
const MILLISECOND: Duration = Duration::from_millis(1);

impl WaitPolicy {
    /// What comes next for a thread that begins to wait.
    fn first(&mut self, settings: WaitSettings, target: WaitTarget, now: Instant) -> Next {
        self.next(settings, target, now, now)
    }

    /// For how long it polls; zero if it does not.
    fn polls_for(&mut self, settings: WaitSettings, now: Instant) -> Duration {
        match self.first(settings, WaitTarget::Anything, now) {
            Next::Poll(polling) => polling.end().since(now),
            Next::Gather { .. } => panic!("there is nothing to gather"),
            Next::Sleep => Duration::ZERO,
        }
    }
}

/// Frames of 100 bytes that come every two microseconds, `count` of them, until the time returned.
fn flow(policy: &mut WaitPolicy, count: u32) -> Instant {
    let mut now = AT;
    for _ in 0..count / 2 {
        now = now + Duration::from_micros(4);
        let mut polled = Polled::NONE;
        polled.bytes = 200;
        polled.add(2, GatherLimits::of_ring(512, 1_600));
        policy.note_frames(now, polled);
    }
    now
}

const fn frames(most: u32, is_known: bool) -> WaitTarget {
    WaitTarget::Frames { most, is_known, is_alone: true }
}

#[test]
fn next__fixed_is_fixed() {
    let mut policy = WaitPolicy::default();
    for _ in 0..100 {
        policy.note_poll(&Polling::new(WaitSettings::ADAPTIVE), None);
    }
    let fixed = Duration::from_micros(7);
    assert_eq!(policy.polls_for(WaitSettings::fixed(fixed), AT), fixed);
    assert_eq!(policy.first(WaitSettings::ASLEEP, WaitTarget::Anything, AT), Next::Sleep);
}

#[test]
fn next__no_polling_where_others_compute() {
    let mut policy = WaitPolicy::default();
    let mut polling = Polling::new(WaitSettings::ADAPTIVE);
    assert!(!polling.note_yield(AT, AT + MILLISECOND));
    let at = AT + 2 * MILLISECOND;
    assert!(polling.note_yield(AT + MILLISECOND, at));
    policy.note_poll(&polling, None);
    for settings in [WaitSettings::ADAPTIVE, WaitSettings::PATIENT] {
        assert_eq!(policy.polls_for(settings, at), Duration::ZERO);
    }
    // A thread with a fixed budget polls.
    let fixed = Duration::from_micros(50);
    assert_eq!(policy.polls_for(WaitSettings::fixed(fixed), at), fixed);
    let later = at + 100 * MILLISECOND;
    assert_eq!(policy.polls_for(WaitSettings::ADAPTIVE, later), BUDGET);
    assert_eq!(policy.polls_for(WaitSettings::PATIENT, later), PATIENT_BUDGET);
}

#[test]
fn next__what_was_learned_of_yields_is_known_to_the_next_wait() {
    let mut policy = WaitPolicy::default();
    let Next::Poll(mut polling) = policy.first(WaitSettings::ADAPTIVE, WaitTarget::Anything, AT)
    else {
        panic!("it polls at first");
    };
    assert_eq!(polling.polls_per_yield(), 0);
    polling.note_yield(AT, AT);
    policy.note_poll(&polling, Some(Duration::ZERO));
    let next = policy.first(WaitSettings::ADAPTIVE, WaitTarget::Anything, AT);
    assert!(matches!(next, Next::Poll(polling) if polling.polls_per_yield() == 16));
}

#[test]
fn next__a_flow_gathers_asleep_then_awake_and_its_end_is_polled_for() {
    let mut policy = WaitPolicy::default();
    let now = flow(&mut policy, FLOW_FRAMES);
    let gathers =
        |policy: &mut WaitPolicy, settings, target| match policy.first(settings, target, now) {
            Next::Gather { until, asleep } => Some((until > now, asleep)),
            Next::Poll(_) => None,
            Next::Sleep => panic!("it polls at first"),
        };
    let adaptive = WaitSettings::ADAPTIVE;
    assert_eq!(gathers(&mut policy, adaptive, frames(u32::MAX, false)), Some((true, true)));
    assert_eq!(gathers(&mut policy, adaptive, frames(70, true)), Some((true, false)));
    assert_eq!(gathers(&mut policy, adaptive, frames(20, true)), None);
    assert_eq!(gathers(&mut policy, adaptive, frames(70, false)), None, "nobody knows the end");
    // A thread that is to poll does not sleep.
    let fixed = WaitSettings::fixed(MILLISECOND);
    assert_eq!(gathers(&mut policy, fixed, frames(u32::MAX, false)), None);
    assert_eq!(gathers(&mut policy, fixed, frames(1_000, true)), Some((true, false)));
    policy.end_flow();
    assert_eq!(gathers(&mut policy, adaptive, frames(u32::MAX, false)), None);
}

#[test]
fn next__a_thread_beside_others_naps_no_longer_than_their_messages_may_wait() {
    let mut policy = WaitPolicy::default();
    let mut now = AT;
    for _ in 0..2_000 {
        now = now + Duration::from_micros(24);
        let mut polled = Polled::NONE;
        polled.bytes = 2_968;
        polled.add(2, GatherLimits::of_ring(512, 1_600));
        policy.note_frames(now, polled);
    }
    let mut nap = |is_alone| {
        let target = WaitTarget::Frames { most: u32::MAX, is_known: false, is_alone };
        match policy.first(WaitSettings::PATIENT, target, now) {
            Next::Gather { until, asleep: true } => until.since(now),
            other => panic!("{other:?}"),
        }
    };
    assert!(nap(true) > SHORT_NAP);
    assert!(nap(false) <= SHORT_NAP);
}

#[test]
fn next__a_router_polls_for_a_while_after_the_last_frame_and_naps_in_a_stream() {
    let mut policy = WaitPolicy::default();
    let router = WaitSettings::router(BUDGET);
    let just_before = AT + BUDGET - Duration::from_nanos(1);
    assert!(matches!(policy.next(router, WaitTarget::Transit, AT, just_before), Next::Poll(_)));
    assert_eq!(policy.next(router, WaitTarget::Transit, AT, AT + BUDGET), Next::Sleep);
    for (after, bytes) in [(0, 0), (1, 200_000), (2, 400_000)] {
        policy.note_passed_on(AT + after * MILLISECOND, bytes);
    }
    let later = AT + 2 * MILLISECOND;
    let until = later + TRANSIT_NAP;
    let nap = Next::Gather { until, asleep: true };
    assert_eq!(policy.next(router, WaitTarget::Transit, AT, later), nap);
    // Expect: no break in one that is told to poll for long.
    let always = WaitSettings::router(5 * MILLISECOND);
    assert!(matches!(policy.next(always, WaitTarget::Transit, AT, later), Next::Poll(_)));
}

#[test]
fn writer_nap__leaves_the_most_of_what_waits_in_queues() {
    let nap = |micros| writer_nap(Duration::from_micros(micros)).map(|nap| nap.as_micros());
    assert_eq!(nap(399), None);
    assert_eq!(nap(400), Some(100));
    assert_eq!(nap(2_000), Some(500));
    assert_eq!(nap(80_000), Some(4_000));
}

#[test]
fn note_writer_nap__not_again_before_something_has_come() {
    let mut policy = WaitPolicy::default();
    assert!(policy.note_writer_nap());
    assert!(!policy.note_writer_nap());
    flow(&mut policy, 2);
    assert!(policy.note_writer_nap());
}

/// Threads that nap see to their timers themselves; those that sleep leave them.
#[test]
fn take_timer_load__is_least_in_a_flow() {
    let mut policy = WaitPolicy::default();
    let now = flow(&mut policy, 2 * FLOW_FRAMES);
    let target = frames(u32::MAX, false);
    let next = policy.first(WaitSettings::ADAPTIVE, target, now);
    assert!(matches!(next, Next::Gather { asleep: true, .. }), "{next:?}");
    assert_eq!(policy.take_timer_load(false), TimerLoad::Napping);
    assert_eq!(policy.take_timer_load(false), TimerLoad::None);
    policy.first(WaitSettings::ADAPTIVE, target, now);
    assert_eq!(policy.take_timer_load(true), TimerLoad::Relaxed);
    policy.first(WaitSettings::ADAPTIVE, target, now);
    policy.note_sleep(Some(now), now);
    assert_eq!(policy.take_timer_load(false), TimerLoad::Urgent);
}
