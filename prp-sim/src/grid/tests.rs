use super::*;
use crate::link::GsoBatches;
use crate::plan::Underlay;

/// Seeds of the tests here: enough that every mood, topology and policy occurs.
const SEEDS: Range<u64> = 0..400;

#[test]
fn run__breaks_no_rule() {
    let report = run(SEEDS, 2, |_| ());
    assert_eq!(report.tally.runs, SEEDS.end);
    assert!(report.failures.is_empty(), "replay with the seed: {:#?}", report.failures);
    // Expect: the grid does something. A plan without traffic breaks no rule either.
    assert!(report.tally.complete > 1000, "{}", report.tally);
    assert!(report.tally.repeats > 1000, "{}", report.tally);
    assert!(report.tally.routed > 1000, "{}", report.tally);
    assert!(report.tally.errors.len() >= 6, "{}", report.tally);
}

/// Seeds that soaks have found, each of which broke a rule once.
#[test]
fn run__breaks_no_rule_that_a_soak_has_seen_broken() {
    for (seed, what) in [
        (771_019_989, "requests without repeats leave by a path longer than the hop limit"),
        (771_029_541, "the same, and the server has data"),
        (771_058_824, "a cable is cut, and the detour is longer than the hop limit"),
        (771_064_106, "a time that does not fit an acknowledgement is taken for a round trip"),
        (1_796_009_358_005_299, "what asks whether segments are too long is in their GSO batch"),
        (1_796_009_358_010_090, "the same in the other direction"),
        (1_796_100_000_012_380, "routes to and fro differ, and one of them is cut"),
        (1_796_200_000_021_680, "a port is given up, and wanted again before anybody hears of it"),
        (1_796_035_561_010_268, "a stopped node still owes refusals when the last connection ends"),
    ] {
        let outcome = run_one(seed, Recorder::default());
        assert!(outcome.violation.is_none(), "seed {seed}: {what}: {:?}", outcome.violation);
    }
}

/// Both underlays occur among the seeds, and both things that a link makes of GSO batches.
#[test]
fn plan__both_underlays() {
    let plans: Vec<_> = SEEDS.map(scenario::plan).collect();
    let count =
        |wanted| plans.iter().filter(|p| (p.underlay, p.links[0][0].gso_batches) == wanted).count();
    assert!(count((Underlay::Ethernet, GsoBatches::Cut)) > 200);
    assert!(count((Underlay::Udp, GsoBatches::Whole)) > 15);
    assert!(count((Underlay::Udp, GsoBatches::Cut)) > 15);
}

#[test]
fn run__the_same_whatever_the_threads() {
    let reports = [1, 2, 5].map(|threads| run(0..120, threads, |_| ()));
    for report in &reports[1..] {
        assert_eq!(report.hash, reports[0].hash);
        assert_eq!(report.tally, reports[0].tally);
    }
    let others = run(1..121, 2, |_| ());
    assert_ne!(others.hash, reports[0].hash);
}

#[test]
fn run_one__twice_is_the_same_to_the_last_frame() {
    for seed in 0..60 {
        let [one, two] = [(), ()].map(|()| run_one(seed, Recorder::default()));
        assert_eq!(one.recorder.hash(), two.recorder.hash(), "seed {seed}");
        assert_eq!(one.tally, two.tally, "seed {seed}");
    }
}

#[test]
fn join__keeps_the_lowest_seeds() {
    let failure =
        |seed| Failure { seed, violation: Violation { at: Instant::ZERO, what: String::new() } };
    let mut report = Report::default();
    for seed in (0..100).rev() {
        let failures = vec![failure(seed)];
        report.join(Report { failed: 1, failures, ..Report::default() });
    }
    assert_eq!(report.failed, 100);
    let kept: Vec<u64> = report.failures.iter().map(|f| f.seed).collect();
    assert_eq!(kept, (0..MOST_DESCRIBED as u64).collect::<Vec<_>>());
}
