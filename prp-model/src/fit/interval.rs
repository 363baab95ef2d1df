//! Intervals that hold the truth in 95 of 100 cases.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::algebra::{Symmetric, Vector};
use super::bootstrap::Replicate;
use super::robust::Settled;
use super::solve::{Shapes, Solver};
use crate::unit::with_prefix;

/// How often an interval holds the truth.
pub const CONFIDENCE: f64 = 0.95;

/// Breaks that are tried from one measured size to the next: their interval is as exact as a 64th
/// of what lies between those.
const PER_GAP: u32 = 64;

/// A standard error that is this part of what it should be comes of a curve without a break.
const SOUND: f64 = 1e-2;

/// Sums of squares that differ by this part of them do so by rounding.
const ROUNDING: f64 = 1e-12;

/// An interval of 95 %.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end; infinite where there is none: of a bandwidth, where a byte may cost nothing.
    pub high: f64,
}

impl Interval {
    /// Both ends with their unit.
    #[must_use]
    pub fn text(&self, unit: &str) -> String {
        let low = with_prefix(self.low, unit);
        if self.high.is_finite() {
            format!("{low} to {}", with_prefix(self.high, unit))
        } else {
            format!("{low} or more")
        }
    }
}

/// What intervals are made of.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    /// The fit without bounds.
    pub(crate) settled: Settled,
    pub(crate) covariance: Symmetric,
    pub(crate) replicates: Vec<Replicate>,
    /// Groups of measurements less parameters: where there is no bootstrap, the degrees of freedom
    /// of Student's distribution.
    pub(crate) freedom: f64,
}

impl Spread {
    /// Of a value that follows from the parameters; `None` where nothing says how far it may be
    /// off.
    ///
    /// Estimates of made data are compared with their truth in their own standard errors: those
    /// quantiles hold in small samples, where the estimates themselves come out too close. Where
    /// the fit searches for a shape, a standard error knows nothing of having missed it, and the
    /// estimates themselves count as well.
    pub(crate) fn interval(
        &self,
        is_shaped: bool,
        of: impl Fn(&Vector) -> (f64, Vector),
    ) -> Option<Interval> {
        let (value, gradient) = of(&self.settled.theta);
        let deviation = error(&self.covariance, &gradient);
        if self.replicates.is_empty() {
            let student = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
            let far = deviation * student.inverse_cdf(f64::midpoint(1.0, CONFIDENCE));
            return Some(Interval { low: value - far, high: value + far });
        }
        let (mut off, mut in_errors) = (Vec::new(), Vec::new());
        for made in &self.replicates {
            let (estimate, gradient) = of(&made.theta);
            let far = (estimate - of(&made.truth).0).abs();
            let error = error(&made.covariance, &gradient);
            off.push(far);
            // Data without any scatter are fitted without an error, but for rounding.
            if far <= ROUNDING * value.abs() {
                in_errors.push(0.0);
            } else if error > SOUND * deviation {
                in_errors.push(far / error);
            }
        }
        // At a bound, and where the curve does not tell parameters apart, there is no standard
        // error.
        let far = match (deviation > 0.0, is_shaped) {
            (true, false) => deviation * upper(in_errors),
            (true, true) => (deviation * upper(in_errors)).max(upper(off)),
            (false, _) => upper(off),
        };
        Some(Interval { low: value - far, high: value + far })
    }

    /// Of the size that gives the curve its shape: those whose sum of squares is larger than the
    /// least by no more than that of the truth is in made data. `None` where nothing is made.
    pub(crate) fn shape(&self, solver: &Solver, best: f64) -> Option<ShapeInterval> {
        if self.replicates.is_empty() {
            return None;
        }
        let sums = &self.settled.sums;
        let least = solver.cost(sums, &self.settled.theta);
        let gain = upper(self.replicates.iter().map(|made| made.gain).collect());
        let limit = least + gain.max(ROUNDING * least.abs());
        let all = solver.shapes().all(PER_GAP);
        let costs: Vec<f64> =
            all.iter().map(|shape| solver.cost_at_shape(sums, shape.size)).collect();
        let first = costs.iter().position(|cost| *cost <= limit);
        let last = costs.iter().rposition(|cost| *cost <= limit);
        let (Some(first), Some(last)) = (first, last) else {
            // It lies between two that were tried, and everything else is worse.
            return Some(ShapeInterval { low: best, high: best, may_be_none: false });
        };
        let (is_first, is_last) = (first == 0, last + 1 == all.len());
        // Beyond the first and the last break that is tried there are sizes enough for a line on
        // one side only: nothing tells where among those it is.
        let is_break = matches!(solver.shapes(), Shapes::Breaks(_));
        let largest = solver.settings.iter().map(|at| at.size.number()).fold(best, f64::max);
        let low = if is_break && is_first { 0.0 } else { all[first].low.min(best) };
        let high = if is_break && is_last { largest } else { all[last].high.max(best) };
        // To tell a break only where it is off both ends would tell it mostly where scatter has
        // made it.
        let may_be_none = if is_break { is_first && is_last } else { is_first || is_last };
        Some(ShapeInterval { low, high, may_be_none })
    }
}

/// A standard error.
fn error(covariance: &Symmetric, gradient: &Vector) -> f64 {
    covariance.quadratic(gradient).max(0.0).sqrt()
}

/// The interval of a size that gives a curve its shape.
#[derive(Copy, Clone, Debug)]
pub(crate) struct ShapeInterval {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether it goes to where there would be no break at all, nor packets: at both ends for a
    /// break, since at one of them something is known of the other; at either for packets.
    pub(crate) may_be_none: bool,
}

/// The value below which 95 % lie, of a sample: the quantile that makes a test with that number of
/// made data sets exact.
pub(crate) fn upper(mut values: Vec<f64>) -> f64 {
    let rank = (CONFIDENCE * (values.len() + 1) as f64).ceil() as usize;
    values.sort_by(f64::total_cmp);
    values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper__is_the_rank_that_makes_a_test_exact() {
        let values: Vec<f64> = (1..=199).map(f64::from).collect();
        assert_eq!(upper(values), 190.0);
        // Of fewer than 19 none is beyond 95 %.
        assert_eq!(upper(vec![1.0; 18]), f64::INFINITY);
    }
}
