//! The size that gives a curve its shape: of the smallest frame, or of a packet.

use super::Solver;
use super::packet::PacketSums;
use crate::fit::algebra::{Symmetric, Vector, dot, first, vector};
use crate::fit::design::Sums;
use crate::fit::family::{HOPS, Model};
use crate::fit::line::Line;
use crate::fit::sample::Setting;
use crate::point::packets;

/// Of messages of more packets than this no step is searched for: it is less than 1/16 of their
/// packets' cost, and the steps of smaller ones tell.
const MOST_STEPS: u32 = 16;

/// Sizes of packets beside those at which a step meets a measured size, for where all messages have
/// many packets: 2 % apart.
const RATIO: f64 = 1.02;

/// Sizes of packets smaller than this part of the smallest message are not searched for: steps so
/// narrow are a slope.
const SMALLEST_PART: f64 = 0.25;

/// Measured sizes that each piece of a line needs on its side of the break: two make any line, and
/// say nothing of how far it is off.
const PIECE: usize = 3;

/// A size that may give the shape, and the others that no measurement tells from it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub(crate) size: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The best parameters with their shape.
#[derive(Copy, Clone, Debug)]
pub(super) struct Best {
    pub(super) theta: Vector,
    pub(super) shape: Shape,
    cost: f64,
}

/// The sizes that may give the shape.
#[derive(Clone, Debug)]
pub(crate) enum Shapes {
    /// The model has none.
    None,
    /// Sizes of packets, each with the number of packets of every setting.
    Packets(Vec<(Shape, Vec<f64>)>),
    /// Breaks between these: measured sizes, each once and with the settings of it, in order.
    Breaks(Vec<(f64, Vec<usize>)>),
}

impl Shapes {
    pub(super) fn of(model: Model, settings: &[Setting]) -> Self {
        match model {
            Model::Packet => Self::Packets(packet_sizes(settings)),
            Model::Prp => Self::Breaks(knots(settings)),
            Model::Linear
            | Model::Hyperbolic
            | Model::LogP
            | Model::LogGp
            | Model::Blocks
            | Model::Shared => Self::None,
        }
    }

    /// Every size that is tried where a whole profile is wanted, in order; of breaks `per_gap` from
    /// one measured size to the next.
    pub(crate) fn all(&self, per_gap: u32) -> Vec<Shape> {
        match self {
            Self::None => Vec::new(),
            Self::Packets(all) => all.iter().map(|(shape, _)| *shape).collect(),
            Self::Breaks(knots) => {
                let range = breaks(knots.len());
                let pairs = knots[range.clone()].windows(2);
                let between = pairs.flat_map(|pair| {
                    let (low, high) = (pair[0].0, pair[1].0);
                    let step = (high - low) / f64::from(per_gap);
                    (0..per_gap).map(move |n| low + f64::from(n) * step)
                });
                let last = knots[range].last().map(|knot| knot.0);
                let point = |size| Shape { size, low: size, high: size };
                between.chain(last).map(point).collect()
            }
        }
    }

    /// The parameters with the least sum of squares.
    pub(super) fn best(&self, solver: &Solver, sums: &[Sums], start: &Vector) -> Best {
        let none = Shape { size: 0.0, low: 0.0, high: 0.0 };
        let mut best = Best { theta: *start, shape: none, cost: f64::INFINITY };
        match self {
            Self::None => {}
            Self::Packets(all) => {
                let packets = PacketSums::of(&solver.settings, sums);
                for (shape, counts) in all {
                    let equations = packets.with(counts);
                    let (theta, cost) = if solver.mask[HOPS] {
                        equations.with_routers()
                    } else {
                        equations.bounded()
                    };
                    best.take(Best { theta, shape: *shape, cost });
                }
            }
            Self::Breaks(knots) => two_pieces(solver, sums, knots, &mut best),
        }
        best
    }
}

impl Best {
    fn take(&mut self, other: Self) {
        if other.cost < self.cost {
            *self = other;
        }
    }
}

/// The classes of packet sizes that measured sizes can tell apart, of which each holds a whole
/// number of bytes.
fn packet_sizes(settings: &[Setting]) -> Vec<(Shape, Vec<f64>)> {
    let sizes = settings.iter().map(|at| at.size.number()).filter(|size| *size > 0.0);
    let (smallest, largest) =
        sizes.clone().fold((f64::INFINITY, 0.0_f64), |(low, high), s| (low.min(s), high.max(s)));
    if largest == 0.0 {
        return Vec::new();
    }
    let floor = (smallest * SMALLEST_PART).max(1.0);
    let mut edges: Vec<f64> =
        sizes.flat_map(|size| (1..=MOST_STEPS).map(move |k| size / f64::from(k))).collect();
    let mut size = floor;
    while size < largest {
        edges.push(size);
        size *= RATIO;
    }
    edges.push(largest);
    edges.retain(|edge| (floor..=largest).contains(edge));
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    // From the largest message on all fit one packet.
    edges.push(largest + 1.0);
    let class = |pair: &[f64]| {
        // Whole numbers from the lower edge on and below the upper one.
        let (low, high) = (pair[0].ceil(), pair[1].ceil() - 1.0);
        let shape = Shape { size: f64::midpoint(low, high).floor(), low, high };
        (low <= high).then_some(shape)
    };
    let counts = |shape: Shape| {
        let of = settings.iter().map(|at| packets(at.size.number(), shape.size)).collect();
        (shape, of)
    };
    edges.windows(2).filter_map(class).map(counts).collect()
}

fn knots(settings: &[Setting]) -> Vec<(f64, Vec<usize>)> {
    let mut order: Vec<usize> = (0..settings.len()).collect();
    let size = |at: usize| settings[at].size.number();
    order.sort_by(|l, r| size(*l).total_cmp(&size(*r)));
    let mut knots: Vec<(f64, Vec<usize>)> = Vec::new();
    for at in order {
        match knots.last_mut() {
            Some((last, of)) if *last == size(at) => of.push(at),
            _ => knots.push((size(at), vec![at])),
        }
    }
    knots
}

/// The knots at which a break may be: enough sizes on either side.
fn breaks(knots: usize) -> std::ops::Range<usize> {
    let low = (PIECE - 1).min(knots);
    low..(knots + 1).saturating_sub(PIECE).max(low)
}

/// The best two pieces that meet: at a measured size, or where two free lines cross between two of
/// them.
fn two_pieces(solver: &Solver, sums: &[Sums], knots: &[(f64, Vec<usize>)], best: &mut Best) {
    let lines: Vec<Line> = knots
        .iter()
        .map(|(size, of)| {
            let mut line = Line::default();
            let hops = |at: usize| solver.settings[at].hops.number();
            of.iter().for_each(|at| line.add(*size, hops(*at), &sums[*at]));
            line
        })
        .collect();
    let total = lines.iter().fold(Line::default(), |all, line| all.with(line, 1.0));
    let range = breaks(knots.len());
    let mut left = Line::default();
    for (at, line) in lines.iter().enumerate() {
        left = left.with(line, 1.0);
        if !range.contains(&at) {
            continue;
        }
        let size = knots[at].0;
        let (theta, cost) = meet_at(solver, size, &left, &total);
        best.take(Best { theta, shape: Shape { size, low: size, high: size }, cost });
        if !range.contains(&(at + 1)) {
            continue;
        }
        let right = total.with(&left, -1.0);
        let free =
            if solver.mask[HOPS] { with_routers(&left, &right) } else { free(&left, &right) };
        let Some(([low, flat, high, steep, router, ..], cost)) = free else { continue };
        let size = (low - high) / (steep - flat);
        let fits = size > knots[at].0 && size < knots[at + 1].0;
        let allowed = !solver.bounded || flat >= 0.0 && high >= 0.0 && router >= 0.0;
        if fits && steep > flat && allowed {
            let theta = vector([high, flat, steep - flat, size, router]);
            let shape = Shape { size, low: size, high: size };
            best.take(Best { theta, shape, cost });
        }
    }
}

/// Two lines that need not meet, each with intercept and slope, without routers; what is left of
/// the squares.
fn free(left: &Line, right: &Line) -> Option<(Vector, f64)> {
    let (low, flat, below) = left.fit()?;
    let (high, steep, above) = right.fit()?;
    Some((vector([low, flat, high, steep]), below + above))
}

/// The same with a delay of routers that both have.
fn with_routers(left: &Line, right: &Line) -> Option<(Vector, f64)> {
    let mut normal = Symmetric::ZERO;
    for (at, line) in [(0, left), (2, right)] {
        let ([w, x, xx], [h, xh, ..]) = (line.normal, line.hops);
        normal.set(at, at, w);
        normal.set(at, at + 1, x);
        normal.set(at + 1, at + 1, xx);
        normal.set(at, HOPS, h);
        normal.set(at + 1, HOPS, xh);
    }
    normal.set(HOPS, HOPS, left.hops[2] + right.hops[2]);
    let ([y, xy], [z, xz]) = (left.right, right.right);
    let side = vector([y, xy, z, xz, left.hops[3] + right.hops[3]]);
    let theta = normal.inverse(&first(HOPS + 1))?.times(&side);
    Some((theta, left.squares + right.squares - dot(&theta, &side)))
}

/// The best two pieces that meet at the size of the last point of `left`.
fn meet_at(solver: &Solver, size: f64, left: &Line, total: &Line) -> (Vector, f64) {
    let right = total.with(left, -1.0);
    // Features 1, n and max(n, size), of which the last is the size itself on the left.
    let mut normal = Symmetric::ZERO;
    let mut set = |row: usize, column: usize, value: f64| normal.set(row, column, value);
    let [w, x, xx] = total.normal;
    set(0, 0, w);
    set(0, 1, x);
    set(1, 1, xx);
    set(0, 2, left.normal[0] * size + right.normal[1]);
    set(1, 2, left.normal[1] * size + right.normal[2]);
    set(2, 2, left.normal[0] * size * size + right.normal[2]);
    let third = left.right[0] * size + right.right[1];
    let [h, xh, hh, th] = total.hops;
    set(0, HOPS, h);
    set(1, HOPS, xh);
    set(2, HOPS, left.hops[0] * size + right.hops[1]);
    set(HOPS, HOPS, hh);
    let side = vector([total.right[0], total.right[1], third, 0.0, th]);
    let mut mask = solver.mask;
    mask[3] = false;
    let theta = solver.solution(&normal, &side, &vector([0.0, 0.0, 0.0, size]), &mask);
    let linear = vector([theta[0], theta[1], theta[2], 0.0, theta[HOPS]]);
    let explained = dot(&linear, &side);
    // Of a solution with the bounds in force: squares less what it explains, which is no
    // projection.
    let used = normal.quadratic(&linear);
    // A network that costs less the more is sent is none.
    let cost = if theta[2] < 0.0 { f64::INFINITY } else { total.squares - 2.0 * explained + used };
    (theta, cost)
}
