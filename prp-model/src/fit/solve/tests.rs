use super::*;
use crate::unit::Bytes;

fn solver(model: Model, sizes: &[f64]) -> Solver {
    let settings: Vec<_> = sizes.iter().map(|size| Setting::one_way(Bytes::new(*size))).collect();
    Solver::new(model, &settings, model.mask())
}

fn sums(solver: &Solver, law: impl Fn(f64) -> f64) -> Vec<Sums> {
    let sum = |at: &Setting| {
        let (mut sum, time) = (Sums::default(), law(at.size.number()));
        sum.add(1.0 / (time * time), time);
        sum
    };
    solver.settings.iter().map(sum).collect()
}

/// A break between two measured sizes, and one at a measured size.
#[test]
fn solve__finds_a_break_wherever_it_is() {
    let sizes: Vec<f64> = (0..20).map(|n| f64::from(n * 10)).collect();
    let solver = solver(Model::Prp, &sizes);
    for n_min in [54.3, 70.0] {
        let theta = [40e-6, 50e-9, 90e-9, n_min];
        let law = |n: f64| theta[0] + theta[1] * n + theta[2] * n.max(n_min);
        let found = solver.solve(&sums(&solver, law), &[0.0; WIDTH]);
        for (found, planted) in found.iter().zip(&theta) {
            assert!((found / planted - 1.0).abs() < 1e-6, "{n_min}: {found} {planted}");
        }
    }
}

/// A line through two sizes fits them exactly, whatever they scatter: a break needs three on either
/// side.
#[test]
fn solve__no_break_is_made_of_one_measurement_that_is_off() {
    let sizes: Vec<f64> = (0..20).map(|n| f64::from(n * 10)).collect();
    let solver = solver(Model::Prp, &sizes);
    let law = |n: f64| 40e-6 + 100e-9 * n + if n == 0.0 { 5e-6 } else { 0.0 };
    let found = solver.solve(&sums(&solver, law), &[0.0; WIDTH]);
    assert!((20.0..=170.0).contains(&found[3]), "{found:?}");
    let all = solver.shapes().all(4);
    let (first, last) = (all.first().map(|s| s.size), all.last().map(|s| s.size));
    assert_eq!((first, last), (Some(20.0), Some(170.0)));
}

#[test]
fn solve__finds_packets_to_the_byte_where_sizes_beside_a_step_were_measured() {
    let sizes = [0.0, 100.0, 1000.0, 1484.0, 1485.0, 2968.0, 2969.0, 10_000.0];
    let solver = solver(Model::Packet, &sizes);
    let law = |n: f64| 30e-6 * (n / 1484.0).ceil().max(1.0) + 8e-9 * n;
    let found = solver.solve(&sums(&solver, law), &[0.0; WIDTH]);
    assert_eq!(found[2], 1484.0);
    assert!((found[0] / 30e-6 - 1.0).abs() < 1e-9 && (found[1] / 8e-9 - 1.0).abs() < 1e-9);
}

/// A cost for each byte that would have to be negative is 0, and the rest is the best without it.
#[test]
fn solve__keeps_the_bounds() {
    let solver = solver(Model::Linear, &[1.0, 2.0, 3.0]);
    let falling = |n: f64| 4.0 - n;
    let found = solver.solve(&sums(&solver, falling), &[0.0; WIDTH]);
    assert_eq!((found[1], found[2]), (0.0, 0.0));
    // The mean with relative weights: sum of 1/t by sum of 1/t^2.
    let mean = (1.0 / 3.0 + 1.0 / 2.0 + 1.0) / (1.0 / 9.0 + 1.0 / 4.0 + 1.0);
    assert!((found[0] - mean).abs() < 1e-12);
    // Without bounds it is the line.
    let mut two = solver.unbounded();
    two.mask = crate::fit::algebra::first(2);
    let free = two.solve(&sums(&two, falling), &[0.0; WIDTH]);
    assert!((free[1] + 1.0).abs() < 1e-9, "{free:?}");
}
