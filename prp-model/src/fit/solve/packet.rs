//! Least squares of a cost for each packet and one for each byte, over many sizes of packets.

use crate::fit::algebra::Vector;
use crate::fit::design::Sums;
use crate::fit::sample::Setting;

/// Packets and bytes that differ in no more than rounding: by this part of their squares.
const SAME: f64 = 1e-11;

/// What measurements add up to, whatever the size of packets is.
#[derive(Clone, Debug)]
pub(super) struct PacketSums {
    /// Weight, weight times size, and weighted time of each setting.
    rows: Vec<[f64; 3]>,
    /// Of squares of sizes.
    xx: f64,
    /// Of sizes times times.
    x: f64,
    /// Of squares of times.
    squares: f64,
}

/// Normal equations for one size of packets.
#[derive(Copy, Clone, Debug)]
pub(super) struct PacketEquations {
    cc: f64,
    cx: f64,
    xx: f64,
    c: f64,
    x: f64,
    squares: f64,
}

impl PacketSums {
    pub(super) fn of(settings: &[Setting], sums: &[Sums]) -> Self {
        let mut all = Self { rows: Vec::with_capacity(sums.len()), xx: 0.0, x: 0.0, squares: 0.0 };
        for (at, sum) in settings.iter().zip(sums) {
            let size = at.size.number();
            all.rows.push([sum.weight, sum.weight * size, sum.time]);
            all.xx += sum.weight * size * size;
            all.x += sum.time * size;
            all.squares += sum.square;
        }
        all
    }

    /// With so many packets at each setting.
    pub(super) fn with(&self, counts: &[f64]) -> PacketEquations {
        let (mut cc, mut cx, mut c) = (0.0, 0.0, 0.0);
        for ([weight, size, time], count) in self.rows.iter().zip(counts) {
            cc += weight * count * count;
            cx += size * count;
            c += time * count;
        }
        PacketEquations { cc, cx, xx: self.xx, c, x: self.x, squares: self.squares }
    }
}

impl PacketEquations {
    /// The solution of which nothing is negative.
    pub(super) fn bounded(&self) -> (Vector, f64) {
        let Self { cc, cx, xx, c, x, squares } = *self;
        let determinant = cc * xx - cx * cx;
        if determinant > SAME * cc * xx {
            let (a, m) = ((c * xx - x * cx) / determinant, (x * cc - c * cx) / determinant);
            if a >= 0.0 && m >= 0.0 {
                return ([a, m, 0.0, 0.0], squares - a * c - m * x);
            }
        }
        // One of them alone: the one that explains more.
        if c * c * xx >= x * x * cc {
            ([c / cc, 0.0, 0.0, 0.0], squares - c * c / cc)
        } else {
            ([0.0, x / xx, 0.0, 0.0], squares - x * x / xx)
        }
    }
}
