//! Many processors: how speed-up and gain go with their number.

use super::overlap::{Fraction, Overlap};

/// How many messages a task has, one after another, q(p).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Messages {
    /// Times p to a power.
    pub factor: f64,
    /// The power: 0 for a fixed number, 1 for all-to-all, 1/2 for a mesh.
    pub power: f64,
}

impl Messages {
    /// The same number, whatever the number of processors.
    #[must_use]
    pub const fn fixed(number: f64) -> Self {
        Self { factor: number, power: 0.0 }
    }

    /// For p processors.
    #[must_use]
    pub fn number(&self, processors: f64) -> f64 {
        self.factor * processors.powf(self.power)
    }
}

/// What hiding costs, Omega(p).
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum Overhead {
    /// A part of the calculation.
    Fixed(f64),
    /// A part of the calculation of one processor, as a multiple of the smaller part that each of
    /// many has.
    Each(f64),
}

impl Overhead {
    /// For p processors.
    #[must_use]
    pub fn number(&self, processors: f64) -> f64 {
        match self {
            Self::Fixed(part) => *part,
            Self::Each(part) => part * processors,
        }
    }
}

/// A program that is divided among processors, equation 6.
///
/// `lambda` is `p gamma_s / gamma_h`: all instructions by all bytes of a task, by the hardware's
/// granularity.
///
/// Source: Strumpen, section 2.3.2.
///
/// ```
/// use prp_model::hiding::{Fraction, Messages, Overhead, Scaling};
///
/// // All-to-all: the gain is 2 where lambda is p squared.
/// let program = Scaling {
///     lambda: 10_000.0,
///     messages: Messages { factor: 1.0, power: 1.0 },
///     fraction: Fraction::ALL,
///     overhead: Overhead::Fixed(0.0),
/// };
/// assert!((program.at(100).gain() - 2.0).abs() < 1e-12);
/// // More processors than that only make it slower.
/// assert_eq!(program.best_hiding(1000).0, 100);
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Scaling {
    /// lambda, above 0.
    pub lambda: f64,
    /// q(p).
    pub messages: Messages,
    /// f.
    pub fraction: Fraction,
    /// Omega(p).
    pub overhead: Overhead,
}

impl Scaling {
    /// A task among those of `processors` processors.
    #[must_use]
    pub fn at(&self, processors: u32) -> Overlap {
        let p = f64::from(processors);
        let ratio = self.messages.number(p) * p / self.lambda;
        Overlap { ratio, fraction: self.fraction, overhead: self.overhead.number(p) }
    }

    /// The number of processors, up to `most`, with the largest speed-up without hiding, and that.
    #[must_use]
    pub fn best(&self, most: u32) -> (u32, f64) {
        largest(most, |p| self.at(p).speedup(f64::from(p)))
    }

    /// The number of processors, up to `most`, with the largest speed-up with hiding, and that.
    #[must_use]
    pub fn best_hiding(&self, most: u32) -> (u32, f64) {
        largest(most, |p| self.at(p).speedup_hiding(f64::from(p)))
    }

    /// The number of processors, up to `most`, with the largest gain, and that.
    #[must_use]
    pub fn best_gain(&self, most: u32) -> (u32, f64) {
        largest(most, |p| self.at(p).gain())
    }
}

/// The first number from 1 to `most` with the largest value.
pub(super) fn largest(most: u32, of: impl Fn(u32) -> f64) -> (u32, f64) {
    let better = |best: (u32, f64), p| {
        let value = of(p);
        if value > best.1 { (p, value) } else { best }
    };
    (1..=most.max(1)).fold((1, f64::NEG_INFINITY), better)
}
