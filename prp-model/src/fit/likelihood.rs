//! How well a model fits beside one with fewer parameters: Akaike's criterion.

use super::design::Design;

/// Beyond this number of scales a residual costs in proportion: the density of Huber's robust fit,
/// with 95 % efficiency among normal ones.
const HUBER: f64 = 1.345;

/// Steps of the search around the best scale; the scales agree to 0.01 % after this number of
/// steps.
const STEPS: usize = 60;

/// Below this part of a time residuals are rounding, and a likelihood of them says nothing.
const LEAST_SCALE: f64 = 1e-9;

/// AIC: twice the parameters less twice the logarithm of the likelihood of the times, of which
/// relative residuals have Huber's density with the scale that fits best. Only differences say
/// something.
pub(crate) fn aic(design: &Design, times: &[f64], curve: &[f64], parameters: usize) -> f64 {
    let residuals: Vec<f64> =
        design.rows.iter().zip(times).map(|(row, time)| time / curve[row.setting] - 1.0).collect();
    // The density of a time is that of its relative residual by the curve.
    let curves: f64 = design.rows.iter().map(|row| curve[row.setting].ln()).sum();
    let cost = |scale: f64| {
        let one = |r: &f64| {
            let size = r.abs() / scale;
            if size <= HUBER { size * size / 2.0 } else { HUBER * (size - HUBER / 2.0) }
        };
        residuals.iter().map(one).sum::<f64>() + residuals.len() as f64 * scale.ln()
    };
    let most = residuals.iter().fold(LEAST_SCALE, |most, r| most.max(r.abs()));
    let (mut low, mut high) = (LEAST_SCALE.ln(), most.ln() + 1.0);
    // The cost has one least: halves of the golden section come to it.
    const GOLDEN: f64 = 0.618_033_988_749_895;
    for _ in 0..STEPS {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        if cost(left.exp()) < cost(right.exp()) {
            high = right;
        } else {
            low = left;
        }
    }
    // The scale is a parameter as well.
    2.0 * (parameters + 1) as f64 + 2.0 * (cost(low.exp()) + curves + times.len() as f64 * norm())
}

/// The logarithm of what Huber's density integrates to.
fn norm() -> f64 {
    use statrs::distribution::{ContinuousCDF, Normal};
    let middle = Normal::standard().cdf(HUBER) - Normal::standard().cdf(-HUBER);
    let tails = 2.0 / HUBER * (-HUBER * HUBER / 2.0).exp();
    ((2.0 * std::f64::consts::PI).sqrt() * middle + tails).ln()
}
