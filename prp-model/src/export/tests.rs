use std::collections::BTreeMap;

use roxmltree::Document;

use super::*;
use crate::fit::{Model, Options, Sample, Setting, fit};
use crate::unit::{Bytes, Seconds};

/// What each model says of messages without scatter, so that a fit is its law.
fn law(model: Model, n: f64) -> f64 {
    match model {
        Model::Linear | Model::LogP | Model::LogGp | Model::Shared => {
            50e-6 + 8e-9 * (n - 1.0).max(0.0)
        }
        Model::Prp => 40e-6 + 50e-9 * n + 90e-9 * n.max(100.0),
        Model::Packet => 30e-6 * (n / 1484.0).ceil().max(1.0) + 8e-9 * n,
        Model::Hyperbolic | Model::Blocks => {
            let (a, z) = (50e-6, 8e-9 * n);
            a * a / (a + z) + z
        }
    }
}

fn sizes() -> impl Iterator<Item = f64> {
    let small = (0..=40).map(|n| f64::from(n * 10));
    let frames = [1484.0, 1485.0, 2968.0, 2969.0].into_iter();
    small.chain(frames).chain((9..=20).map(|n| f64::from(1_u32 << n)))
}

/// A fit of measurements that scatter by a thousandth.
fn fitted(model: Model) -> Fit {
    let sizes: Vec<f64> = sizes().filter(|size| model != Model::Prp || *size <= 1485.0).collect();
    let sample = |(at, size): (usize, &f64)| {
        let scatter = 1.0 + 1e-4 * f64::from((at * 7 % 5) as u8) - 2e-4;
        let time = law(model, if model == Model::LogP { 1.0 } else { *size }) * scatter;
        let pairs = if model == Model::Blocks { 1 + (at % 4) as u32 } else { 1 };
        let more = 1.0 + 0.5 * f64::from(pairs - 1);
        Sample { pairs, ..Sample::one_way(Bytes::new(*size), Seconds::new(time * more)) }
    };
    let samples: Vec<Sample> = sizes.repeat(4).iter().enumerate().map(sample).collect();
    fit(model, &samples, Options { seed: 1, resamples: 99 }).expect("enough measurements")
}

/// SimGrid's time for a message of `n` bytes by the platform's own numbers.
struct Platform {
    latency: f64,
    bandwidth: f64,
    late: Vec<(f64, f64)>,
    wide: Vec<(f64, f64)>,
}

impl Platform {
    fn parse(text: &str) -> Self {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = Document::parse_with_options(text, options).expect("XML");
        let property = |id: &str| {
            let mut all = document.descendants().filter(|node| node.has_tag_name("prop"));
            let found = all.find(|node| node.attribute("id") == Some(id));
            found.and_then(|node| node.attribute("value")).expect(id).to_owned()
        };
        let factors = |text: String| {
            let pair = |part: &str| {
                let (from, factor) = part.split_once(':').expect("a threshold and a factor");
                (from.parse().expect("a threshold"), factor.parse().expect("a factor"))
            };
            text.split(';').map(pair).collect()
        };
        let mut clusters = document.descendants().filter(|node| node.has_tag_name("cluster"));
        let cluster = clusters.next().expect("a cluster");
        let number = |name: &str, unit: &str| {
            let text = cluster.attribute(name).expect(name).strip_suffix(unit).expect("a unit");
            text.parse::<f64>().expect("a number")
        };
        Self {
            latency: 2.0 * number("lat", "s"),
            bandwidth: number("bw", "Bps"),
            late: factors(property("smpi/lat-factor")),
            wide: factors(property("smpi/bw-factor")),
        }
    }

    /// SMPI adds 16 bytes to a message, and a factor is for sizes above its threshold.
    fn time(&self, n: f64) -> f64 {
        let size = n + 16.0;
        let factor = |all: &[(f64, f64)]| {
            all.iter().take_while(|(from, _)| size > *from).last().map_or(1.0, |(_, f)| *f)
        };
        self.latency * factor(&self.late) + size / (self.bandwidth * factor(&self.wide))
    }
}

fn predicted(fit: &Fit, n: f64) -> f64 {
    fit.predict(&Setting::one_way(Bytes::new(n))).0.number()
}

#[test]
fn simgrid__times_are_the_model_s() {
    for model in Model::ALL {
        let fit = fitted(model);
        let platform = Platform::parse(&simgrid(&fit, 16, 1));
        let beyond = if model == Model::Prp { 1485.0 } else { f64::INFINITY };
        for n in sizes().filter(|n| *n <= beyond) {
            let (theirs, ours) = (platform.time(n), predicted(&fit, n));
            // Steps of many packets are one line there.
            let part = if model == Model::Packet && n > 16.0 * 1484.0 { 0.04 } else { 0.01 };
            assert!((theirs / ours - 1.0).abs() < part, "{model:?} at {n}: {theirs} {ours}");
        }
    }
}

#[test]
fn simgrid__hosts_have_cores() {
    let text = simgrid(&fitted(Model::Linear), 3, 6);
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = Document::parse_with_options(&text, options).expect("XML");
    let cluster = document.descendants().find(|node| node.has_tag_name("cluster"));
    let cluster = cluster.expect("a cluster");
    assert_eq!((cluster.attribute("radical"), cluster.attribute("core")), (Some("0-2"), Some("6")));
}

/// A small step of a packet is seen to the byte.
#[test]
fn simgrid__a_byte_more_than_a_packet_costs_a_packet() {
    let platform = Platform::parse(&simgrid(&fitted(Model::Packet), 2, 1));
    let step = platform.time(1485.0) - platform.time(1484.0);
    assert!((step / 30e-6 - 1.0).abs() < 0.01, "{step}");
}

fn flags(text: &str) -> BTreeMap<String, f64> {
    let line = text.lines().find(|line| line.starts_with("LogGOPSim ")).expect("a command");
    let words: Vec<&str> = line.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| pair[0].starts_with('-'));
    let number =
        |pair: &[&str]| Some((pair[0].to_owned(), f64::from(pair[1].parse::<i32>().ok()?)));
    pairs.filter_map(number).collect()
}

#[test]
fn loggopsim__flags_are_whole_numbers_that_are_the_model() {
    for model in [Model::Linear, Model::LogGp, Model::Hyperbolic, Model::Packet] {
        let text = loggopsim(&fitted(model));
        let flags = flags(&text);
        // 8 ns a byte are too few to be exact.
        assert!(text.contains("times in ps"), "{text}");
        let byte = if model == Model::Packet { 8e-9 + 30e-6 / 1484.0 } else { 8e-9 };
        assert!((flags["-G"] * 1e-12 / byte - 1.0).abs() < 0.01, "{text}");
        let fixed = if model == Model::Packet { 30e-6 } else { 50e-6 };
        let ends = flags["-L"] + 2.0 * flags["-o"];
        assert!((ends * 1e-12 / fixed - 1.0).abs() < 0.01, "{text}");
        assert_eq!((flags["-O"], flags["-S"]), (0.0, f64::from(i32::MAX)));
    }
}

#[test]
fn loggopsim__in_nanoseconds_where_those_are_exact() {
    let law = |n: f64| 50e-6 + 800e-9 * (n - 1.0).max(0.0);
    let sample = |n: f64| Sample::one_way(Bytes::new(n), Seconds::new(law(n)));
    let samples: Vec<_> = sizes().map(sample).collect();
    let fit = fit(Model::LogGp, &samples, Options { seed: 1, resamples: 19 }).expect("a fit");
    let text = loggopsim(&fit);
    assert!(text.contains("times in ns"), "{text}");
    assert_eq!((flags(&text)["-L"], flags(&text)["-G"]), (50_000.0, 800.0));
    assert!(text.contains("o is not told"), "{text}");
}

/// The numbers in the text, by name.
#[test]
fn latex__has_every_parameter() {
    let text = latex(&fitted(Model::Linear));
    assert!(text.contains(r"T(n, h) = \alpha + \beta n + \gamma h"), "{text}");
    assert!(text.contains(r"$\alpha$ & $4.999 \times 10^{-5}"), "{text}");
    assert!(text.contains(r"$\gamma$ & \multicolumn{2}{l}{not identified}"), "{text}");
    assert_eq!(text.matches('$').count() % 2, 0, "{text}");
}

/// A small reader of the formulas that are written: enough of Python to add and multiply.
#[test]
fn python__is_a_function_with_the_fitted_numbers() {
    let text = python(&fitted(Model::Linear));
    let line = text.lines().find(|line| line.contains("return")).expect("a formula");
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert_eq!(numbers.len(), 3, "{line}");
    assert!((numbers[0] / 50e-6 - 1.0).abs() < 0.01 && (numbers[1] / 8e-9 - 1.0).abs() < 0.01);
    for model in Model::ALL {
        let text = python(&fitted(model));
        assert_eq!(text.matches('(').count(), text.matches(')').count(), "{text}");
        assert_eq!(text.contains("import math"), text.contains("math.ceil"), "{text}");
        assert!(text.contains("def seconds(") && text.contains(model.formula()), "{text}");
    }
}
