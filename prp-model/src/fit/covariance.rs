//! How uncertain parameters are: the sandwich of a robust fit, over independent groups of
//! measurements.

use super::algebra::{Mask, Symmetric, Vector, WIDTH};
use super::design::Design;
use super::family::Form;
use super::robust::{Scale, influence};
use super::solve::Solver;

/// A part of a fit that one setting has is less than this: beyond it a residual says nothing, since
/// the curve goes through the point.
const MOST_LEVERAGE: f64 = 0.99;

/// Measurements that the search for a shape takes up, beside those that a parameter does: by this
/// the least sum of squares of many is smaller than that of the true one.
const SEARCH: f64 = 2.0;

/// Covariance of parameters, and what a bootstrap needs of it.
#[derive(Clone, Debug)]
pub(crate) struct Covariance {
    /// Of the parameters that the measurements tell.
    pub(crate) matrix: Symmetric,
    /// The part of a measurement at each setting that the fit takes over.
    pub(crate) leverage: Vec<f64>,
}

/// The columns of the parameters at each setting, as parts of the curve: what a residual changes
/// by.
pub(crate) fn columns(solver: &Solver, theta: &Vector, curve: &[f64]) -> Vec<Vector> {
    let column = |(at, value): (_, &f64)| {
        let mut gradient = solver.model.gradient(theta, at);
        for (parameter, g) in gradient.iter_mut().enumerate() {
            *g = if solver.mask[parameter] { *g / value } else { 0.0 };
        }
        gradient
    };
    solver.settings.iter().zip(curve).map(column).collect()
}

/// The covariance of a settled fit of `times`; of zeros where the fit has none, since the
/// parameters are at a point where the curve does not tell one from another.
pub(crate) fn covariance(
    solver: &Solver,
    design: &Design,
    times: &[f64],
    theta: &Vector,
    curve: &[f64],
    scale: &Scale,
) -> Covariance {
    let columns = columns(solver, theta, curve);
    let mut slopes = vec![0.0; curve.len()];
    for (row, time) in design.rows.iter().zip(times) {
        let at = row.setting;
        slopes[at] += influence(time / curve[at] - 1.0, scale.0[at]).slope;
    }
    let mut bread = Symmetric::ZERO;
    for (slope, column) in slopes.iter().zip(&columns) {
        bread.add_outer(slope.max(0.0), column);
    }
    let bread = invert(solver, &bread).unwrap_or(Symmetric::ZERO);
    let is_shaped = matches!(solver.model.form(), Form::Shaped(_));
    let searched = if is_shaped { SEARCH / times.len() as f64 } else { 0.0 };
    let leverage: Vec<f64> = columns
        .iter()
        .map(|column| (bread.quadratic(column) + searched).clamp(0.0, MOST_LEVERAGE))
        .collect();
    let mut scores = vec![[0.0; WIDTH]; design.groups];
    for (row, time) in design.rows.iter().zip(times) {
        let at = row.setting;
        let psi = influence(time / curve[at] - 1.0, scale.0[at]).psi;
        // A residual is smaller than the error by the part that the fit has taken over (HC3).
        let whole = psi / (1.0 - leverage[at]);
        for (score, column) in scores[row.group].iter_mut().zip(&columns[at]) {
            *score += whole * column;
        }
    }
    let mut filling = Symmetric::ZERO;
    scores.iter().for_each(|score| filling.add_outer(1.0, score));
    Covariance { matrix: bread.around(&filling), leverage }
}

/// The inverse over the model's parameters, or without the one for its shape where this has no
/// slope.
fn invert(solver: &Solver, matrix: &Symmetric) -> Option<Symmetric> {
    let smooth: Mask = std::array::from_fn(|at| solver.mask[at] && matrix.diagonal()[at] > 0.0);
    let without: Mask = std::array::from_fn(|at| smooth[at] && !solver.model.is_shape(at));
    matrix.inverse(&smooth).or_else(|| matrix.inverse(&without))
}
