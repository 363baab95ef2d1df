//! A straight piece of a curve by weighted least squares.

use super::design::Sums;

/// Sizes that differ in no more than rounding: by this part of their squares.
const SAME: f64 = 1e-11;

/// What a straight piece adds up to.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Line {
    /// Sums of weights, of sizes and of their squares.
    pub(crate) normal: [f64; 3],
    /// Sums of times, and of sizes times times.
    pub(crate) right: [f64; 2],
    /// Sum of squares of times.
    pub(crate) squares: f64,
    /// Sums of hops, of hops times sizes, of their squares, and of hops times times.
    pub(crate) hops: [f64; 4],
}

impl Line {
    /// Adds what was measured of one size over `hops` routers.
    pub(crate) fn add(&mut self, size: f64, hops: f64, sum: &Sums) {
        self.normal[0] += sum.weight;
        self.normal[1] += sum.weight * size;
        self.normal[2] += sum.weight * size * size;
        self.right[0] += sum.time;
        self.right[1] += sum.time * size;
        self.squares += sum.square;
        let weight = sum.weight * hops;
        self.hops[0] += weight;
        self.hops[1] += weight * size;
        self.hops[2] += weight * hops;
        self.hops[3] += sum.time * hops;
    }

    /// This and `sign` times the other.
    pub(crate) fn with(&self, other: &Self, sign: f64) -> Self {
        let mut all = *self;
        all.normal.iter_mut().zip(&other.normal).for_each(|(l, r)| *l += sign * r);
        all.right.iter_mut().zip(&other.right).for_each(|(l, r)| *l += sign * r);
        all.hops.iter_mut().zip(&other.hops).for_each(|(l, r)| *l += sign * r);
        all.squares += sign * other.squares;
        all
    }

    /// Intercept, slope, and what is left of the squares.
    pub(crate) fn fit(&self) -> Option<(f64, f64, f64)> {
        let [n, x, xx] = self.normal;
        let [y, xy] = self.right;
        let determinant = n * xx - x * x;
        // Not of one size only, nor of what is no number.
        (determinant > SAME * n * xx).then(|| {
            let (intercept, slope) =
                ((y * xx - xy * x) / determinant, (xy * n - y * x) / determinant);
            (intercept, slope, self.squares - intercept * y - slope * xy)
        })
    }
}
