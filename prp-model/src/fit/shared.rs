//! Patterns of messages among processes that share processors: the curve, its slopes, and where a
//! fit of it begins.
//!
//! The fixed time is the end of a list schedule: a sum of parameters, with counts that do not
//! change but where another row of events becomes the longest one. The time of a byte is that of
//! the slowest of network, process and processors in each step.

use super::algebra::{Vector, WIDTH};
use super::design::Design;
use super::sample::{Played, Setting};
use crate::graph::{Machine, Part, PatternKind, PatternMessage, Plan, schedule, steps};

/// Places of the parameters.
const O: usize = 0;
const B: usize = 1;
const A_C: usize = 2;
const B_C: usize = 3;
const W: usize = 5;
const C: usize = 6;

/// Both limits at a setting, each with its derivatives.
struct Limits {
    fixed: (f64, Vector),
    byte: (f64, Vector),
}

/// A pattern's messages with a fit's parameters.
struct Messages<'a> {
    all: Vec<PatternMessage>,
    processes: u32,
    theta: &'a Vector,
}

impl Messages<'_> {
    /// The place of the parameter that a part takes.
    const fn parameter(part: Part) -> usize {
        match part {
            Part::Send(_) | Part::Receive(_) => O,
            Part::Link(..) => A_C,
            Part::Wake => W,
            Part::Switch => C,
        }
    }
}

impl Plan for Messages<'_> {
    type Made = Vector;

    fn messages(&self) -> usize {
        self.all.len()
    }

    fn processes(&self) -> usize {
        self.processes as usize
    }

    fn ends(&self, message: usize) -> (usize, usize) {
        let PatternMessage { from, to, .. } = self.all[message];
        (from as usize, to as usize)
    }

    fn after(&self, message: usize) -> &[usize] {
        &self.all[message].after
    }

    fn links(&self, _message: usize) -> usize {
        1
    }

    fn block(&self, _message: usize, _link: usize) -> Option<usize> {
        Some(0)
    }

    fn time(&self, part: Part) -> f64 {
        self.theta[Self::parameter(part)]
    }

    fn add(&self, made_of: &mut Vector, part: Part) {
        made_of[Self::parameter(part)] += 1.0;
    }
}

/// The pattern of a setting: pairs that each have two processors, if nothing else is said.
fn played(at: &Setting) -> Played {
    let processes = 2 * at.pairs;
    at.played.unwrap_or(Played { kind: PatternKind::Pairs, processes, processors: processes })
}

fn limits(theta: &Vector, at: &Setting) -> Limits {
    let Played { kind, processes, processors } = played(at);
    let messages = Messages { all: kind.messages(processes), processes, theta };
    let end = schedule(&messages, Some(&Machine::new(processors)), &mut |_| {});
    let count = messages.all.len();
    let in_steps = if kind.is_ordered() { steps(&messages) } else { vec![1; count] };
    // What a process of neighbours sends, and as much is received at the same time.
    let own = if let PatternKind::Neighbours(number) = kind { f64::from(number) } else { 1.0 };
    let (mut byte, mut slopes) = (0.0, [0.0; WIDTH]);
    for step in 1..=in_steps.iter().copied().max().unwrap_or(0) {
        let count = in_steps.iter().filter(|of| **of == step).count() as f64;
        let work = if processes > processors { 2.0 * count / f64::from(processors) } else { own };
        let (at, times) = if count * theta[B_C] > own.max(work) * theta[B] {
            (B_C, count)
        } else {
            (B, own.max(work))
        };
        byte += times * theta[at];
        slopes[at] += times;
    }
    Limits { fixed: (end.when, end.made_of), byte: (byte, slopes) }
}

/// The time at a setting. A processor that is shared does nothing else meanwhile: both limits add
/// up.
pub(super) fn value(theta: &Vector, at: &Setting) -> f64 {
    let Limits { fixed, byte } = limits(theta, at);
    fixed.0 + byte.0 * at.size.number()
}

/// The derivatives of the time by the parameters, at a setting.
pub(super) fn gradient(theta: &Vector, at: &Setting) -> Vector {
    let Limits { fixed, byte } = limits(theta, at);
    std::array::from_fn(|place| fixed.1[place] + at.size.number() * byte.1[place])
}

/// Parameters near those of the data, by trying parts of what a small message and a byte take:
/// which row of events is the longest depends on them, and a fit only goes down from where it is.
pub(super) fn start(design: &Design, medians: &[f64]) -> Vector {
    let sizes = || design.settings.iter().map(|at| at.size.number());
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let of_size = |size: f64| -> Vec<(&Setting, f64)> {
        let all = design.settings.iter().zip(medians.iter().copied());
        all.filter(|(at, _)| at.size.number() == size).collect()
    };
    let (small, large) = (of_size(least), of_size(most));
    let shortest = |all: &[(&Setting, f64)]| all.iter().fold(f64::INFINITY, |t, one| t.min(one.1));
    let (fixed, byte) = (shortest(&small), shortest(&large) / most.max(1.0));
    let off = |theta: &Vector, all: &[(&Setting, f64)]| -> f64 {
        all.iter().map(|(at, time)| (value(theta, at) / time - 1.0).powi(2)).sum()
    };
    let theta = best([0.0; WIDTH], &[O, A_C, W, C], fixed, &|theta| off(theta, &small));
    best(theta, &[B, B_C], byte, &|theta| off(theta, &large))
}

/// The best values of some parameters, of all combinations of parts of `unit`.
fn best(start: Vector, places: &[usize], unit: f64, cost: &dyn Fn(&Vector) -> f64) -> Vector {
    /// Finer, a fit finds the way itself.
    const PARTS: [f64; 5] = [0.02, 0.1, 0.25, 0.5, 1.0];
    let Some((place, others)) = places.split_first() else { return start };
    let one = |part: f64| {
        let mut theta = start;
        theta[*place] = part * unit;
        best(theta, others, unit, cost)
    };
    let all = PARTS.map(one);
    all.into_iter().min_by(|l, r| cost(l).total_cmp(&cost(r))).unwrap_or(start)
}
