//! The wild bootstrap over rounds: how far estimates lie from the truth, by fitting data that are
//! made with the estimate as the truth.
//!
//! Each made data set has the curve and, at every measurement, its own residual with a random sign
//! and size, the same for all of a round. Where the fit searches for a shape and several may be the
//! true one, the curve is that of one of them, as often as the measurements speak for it: how
//! easily a shape is missed differs from one to the next.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::algebra::{Symmetric, Vector};
use super::covariance::{Covariance, covariance};
use super::design::Design;
use super::robust::{self, Scale, Settled, Tolerance, settle};
use super::solve::Solver;

/// Below this number of groups a random sign alone gives too few different data sets.
const FEW_GROUPS: usize = 12;

/// Where made times end: none is negative, whatever a residual far off is turned into.
const LEAST_PART: f64 = 1e-3;

/// Shapes less likely than this, beside the best, are no truth for made data: there will be no
/// thousands of those.
const UNLIKELY: f64 = 1e-4;

/// Breaks that may be the truth, from one measured size to the next.
const PER_GAP: u32 = 8;

/// A fit of made data.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Replicate {
    /// What the data were made with.
    pub(crate) truth: Vector,
    /// What was found.
    pub(crate) theta: Vector,
    pub(crate) covariance: Symmetric,
    /// How much less the sum of squares is than with the true shape.
    pub(crate) gain: f64,
}

/// A truth for made data.
#[derive(Clone, Debug)]
struct Truth {
    theta: Vector,
    curve: Vec<f64>,
    /// How likely this one or one before it is.
    up_to: f64,
}

/// Fits `count` made data sets.
pub(crate) fn replicates(
    solver: &Solver,
    design: &Design,
    settled: &Settled,
    scale: &Scale,
    known: &Covariance,
    count: u32,
    seed: u64,
) -> Vec<Replicate> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut factors = vec![0.0; design.groups];
    let residuals: Vec<f64> = design
        .rows
        .iter()
        .map(|row| {
            let residual = row.time / settled.curve[row.setting] - 1.0;
            residual / (1.0 - known.leverage[row.setting])
        })
        .collect();
    let truths = truths(solver, design, settled);
    let mut made = vec![0.0; design.rows.len()];
    let one = |_| {
        let drawn = uniform(&mut random);
        let at = truths.partition_point(|truth| truth.up_to <= drawn).min(truths.len() - 1);
        let truth = &truths[at];
        factors.iter_mut().for_each(|factor| *factor = draw(&mut random, design.groups));
        for ((row, residual), time) in design.rows.iter().zip(&residuals).zip(&mut made) {
            let part = (1.0 + residual * factors[row.group]).max(LEAST_PART);
            *time = truth.curve[row.setting] * part;
        }
        let fit = settle(solver, design, &made, truth.theta, scale, Tolerance::COARSE);
        let covariance = covariance(solver, design, &made, &fit.theta, &fit.curve, scale).matrix;
        let gain = shape_of(solver, &truth.theta).map_or(0.0, |shape| {
            solver.cost_at_shape(&fit.sums, shape) - solver.cost(&fit.sums, &fit.theta)
        });
        Replicate { truth: truth.theta, theta: fit.theta, covariance, gain }
    };
    (0..count).map(one).collect()
}

/// What may be the truth: the estimate, or the best parameters for each shape that the measurements
/// allow.
fn truths(solver: &Solver, design: &Design, settled: &Settled) -> Vec<Truth> {
    let alone = || Truth { theta: settled.theta, curve: settled.curve.clone(), up_to: 1.0 };
    let sums = &settled.sums;
    let least = solver.cost(sums, &settled.theta);
    let freedom = design.rows.len().saturating_sub(solver.mask.iter().filter(|is| **is).count());
    let variance = least / freedom.max(1) as f64;
    let all = solver.shapes().all(PER_GAP);
    let mut truths = Vec::new();
    let mut sum = 0.0;
    for (at, shape) in all.iter().enumerate() {
        let Some((theta, cost)) = solver.at_shape(sums, shape.size) else { continue };
        let likely = (-(cost - least) / (2.0 * variance)).exp();
        if likely > UNLIKELY {
            // Sizes that nothing tells apart are as many truths.
            let next = all.get(at + 1).map_or(shape.high + 1.0, |next| next.low);
            sum += likely * (next - shape.low).max(0.0);
            truths.push(Truth { theta, curve: robust::curve(solver, &theta), up_to: sum });
        }
    }
    // Of a curve without shape, and of one that goes through every point.
    if !(sum > 0.0 && sum.is_finite()) {
        return vec![alone()];
    }
    truths.iter_mut().for_each(|truth| truth.up_to /= sum);
    truths
}

/// The size that gives the curve its shape.
pub(crate) fn shape_of(solver: &Solver, theta: &Vector) -> Option<f64> {
    (0..theta.len()).find(|at| solver.model.is_shape(*at)).map(|at| theta[at])
}

/// Evenly from 0 to 1, without 1.
fn uniform(random: &mut ChaCha8Rng) -> f64 {
    f64::from(random.next_u32()) / (f64::from(u32::MAX) + 1.0)
}

/// A factor with mean 0 and variance 1: a sign, or one of Webb's six where there are few groups.
pub(super) fn draw(random: &mut ChaCha8Rng, groups: usize) -> f64 {
    let bits = random.next_u32();
    let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
    if groups >= FEW_GROUPS {
        return sign;
    }
    let square = match (bits >> 1) % 3 {
        0 => 0.5_f64,
        1 => 1.0,
        _ => 1.5,
    };
    sign * square.sqrt()
}
