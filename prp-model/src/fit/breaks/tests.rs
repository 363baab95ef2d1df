use super::*;
use crate::fit::tests::scatter::{Scatter, one_way, powers};

const OPTIONS: Options = Options { seed: 1, resamples: 199 };

fn measured(seed: u64, sizes: &[f64], law: impl Fn(f64) -> f64) -> Vec<Sample> {
    let mut scatter = Scatter::new(seed);
    let settings = one_way(sizes).repeat(5);
    settings.iter().map(|at| scatter.measure(at, law(at.size.number()), 0.02)).collect()
}

#[test]
fn breaks__a_straight_line_has_none() {
    for seed in 0..50 {
        let samples = measured(seed, &powers(), |n| 20e-6 + 10e-9 * n);
        assert_eq!(breaks(&samples, OPTIONS), [], "{seed}");
    }
}

/// A rendezvous: from 64 KiB on a question goes first.
#[test]
fn breaks__a_step_is_found_between_the_sizes_beside_it() {
    let sizes: Vec<f64> = (0..32).map(|n| f64::from(n * 4096)).collect();
    for seed in 0..50 {
        let law = |n: f64| 20e-6 + 10e-9 * n + if n > 65_536.0 { 120e-6 } else { 0.0 };
        let found = breaks(&measured(seed, &sizes, law), OPTIONS);
        assert_eq!(found.len(), 1, "{seed}: {found:?}");
        assert!(found[0].low <= 65_536.0 && 65_536.0 < found[0].high, "{seed}: {found:?}");
        assert!((found[0].step / 120e-6 - 1.0).abs() < 0.4, "{seed}: {found:?}");
    }
}

/// A window that is full from 16 KiB on, and another slope from there.
#[test]
fn breaks__a_bend_is_found_within_its_interval() {
    let sizes: Vec<f64> = (0..60).map(|n| f64::from(n * 1024)).collect();
    let (mut held, mut single) = (0, 0);
    for seed in 0..100 {
        let law = |n: f64| 20e-6 + 5e-9 * n + 20e-9 * (n - 16_384.0).max(0.0);
        let found = breaks(&measured(seed, &sizes, law), OPTIONS);
        if let [found] = found[..] {
            single += 1;
            held += u32::from(found.low <= 16_384.0 && 16_384.0 <= found.high);
        }
    }
    assert!(single >= 95 && held >= 90, "{single} of 100 with one break, {held} held it");
}

#[test]
fn breaks__several() {
    let sizes: Vec<f64> = (0..60).map(|n| f64::from(n * 200)).collect();
    let law = |n: f64| {
        let frame = if n > 1484.0 { 30e-6 } else { 0.0 };
        20e-6 + 5e-9 * n + frame + if n > 8000.0 { 80e-6 } else { 0.0 }
    };
    let found = breaks(&measured(3, &sizes, law), OPTIONS);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].low <= 1484.0 && 1484.0 <= found[0].high, "{found:?}");
    assert!(found[1].low <= 8000.0 && 8000.0 <= found[1].high, "{found:?}");
}

#[test]
fn breaks__too_few_sizes_have_none() {
    assert_eq!(breaks(&[], OPTIONS), []);
    let samples = measured(1, &[0.0, 8.0, 16.0, 32.0], |n| 20e-6 + 10e-9 * n);
    assert_eq!(breaks(&samples, OPTIONS), []);
}
