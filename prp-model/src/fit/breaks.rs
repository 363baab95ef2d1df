//! Breaks of a curve: sizes at which a line ends and another one begins, as at a full frame, a full
//! window, or where a library begins to ask the receiver first.
//!
//! Nothing says how many there are. Each needs three sizes on either side, and must explain more
//! than scatter does (Liu, Wu and Zidek's criterion).

mod partition;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::answer::Options;
use super::bootstrap::draw;
use super::design::{Design, Sums};
use super::interval::CONFIDENCE;
use super::robust::{influence, median};
use super::sample::{Sample, TimeKind};
use partition::{Pieces, SizeSums};

/// Breaks that are searched for at most: frame, window and rendezvous.
const MAX_BREAKS: usize = 3;

/// A normal deviation by the median of absolute ones.
const NORMAL_BY_MAD: f64 = 1.482_602_218_505_602;

/// Scatter below this part of a time is rounding.
const ROUNDING: f64 = 1e-9;

/// A size at which the curve breaks.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Break {
    /// Where, in bytes: where the lines meet if that is between two measured sizes, else halfway.
    pub size: f64,
    /// The break is above this size and at most `high`, in 95 of 100 cases.
    pub low: f64,
    /// The break is at or below this size and above `low`, in those cases.
    pub high: f64,
    /// How much longer, in seconds, a message takes just after it than just before.
    pub step: f64,
    /// What a byte costs before it, in seconds.
    pub before: f64,
    /// What a byte costs after it, in seconds.
    pub after: f64,
}

/// The breaks that `samples` show, by size. Of messages that passed different numbers of routers
/// the most frequent number is used; of several in a row, none.
#[must_use]
pub fn breaks(samples: &[Sample], options: Options) -> Vec<Break> {
    let design = Design::of(&comparable(samples));
    let times = design.times();
    let medians: Vec<f64> =
        design.by_setting().into_iter().map(|mut times| median(&mut times)).collect();
    let curve = sums(&design, &times, &medians);
    let Some(pieces) = curve.pieces(MAX_BREAKS, times.len()) else { return Vec::new() };
    let mut all: Vec<Break> = pieces.ends.iter().map(|at| found(&curve, &pieces, *at)).collect();
    let drawn = made(&design, &curve, &pieces, &medians, options);
    for (number, found) in all.iter_mut().enumerate() {
        let mut sides: Vec<usize> = drawn.iter().map(|ends| ends[number]).collect();
        sides.sort_unstable();
        let tail = (1.0 - CONFIDENCE) / 2.0;
        let rank = |part: f64| ((sides.len() as f64 * part) as usize).min(sides.len() - 1);
        if !sides.is_empty() {
            found.low = curve.sizes[sides[rank(tail)] - 1].min(found.low);
            found.high = curve.sizes[sides[rank(1.0 - tail)]].max(found.high);
        }
    }
    all
}

/// Those that differ in size alone.
fn comparable(samples: &[Sample]) -> Vec<Sample> {
    let hops = |sample: &Sample| sample.hops.unwrap_or_default().number();
    let single = |sample: &&Sample| {
        sample.kind == TimeKind::OneWay && sample.messages == 1 && sample.pairs == 1
    };
    let singles: Vec<Sample> = samples.iter().filter(single).copied().collect();
    let count = |wanted: f64| singles.iter().filter(|s| hops(s) == wanted).count();
    let usual = singles.iter().map(&hops).max_by_key(|wanted| count(*wanted)).unwrap_or_default();
    singles.into_iter().filter(|sample| hops(sample) == usual).collect()
}

/// Sums of each size, with relative weights and without what is far off its own size's median.
fn sums(design: &Design, times: &[f64], medians: &[f64]) -> SizeSums {
    let residual = |at: usize, time: f64| time / medians[at] - 1.0;
    let each = || design.rows.iter().zip(times);
    let mut off: Vec<f64> =
        each().map(|(row, time)| residual(row.setting, *time).abs()).filter(|r| *r > 0.0).collect();
    let scale = NORMAL_BY_MAD * median(&mut off);
    let mut sums = vec![Sums::default(); medians.len()];
    for (row, time) in each() {
        let at = row.setting;
        let weight =
            if scale > ROUNDING { influence(residual(at, *time), scale).weight } else { 1.0 };
        sums[at].add(weight / (medians[at] * medians[at]), *time);
    }
    let sizes = design.settings.iter().map(|at| at.size.number()).collect();
    SizeSums { sizes, sums }
}

/// A break before the size of this number.
fn found(curve: &SizeSums, pieces: &Pieces, at: usize) -> Break {
    let (left, right) = pieces.around(at);
    let (low, high) = (curve.sizes[at - 1], curve.sizes[at]);
    let crossing = (left.0 - right.0) / (right.1 - left.1);
    let is_between = low < crossing && crossing < high;
    let size = if is_between { crossing } else { f64::midpoint(low, high) };
    let step = right.0 - left.0 + (right.1 - left.1) * size;
    Break { size, low, high, step, before: left.1, after: right.1 }
}

/// Where as many breaks are in made data: the pieces, with what they leave over by random signs.
fn made(
    design: &Design,
    curve: &SizeSums,
    pieces: &Pieces,
    medians: &[f64],
    options: Options,
) -> Vec<Vec<usize>> {
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let fitted: Vec<f64> =
        (0..curve.sizes.len()).map(|at| pieces.time(at, curve.sizes[at])).collect();
    // Each piece has taken two of the measurements for its line.
    let parameters = 2 * (pieces.ends.len() + 1);
    let rows = design.rows.len() as f64;
    let whole = (rows / (rows - parameters as f64).max(1.0)).sqrt();
    let mut factors = vec![0.0; design.groups];
    let one = |_| {
        factors.iter_mut().for_each(|factor| *factor = draw(&mut random, design.groups));
        let made: Vec<f64> = design
            .rows
            .iter()
            .map(|row| {
                let curve = fitted[row.setting];
                curve + (row.time - curve) * whole * factors[row.group]
            })
            .collect();
        sums(design, &made, medians).split(pieces.ends.len())
    };
    (0..options.resamples).filter_map(one).collect()
}

#[cfg(test)]
mod tests;
