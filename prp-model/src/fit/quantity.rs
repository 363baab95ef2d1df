//! What a fit tells of: parameters under their names, and what follows from them.

use super::algebra::{Vector, vector};
use super::family::{HOPS, Model};
use crate::unit::{Bytes, BytesPerSecond, Seconds, SecondsPerByte};

/// How an answer follows from the parameters of a curve.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Rule {
    /// The value, and its derivatives.
    Value(fn(&Vector) -> (f64, Vector)),
    /// One by that.
    Reciprocal(fn(&Vector) -> (f64, Vector)),
    /// The exponential of that: of quotients, whose logarithms differ.
    Exponential(fn(&Vector) -> (f64, Vector)),
    /// The size that gives the curve its shape.
    Shape,
}

/// An answer's name, unit and rule; which parameters it needs.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Quantity {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) rule: Rule,
    pub(crate) needs: &'static [usize],
    /// Whether it is only determined together with the break of the curve.
    pub(crate) needs_break: bool,
}

const fn plain(name: &'static str, unit: &'static str, at: usize) -> Quantity {
    let (rule, needs): (_, &'static [usize]) = match at {
        0 => (Rule::Value(|t| (t[0], vector([1.0]))), &[0]),
        1 => (Rule::Value(|t| (t[1], vector([0.0, 1.0]))), &[1]),
        2 => (Rule::Value(|t| (t[2], vector([0.0, 0.0, 1.0]))), &[2]),
        3 => (Rule::Value(|t| (t[3], vector([0.0, 0.0, 0.0, 1.0]))), &[3]),
        4 => (Rule::Value(|t| (t[4], vector([0.0, 0.0, 0.0, 0.0, 1.0]))), &[4]),
        5 => (Rule::Value(|t| (t[5], vector([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]))), &[5]),
        _ => (Rule::Value(|t| (t[6], vector([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]))), &[6]),
    };
    Quantity { name, unit, rule, needs, needs_break: false }
}

const fn shape(name: &'static str) -> Quantity {
    Quantity { name, unit: Bytes::UNIT, rule: Rule::Shape, needs: &[], needs_break: true }
}

const SECONDS: &str = Seconds::UNIT;
const PER_BYTE: &str = SecondsPerByte::UNIT;
const RATE: &str = BytesPerSecond::UNIT;

/// What a router on the path adds, in models whose papers have no routers.
pub(crate) const ROUTER: Quantity = plain("gamma", SECONDS, HOPS);

/// 1 / beta.
const BANDWIDTH_OF_1: Quantity = Quantity {
    name: "bandwidth",
    unit: RATE,
    rule: Rule::Reciprocal(|t| (t[1], vector([0.0, 1.0]))),
    needs: &[1],
    needs_break: false,
};

impl Model {
    /// The parameters under the names of their papers.
    pub(crate) const fn quantities(self) -> &'static [Quantity] {
        match self {
            Self::Linear => {
                const ALL: [Quantity; 3] = [
                    plain("alpha", SECONDS, 0),
                    plain("beta", PER_BYTE, 1),
                    plain("gamma", SECONDS, 2),
                ];
                &ALL
            }
            Self::Prp => {
                const ALL: [Quantity; 5] = [
                    Quantity {
                        name: "L",
                        unit: SECONDS,
                        rule: Rule::Value(|t| (t[0] + t[2] * t[3], vector([1.0, 0.0, t[3], t[2]]))),
                        needs: &[0],
                        needs_break: false,
                    },
                    Quantity {
                        name: "B0",
                        unit: RATE,
                        rule: Rule::Reciprocal(|t| (t[1], vector([0.0, 1.0]))),
                        needs: &[1],
                        needs_break: true,
                    },
                    plain("L1", SECONDS, 0),
                    Quantity {
                        name: "B1",
                        unit: RATE,
                        rule: Rule::Reciprocal(|t| (t[1] + t[2], vector([0.0, 1.0, 1.0]))),
                        needs: &[1, 2],
                        needs_break: false,
                    },
                    shape("n_min"),
                ];
                &ALL
            }
            Self::Packet => {
                const ALL: [Quantity; 3] =
                    [plain("a", SECONDS, 0), plain("m", PER_BYTE, 1), shape("p")];
                &ALL
            }
            Self::Hyperbolic => {
                const ALL: [Quantity; 2] = [plain("a", SECONDS, 0), plain("b", PER_BYTE, 1)];
                &ALL
            }
            Self::LogP => {
                const ALL: [Quantity; 3] =
                    [plain("L", SECONDS, 0), plain("o", SECONDS, 1), plain("g", SECONDS, 2)];
                &ALL
            }
            Self::LogGp => {
                const ALL: [Quantity; 4] = [
                    plain("L", SECONDS, 0),
                    plain("o", SECONDS, 1),
                    plain("g", SECONDS, 2),
                    plain("G", PER_BYTE, 3),
                ];
                &ALL
            }
            Self::Blocks => {
                const ALL: [Quantity; 4] = [
                    plain("a", SECONDS, 0),
                    plain("b", PER_BYTE, 1),
                    plain("a_c", SECONDS, 2),
                    plain("b_c", PER_BYTE, 3),
                ];
                &ALL
            }
            Self::Shared => {
                const ALL: [Quantity; 6] = [
                    plain("o", SECONDS, 0),
                    plain("b", PER_BYTE, 1),
                    plain("a_c", SECONDS, 2),
                    plain("b_c", PER_BYTE, 3),
                    plain("w", SECONDS, 5),
                    plain("c", SECONDS, 6),
                ];
                &ALL
            }
        }
    }

    /// What follows from the parameters.
    pub(crate) const fn derived(self) -> &'static [Quantity] {
        match self {
            Self::Linear => {
                const ALL: [Quantity; 2] = [
                    BANDWIDTH_OF_1,
                    Quantity {
                        name: "half_bandwidth_size",
                        unit: Bytes::UNIT,
                        rule: Rule::Exponential(|t| {
                            ((t[0] / t[1]).ln(), vector([1.0 / t[0], -1.0 / t[1]]))
                        }),
                        needs: &[0, 1],
                        needs_break: false,
                    },
                ];
                &ALL
            }
            Self::Hyperbolic => {
                const ALL: [Quantity; 1] = [BANDWIDTH_OF_1];
                &ALL
            }
            Self::LogGp => {
                const ALL: [Quantity; 1] = [Quantity {
                    name: "bandwidth",
                    unit: RATE,
                    rule: Rule::Reciprocal(|t| (t[3], vector([0.0, 0.0, 0.0, 1.0]))),
                    needs: &[3],
                    needs_break: false,
                }];
                &ALL
            }
            Self::Prp | Self::Packet | Self::LogP | Self::Blocks | Self::Shared => &[],
        }
    }
}
