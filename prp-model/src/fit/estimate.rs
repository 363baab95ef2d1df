//! A fit: a model's parameters from measurements, each with an interval, or not at all.

use super::algebra::{Mask, Vector};
use super::answer::{Estimate, FitError, NotIdentified, Options};
use super::bootstrap::{replicates, shape_of};
use super::covariance::{columns, covariance};
use super::design::Design;
use super::family::{Form, Model};
use super::identify::{Identified, identified, mask};
use super::interval::{Interval, ShapeInterval, Spread};
use super::likelihood::aic;
use super::quantity::{Quantity, ROUTER, Rule};
use super::robust::{self, Scale, Settled};
use super::sample::{Played, Sample, Setting};
use super::solve::Solver;
use super::start::start;
use crate::graph::PatternKind;
use crate::unit::{Hops, Seconds};

/// Why a break, and what is below it, is not determined.
const NO_BREAK: &str = "no break stands out from the scatter";

/// A fitted model.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Which.
    pub model: Model,
    /// Measurements it was fitted to.
    pub points: usize,
    /// The parameters that the measurements tell.
    pub parameters: Vec<Estimate>,
    /// What follows from them.
    pub derived: Vec<Estimate>,
    /// The parameters that the measurements do not determine.
    pub not_identified: Vec<NotIdentified>,
    /// Akaike's criterion; the difference to that of another model of the same measurements says
    /// which predicts better: the smaller one.
    pub aic: f64,
    /// How it was made.
    pub options: Options,
    /// The parameters whose values the measurements determine.
    pub(super) determined: Mask,
    pub(super) solver: Solver,
    pub(super) design: Design,
    pub(super) settled: Settled,
    pub(super) scale: Scale,
    pub(super) spread: Option<Spread>,
}

/// Fits `model` to `samples`.
///
/// # Errors
///
/// Where there are fewer samples than parameters, or one is no measurement at all.
pub fn fit(model: Model, samples: &[Sample], options: Options) -> Result<Fit, FitError> {
    check(model, samples)?;
    let design = Design::of(samples);
    let begin = start(model, &design);
    let Identified { fitted: mask, determined } = identify(model, &design, &begin)?;
    // What is not searched for is not there.
    let begin = std::array::from_fn(|at| if mask[at] { begin[at] } else { 0.0 });
    let solver = Solver::new(model, &design.settings, mask);
    let (settled, scale) = robust::fit(&solver, &design, begin);
    let times = design.times();
    let free = solver.mask.iter().filter(|is| **is).count();
    let spread = spread(&solver.unbounded(), &design, &settled, &scale, options);
    let aic = aic(&design, &times, &settled.curve, free);
    let points = samples.len();
    let mut fit = Fit {
        model,
        points,
        parameters: Vec::new(),
        derived: Vec::new(),
        not_identified: Vec::new(),
        aic,
        options,
        determined,
        solver,
        design,
        settled,
        scale,
        spread,
    };
    fit.fill_estimates();
    Ok(fit)
}

/// What intervals are made of; `None` where measurements are as few as parameters.
fn spread(
    solver: &Solver,
    design: &Design,
    bounded: &Settled,
    scale: &Scale,
    options: Options,
) -> Option<Spread> {
    let times = design.times();
    let fine = robust::Tolerance::FINE;
    let settled = robust::settle(solver, design, &times, bounded.theta, scale, fine);
    let known = covariance(solver, design, &times, &settled.theta, &settled.curve, scale);
    let freedom = design.groups.checked_sub(solver.mask.iter().filter(|is| **is).count())?;
    let Options { seed, resamples } = options;
    let replicates = replicates(solver, design, &settled, scale, &known, resamples, seed);
    let covariance = known.matrix;
    let freedom = freedom as f64;
    (freedom > 0.0).then_some(Spread { settled, covariance, replicates, freedom })
}

fn check(model: Model, samples: &[Sample]) -> Result<(), FitError> {
    let has_hops = samples.iter().any(|sample| sample.hops.is_some());
    let named = model.quantities().len();
    let hops = |sample: &Sample| sample.hops.unwrap_or_default();
    let parameters = match model {
        Model::Linear if !has_hops => named - 1,
        Model::Linear => named,
        // A router's delay beside those of the paper.
        _ if samples.windows(2).any(|pair| hops(&pair[0]) != hops(&pair[1])) => named + 1,
        _ => named,
    };
    if samples.len() < parameters {
        return Err(FitError::TooFew { points: samples.len(), parameters });
    }
    for (at, sample) in samples.iter().enumerate() {
        let time = sample.time.number();
        if !(time > 0.0 && time.is_finite()) {
            return Err(FitError::Time(at));
        }
        let (size, hops) = (sample.size.number(), sample.hops.unwrap_or_default().number());
        let is_size = |x: f64| x >= 0.0 && x.is_finite();
        if !is_size(size) || !is_size(hops) || sample.messages == 0 || sample.pairs == 0 {
            return Err(FitError::Size(at));
        }
        // Pairs alone are what blocks are fitted to.
        let is_for = |played: &Played| match model {
            Model::Shared => played.is_sound(),
            Model::Blocks => played.is_sound() && played.kind == PatternKind::Pairs,
            _ => false,
        };
        if !sample.played.as_ref().is_none_or(is_for) {
            return Err(FitError::Pattern(at));
        }
    }
    Ok(())
}

/// The parameters that are searched for.
fn identify(model: Model, design: &Design, begin: &Vector) -> Result<Identified, FitError> {
    // As if every parameter could be determined.
    let solver = Solver::new(model, &design.settings, mask(model, design));
    if matches!(model, Model::Packet | Model::Prp) && solver.shapes().all(1).is_empty() {
        return Err(FitError::NoShape);
    }
    let mut theta = *begin;
    if let Some(shape) = (0..theta.len()).find(|at| model.is_shape(*at)) {
        // Any shape will do: which columns depend on each other is the same for all that are tried.
        let all = solver.shapes().all(1);
        theta[shape] = all[all.len() / 2].size;
    }
    let curve = robust::curve(&solver, &theta);
    Ok(identified(model, design, &columns(&solver, &theta, &curve)))
}

impl Fit {
    /// Fills in the estimates, and what has none.
    fn fill_estimates(&mut self) {
        let shape = self.shape();
        let has_break = !shape.is_some_and(|shape| shape.may_be_none);
        let router = [ROUTER];
        let routers = if self.has_routers() { &router[..] } else { &[] };
        for quantity in self.model.quantities().iter().chain(routers) {
            let estimate = match quantity.rule {
                _ if quantity.needs_break && !has_break => Err(NO_BREAK.into()),
                Rule::Shape => Ok(self.shape_estimate(quantity, shape)),
                _ => self.estimate(quantity),
            };
            match estimate {
                Ok(estimate) => self.parameters.push(estimate),
                Err(why) => self.not_identified.push(NotIdentified { name: quantity.name, why }),
            }
        }
        let derived = self.model.derived().iter().filter_map(|q| self.estimate(q).ok());
        self.derived = derived.collect();
    }

    /// The interval of the size that gives the curve its shape.
    fn shape(&self) -> Option<ShapeInterval> {
        let best = shape_of(&self.solver, &self.settled.theta)?;
        self.spread.as_ref()?.shape(&self.solver.unbounded(), best)
    }

    fn shape_estimate(&self, quantity: &Quantity, shape: Option<ShapeInterval>) -> Estimate {
        let value = shape_of(&self.solver, &self.settled.theta).unwrap_or_default();
        let interval = shape.map(|shape| Interval { low: shape.low, high: shape.high });
        Estimate { name: quantity.name, value, interval, unit: quantity.unit, means: None }
    }

    /// What the measurements say of a quantity that is no shape, or why they say nothing.
    fn estimate(&self, quantity: &Quantity) -> Result<Estimate, String> {
        let theta = &self.settled.theta;
        if let Some(missing) = quantity.needs.iter().find(|at| !self.determined[**at]) {
            return Err(self.why_not(*missing));
        }
        if let Some(idle) = quantity.needs.iter().find(|at| self.is_idle(**at)) {
            return Err(self.why_idle(*idle));
        }
        self.ensure_significant(quantity)?;
        let interval = |of| self.interval(of);
        let (value, interval) = match quantity.rule {
            Rule::Value(of) => (of(theta).0, interval(of).map(not_negative)),
            Rule::Reciprocal(of) => {
                let (cost, interval) = (of(theta).0, interval(of));
                if cost <= 0.0 {
                    return Err("a byte's cost does not stand out from the scatter".into());
                }
                // Where a byte may cost nothing the bandwidth has no upper end. To give it only
                // where the cost is significant would give it mostly where scatter has made the
                // cost too large.
                let most = |cost: f64| if cost > 0.0 { 1.0 / cost } else { f64::INFINITY };
                let reciprocal = |i: Interval| Interval { low: 1.0 / i.high, high: most(i.low) };
                (1.0 / cost, interval.map(reciprocal))
            }
            Rule::Exponential(of) => {
                let log = of(theta).0;
                if !log.is_finite() {
                    return Err("one of its parts is 0".into());
                }
                let back = |i: Interval| Interval { low: i.low.exp(), high: i.high.exp() };
                (log.exp(), interval(of).map(back))
            }
            Rule::Shape => return Err(NO_BREAK.into()),
        };
        let means = self.means(quantity.name);
        Ok(Estimate { name: quantity.name, value, interval, unit: quantity.unit, means })
    }

    pub(super) fn interval(&self, of: impl Fn(&Vector) -> (f64, Vector)) -> Option<Interval> {
        let is_shaped = matches!(self.model.form(), Form::Shaped(_));
        self.spread.as_ref()?.interval(is_shaped, of)
    }

    /// The time at a setting, with the interval of the curve there.
    #[must_use]
    pub fn predict(&self, at: &Setting) -> (Seconds, Option<Interval>) {
        let model = self.model;
        let value = model.value(&self.settled.theta, at);
        let of = |theta: &Vector| (model.value(theta, at), self.masked(model.gradient(theta, at)));
        (Seconds::new(value), self.interval(of).map(not_negative))
    }

    /// The parameters of the curve itself, in seconds and bytes.
    pub(crate) fn curve_parameters(&self) -> Vector {
        self.settled.theta
    }

    fn masked(&self, gradient: Vector) -> Vector {
        std::array::from_fn(|at| if self.solver.mask[at] { gradient[at] } else { 0.0 })
    }

    /// Relative residuals, each with its setting: measured by the curve less 1.
    pub fn residuals(&self) -> impl Iterator<Item = (Setting, f64)> {
        self.design.rows.iter().map(|row| {
            let residual = row.time / self.settled.curve[row.setting] - 1.0;
            (self.design.settings[row.setting], residual)
        })
    }

    /// How far apart single measurements are at the middle setting, as a part of the time: a robust
    /// standard deviation.
    #[must_use]
    pub fn scatter(&self) -> f64 {
        robust::median(&mut self.scale.0.clone())
    }

    /// The smallest and the largest message it was fitted to: beyond them it predicts by its
    /// formula alone.
    #[must_use]
    pub fn sizes(&self) -> (f64, f64) {
        let sizes = self.design.settings.iter().map(|at| at.size.number());
        sizes.fold((f64::INFINITY, 0.0), |(low, high), size| (low.min(size), high.max(size)))
    }

    /// The most pairs that sent at the same time.
    #[must_use]
    pub fn most_pairs(&self) -> u32 {
        self.design.settings.iter().map(|at| at.pairs).max().unwrap_or(1)
    }

    /// The formula, as text: that of the model, and of routers where messages passed different
    /// numbers of them.
    #[must_use]
    pub fn formula(&self) -> String {
        let more = if self.has_routers() { " + gamma h" } else { "" };
        format!("{}{more}", self.model.formula())
    }

    /// Whether it has a delay of routers beside the parameters of its paper.
    fn has_routers(&self) -> bool {
        !matches!(self.model, Model::Linear | Model::Shared) && self.design.hops_differ
    }

    /// Whether messages passed routers.
    #[must_use]
    pub fn has_hops(&self) -> bool {
        self.design.settings.iter().any(|at| at.hops > Hops::new(0.0))
    }
}

/// Times and costs are not below 0, nor are their intervals.
fn not_negative(interval: Interval) -> Interval {
    Interval { low: interval.low.max(0.0), high: interval.high.max(0.0) }
}
