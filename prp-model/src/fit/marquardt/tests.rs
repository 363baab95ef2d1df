use proptest::prelude::*;
use rmpfit::{MPFitter, MPResult};

use super::*;
use crate::fit::algebra::{first, vector};

/// Points of a curve, for both of the programs.
struct Points<F> {
    x: Vec<f64>,
    y: Vec<f64>,
    /// What a residual is divided by, a point.
    error: Vec<f64>,
    curve: F,
}

impl<F: Fn(&[f64], f64) -> f64> Problem for Points<F> {
    fn points(&self, theta: &Vector, each: &mut dyn FnMut(f64, f64, Vector)) {
        for ((x, y), error) in self.x.iter().zip(&self.y).zip(&self.error) {
            let value = (self.curve)(theta, *x);
            let gradient = std::array::from_fn(|at| {
                let step = theta[at].abs().max(1e-12) * 1e-7;
                let (mut up, mut down) = (*theta, *theta);
                up[at] += step;
                down[at] -= step;
                ((self.curve)(&up, *x) - (self.curve)(&down, *x)) / (2.0 * step)
            });
            each(1.0 / (error * error), y - value, gradient);
        }
    }
}

impl<F: Fn(&[f64], f64) -> f64> MPFitter for Points<F> {
    fn eval(&mut self, params: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        let points = self.x.iter().zip(&self.y).zip(&self.error);
        for (((x, y), error), deviate) in points.zip(deviates) {
            *deviate = (y - (self.curve)(params, *x)) / error;
        }
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.x.len()
    }
}

/// Misra1a of NIST's Statistical Reference Datasets, with its certified values and its first start.
#[test]
fn least_squares__finds_the_certified_values_of_misra1a() {
    let x = vec![
        77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1,
        760.0,
    ];
    let y = vec![
        10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47,
        81.78,
    ];
    let curve = |b: &[f64], x: f64| b[0] * (1.0 - (-b[1] * x).exp());
    let points = Points { error: vec![1.0; x.len()], x, y, curve };
    let mask = first(2);
    let found = least_squares(&points, vector([500.0, 0.0001]), &mask);
    assert!((found[0] / 2.389_421_291_8e2 - 1.0).abs() < 1e-7, "{found:?}");
    assert!((found[1] / 5.501_564_318_1e-4 - 1.0).abs() < 1e-7, "{found:?}");
    assert!((cost_at(&points, &found) / 1.245_513_889_4e-1 - 1.0).abs() < 1e-8);
}

#[test]
fn least_squares__a_parameter_that_wants_to_be_negative_is_0() {
    let (x, y) = (vec![1.0, 2.0, 3.0], vec![0.5, 1.6, 2.7]);
    let points = Points { x, y, error: vec![1.0; 3], curve: |b: &[f64], x: f64| b[0] + b[1] * x };
    let found = least_squares(&points, vector([1.0, 1.0]), &first(2));
    // Without an intercept: sum xy / sum xx.
    assert!(found[0] == 0.0 && (found[1] - 11.8 / 14.0).abs() < 1e-9, "{found:?}");
}

proptest! {
    /// MPFIT, which many have used for many years, finds the same hyperbola.
    #[test]
    fn least_squares__agrees_with_mpfit(
        a in 0.5..50.0_f64, b in 0.01..2.0_f64, noise in prop::collection::vec(-0.1..0.1_f64, 12),
    ) {
        let curve = |t: &[f64], x: f64| t[0] * t[0] / (t[0] + t[1] * x) + t[1] * x;
        let x: Vec<f64> = (0..12).map(|n| f64::from(1 << n) - 1.0).collect();
        let y: Vec<f64> =
            x.iter().zip(&noise).map(|(x, e)| curve(&[a, b], *x) * (1.0 + e)).collect();
        let mut points = Points { x, error: y.clone(), y, curve };
        let start = [2.0 * a, 0.5 * b];
        let ours = least_squares(&points, vector([start[0], start[1]]), &first(2));
        let mut theirs = start;
        prop_assert!(points.mpfit(&mut theirs).is_ok());
        prop_assert!((ours[0] / theirs[0] - 1.0).abs() < 1e-5, "{ours:?} {theirs:?}");
        prop_assert!((ours[1] / theirs[1] - 1.0).abs() < 1e-5, "{ours:?} {theirs:?}");
    }
}
