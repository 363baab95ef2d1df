use super::scatter::{Scatter, one_way, powers, sample};
use crate::fit::{Estimate, Fit, FitError, Model, Options, Sample, Setting, TimeKind, fit};
use crate::point::TwoPiece;
use crate::unit::{Bytes, Hops, Seconds, SecondsPerByte};

/// Few made data sets: these tests are not about how often an interval holds.
const OPTIONS: Options = Options { seed: 1, resamples: 199 };

fn found(model: Model, samples: &[Sample]) -> Fit {
    fit(model, samples, OPTIONS).expect("enough measurements")
}

fn parameter<'a>(fit: &'a Fit, name: &str) -> &'a Estimate {
    let mut all = fit.parameters.iter().chain(&fit.derived);
    all.find(|found| found.name == name).unwrap_or_else(|| panic!("{name} in {fit:?}"))
}

fn holds(fit: &Fit, name: &str, truth: f64) -> bool {
    let interval = parameter(fit, name).interval.expect("more measurements than parameters");
    interval.low <= truth && truth <= interval.high
}

fn not_identified(fit: &Fit) -> Vec<&'static str> {
    fit.not_identified.iter().map(|not| not.name).collect()
}

fn ping_pong(seed: u64, law: impl Fn(f64) -> f64) -> Vec<Sample> {
    let mut scatter = Scatter::new(seed);
    let settings = one_way(&powers()).repeat(5);
    settings.iter().map(|at| scatter.measure(at, law(at.size.number()), 0.02)).collect()
}

/// Table 1 of the PRP paper: 74 us and 6.6 MB/s, 146 us and 5.5 MB/s with TCP. The frame carries 34
/// bytes of data or more, and the network is Fast Ethernet.
#[test]
fn prp__the_paper_s_latency_and_bandwidth() {
    for (latency, bandwidth) in [(74e-6, 6.6e6), (146e-6, 5.5e6)] {
        let (network, n_min) = (1.0 / 12.5e6, 34.0);
        let law = TwoPiece {
            constant: Seconds::new(latency - n_min * network),
            network: SecondsPerByte::new(network),
            processor: SecondsPerByte::new(1.0 / bandwidth - network),
            n_min: Bytes::new(n_min),
        };
        let sizes: Vec<f64> = (0..12).chain(12..=106).map(|n| f64::from(n * 14)).collect();
        let mut scatter = Scatter::new(7);
        let settings = one_way(&sizes).repeat(10);
        let samples: Vec<_> = settings
            .iter()
            .map(|at| scatter.measure(at, law.time(at.size).number(), 0.02))
            .collect();
        let fit = found(Model::Prp, &samples);
        assert!(holds(&fit, "L", latency), "{fit:?}");
        assert!(holds(&fit, "B1", bandwidth), "{fit:?}");
        let interval = parameter(&fit, "L").interval.expect("an interval");
        assert!((interval.high - interval.low) / latency < 0.05, "{interval:?}");
    }
}

#[test]
fn prp__a_straight_line_has_no_break() {
    let fit = found(Model::Prp, &ping_pong(3, |n| 20e-6 + 10e-9 * n));
    assert_eq!(not_identified(&fit), ["B0", "n_min"]);
    assert!(holds(&fit, "B1", 100e6));
}

#[test]
fn packet__of_messages_that_all_fit_one_has_no_size() {
    let sizes: Vec<f64> = (0..20).map(|n| f64::from(n * 50)).collect();
    let mut scatter = Scatter::new(5);
    let settings = one_way(&sizes).repeat(5);
    let samples: Vec<_> = settings
        .iter()
        .map(|at| scatter.measure(at, 30e-6 + 20e-9 * at.size.number(), 0.01))
        .collect();
    let fit = found(Model::Packet, &samples);
    assert_eq!(not_identified(&fit), ["p"]);
    assert!(holds(&fit, "a", 30e-6) && holds(&fit, "m", 20e-9), "{fit:?}");
}

#[test]
fn loggp__a_ping_pong_tells_neither_o_nor_g() {
    let samples = ping_pong(11, |n| 26e-6 + 10e-9 * (n - 1.0).max(0.0));
    for model in [Model::LogP, Model::LogGp] {
        let fit = found(model, &samples);
        assert_eq!(not_identified(&fit), ["o", "g"]);
        assert_eq!(parameter(&fit, "L").means.as_deref(), Some("L + 2 o"));
    }
    let fit = found(Model::LogGp, &samples);
    assert!(holds(&fit, "L", 26e-6) && holds(&fit, "G", 10e-9));
    // What is not determined is in no prediction either.
    let one = fit.predict(&Setting::one_way(Bytes::new(1.0))).0.number();
    assert!((one / parameter(&fit, "L").value - 1.0).abs() < 1e-12, "{one}");
}

#[test]
fn loggp__a_gap_no_larger_than_the_overhead_is_not_determined() {
    let rows =
        [1, 2, 4, 8].map(|messages| Setting { messages, ..Setting::one_way(Bytes::new(1.0)) });
    let send = Setting { kind: TimeKind::Send, ..rows[0] };
    let mut scatter = Scatter::new(2);
    let law = |at: &Setting| match at.kind {
        TimeKind::Send => 3e-6,
        TimeKind::OneWay => 20e-6 + 3e-6 * f64::from(at.messages + 1),
    };
    let settings: Vec<_> = rows.into_iter().chain([send]).collect();
    let samples: Vec<_> =
        settings.repeat(20).iter().map(|at| scatter.measure(at, law(at), 0.02)).collect();
    let fit = found(Model::LogP, &samples);
    assert_eq!(not_identified(&fit), ["g"]);
    assert!(holds(&fit, "o", 3e-6) && holds(&fit, "L", 20e-6));
}

#[test]
fn linear__hops_are_determined_where_they_differ() {
    let samples = ping_pong(4, |n| 20e-6 + 10e-9 * n);
    let fit = found(Model::Linear, &samples);
    assert_eq!(not_identified(&fit), ["gamma"]);
    assert!(holds(&fit, "half_bandwidth_size", 2000.0) && holds(&fit, "bandwidth", 100e6));
    assert_eq!(parameter(&fit, "alpha").means, None);
    // All over two routers: what those take is in alpha.
    let over: Vec<_> = samples.iter().map(|sample| sample.over(Hops::new(2.0))).collect();
    let fit = found(Model::Linear, &over);
    assert_eq!(not_identified(&fit), ["gamma"]);
    assert_eq!(parameter(&fit, "alpha").means.as_deref(), Some("alpha + 2 gamma"));
}

/// Every model of one message has a router's delay where messages passed different numbers of
/// routers: without it their times would be those of the mean number.
#[test]
fn hops__are_distinguished_from_the_parameters_of_every_model() {
    type Law<'a> = &'a dyn Fn(f64) -> f64;
    type Truth<'a> = &'a [(&'static str, f64)];
    let (start, router) = (20e-6, 4e-6);
    let line: Law<'_> = &|n| start + 10e-9 * n;
    let laws: [(Model, Law<'_>, Truth<'_>); 4] = [
        (
            Model::Prp,
            &|n| 11e-6 + 50e-9 * n + 90e-9 * n.max(100.0),
            &[("L", start), ("B0", 20e6), ("L1", 11e-6), ("n_min", 100.0)],
        ),
        (
            Model::Packet,
            &|n| start * (n / 1484.0).ceil().max(1.0) + 10e-9 * n,
            &[("a", start), ("m", 10e-9), ("p", 1484.0)],
        ),
        (
            Model::Hyperbolic,
            &|n| start * start / (start + 10e-9 * n) + 10e-9 * n,
            &[("a", start), ("b", 10e-9)],
        ),
        (Model::LogGp, line, &[("L", start), ("G", 10e-9)]),
    ];
    let sizes: Vec<f64> = (0..=20)
        .map(|n| f64::from(n * 10))
        .chain([400.0, 800.0, 1484.0, 1485.0, 2000.0, 5000.0, 20_000.0, 100_000.0])
        .collect();
    for (model, law, truth) in laws {
        let mut scatter = Scatter::new(17);
        let sizes: Vec<f64> =
            sizes.iter().copied().filter(|n| model != Model::Prp || *n < 1500.0).collect();
        let mut samples = Vec::new();
        for hops in [0.0, 1.0, 2.0, 4.0] {
            for at in one_way(&sizes).repeat(3) {
                let at = Setting { hops: Hops::new(hops), ..at };
                let time = law(at.size.number()) + router * hops;
                samples.push(scatter.measure(&at, time, 0.01));
            }
        }
        let fit = found(model, &samples);
        assert!(holds(&fit, "gamma", router), "{model:?}: {fit:?}");
        for (name, truth) in truth {
            assert!(holds(&fit, name, *truth), "{model:?} {name}: {:?}", fit.parameters);
        }
        assert!(fit.formula().ends_with(" + gamma h"));
        let far = Setting { hops: Hops::new(3.0), ..Setting::one_way(Bytes::new(64.0)) };
        let predicted = fit.predict(&far).0.number();
        assert!((predicted / (law(64.0) + 3.0 * router) - 1.0).abs() < 0.01, "{model:?}");
        // One number of routers is none to tell apart.
        let same: Vec<_> = samples.iter().map(|s| s.over(Hops::new(2.0))).collect();
        assert!(found(model, &same).parameters.iter().all(|p| p.name != "gamma"));
    }
}

#[test]
fn linear__one_size_tells_nothing() {
    let at = Setting::one_way(Bytes::new(64.0));
    let samples = vec![sample(&at, 20e-6); 10];
    let fit = found(Model::Linear, &samples);
    assert_eq!(not_identified(&fit), ["alpha", "beta", "gamma"]);
    // What was measured is predicted nevertheless.
    assert!((fit.predict(&at).0.number() / 20e-6 - 1.0).abs() < 1e-9, "{fit:?}");
    let fit = found(Model::Hyperbolic, &samples);
    assert_eq!(not_identified(&fit), ["a", "b"]);
    assert!((fit.predict(&at).0.number() / 20e-6 - 1.0).abs() < 1e-9, "{fit:?}");
    let fit = found(Model::Blocks, &samples);
    assert_eq!(not_identified(&fit), ["a", "b", "a_c", "b_c"]);
    assert!((fit.predict(&at).0.number() / 20e-6 - 1.0).abs() < 1e-9, "{fit:?}");
}

#[test]
fn blocks__a_workstation_quicker_than_the_network_is_not_determined() {
    let settings: Vec<Setting> = [1, 2, 4]
        .into_iter()
        .flat_map(|pairs| one_way(&powers()).into_iter().map(move |at| Setting { pairs, ..at }))
        .collect();
    let law = |at: &Setting| {
        let pairs = f64::from(at.pairs);
        let (a, z) = (200e-6 + pairs * 50e-6, pairs * 1e-6 * at.size.number());
        a * a / (a + z) + z
    };
    let mut scatter = Scatter::new(9);
    let samples: Vec<_> =
        settings.repeat(3).iter().map(|at| scatter.measure(at, law(at), 0.02)).collect();
    let fit = found(Model::Blocks, &samples);
    assert_eq!(not_identified(&fit), ["b"]);
    assert!(holds(&fit, "b_c", 1e-6) && holds(&fit, "a_c", 50e-6), "{fit:?}");
}

#[test]
fn blocks__a_network_that_is_never_the_bottleneck_is_not_determined() {
    let settings: Vec<Setting> = [1, 2, 4]
        .into_iter()
        .flat_map(|pairs| one_way(&powers()).into_iter().map(move |at| Setting { pairs, ..at }))
        .collect();
    let law = |at: &Setting| {
        let (a, z) = (200e-6 + f64::from(at.pairs) * 50e-6, 1e-6 * at.size.number());
        a * a / (a + z) + z
    };
    let mut scatter = Scatter::new(9);
    let samples: Vec<_> =
        settings.repeat(3).iter().map(|at| scatter.measure(at, law(at), 0.02)).collect();
    let fit = found(Model::Blocks, &samples);
    assert!(holds(&fit, "b", 1e-6) && holds(&fit, "a", 100e-6), "{fit:?}");
    assert_eq!(not_identified(&fit), ["b_c"], "{:?}", fit.parameters);
    let cluster = crate::graph::Cluster::of(&fit).expect("a bound is enough");
    let four = cluster.pairs(4);
    assert!((four.byte.number() / 1e-6 - 1.0).abs() < 0.02, "{cluster:?}");
}

#[test]
fn fit__fewer_measurements_than_parameters_are_an_error() {
    let samples = ping_pong(1, |n| 20e-6 + 10e-9 * n);
    let error = |model, count| fit(model, &samples[..count], OPTIONS).map(|_| ());
    let few = |points, parameters| Err(FitError::TooFew { points, parameters });
    assert_eq!(error(Model::Linear, 2), few(2, 3));
    assert_eq!(error(Model::Hyperbolic, 1), few(1, 2));
    assert_eq!(error(Model::Packet, 2), few(2, 3));
    assert_eq!(error(Model::LogGp, 3), few(3, 4));
    assert_eq!(error(Model::Prp, 4), few(4, 5));
    let without_hops: Vec<_> =
        samples.iter().map(|sample| Sample { hops: None, ..*sample }).collect();
    assert!(fit(Model::Linear, &without_hops[..2], OPTIONS).is_ok());
    assert!(fit(Model::Linear, &without_hops[..1], OPTIONS).is_err());
    assert!(fit(Model::Linear, &[], OPTIONS).is_err());
}

/// As many measurements as parameters give values, and no idea how far those are off.
#[test]
fn fit__as_many_measurements_as_parameters_have_no_intervals() {
    let law = |at: &Setting| sample(at, 20e-6 + 10e-9 * at.size.number());
    let samples: Vec<_> = one_way(&[0.0, 1000.0]).iter().map(law).collect();
    let samples: Vec<_> = samples.iter().map(|s| Sample { hops: None, ..*s }).collect();
    let fit = found(Model::Linear, &samples);
    let alpha = parameter(&fit, "alpha");
    assert!((alpha.value - 20e-6).abs() < 1e-12 && alpha.interval.is_none());
}

#[test]
fn fit__what_is_no_measurement_is_an_error() {
    let at = Setting::one_way(Bytes::new(1.0));
    let mut samples = vec![sample(&at, 1e-6); 9];
    samples[4].time = Seconds::new(0.0);
    assert_eq!(fit(Model::Linear, &samples, OPTIONS).map(|_| ()), Err(FitError::Time(4)));
    samples[4] = sample(&Setting::one_way(Bytes::new(-1.0)), 1e-6);
    assert_eq!(fit(Model::Linear, &samples, OPTIONS).map(|_| ()), Err(FitError::Size(4)));
    let empty = vec![sample(&Setting::one_way(Bytes::new(0.0)), 1e-6); 9];
    assert_eq!(fit(Model::Packet, &empty, OPTIONS).map(|_| ()), Err(FitError::NoShape));
}

/// One measurement in twenty is ten times as long.
#[test]
fn fit__a_few_measurements_far_off_move_nothing() {
    let clean = ping_pong(6, |n| 20e-6 + 10e-9 * n);
    let mut soiled = clean.clone();
    for sample in soiled.iter_mut().step_by(20) {
        sample.time = Seconds::new(10.0 * sample.time.number());
    }
    for model in [Model::Linear, Model::Hyperbolic, Model::LogGp] {
        let (clean, soiled) = (found(model, &clean), found(model, &soiled));
        for (before, after) in clean.parameters.iter().zip(&soiled.parameters) {
            let change = after.value / before.value - 1.0;
            assert!(change.abs() < 0.01, "{model:?} {}: {change}", before.name);
        }
    }
}

/// What is common to a round is determined by the number of rounds, not by that of messages.
#[test]
fn fit__rounds_are_what_is_independent() {
    let mut held = 0;
    for seed in 0..300 {
        let mut scatter = Scatter::new(seed);
        let mut samples = Vec::new();
        for round in 0..15 {
            let common = 1.0 + 0.05 * scatter.normal();
            for at in one_way(&powers()) {
                let law = common * (20e-6 + 10e-9 * at.size.number());
                let measured = scatter.measure(&at, law, 0.01);
                samples.push(Sample { round: Some(round), ..measured });
            }
        }
        let options = Options { seed, resamples: 99 };
        let rounds = fit(Model::Linear, &samples, options).expect("enough measurements");
        held += u32::from(holds(&rounds, "alpha", 20e-6));
    }
    // Without the rounds it is held in less than half of the sets.
    assert!((275..=295).contains(&held), "{held} of 300");
}

#[test]
fn fit__is_the_same_for_the_same_seed() {
    let samples = ping_pong(8, |n| 20e-6 + 10e-9 * n);
    let interval = |seed| {
        let fit = fit(Model::Hyperbolic, &samples, Options { seed, resamples: 99 });
        fit.expect("enough measurements").parameters[0].interval
    };
    assert_eq!(interval(1), interval(1));
    assert_ne!(interval(1), interval(2));
}

#[test]
fn fit__data_without_scatter_are_found_exactly() {
    let law = |at: &Setting| sample(at, 20e-6 + 10e-9 * at.size.number());
    let samples: Vec<_> = one_way(&powers()).repeat(3).iter().map(law).collect();
    let fit = found(Model::Linear, &samples);
    let beta = parameter(&fit, "beta");
    let interval = beta.interval.expect("more measurements than parameters");
    assert!((beta.value / 10e-9 - 1.0).abs() < 1e-9);
    assert!((interval.high - interval.low) / 10e-9 < 1e-6, "{interval:?}");
}

/// Where a parameter is at its bound no standard error tells how far it may be off; the made data
/// do.
#[test]
fn fit__a_parameter_at_its_bound_has_an_interval_nevertheless() {
    let mut scatter = Scatter::new(21);
    let settings: Vec<Setting> = [1, 2]
        .into_iter()
        .flat_map(|pairs| {
            one_way(&[1.0, 64.0, 1024.0, 16384.0])
                .into_iter()
                .map(move |at| Setting { pairs, ..at })
        })
        .collect();
    // Two pairs take twice as long as one: nothing is left for the workstations.
    let law = |at: &Setting| f64::from(at.pairs) * (1e-3 + 20e-9 * at.size.number());
    let samples: Vec<_> =
        settings.repeat(3).iter().map(|at| scatter.measure(at, law(at), 0.3)).collect();
    let fit = found(Model::Blocks, &samples);
    for parameter in &fit.parameters {
        let interval = parameter.interval.expect("more measurements than parameters");
        assert!(interval.high > interval.low, "{parameter:?}");
    }
}

#[test]
fn aic__tells_the_model_that_made_the_data() {
    let straight = ping_pong(12, |n| 20e-6 + 10e-9 * n);
    let curved = ping_pong(13, |n| 20e-6 * 20e-6 / (20e-6 + 10e-9 * n) + 10e-9 * n);
    let stepped = ping_pong(14, |n| 20e-6 * (n / 1484.0).ceil().max(1.0) + 2e-9 * n);
    let aic = |model, samples: &[Sample]| found(model, samples).aic;
    for model in [Model::Hyperbolic, Model::LogP] {
        assert!(aic(Model::Linear, &straight) < aic(model, &straight));
    }
    assert!(aic(Model::Hyperbolic, &curved) < aic(Model::Linear, &curved));
    assert!(aic(Model::Packet, &stepped) < aic(Model::Hyperbolic, &stepped));
}

/// A parameter that the data do not need costs more than it gains, on average: here a router's
/// delay, where there is none.
#[test]
fn aic__a_parameter_costs_something() {
    let difference = |seed| {
        let with: Vec<_> = ping_pong(seed, |n| 20e-6 + 10e-9 * n)
            .into_iter()
            .enumerate()
            .map(|(at, sample)| sample.over(Hops::new((at % 3) as f64)))
            .collect();
        let without: Vec<_> = with.iter().map(|sample| Sample { hops: None, ..*sample }).collect();
        found(Model::Linear, &with).aic - found(Model::Linear, &without).aic
    };
    let differences: Vec<f64> = (100..140).map(difference).collect();
    assert!(differences.iter().sum::<f64>() > 0.0, "{differences:?}");
    assert!(differences.iter().all(|difference| *difference < 2.1), "{differences:?}");
}

/// Intervals without made data are those of Student's distribution.
#[test]
fn options__no_made_data() {
    let samples = ping_pong(15, |n| 20e-6 + 10e-9 * n);
    let fit = fit(Model::Linear, &samples, Options { seed: 1, resamples: 0 });
    let fit = fit.expect("enough measurements");
    let (student, made) = (parameter(&fit, "alpha"), found(Model::Linear, &samples));
    let width = |found: &Estimate| {
        let interval = found.interval.expect("an interval");
        interval.high - interval.low
    };
    let ratio = width(student) / width(parameter(&made, "alpha"));
    assert!((0.8..1.2).contains(&ratio), "{ratio}");
}
