//! Fits that a few measurements far off do not move: Tukey's biweight on relative errors.
//!
//! A time is a residual as a part of what the curve says, so that a message of a megabyte counts no
//! more than one of a byte. Residuals beyond six deviations count for nothing; among normal ones
//! that costs 2 % of the efficiency of least squares.

use super::algebra::Vector;
use super::design::{Design, Sums};
use super::solve::Solver;

/// Where a residual stops counting, in robust standard deviations.
const CUT: f64 = 6.0;

/// A normal deviation by the median of absolute ones.
const NORMAL_BY_MAD: f64 = 1.482_602_218_505_602;

/// Measurements of one setting that say how far apart those are; fewer only say it together with
/// the rest.
const OWN_SCALE: f64 = 8.0;

/// How exactly weights and parameters agree: passes that move the curve by less than this part of a
/// deviation are the end.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Tolerance(f64);

impl Tolerance {
    /// For what is told.
    pub(crate) const FINE: Self = Self(1e-6);
    /// For fits of made data: far less than those differ.
    pub(crate) const COARSE: Self = Self(1e-3);
}

/// Passes at most. Weights that still move after this number go back and forth between a few
/// measurements at the cut.
const MOST_PASSES: usize = 50;

/// What scale a perfect fit has: below this part of a time there is only rounding.
const ROUNDING: f64 = 1e-12;

/// Times as near 0 as this part of the largest one, and below, where a curve says so: no weight is
/// infinite.
const FLOOR: f64 = 1e-9;

/// A fit whose weights agree with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    pub(crate) theta: Vector,
    /// The curve at each setting.
    pub(crate) curve: Vec<f64>,
    /// Weighted sums of each setting.
    pub(crate) sums: Vec<Sums>,
}

/// How far apart relative residuals of each setting are: a robust standard deviation.
#[derive(Clone, Debug)]
pub(crate) struct Scale(pub(crate) Vec<f64>);

/// Weight and influence of a relative residual.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Influence {
    /// What it counts in least squares.
    pub(crate) weight: f64,
    /// Residual times weight.
    pub(crate) psi: f64,
    /// The derivative of that by the residual.
    pub(crate) slope: f64,
}

/// Tukey's biweight.
pub(crate) fn influence(residual: f64, scale: f64) -> Influence {
    let part = residual / (CUT * scale);
    let rest = 1.0 - part * part;
    if rest <= 0.0 {
        return Influence { weight: 0.0, psi: 0.0, slope: 0.0 };
    }
    let weight = rest * rest;
    Influence { weight, psi: residual * weight, slope: rest * (1.0 - 5.0 * part * part) }
}

/// The curve at each setting, never less than what a weight can be made of.
pub(crate) fn curve(solver: &Solver, theta: &Vector) -> Vec<f64> {
    let mut values: Vec<f64> =
        solver.settings.iter().map(|at| solver.model.value(theta, at)).collect();
    let floor = FLOOR * values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    values.iter_mut().for_each(|value| *value = value.max(floor));
    values
}

/// Moves weights and parameters until they agree, from `start`.
pub(crate) fn settle(
    solver: &Solver,
    design: &Design,
    times: &[f64],
    start: Vector,
    scale: &Scale,
    tolerance: Tolerance,
) -> Settled {
    let mut theta = start;
    let mut now = curve(solver, &theta);
    let mut sums = Vec::new();
    for _ in 0..MOST_PASSES {
        sums =
            weighted(design, times, &now, |at, residual| influence(residual, scale.0[at]).weight);
        theta = solver.solve(&sums, &theta);
        let next = curve(solver, &theta);
        let moved = |(at, (next, now)): (usize, (&f64, &f64))| {
            (next - now).abs() > tolerance.0 * scale.0[at] * now
        };
        let moves = next.iter().zip(&now).enumerate().any(moved);
        now = next;
        if !moves {
            break;
        }
    }
    Settled { theta, curve: now, sums }
}

/// Sums of each setting with what `weight` says of relative residuals.
fn weighted(
    design: &Design,
    times: &[f64],
    curve: &[f64],
    weight: impl Fn(usize, f64) -> f64,
) -> Vec<Sums> {
    let mut sums = vec![Sums::default(); curve.len()];
    for (row, time) in design.rows.iter().zip(times) {
        let value = curve[row.setting];
        let weight = weight(row.setting, time / value - 1.0);
        sums[row.setting].add(weight / (value * value), *time);
    }
    sums
}

/// The robust fit of measured times, and how far these lie from it.
pub(crate) fn fit(solver: &Solver, design: &Design, start: Vector) -> (Settled, Scale) {
    let times = design.times();
    let mut theta = start_at_medians(solver, design, start);
    let mut scale = scale(solver, design, &times, &theta);
    // The scale follows from the fit and the fit from the scale: after three rounds both are
    // settled.
    for _ in 0..3 {
        theta = settle(solver, design, &times, theta, &scale, Tolerance::FINE).theta;
        scale = self::scale(solver, design, &times, &theta);
    }
    (settle(solver, design, &times, theta, &scale, Tolerance::FINE), scale)
}

/// Parameters for the medians of the settings, of which those far off count less (Huber).
fn start_at_medians(solver: &Solver, design: &Design, start: Vector) -> Vector {
    /// Huber's constant: beyond this number of deviations a residual counts by its sign.
    const HUBER: f64 = 1.345;
    /// Passes from anywhere to near enough.
    const PASSES: usize = 20;
    let medians: Vec<f64> =
        design.by_setting().into_iter().map(|mut times| median(&mut times)).collect();
    let mut theta = start;
    let mut now: Vec<f64> = medians.clone();
    for pass in 0..PASSES {
        let residuals: Vec<f64> = medians.iter().zip(&now).map(|(m, c)| m / c - 1.0).collect();
        let mut sizes: Vec<f64> = residuals.iter().map(|r| r.abs()).collect();
        let scale = (NORMAL_BY_MAD * median(&mut sizes)).max(ROUNDING);
        let sums: Vec<Sums> = medians
            .iter()
            .zip(&now)
            .zip(&residuals)
            .map(|((median, value), residual)| {
                let far = residual.abs() / scale;
                // The first pass has no curve yet, only the medians themselves.
                let weight = if pass == 0 || far <= HUBER { 1.0 } else { HUBER / far };
                let mut sum = Sums::default();
                sum.add(weight / (value * value), *median);
                sum
            })
            .collect();
        theta = solver.solve(&sums, &theta);
        now = curve(solver, &theta);
    }
    theta
}

/// Robust deviations of relative residuals: of each setting as far as it has measurements enough,
/// and of all together.
fn scale(solver: &Solver, design: &Design, times: &[f64], theta: &Vector) -> Scale {
    let curve = curve(solver, theta);
    let mut of_all = Vec::with_capacity(times.len());
    let mut of_each = vec![Vec::new(); curve.len()];
    for (row, time) in design.rows.iter().zip(times) {
        let size = (time / curve[row.setting] - 1.0).abs();
        of_all.push(size);
        of_each[row.setting].push(size);
    }
    let parameters = solver.mask.iter().filter(|is| **is).count() as f64;
    let rows = times.len() as f64;
    // As in a variance: parameters take up part of what residuals could be.
    let freedom = (rows / (rows - parameters).max(1.0)).sqrt();
    let all = (NORMAL_BY_MAD * median(&mut of_all) * freedom).max(ROUNDING);
    let one = |sizes: &mut Vec<f64>| {
        let count = sizes.len() as f64;
        if count < OWN_SCALE {
            return all;
        }
        let own = NORMAL_BY_MAD * median(sizes) * freedom;
        ((count * own * own + OWN_SCALE * all * all) / (count + OWN_SCALE)).sqrt()
    };
    Scale(of_each.iter_mut().map(one).collect())
}

/// The middle one, or the middle of the two; 0 of none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    let (below, _, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(lower, values[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median__of_odd_even_and_none() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut []), 0.0);
    }

    #[test]
    fn influence__ends_at_the_cut() {
        let far = influence(CUT * 0.02, 0.02);
        assert_eq!((far.weight, far.psi, far.slope), (0.0, 0.0, 0.0));
        let near = influence(0.0, 0.02);
        assert_eq!((near.weight, near.psi, near.slope), (1.0, 0.0, 1.0));
        // The slope is that of psi.
        let (low, high) = (influence(0.0299, 0.02), influence(0.0301, 0.02));
        let slope = (high.psi - low.psi) / 0.0002;
        assert!((slope / influence(0.03, 0.02).slope - 1.0).abs() < 1e-4);
    }
}
