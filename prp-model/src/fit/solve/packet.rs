//! Least squares of a cost for each packet and one for each byte, over many sizes of packets.

use super::not_negative;
use crate::fit::algebra::{Symmetric, Vector, WIDTH, dot, vector};
use crate::fit::design::Sums;
use crate::fit::family::HOPS;
use crate::fit::sample::Setting;

/// Packets and bytes that differ in no more than rounding: by this part of their squares.
const SAME: f64 = 1e-11;

/// What measurements add up to, whatever the size of packets is.
#[derive(Clone, Debug)]
pub(super) struct PacketSums {
    /// Weight, weight times size, weighted time, and weight times hops of each setting.
    rows: Vec<[f64; 4]>,
    /// Of squares of sizes.
    xx: f64,
    /// Of sizes times times.
    x: f64,
    /// Of squares of times.
    squares: f64,
    /// Of sizes times hops, of squares of hops, and of hops times times.
    hops: [f64; 3],
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
    /// Packets times hops, and the sums of hops.
    ch: f64,
    hops: [f64; 3],
}

impl PacketSums {
    pub(super) fn of(settings: &[Setting], sums: &[Sums]) -> Self {
        let rows = Vec::with_capacity(sums.len());
        let mut all = Self { rows, xx: 0.0, x: 0.0, squares: 0.0, hops: [0.0; 3] };
        for (at, sum) in settings.iter().zip(sums) {
            let (size, hops) = (at.size.number(), at.hops.number());
            all.rows.push([sum.weight, sum.weight * size, sum.time, sum.weight * hops]);
            all.hops[0] += sum.weight * size * hops;
            all.hops[1] += sum.weight * hops * hops;
            all.hops[2] += sum.time * hops;
            all.xx += sum.weight * size * size;
            all.x += sum.time * size;
            all.squares += sum.square;
        }
        all
    }

    /// With these numbers of packets at each setting.
    pub(super) fn with(&self, counts: &[f64]) -> PacketEquations {
        let (mut cc, mut cx, mut c, mut ch) = (0.0, 0.0, 0.0, 0.0);
        for ([weight, size, time, hops], count) in self.rows.iter().zip(counts) {
            cc += weight * count * count;
            cx += size * count;
            c += time * count;
            ch += hops * count;
        }
        let Self { xx, x, squares, hops, .. } = *self;
        PacketEquations { cc, cx, xx, c, x, squares, ch, hops }
    }
}

impl PacketEquations {
    /// The solution with a delay of routers, of which nothing is negative.
    pub(super) fn with_routers(&self) -> (Vector, f64) {
        let (mut normal, [xh, hh, h]) = (Symmetric::ZERO, self.hops);
        normal.set(0, 0, self.cc);
        normal.set(0, 1, self.cx);
        normal.set(1, 1, self.xx);
        normal.set(0, HOPS, self.ch);
        normal.set(1, HOPS, xh);
        normal.set(HOPS, HOPS, hh);
        let right = vector([self.c, self.x, 0.0, 0.0, h]);
        let mask = std::array::from_fn(|at| at < 2 || at == HOPS);
        let theta = not_negative(&normal, &right, &[0.0; WIDTH], &mask);
        (theta, self.squares - dot(&theta, &right))
    }

    /// The solution of which nothing is negative.
    pub(super) fn bounded(&self) -> (Vector, f64) {
        let Self { cc, cx, xx, c, x, squares, .. } = *self;
        let determinant = cc * xx - cx * cx;
        if determinant > SAME * cc * xx {
            let (a, m) = ((c * xx - x * cx) / determinant, (x * cc - c * cx) / determinant);
            if a >= 0.0 && m >= 0.0 {
                return (vector([a, m]), squares - a * c - m * x);
            }
        }
        // One of them alone: the one that explains more.
        if c * c * xx >= x * x * cc {
            (vector([c / cc]), squares - c * c / cc)
        } else {
            (vector([0.0, x / xx]), squares - x * x / xx)
        }
    }
}
