//! Patterns of processes that share processors.

use super::scatter::{Scatter, sample};
use crate::fit::{Fit, FitError, Model, Options, Played, Sample, Setting, fit};
use crate::graph::{Block, Machine, NOTHING, Parts, PatternKind};
use crate::unit::{Bytes, Seconds, SecondsPerByte};

const KINDS: [PatternKind; 5] = [
    PatternKind::TreeBroadcast,
    PatternKind::FlatBroadcast,
    PatternKind::Reduction,
    PatternKind::Neighbours(2),
    PatternKind::Pairs,
];

/// What is planted.
#[derive(Copy, Clone)]
struct Planted {
    workstation: Block,
    network: Block,
    wake: f64,
    switch: f64,
}

const fn block(a: f64, b: f64) -> Block {
    Block { fixed: Seconds::new(a), byte: SecondsPerByte::new(b) }
}

/// A network that is slower than a processor, but not than all of them.
const PLANTED: Planted = Planted {
    workstation: block(5e-6, 2e-9),
    network: block(2e-6, 1e-9),
    wake: 12e-6,
    switch: 1.5e-6,
};

impl Planted {
    /// By the graph of the pattern.
    fn law(&self, at: &Setting) -> f64 {
        let Played { kind, processes, processors } = at.played.expect("a pattern");
        let parts = Parts { workstation: self.workstation, network: self.network, delay: NOTHING };
        let graph = parts.graph(kind, processes, true);
        let [wake, switch] = [self.wake, self.switch].map(Seconds::new);
        let machine = Machine { wake, switch, ..Machine::new(processors) };
        let reduction = graph.reduce();
        let shared = graph.on(&machine, &reduction);
        shared.timeline.end() + shared.whole.byte.number() * at.size.number()
    }
}

fn settings(kinds: &[PatternKind], processes: &[u32], processors: &[u32]) -> Vec<Setting> {
    let mut all = Vec::new();
    for &kind in kinds {
        for &processes in processes.iter().filter(|processes| kind.suits(**processes)) {
            for &processors in processors {
                for size in [1.0, 4096.0, 65536.0] {
                    let played = Some(Played { kind, processes, processors });
                    all.push(Setting { played, ..Setting::one_way(Bytes::new(size)) });
                }
            }
        }
    }
    all
}

/// Five measurements of each, with a scatter of 2 %.
fn measured(planted: Planted, settings: &[Setting], seed: u64) -> Vec<Sample> {
    let mut scatter = Scatter::new(seed);
    settings.repeat(5).iter().map(|at| scatter.measure(at, planted.law(at), 0.02)).collect()
}

fn fitted(samples: &[Sample]) -> Fit {
    fit(Model::Shared, samples, Options { seed: 1, resamples: 19 }).expect("enough measurements")
}

fn names(fit: &Fit) -> Vec<&str> {
    fit.not_identified.iter().map(|not| not.name).collect()
}

/// The fit's curve is the graph's schedule.
#[test]
fn shared__planted_parameters_are_found() {
    let samples = measured(PLANTED, &settings(&KINDS, &[2, 4, 8], &[1, 2, 4]), 5);
    let found = fitted(&samples);
    let truth =
        [("o", 5e-6), ("b", 2e-9), ("a_c", 2e-6), ("b_c", 1e-9), ("w", 12e-6), ("c", 1.5e-6)];
    for (name, truth) in truth {
        let estimate = found.parameters.iter().find(|p| p.name == name);
        let estimate = estimate.unwrap_or_else(|| panic!("{name}: {:?}", found.not_identified));
        let interval = estimate.interval.expect("more measurements than parameters");
        let is_near = (estimate.value / truth - 1.0).abs() < 0.1;
        assert!(is_near && interval.low <= truth && truth <= interval.high, "{estimate:?}");
    }
    // What was not measured: other numbers of processes and processors.
    for at in settings(&KINDS, &[6, 12], &[3]) {
        let (time, law) = (found.predict(&at).0.number(), PLANTED.law(&at));
        // A pattern whose processes have a processor each is more by the rules of graphs.
        assert!((time / law - 1.0).abs() < 0.05, "{at:?}: {time} {law}");
    }
}

#[test]
fn shared__what_patterns_do_not_tell_is_named() {
    // As many processors as processes: nothing waits for one.
    let enough = fitted(&measured(PLANTED, &settings(&KINDS, &[2, 4], &[4]), 6));
    assert!(names(&enough).contains(&"c"), "{:?}", enough.not_identified);
    // One pair: every message waits for all of it.
    let pair = fitted(&measured(PLANTED, &settings(&[PatternKind::Pairs], &[2], &[2]), 7));
    for name in ["o", "a_c", "w", "c"] {
        assert!(names(&pair).contains(&name), "{name}: {:?}", pair.parameters);
    }
    // On two processors two ends of a byte take as long as one time on the network.
    let two = fitted(&measured(PLANTED, &settings(&KINDS, &[4, 8], &[2]), 8));
    assert_eq!(names(&two), ["b"], "{:?}", two.parameters);
    let byte = two.parameters.iter().find(|parameter| parameter.name == "b_c").expect("b_c");
    assert_eq!(byte.means.as_deref(), Some("the larger of b_c and b"));
}

#[test]
fn shared__patterns_that_there_are_not() {
    let options = Options { seed: 1, resamples: 0 };
    let at = |kind, processes, processors| {
        let played = Some(Played { kind, processes, processors });
        sample(&Setting { played, ..Setting::one_way(Bytes::new(1.0)) }, 1e-6)
    };
    let all = |wrong: Sample| {
        let mut all = [at(PatternKind::Pairs, 4, 2); 9];
        all[7] = wrong;
        all
    };
    for wrong in [
        at(PatternKind::Pairs, 3, 2),
        at(PatternKind::Neighbours(2), 2, 2),
        at(PatternKind::Reduction, 1, 2),
        at(PatternKind::Reduction, 4, 0),
    ] {
        let why = fit(Model::Shared, &all(wrong), options).map(drop);
        assert_eq!(why, Err(FitError::Pattern(7)), "{wrong:?}");
    }
    let reduction = all(at(PatternKind::Reduction, 4, 2));
    assert_eq!(fit(Model::Blocks, &reduction, options).map(drop), Err(FitError::Pattern(7)));
    let pairs = all(at(PatternKind::Pairs, 4, 2));
    assert_eq!(fit(Model::Linear, &pairs, options).map(drop), Err(FitError::Pattern(0)));
}
