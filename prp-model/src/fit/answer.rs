//! What goes into a fit and comes out of it, beside measurements.

use std::fmt;

use super::interval::Interval;

/// How a fit is made.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Options {
    /// What everything random comes from.
    pub seed: u64,
    /// Data sets that are made and fitted for the intervals. With none, intervals are those of
    /// Student's distribution, which are too narrow in small samples.
    pub resamples: u32,
}

impl Default for Options {
    /// 999: quantiles of 95 % that differ by about a hundredth from seed to seed.
    fn default() -> Self {
        Self { seed: 1, resamples: 999 }
    }
}

/// Why there is no fit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FitError {
    /// There are fewer measurements than parameters.
    TooFew {
        /// Measurements.
        points: usize,
        /// Parameters.
        parameters: usize,
    },
    /// A measured time, counted from 0, is no positive number.
    Time(usize),
    /// A message's size, counted from 0, is negative or no number, or there are no messages.
    Size(usize),
    /// A measurement, counted from 0, is of a pattern that there cannot be, or the model is for
    /// other messages.
    Pattern(usize),
    /// There are too few sizes to find the one by that gives the model its shape.
    NoShape,
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { points, parameters } => {
                write!(f, "{points} measurements for {parameters} parameters: measure more sizes")
            }
            Self::Time(at) => write!(f, "measurement {}: its time is not above 0", at + 1),
            Self::Size(at) => write!(f, "measurement {}: its size is no size", at + 1),
            Self::Pattern(at) => write!(
                f,
                "measurement {}: of such a pattern only the model shared tells something, if it \
                 has processes and processors enough",
                at + 1
            ),
            Self::NoShape => {
                write!(f, "too few sizes to find where the curve breaks: measure more of them")
            }
        }
    }
}

impl std::error::Error for FitError {}

/// A number that a fit tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Its name in the model's paper.
    pub name: &'static str,
    /// The best value, in the unit.
    pub value: f64,
    /// Where the truth is; `None` where as many measurements as parameters leave nothing to tell.
    pub interval: Option<Interval>,
    /// The unit.
    pub unit: &'static str,
    /// What it stands for where that is more than its name says, since the measurements cannot tell
    /// more.
    pub means: Option<String>,
}

/// A parameter that the measurements do not tell.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NotIdentified {
    /// Its name in the model's paper.
    pub name: &'static str,
    /// Why.
    pub why: String,
}
