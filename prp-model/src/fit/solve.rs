//! The parameters with the least weighted sum of squares, whatever the form of the model.

mod packet;
mod shape;

use super::algebra::{Mask, Symmetric, Vector, WIDTH, dot};
use super::design::Sums;
use super::family::{Form, Model};
use super::marquardt::{Problem, least_squares};
use super::sample::Setting;
pub(crate) use shape::Shapes;

/// Finds parameters of one model for weights and times of the same settings, again and again.
#[derive(Clone, Debug)]
pub(crate) struct Solver {
    pub(crate) model: Model,
    pub(crate) settings: Vec<Setting>,
    /// The parameters that are searched for; the others stay.
    pub(crate) mask: Mask,
    /// Whether parameters that would be negative are 0. Without that bound estimates near it lie
    /// about the truth evenly, as intervals need it.
    pub(crate) bounded: bool,
    /// The sizes that may give the curve its shape.
    shapes: Shapes,
}

impl Solver {
    /// For `model` at `settings`.
    pub(crate) fn new(model: Model, settings: &[Setting], mask: Mask) -> Self {
        let shapes = Shapes::of(model, settings);
        Self { model, settings: settings.to_vec(), mask, bounded: true, shapes }
    }

    /// The same without bounds where the model is linear in its parameters.
    pub(crate) fn unbounded(&self) -> Self {
        Self { bounded: false, ..self.clone() }
    }

    /// The sizes that may give the curve its shape.
    pub(crate) fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// The parameters with the least sum of squares; those near `start` where there may be several.
    pub(crate) fn solve(&self, sums: &[Sums], start: &Vector) -> Vector {
        match self.model.form() {
            Form::Linear => self.linear(sums, start, &self.mask),
            Form::Shaped(at) => {
                let best = self.shapes.best(self, sums, start);
                let mut theta = best.theta;
                theta[at] = best.shape.size;
                theta
            }
            Form::Curved => least_squares(&Curve { solver: self, sums }, *start, &self.mask),
        }
    }

    /// The weighted sum of squares.
    pub(crate) fn cost(&self, sums: &[Sums], theta: &Vector) -> f64 {
        let one = |(at, sum): (&Setting, &Sums)| {
            let value = self.model.value(theta, at);
            sum.square - 2.0 * value * sum.time + value * value * sum.weight
        };
        self.settings.iter().zip(sums).map(one).sum()
    }

    /// The least sum of squares with this size for the shape; infinite where there is none.
    pub(crate) fn cost_at_shape(&self, sums: &[Sums], size: f64) -> f64 {
        self.at_shape(sums, size).map_or(f64::INFINITY, |(_, cost)| cost)
    }

    /// The parameters with this size for the shape, and their sum of squares.
    pub(crate) fn at_shape(&self, sums: &[Sums], size: f64) -> Option<(Vector, f64)> {
        let Form::Shaped(at) = self.model.form() else { return None };
        let (mut theta, mut mask) = ([0.0; WIDTH], self.mask);
        theta[at] = size;
        mask[at] = false;
        let theta = self.linear(sums, &theta, &mask);
        // A network that costs less the more is sent is none, and steps down are no packets.
        let is_sound = match self.shapes {
            Shapes::Packets(_) => theta[0] >= 0.0 && theta[1] >= 0.0,
            Shapes::Breaks(_) => theta[2] >= 0.0,
            Shapes::None => true,
        };
        is_sound.then(|| (theta, self.cost(sums, &theta)))
    }

    /// The least sum of squares of a model that is linear in the parameters of `mask`, none of
    /// which is negative.
    fn linear(&self, sums: &[Sums], start: &Vector, mask: &Mask) -> Vector {
        let (normal, right) = self.normal(sums, start, mask);
        self.solution(&normal, &right, start, mask)
    }

    /// Solves normal equations, within the bounds if there are any.
    fn solution(&self, normal: &Symmetric, right: &Vector, start: &Vector, mask: &Mask) -> Vector {
        if !self.bounded
            && let Some(inverse) = normal.inverse(mask)
        {
            let solved = inverse.times(right);
            return std::array::from_fn(|at| if mask[at] { solved[at] } else { start[at] });
        }
        not_negative(normal, right, start, mask)
    }

    /// Normal equations over the parameters of `mask`, and their right side.
    fn normal(&self, sums: &[Sums], start: &Vector, mask: &Mask) -> (Symmetric, Vector) {
        let (mut normal, mut right) = (Symmetric::ZERO, [0.0; WIDTH]);
        for (at, sum) in self.settings.iter().zip(sums) {
            let mut features = self.model.gradient(start, at);
            for (feature, is_free) in features.iter_mut().zip(mask) {
                // What is not searched for is 0, or the shape, which is in the others' columns.
                *feature = if *is_free { *feature } else { 0.0 };
            }
            normal.add_outer(sum.weight, &features);
            for (sum_of, feature) in right.iter_mut().zip(&features) {
                *sum_of += sum.time * feature;
            }
        }
        (normal, right)
    }
}

/// Solves normal equations for parameters that are not negative: where the free solution has
/// negative ones, the best of those in which some are 0. There are few.
fn not_negative(normal: &Symmetric, right: &Vector, start: &Vector, mask: &Mask) -> Vector {
    let solution = |mask: &Mask| {
        let solved = normal.inverse(mask)?.times(right);
        (0..mask.len()).all(|at| !mask[at] || solved[at] >= 0.0).then_some(solved)
    };
    let fill =
        |solved: Vector| std::array::from_fn(|at| if mask[at] { solved[at] } else { start[at] });
    if let Some(solved) = solution(mask) {
        return fill(solved);
    }
    let mut best = ([0.0; WIDTH], 0.0);
    let all: u32 = (0..mask.len()).filter(|at| mask[*at]).map(|at| 1 << at).sum();
    for chosen in (1..=all).filter(|chosen| chosen & !all == 0) {
        let some: Mask = std::array::from_fn(|at| chosen >> at & 1 == 1);
        let Some(solved) = solution(&some) else { continue };
        // How much less the sum of squares is than with all at 0.
        let gain = dot(&solved, right);
        if gain > best.1 {
            best = (solved, gain);
        }
    }
    fill(best.0)
}

impl Model {
    /// Whether a parameter is a size that gives the curve its shape.
    pub(crate) fn is_shape(self, parameter: usize) -> bool {
        self.form() == Form::Shaped(parameter)
    }
}

/// The sums of a fit as points of a curve.
struct Curve<'a> {
    solver: &'a Solver,
    sums: &'a [Sums],
}

impl Problem for Curve<'_> {
    fn points(&self, theta: &Vector, each: &mut dyn FnMut(f64, f64, Vector)) {
        let model = self.solver.model;
        for (at, sum) in self.solver.settings.iter().zip(self.sums) {
            if sum.weight > 0.0 {
                let residual = sum.time / sum.weight - model.value(theta, at);
                each(sum.weight, residual, model.gradient(theta, at));
            }
        }
    }
}

#[cfg(test)]
mod tests;
