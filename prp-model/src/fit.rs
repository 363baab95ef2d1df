//! Models fitted to measurements, with intervals that hold what they promise.
//!
//! [`fit`] takes all measurements, not their medians, and gives every parameter an interval of 95
//! %, or says that the measurements do not tell it. Errors are relative, a few measurements far off
//! move nothing (Tukey's biweight), no time is negative, and breaks are found. Intervals come from
//! a wild bootstrap over rounds whose estimates are compared in their own standard errors.
//!
//! ```
//! use prp_model::fit::{Model, Options, Sample, fit};
//! use prp_model::unit::{Bytes, Seconds};
//!
//! // 20 us and 10 ns a byte, with a scatter of 1 % that is the same each time.
//! let sample = |(n, size): (i32, f64)| {
//!     let scatter = 1.0 + 0.01 * f64::from((n * 7) % 5 - 2);
//!     Sample::one_way(Bytes::new(size), Seconds::new((20e-6 + 10e-9 * size) * scatter))
//! };
//! let sizes = [0.0, 64.0, 512.0, 4096.0, 32768.0, 262144.0];
//! let samples: Vec<_> = (0..).zip(sizes.repeat(5)).map(sample).collect();
//! let found = fit(Model::Linear, &samples, Options::default()).expect("30 measurements");
//! let alpha = &found.parameters[0];
//! assert_eq!((alpha.name, alpha.unit), ("alpha", "s"));
//! let interval = alpha.interval.expect("more measurements than parameters");
//! assert!(interval.low < 20e-6 && 20e-6 < interval.high);
//! // Nothing passed a router.
//! assert_eq!(found.not_identified[0].name, "gamma");
//! ```

mod algebra;
mod answer;
mod bootstrap;
mod breaks;
mod covariance;
mod design;
mod estimate;
mod family;
mod identify;
mod interval;
mod likelihood;
mod line;
mod marquardt;
mod quantity;
mod reasons;
mod robust;
mod sample;
mod shared;
mod solve;
mod start;

pub use answer::{Estimate, FitError, NotIdentified, Options};
pub use breaks::{Break, breaks};
pub use estimate::{Fit, fit};
pub use family::Model;
pub use interval::{CONFIDENCE, Interval};
pub use sample::{Played, Sample, Setting, TimeKind};

#[cfg(test)]
mod tests;
