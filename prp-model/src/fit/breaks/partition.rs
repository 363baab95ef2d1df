//! The best division of sizes into pieces, each of which a line fits.

use crate::fit::design::Sums;
use crate::fit::line::Line;

/// Measured sizes that a piece needs: two make any line, and say nothing of how far it is off.
const PIECE: usize = 3;

/// Parameters that a break costs: a line's two, and its place.
const PER_BREAK: f64 = 3.0;

/// What a parameter must explain, in variances: Liu, Wu and Zidek's criterion of 1997, made for
/// breaks, with their constants. Schwarz's would find one in every tenth straight line.
fn price(rows: usize) -> f64 {
    0.299 * (rows as f64).ln().powf(2.1)
}

/// Sums of squares that differ by this part of all of them do so by rounding.
const ROUNDING: f64 = 1e-13;

/// What was measured of each size.
#[derive(Clone, Debug)]
pub(super) struct SizeSums {
    pub(super) sizes: Vec<f64>,
    pub(super) sums: Vec<Sums>,
}

/// A curve in pieces.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    /// The numbers of the sizes that begin a piece, but for the first.
    pub(super) ends: Vec<usize>,
    /// Intercept and slope of each piece.
    lines: Vec<(f64, f64)>,
}

impl SizeSums {
    /// As many pieces as the number of measurements asks for.
    pub(super) fn pieces(&self, most: usize, rows: usize) -> Option<Pieces> {
        let most = most.min((self.sizes.len() / PIECE).checked_sub(1)?);
        let costs = self.costs();
        let all: Vec<(Vec<usize>, f64)> =
            (0..=most).filter_map(|breaks| self.best(&costs, breaks)).collect();
        let (_, least) = all.last()?;
        let total: f64 = self.sums.iter().map(|sum| sum.square).sum();
        // What scatters is what the most pieces leave.
        let freedom = rows.saturating_sub(2 * all.len()).max(1) as f64;
        let variance = (least / freedom).max(ROUNDING * total / rows.max(1) as f64);
        let criterion = |(ends, cost): &(Vec<usize>, f64)| {
            cost / variance + PER_BREAK * ends.len() as f64 * price(rows)
        };
        let best = all.iter().min_by(|l, r| criterion(l).total_cmp(&criterion(r)))?;
        Some(self.lines(best.0.clone()))
    }

    /// The best places of `breaks` breaks.
    pub(super) fn split(&self, breaks: usize) -> Option<Vec<usize>> {
        self.best(&self.costs(), breaks).map(|(ends, _)| ends)
    }

    fn lines(&self, ends: Vec<usize>) -> Pieces {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let stops = ends.iter().copied().chain([self.sizes.len()]);
        let line = |(from, to)| {
            let mut line = Line::default();
            (from..to).for_each(|at: usize| line.add(self.sizes[at], 0.0, &self.sums[at]));
            line.fit().map_or((0.0, 0.0), |(intercept, slope, _)| (intercept, slope))
        };
        let lines = starts.zip(stops).map(line).collect();
        Pieces { ends, lines }
    }

    /// What a line over the sizes of one number up to another leaves over.
    fn costs(&self) -> Vec<Vec<f64>> {
        let count = self.sizes.len();
        let mut costs = vec![vec![f64::INFINITY; count + 1]; count];
        for (from, costs) in costs.iter_mut().enumerate() {
            let mut line = Line::default();
            for to in from..count {
                line.add(self.sizes[to], 0.0, &self.sums[to]);
                if to + 1 >= from + PIECE {
                    costs[to + 1] = line.fit().map_or(f64::INFINITY, |(_, _, rest)| rest.max(0.0));
                }
            }
        }
        costs
    }

    /// The best places of `breaks` breaks, and what is left over: dynamic programming over the last
    /// piece.
    fn best(&self, costs: &[Vec<f64>], breaks: usize) -> Option<(Vec<usize>, f64)> {
        let count = self.sizes.len();
        let mut best: Vec<(f64, Vec<usize>)> =
            (0..=count).map(|to| (costs[0][to], Vec::new())).collect();
        for _ in 0..breaks {
            let with_one_more = |to: usize| {
                let mut least = (f64::INFINITY, Vec::new());
                for at in PIECE..to {
                    let cost = best[at].0 + costs[at][to];
                    if cost < least.0 {
                        least = (cost, [best[at].1.as_slice(), &[at]].concat());
                    }
                }
                least
            };
            best = (0..=count).map(with_one_more).collect();
        }
        let (cost, ends) = best.pop()?;
        cost.is_finite().then_some((ends, cost))
    }
}

impl Pieces {
    /// The lines before and after the break at the size of this number.
    pub(super) fn around(&self, at: usize) -> ((f64, f64), (f64, f64)) {
        let after = self.ends.partition_point(|end| *end <= at);
        (self.lines[after - 1], self.lines[after])
    }

    /// The time of the size of this number.
    pub(super) fn time(&self, at: usize, size: f64) -> f64 {
        let (intercept, slope) = self.lines[self.ends.partition_point(|end| *end <= at)];
        intercept + slope * size
    }
}
