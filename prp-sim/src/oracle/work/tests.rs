use super::*;
use crate::scenario;

#[test]
fn check__frames_without_data_are_too_many() {
    let plan = scenario::plan(0);
    let flow_log = FlowLog::new(plan.flows.len());
    let tally =
        |frames, seconds: u64| Tally { frames, nanos: seconds * 1_000_000_000, ..Tally::default() };
    // A request each that gets no answer.
    let requests = 5 * plan.flows.len() as u64;
    check(&plan, &flow_log, &tally(requests, 1)).expect("not many");
    // Two endpoints that answer each other's answers, a thousand times a second.
    let error = check(&plan, &flow_log, &tally(requests + 60_000, 60)).expect_err("a livelock");
    assert!(error.contains("are plenty"), "{error}");
}

#[test]
fn check__faults_excuse_some() {
    let plan = scenario::plan(0);
    let most = |impaired| most_frames(&plan, &[], impaired, Duration::ZERO);
    assert_eq!(most(100) - most(0), 100 * PER_IMPAIRED);
}
