//! Speed-up with and without communication behind calculation, and what that gains.

/// A part from 0 to 1.
#[derive(Copy, Clone, Debug, PartialEq, PartialOrd)]
pub struct Fraction(f64);

/// A ratio of rates or amounts that is above 0: instructions a byte.
#[derive(Copy, Clone, Debug, PartialEq, PartialOrd)]
pub struct Granularity(f64);

impl Fraction {
    /// Nothing, and all.
    pub const NONE: Self = Self(0.0);
    /// All of it.
    pub const ALL: Self = Self(1.0);

    /// Of a number from 0 to 1.
    #[must_use]
    pub fn new(part: f64) -> Option<Self> {
        (0.0..=1.0).contains(&part).then_some(Self(part))
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> f64 {
        self.0
    }
}

impl Granularity {
    /// Of a number above 0.
    #[must_use]
    pub fn new(number: f64) -> Option<Self> {
        (number > 0.0 && number.is_finite()).then_some(Self(number))
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> f64 {
        self.0
    }
}

/// A task's communication beside its calculation.
///
/// `ratio` is the time to communicate by the time to calculate; `fraction` (f) is the part of the
/// calculation that communication can go on behind; `overhead` (Omega) is what hiding costs, as a
/// part of the calculation.
///
/// Source: Strumpen, Communication Latency Hiding, ETH report 216, sections 2.1 to 2.3, for long
/// messages.
///
/// ```
/// use prp_model::hiding::{Fraction, Overlap};
///
/// // As much communication as calculation, all of it hidden at no cost: twice as fast.
/// let ideal = Overlap { ratio: 1.0, fraction: Fraction::ALL, overhead: 0.0 };
/// assert_eq!((ideal.speedup(2.0), ideal.speedup_hiding(2.0), ideal.gain()), (1.0, 2.0, 2.0));
/// // Where hiding costs more than there is to hide it is a loss.
/// let loss = Overlap { ratio: 0.1, fraction: Fraction::ALL, overhead: 0.2 };
/// assert!(loss.gain() < 1.0);
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Overlap {
    /// Communication by calculation: `q (gamma_h / gamma_s + i_cs p / i)`.
    pub ratio: f64,
    /// f.
    pub fraction: Fraction,
    /// Omega, from 0 on.
    pub overhead: f64,
}

impl Overlap {
    /// `p / (1 + ratio)`: communication after calculation.
    #[must_use]
    pub fn speedup(&self, processors: f64) -> f64 {
        processors / (1.0 + self.ratio)
    }

    /// `p / ((1 - f) + max(f + Omega, ratio))`: communication behind calculation.
    #[must_use]
    pub fn speedup_hiding(&self, processors: f64) -> f64 {
        processors / self.hidden()
    }

    /// What hiding gains, equation 4: the quotient of both.
    #[must_use]
    pub fn gain(&self) -> f64 {
        (1.0 + self.ratio) / self.hidden()
    }

    /// The time with hiding by that of the calculation.
    fn hidden(&self) -> f64 {
        let fraction = self.fraction.number();
        (1.0 - fraction) + self.ratio.max(fraction + self.overhead)
    }

    /// The ratio with the largest gain, `f + Omega`: all is hidden, and nothing of what hides it
    /// idle.
    #[must_use]
    pub fn best_ratio(&self) -> f64 {
        self.fraction.number() + self.overhead
    }

    /// The largest gain, `(1 + f + Omega) / (1 + Omega)`; for f = 1 that is
    /// `2 - Omega / (1 + Omega)`.
    #[must_use]
    pub fn largest_gain(&self) -> f64 {
        Self { ratio: self.best_ratio(), ..*self }.gain()
    }
}
