//! The models as curves with parameters that a fit may move.
//!
//! All parameters are times, or times for a byte, and none is negative; those that shape the curve,
//! the size of the smallest frame and that of a packet, are sizes.

use super::algebra::{Mask, Vector, WIDTH, first, vector};
use super::sample::{Setting, TimeKind};
use super::shared;
use crate::point::{hyperbola, packets};

/// The place of a router's delay, of models whose papers have none.
pub(crate) const HOPS: usize = 4;

/// Declares the models, each with its name on a command line.
macro_rules! models {
    ($($(#[$doc:meta])* $model:ident = $name:literal,)*) => {
        /// A model to fit.
        #[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
        pub enum Model {
            $($(#[$doc])* $model,)*
        }

        impl Model {
            /// All of them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$model),*];

            /// The name on a command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$model => $name,)*
                }
            }
        }
    };
}

models! {
    /// [`Linear`](crate::point::Linear).
    Linear = "linear",
    /// [`TwoPiece`](crate::point::TwoPiece).
    Prp = "prp",
    /// [`Packet`](crate::point::Packet).
    Packet = "packet",
    /// [`Hyperbolic`](crate::point::Hyperbolic).
    Hyperbolic = "hyperbolic",
    /// [`LogP`](crate::point::LogP).
    LogP = "logp",
    /// [`LogGp`](crate::point::LogGp).
    LogGp = "loggp",
    /// A workstation and a network as hyperbolic blocks, from pairs that send at the same time
    /// ([`Cluster`](crate::graph::Cluster)).
    Blocks = "blocks",
    /// Patterns of messages among processes that share processors ([`Played`](super::Played),
    /// [`Graph::on`](crate::graph::Graph::on)).
    Shared = "shared",
}

/// How a model's parameters are found.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// The time is linear in all of them.
    Linear,
    /// It is linear in all but this one, a size.
    Shaped(usize),
    /// It is not.
    Curved,
}

impl Model {
    /// The formula, as text.
    #[must_use]
    pub const fn formula(self) -> &'static str {
        match self {
            Self::Linear => "T(n, h) = alpha + beta n + gamma h",
            Self::Prp => "T(N) = L + N/B0 up to n_min, L1 + N/B1 from there on",
            Self::Packet => "t(x) = a ceil(x/p) + m x",
            Self::Hyperbolic => "T(x) = a^2/(a + b x) + b x",
            Self::LogP => "T(k) = L + 2 o + (k - 1) max(g, o)",
            Self::LogGp => "T(n, k) = L + 2 o + k (n - 1) G + (k - 1) max(g, o)",
            Self::Blocks => {
                "T(x, n) = a'^2/(a' + b' x) + b' x, a' = 2 a + n a_c, b' = max(b, n b_c)"
            }
            Self::Shared => {
                "T(x) = a' + b' x, a' the end of a schedule of o, a_c, w and c, b' the sum of the \
                 steps' largest of n b_c, b and 2 n b by processors"
            }
        }
    }

    /// The model with fewer parameters that it must be better than.
    #[must_use]
    pub const fn simpler(self) -> Option<Self> {
        match self {
            Self::Linear | Self::LogP | Self::Shared => None,
            Self::Prp | Self::Packet | Self::Hyperbolic => Some(Self::Linear),
            Self::LogGp => Some(Self::LogP),
            Self::Blocks => Some(Self::Hyperbolic),
        }
    }

    /// How many parameters a curve of it has, beside those that only patterns have.
    const fn width(self) -> usize {
        match self {
            Self::Hyperbolic => 2,
            Self::Linear | Self::Packet | Self::LogP => 3,
            Self::Prp | Self::LogGp | Self::Blocks | Self::Shared => 4,
        }
    }

    pub(crate) fn mask(self) -> Mask {
        let mut mask = first(self.width());
        (HOPS + 1..WIDTH).for_each(|at| mask[at] = self == Self::Shared);
        mask
    }

    pub(crate) const fn form(self) -> Form {
        match self {
            Self::Linear | Self::LogP | Self::LogGp => Form::Linear,
            Self::Prp => Form::Shaped(3),
            Self::Packet => Form::Shaped(2),
            Self::Hyperbolic | Self::Blocks | Self::Shared => Form::Curved,
        }
    }

    /// The time at a setting.
    pub(crate) fn value(self, theta: &Vector, at: &Setting) -> f64 {
        match self {
            Self::Hyperbolic => {
                hyperbola(theta[0], theta[1] * at.size.number()) + routers(theta, at)
            }
            Self::Blocks => {
                let (fixed, byte) = together(theta, f64::from(at.pairs));
                hyperbola(fixed, byte * at.size.number()) + routers(theta, at)
            }
            Self::Shared => shared::value(theta, at),
            Self::Linear | Self::Prp | Self::Packet | Self::LogP | Self::LogGp => {
                let linear = self.linear(theta, at);
                linear.iter().zip(theta).map(|(feature, t)| feature * t).sum()
            }
        }
    }

    /// The derivatives of the time by the parameters, at a setting.
    pub(crate) fn gradient(self, theta: &Vector, at: &Setting) -> Vector {
        let x = at.size.number();
        match self {
            Self::Hyperbolic => {
                let (by_a, by_z) = hyperbola_slopes(theta[0], theta[1] * x);
                vector([by_a, by_z * x, 0.0, 0.0, at.hops.number()])
            }
            Self::Blocks => {
                let pairs = f64::from(at.pairs);
                let (fixed, byte) = together(theta, pairs);
                let (by_a, by_z) = hyperbola_slopes(fixed, byte * x);
                let own = theta[1] >= pairs * theta[3];
                let (by_b, by_bc) = if own { (by_z * x, 0.0) } else { (0.0, by_z * x * pairs) };
                vector([2.0 * by_a, by_b, pairs * by_a, by_bc, at.hops.number()])
            }
            Self::Shared => shared::gradient(theta, at),
            Self::Prp => {
                let mut gradient = self.linear(theta, at);
                gradient[3] = if x < theta[3] { theta[2] } else { 0.0 };
                gradient
            }
            Self::Linear | Self::Packet | Self::LogP | Self::LogGp => self.linear(theta, at),
        }
    }

    /// What each parameter is multiplied with; 0 for one that gives the shape.
    fn linear(self, theta: &Vector, at: &Setting) -> Vector {
        let x = at.size.number();
        let (messages, sends) = (f64::from(at.messages), at.kind == TimeKind::Send);
        let hops = at.hops.number();
        match self {
            Self::Linear => vector([1.0, x, hops]),
            Self::Prp => vector([1.0, x, x.max(theta[3]), 0.0, hops]),
            Self::Packet => vector([packets(x, theta[2]), x, 0.0, 0.0, hops]),
            Self::LogP | Self::LogGp if sends => vector([0.0, messages]),
            Self::LogP => vector([1.0, 2.0, messages - 1.0, 0.0, hops]),
            Self::LogGp => vector([1.0, 2.0, messages - 1.0, messages * (x - 1.0).max(0.0), hops]),
            Self::Hyperbolic | Self::Blocks | Self::Shared => [0.0; WIDTH],
        }
    }
}

/// What the routers on the path add.
fn routers(theta: &Vector, at: &Setting) -> f64 {
    theta[HOPS] * at.hops.number()
}

/// The block of `pairs` that send at the same time: rule 3 for the network, rule 1 for the whole.
fn together(theta: &Vector, pairs: f64) -> (f64, f64) {
    (2.0 * theta[0] + pairs * theta[2], theta[1].max(pairs * theta[3]))
}

/// The derivatives of `a^2 / (a + z) + z` by `a` and by `z`.
fn hyperbola_slopes(a: f64, z: f64) -> (f64, f64) {
    if a + z <= 0.0 {
        return (1.0, 0.0);
    }
    let part = a / (a + z);
    (part * (2.0 - part), 1.0 - part * part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Played;
    use crate::graph::PatternKind;
    use crate::unit::{Bytes, Hops};

    /// Against differences of the values.
    #[test]
    fn gradient__is_the_slope_of_the_value() {
        let theta = |model| match model {
            Model::Prp => vector([40e-6, 60e-9, 80e-9, 34.0, 4e-6]),
            Model::Packet => vector([30e-6, 10e-9, 1484.0, 0.0, 4e-6]),
            Model::Blocks => vector([860e-6, 1.42e-6, 346e-6, 0.92e-6, 4e-6]),
            Model::Shared => vector([5e-6, 2e-9, 3e-6, 3e-9, 0.0, 11e-6, 1.3e-6]),
            _ => vector([50e-6, 20e-9, 5e-6, 3e-9, 4e-6]),
        };
        for model in Model::ALL {
            for (x, pairs, kind) in [
                (10.0, 1, TimeKind::OneWay),
                (5000.0, 3, TimeKind::OneWay),
                (100.0, 1, TimeKind::Send),
            ] {
                let played = Played { kind: PatternKind::Reduction, processes: 5, processors: 2 };
                let at = Setting {
                    hops: Hops::new(2.0),
                    messages: 3,
                    pairs,
                    played: (model == Model::Shared && pairs > 1).then_some(played),
                    kind,
                    ..Setting::one_way(Bytes::new(x))
                };
                let theta = theta(model);
                let gradient = model.gradient(&theta, &at);
                let mask = model.mask();
                let routers = [HOPS].into_iter().filter(|_| model != Model::Shared);
                for parameter in (0..WIDTH).filter(|at| mask[*at]).chain(routers) {
                    if model == Model::Packet && parameter == 2 {
                        continue;
                    }
                    let step = theta[parameter] * 1e-6;
                    let moved = |by: f64| {
                        let mut theta = theta;
                        theta[parameter] += by;
                        model.value(&theta, &at)
                    };
                    let slope = (moved(step) - moved(-step)) / (2.0 * step);
                    let scale = slope.abs() + model.value(&theta, &at) / theta[parameter];
                    let difference = (gradient[parameter] - slope).abs();
                    assert!(difference < 1e-6 * scale, "{model:?} {parameter} at {x}");
                }
            }
        }
    }
}
