use proptest::prelude::*;

use super::*;

fn overlap(ratio: f64, fraction: f64, overhead: f64) -> Overlap {
    Overlap { ratio, fraction: Fraction::new(fraction).expect("a part"), overhead }
}

/// Section 4.3's numbers, lambda and the part that hides recovered from two of them: the best
/// numbers of processors without and with hiding. Their quotient to the power of 3/2 is 1 - f, and
/// f = 2 n_z / (9 + 4 n_z) for the five entries of a stencil; lambda is the least that has its best
/// at 601.
#[test]
fn conjugate_gradient__the_paper_s_numbers_from_two_of_them() {
    let hides = 1.0 - (453.0_f64 / 601.0).powf(1.5);
    // f = 2 n / (9 + 4 n) solved for n.
    let entries = (9.0 * hides / (2.0 - 4.0 * hides)).round();
    assert_eq!(entries, 5.0);
    let with = |lambda: f64| ConjugateGradient::new(lambda, 5);
    let lambda = (7000..8000).map(f64::from).find(|l| with(*l).best(1000).0 == 601);
    let solver = with(lambda.expect("a lambda"));
    // The rest is predicted, to the last digit that is printed.
    let near = |value: f64, printed: f64, digit: f64| (value - printed).abs() <= digit / 2.0 + 1e-9;
    assert!(near(solver.speedup(601), 200.2, 0.1), "{}", solver.speedup(601));
    assert!(near(solver.speedup(229), 155.7, 0.1), "{}", solver.speedup(229));
    assert!(near(solver.speedup_hiding(229), 203.5, 0.1), "{}", solver.speedup_hiding(229));
    let (p, gain) = solver.best_gain(5000);
    assert!(p == 229 && near(gain, 1.307, 0.001), "{p} {gain}");
    let (p, speedup) = solver.best_hiding(5000);
    assert!(p == 453 && near(speedup, 230.6, 0.1), "{p} {speedup}");
}

/// The conjugate gradients are equation 6 with q = sqrt(p) and Omega = omega p / a, but that one
/// processor does not communicate with itself there.
#[test]
fn scaling__has_the_conjugate_gradients_in_it() {
    let solver = ConjugateGradient::new(7359.0, 5);
    let general = Scaling {
        lambda: solver.lambda,
        messages: Messages { factor: 1.0, power: 0.5 },
        fraction: solver.fraction,
        overhead: Overhead::Each(solver.overhead / solver.lambda),
    };
    for p in [2, 50, 229, 453, 601] {
        let own = solver.runtime(p) / solver.runtime_hiding(p);
        assert!((general.at(p).gain() / own - 1.0).abs() < 1e-12, "{p}");
    }
    assert_eq!((general.best(2000).0, general.best_hiding(2000).0), (601, 453));
    assert_eq!(general.best_gain(2000).0, 229);
}

/// Figure 9.2: with a fixed number of messages speed-up with ideal hiding never falls.
#[test]
fn scaling__with_fixed_messages_does_not_fall() {
    let program = Scaling {
        lambda: 100.0,
        messages: Messages::fixed(2.0),
        fraction: Fraction::ALL,
        overhead: Overhead::Fixed(0.0),
    };
    let speedup = |p: u32| program.at(p).speedup_hiding(f64::from(p));
    assert!((1..500).all(|p| speedup(p + 1) >= speedup(p) * (1.0 - 1e-12)));
    // It stops at lambda / q.
    assert!((speedup(400) - 50.0).abs() < 1e-9);
}

#[test]
fn granularity__the_best_is_where_all_is_hidden() {
    let granularity = |number| Granularity::new(number).expect("above 0");
    let machine = Machine { hardware: granularity(5.0), overhead: 0.2 };
    let program = Program { fraction: Fraction::new(0.8).expect("a part"), messages: 2.0 };
    let best = program.best_software(machine).expect("something hides");
    assert!((best.number() - 10.0).abs() < 1e-12);
    let gain = |software: f64| program.on(machine, granularity(software)).gain();
    assert!(gain(10.0) > gain(10.1) && gain(10.0) > gain(9.9));
    let hardware = program.best_hardware(best, 0.2).expect("something hides");
    assert!((hardware.number() - 5.0).abs() < 1e-12);
}

#[test]
fn numbers__outside_of_their_range_are_none() {
    assert!(Fraction::new(1.01).is_none() && Fraction::new(f64::NAN).is_none());
    assert!(Granularity::new(0.0).is_none() && Granularity::new(f64::INFINITY).is_none());
}

proptest! {
    /// G is at most 1 + f, the more so with overhead, and reaches its largest value at ratio f +
    /// Omega.
    #[test]
    fn gain__has_its_largest_value_where_the_paper_says(
        ratio in 0.0..10.0_f64, fraction in 0.0..=1.0_f64, overhead in 0.0..2.0_f64,
    ) {
        let here = overlap(ratio, fraction, overhead);
        prop_assert!(here.gain() <= here.largest_gain() * (1.0 + 1e-12));
        prop_assert!(here.largest_gain() <= 1.0 + fraction + 1e-12);
        let ideal = overlap(ratio, 1.0, overhead).largest_gain();
        prop_assert!((ideal - (2.0 - overhead / (1.0 + overhead))).abs() < 1e-12);
    }

    /// A loss where the ratio is below Omega, whatever f is (section 2.3.2), and no loss where it
    /// is above.
    #[test]
    fn gain__is_a_loss_below_the_overhead(
        ratio in 0.0..3.0_f64, fraction in 0.01..=1.0_f64, overhead in 0.0..2.0_f64,
    ) {
        prop_assume!((ratio - overhead).abs() > 1e-9);
        let gain = overlap(ratio, fraction, overhead).gain();
        prop_assert_eq!(gain < 1.0, ratio < overhead);
    }

    #[test]
    fn gain__is_the_quotient_of_speedups(
        ratio in 0.0..10.0_f64, fraction in 0.0..=1.0_f64, overhead in 0.0..2.0_f64, p in 1.0..1e4_f64,
    ) {
        let here = overlap(ratio, fraction, overhead);
        let quotient = here.speedup_hiding(p) / here.speedup(p);
        prop_assert!((here.gain() / quotient - 1.0).abs() < 1e-12);
        prop_assert!(here.speedup_hiding(p) <= p * (1.0 + 1e-12));
    }
}
