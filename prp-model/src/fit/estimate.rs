//! A fit: a model's parameters from measurements, each with an interval, or not at all.

use super::algebra::{Mask, Vector};
use super::answer::{Estimate, FitError, NotIdentified, Options};
use super::bootstrap::{replicates, shape_of};
use super::covariance::{columns, covariance};
use super::design::Design;
use super::family::{Form, Model};
use super::identify::identified;
use super::interval::{Interval, ShapeInterval, Spread};
use super::likelihood::aic;
use super::quantity::{Quantity, Rule};
use super::robust::{self, Scale, Settled};
use super::sample::{Sample, Setting};
use super::solve::Solver;
use super::start::start;
use crate::unit::{Hops, Seconds};

/// Why a workstation's time for a byte is not told.
const NETWORK_ALWAYS: &str =
    "the network is the bottleneck at every number of pairs: no more than b_c";

/// Why a break, and what is below it, is not told.
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
    /// The parameters that the measurements do not tell.
    pub not_identified: Vec<NotIdentified>,
    /// Akaike's criterion; the difference to that of another model of the same measurements says which
    /// predicts better: the smaller one.
    pub aic: f64,
    /// How it was made.
    pub options: Options,
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
    let mask = mask(model, &design, &begin)?;
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
        solver,
        design,
        settled,
        scale,
        spread,
    };
    fit.tell();
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
    let parameters = if model == Model::Linear && !has_hops { named - 1 } else { named };
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
    }
    Ok(())
}

/// The parameters that are looked for.
fn mask(model: Model, design: &Design, begin: &Vector) -> Result<Mask, FitError> {
    let solver = Solver::new(model, &design.settings, model.mask());
    if matches!(model, Model::Packet | Model::Prp) && solver.shapes().all(1).is_empty() {
        return Err(FitError::NoBytes);
    }
    let mut theta = *begin;
    if let Some(shape) = (0..theta.len()).find(|at| model.is_shape(*at)) {
        // Any shape will do: which columns depend on each other is the same for all that are looked at.
        let all = solver.shapes().all(1);
        theta[shape] = all[all.len() / 2].size;
    }
    let curve = robust::curve(&solver, &theta);
    Ok(identified(model, design, &columns(&solver, &theta, &curve)))
}

impl Fit {
    /// Fills in what it tells, and what it does not.
    fn tell(&mut self) {
        let shape = self.shape();
        let has_break = !shape.is_some_and(|shape| shape.reaches_ends);
        for quantity in self.model.quantities() {
            let told = match quantity.rule {
                _ if quantity.needs_break && !has_break => Err(NO_BREAK.into()),
                Rule::Shape => Ok(self.shape_estimate(quantity, shape)),
                _ => self.estimate(quantity),
            };
            match told {
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
        if let Some(missing) = quantity.needs.iter().find(|at| !self.solver.mask[**at]) {
            return Err(self.why_not(*missing));
        }
        if let Some(idle) = quantity.needs.iter().find(|at| self.is_idle(**at)) {
            return Err(self.why_idle(*idle));
        }
        self.stands_out(quantity)?;
        let interval = |of| self.interval(of);
        let (value, interval) = match quantity.rule {
            Rule::Value(of) => (of(theta).0, interval(of).map(not_negative)),
            Rule::Reciprocal(of) => {
                let (cost, interval) = (of(theta).0, interval(of));
                if cost <= 0.0 || interval.is_some_and(|i| i.low <= 0.0) {
                    return Err("a byte's cost does not stand out from the scatter".into());
                }
                let turned = |i: Interval| Interval { low: 1.0 / i.high, high: 1.0 / i.low };
                (1.0 / cost, interval.map(turned))
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

    /// Whether a parameter changes nothing at any setting, where the fit has come to.
    fn is_idle(&self, parameter: usize) -> bool {
        let columns = columns(&self.solver, &self.settled.theta, &self.settled.curve);
        self.settled.theta[parameter] > 0.0 && columns.iter().all(|row| row[parameter] == 0.0)
    }

    fn why_idle(&self, parameter: usize) -> String {
        match (self.model, parameter) {
            (Model::Blocks, 1) => NETWORK_ALWAYS.into(),
            (Model::Blocks, 3) => "the network is the bottleneck at no number of pairs".into(),
            _ => "it changes nothing at the sizes measured".into(),
        }
    }

    /// Of a parameter that only shows where it is larger than another one: whether it is.
    fn stands_out(&self, quantity: &Quantity) -> Result<(), String> {
        type Of = fn(&Vector) -> (f64, Vector);
        let (more, why): (Of, _) = match (self.model, quantity.name) {
            (Model::Blocks, "b") if !self.is_idle(3) => {
                (|t| (t[1] - t[3], [0.0, 1.0, 0.0, -1.0]), NETWORK_ALWAYS)
            }
            (Model::LogP | Model::LogGp, "g") if self.solver.mask[1] => (
                |t| (t[2] - t[1], [0.0, -1.0, 1.0, 0.0]),
                "messages follow each other as fast as the processor makes them: no more than o",
            ),
            _ => return Ok(()),
        };
        let is_more = self.interval(more).is_none_or(|interval| interval.low > 0.0);
        if is_more { Ok(()) } else { Err(why.into()) }
    }

    fn interval(&self, of: impl Fn(&Vector) -> (f64, Vector)) -> Option<Interval> {
        let is_shaped = matches!(self.model.form(), Form::Shaped(_));
        self.spread.as_ref()?.interval(is_shaped, of)
    }

    /// Why a parameter is not told.
    fn why_not(&self, parameter: usize) -> String {
        match (self.model, parameter) {
            (Model::Linear, 2) if self.design.has_hops => {
                "all messages passed as many routers".into()
            }
            (Model::Linear, 2) => "no message passed a router".into(),
            (Model::LogP | Model::LogGp, 1) => {
                "a ping-pong only tells L + 2 o: measure how long the call to send takes".into()
            }
            (Model::LogP | Model::LogGp, 2) => {
                "a ping-pong has one message at a time: measure several in a row".into()
            }
            _ => "the sizes measured cannot tell it from the others".into(),
        }
    }

    /// What a parameter stands for, if that is more than its name says.
    fn means(&self, name: &str) -> Option<String> {
        let mask = &self.solver.mask;
        match (self.model, name) {
            (Model::Linear, "alpha") if !mask[2] && self.design.has_hops => {
                let hops = self.design.settings.first()?.hops.number();
                Some(format!("alpha + {hops} gamma"))
            }
            (Model::LogP | Model::LogGp, "L") if !mask[1] => Some("L + 2 o".into()),
            (Model::LogP | Model::LogGp, "g") if !mask[1] => Some("max(g, o)".into()),
            _ => None,
        }
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

    /// The smallest and the largest message it was fitted to: beyond them it predicts by its formula alone.
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

    /// Whether messages passed different numbers of routers.
    #[must_use]
    pub fn has_hops(&self) -> bool {
        self.design.settings.iter().any(|at| at.hops > Hops::new(0.0))
    }
}

/// Times and costs are not below 0, nor are their intervals.
fn not_negative(interval: Interval) -> Interval {
    Interval { low: interval.low.max(0.0), high: interval.high.max(0.0) }
}
