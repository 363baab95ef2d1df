//! Levenberg and Marquardt: least squares of a curve that is not linear in its parameters, none of
//! which may be negative.

use super::algebra::{Mask, Symmetric, Vector, dot};

/// What to bring to its least: a sum of weighted squares, given by residuals and their derivatives.
pub(crate) trait Problem {
    /// Calls `each` with weight, residual (measured less curve) and the curve's gradient of every
    /// point.
    fn points(&self, theta: &Vector, each: &mut dyn FnMut(f64, f64, Vector));
}

/// Steps that change the parameters by less than this part of them are the end.
const TOLERANCE: f64 = 1e-12;

/// Steps before it gives up: from a start that knows both limits of a curve it takes about five.
const MOST_STEPS: usize = 200;

/// How much damping there is at first, and how it changes after a step that helped and one that did
/// not.
const DAMPING: f64 = 1e-3;
const LESS: f64 = 0.2;
const MORE: f64 = 5.0;

/// Above this no step helps any more: it would be smaller than what rounding makes.
const MOST_DAMPING: f64 = 1e16;

/// The parameters with the least sum of squares near `start`, over those of `mask`; the others
/// stay.
pub(crate) fn least_squares(problem: &impl Problem, start: Vector, mask: &Mask) -> Vector {
    let (mut theta, mut damping) = (start, DAMPING);
    let mut cost = cost_at(problem, &theta);
    for _ in 0..MOST_STEPS {
        let (normal, slope) = normal_equations(problem, &theta);
        // At a bound, a parameter that would leave it stays; so does one that changes nothing here.
        let (mut free, diagonal) = (*mask, normal.diagonal());
        for (at, free) in free.iter_mut().enumerate() {
            *free &= diagonal[at] > 0.0 && (theta[at] > 0.0 || slope[at] > 0.0);
        }
        let Some(step) = damped(&normal, &slope, &free, damping) else {
            damping *= MORE;
            if damping > MOST_DAMPING {
                break;
            }
            continue;
        };
        let next: Vector = std::array::from_fn(|at| (theta[at] + step[at]).max(0.0));
        let change: Vector = std::array::from_fn(|at| next[at] - theta[at]);
        let small = (0..change.len()).all(|at| change[at].abs() <= TOLERANCE * theta[at].abs());
        let next_cost = cost_at(problem, &next);
        if next_cost < cost {
            (theta, cost) = (next, next_cost);
            damping *= LESS;
        } else {
            damping *= MORE;
        }
        if small || damping > MOST_DAMPING {
            break;
        }
    }
    theta
}

fn cost_at(problem: &impl Problem, theta: &Vector) -> f64 {
    let mut cost = 0.0;
    problem.points(theta, &mut |weight, residual, _| cost += weight * residual * residual);
    // What is no number is no improvement.
    if cost.is_nan() { f64::INFINITY } else { cost }
}

fn normal_equations(problem: &impl Problem, theta: &Vector) -> (Symmetric, Vector) {
    let (mut normal, mut slope) = (Symmetric::ZERO, [0.0; super::algebra::WIDTH]);
    problem.points(theta, &mut |weight, residual, gradient| {
        normal.add_outer(weight, &gradient);
        for (sum, g) in slope.iter_mut().zip(&gradient) {
            *sum += weight * residual * g;
        }
    });
    (normal, slope)
}

/// The step with this damping; `None` where there is none.
fn damped(normal: &Symmetric, slope: &Vector, free: &Mask, damping: f64) -> Option<Vector> {
    let mut matrix = *normal;
    matrix.add_diagonal(&normal.diagonal().map(|d| d * damping));
    let step = matrix.inverse(free)?.times(slope);
    dot(&step, &step).is_finite().then_some(step)
}

#[cfg(test)]
mod tests;
